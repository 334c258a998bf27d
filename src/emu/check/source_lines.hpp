// SPDX-License-Identifier: Apache-2.0
// Source lines of an address in a kernel module, through the debug information of checked modules: the innermost line
// and, outside all inlined functions, the outermost one, which is the kernel's own.
// It runs binutils' addr2line. Without that, or without debug information, only the module and the offset are known.
#pragma once

#include <string>

namespace ww::emu {

struct SourceLines {
  std::string inner_file, outer_file;  // empty when unknown
  int inner_line = 0, outer_line = 0;
};

/// Returns the lines of the call before `address`, a return address. Results are kept for the life of the process.
SourceLines source_lines(const void* address);

}  // namespace ww::emu
