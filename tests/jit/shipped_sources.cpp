// SPDX-License-Identifier: Apache-2.0
// What jit_test_modules ships.
#define WW_TEST_COMPILER ""
#include "jit/default_sources.hpp"
#include "support.hpp"

namespace ww::jit {

std::vector<runtime::KernelSource> default_sources() {
  return {{"answer", test::source_answering(1001)}, {"answer", test::source_answering(1002)}};
}

}  // namespace ww::jit
