// SPDX-License-Identifier: Apache-2.0
// The chain of inlined functions at an address in a kernel module, through the debug information of checked modules.
// It runs binutils' addr2line. Without that, or without debug information, only the module and the offset are known.
#pragma once

#include <string>
#include <vector>

#include "warpwright/host/report.hpp"

namespace ww::emu {

struct SourceLines {
  std::vector<SourceFrame> frames;  // ordered as FindingParty::frames; never empty unless nothing is known
  std::string inner_file;           // the innermost line, which may be inside arch/
  int inner_line = 0;

  const SourceFrame& first() const {
    static const SourceFrame none;
    return frames.empty() ? none : frames.front();
  }
};

/// Returns the lines of the call before `address`, a return address. Results are kept for the life of the process.
SourceLines source_lines(const void* address);

/// Returns whether the frame is in arch/ or core/, whose lines are the instructions themselves.
bool is_instruction(const SourceFrame& frame);
/// Returns "ww::pipeline::Ring<2>::wait(int) const" as "pipeline::Ring::wait".
std::string short_function_name(const std::string& name);

}  // namespace ww::emu
