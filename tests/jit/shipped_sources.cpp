// SPDX-License-Identifier: Apache-2.0
// What jit_test_modules ships.
#define WW_TEST_COMPILER ""
#include "launch/default_sources.hpp"
#include "support.hpp"

namespace ww::adapters {

std::vector<runtime::KernelSource> default_sources() {
  return {{"answer", jit::test::source_answering(1001)}, {"answer", jit::test::source_answering(1002)}};
}

}  // namespace ww::adapters
