// SPDX-License-Identifier: Apache-2.0
// Hashes the embedded headers once a process.
#include "runtime/source_hash.hpp"

#include <string_view>
#include <vector>

#include "jit/digest.hpp"
#include "jit/embedded_headers.hpp"

namespace ww::runtime {

const std::string& source_hash() {
  static const std::string hash = [] {
    std::vector<std::string_view> fields;
    for (const jit::EmbeddedHeader& header : jit::embedded_headers())
      fields.insert(fields.end(), {header.name, header.text});
    return "xxh3-128:" + jit::key_of(fields);
  }();
  return hash;
}

}  // namespace ww::runtime
