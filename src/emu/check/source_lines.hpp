// SPDX-License-Identifier: Apache-2.0
// Source lines of an address in a kernel module, through the debug information of checked modules: the innermost line
// and, past everything that was inlined, the outermost one, the kernel's own.
// Asks binutils' addr2line; where there is none, or no debug information, only the module and offset are known.
#pragma once

#include <string>

namespace ww::emu {

struct SourceLines {
  std::string inner_file, outer_file;  // empty: not known
  int inner_line = 0, outer_line = 0;
};

/// `address` is a return address: the call before it is meant. Answers are kept for the life of the process.
SourceLines source_lines(const void* address);

}  // namespace ww::emu
