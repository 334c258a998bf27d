// SPDX-License-Identifier: Apache-2.0
// Names of tests with parameters, for the generators of INSTANTIATE_TEST_SUITE_P.
#pragma once

#include <cctype>
#include <string>

namespace ww {  // not ww::testing, which would hide ::testing in tests that say so

/// Returns `text` as a name of a test: each run of other characters than letters and digits becomes an underscore.
inline std::string test_name(const std::string& text) {
  std::string name;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c))) name += c;
    else if (!name.empty() && name.back() != '_') name += '_';
  while (!name.empty() && name.back() == '_') name.pop_back();
  return name;
}

}  // namespace ww
