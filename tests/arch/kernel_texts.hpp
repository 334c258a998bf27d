// SPDX-License-Identifier: Apache-2.0
// The headers of kernels/ as text, written into a source file when the tests are built: a test program compiles them
// for a GPU on a machine that has no source tree.
#pragma once

#include <span>

namespace ww::arch_test {

struct KernelText {
  const char* name;  // "tma"
  const char* text;
};

std::span<const KernelText> kernel_texts();

}  // namespace ww::arch_test
