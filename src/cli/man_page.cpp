// SPDX-License-Identifier: Apache-2.0
// `warpwright man`: the manual page in man(7)'s macros, from the table of commands.cpp.
#include <fmt/format.h>

#include "cli/epilogue_request.hpp"
#include "cli/flags.hpp"
#include "jit/build_facts.hpp"

namespace ww::cli {
namespace {

/// `text` as roff shows it: hyphens that can be copied, no macro at the start of a line.
std::string roff(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') result += "\\e";
    else if (c == '-') result += "\\-";
    else if (c == '\'') result += "\\(aq";
    else if (c == '^') result += "\\(ha";
    else if (c == '~') result += "\\(ti";
    else if (c == '.' && result.empty()) result += "\\&.";
    else result += c;
  }
  return result;
}

std::string entry(const FlagRow& row) {
  const std::string values = *row.values ? fmt::format(" \\fI{}\\fR", roff(row.values)) : "";
  const std::string name = is_positional(row) ? "" : fmt::format("\\fB{}\\fR", roff(row.name));
  return fmt::format(".TP\n{}{}\n{}\n", name, name.empty() ? values.substr(1) : values, roff(row.meaning));
}

std::string section(const Command& command) {
  std::string text = fmt::format(".SS warpwright {}\n{}.\n", roff(name_of(command)), roff(command.meaning));
  for (const FlagRow& row : flag_rows())
    if (reads(command, row)) text += entry(row);
  text += ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nshow the flags of this command\n.PP\n";
  return text + "Exit status: " + roff(exit_statuses(command)) + "\n";
}

constexpr const char* kNotes = R"(.SH FILES
Operands are .npy files, or FILE.safetensors:TENSOR for one tensor of a .safetensors file. The word
.I generated
in place of a file asks for random values; beside a given operand nothing is generated unless it is asked for so.
Results are .npy files: a regular file is replaced as a whole, and a device or a FIFO is written through. With
.B /dev/stdout
the report goes to standard error.
.SH ENVIRONMENT
.TP
.B WARPWRIGHT_CACHE_DIR
where compiled kernels are kept
.TP
.B WARPWRIGHT_PACK_DIR
a folder of packs of precompiled kernels, asked before those that are installed
.TP
.B WARPWRIGHT_TUNING
a file of measurements by
.B warpwright tune
that auto follows; none: no file
.TP
.B WARPWRIGHT_JIT
.BR on ,
.B off
(compile nothing: a kernel that is neither in a pack nor in the cache is an error) or
.B trace
(print a line for each kernel that is loaded)
.TP
.B WARPWRIGHT_NVRTC
the NVRTC library, or its folder, that compiles kernels for GPUs
.TP
.B WARPWRIGHT_LINEINFO
1: kernels for GPUs carry source lines for profilers
.TP
.B WARPWRIGHT_CXX
the compiler of kernels for the emulated device
.TP
.B WARPWRIGHT_CUBLASLT
the cuBLASLt library that bench compares with
)";

}  // namespace

Result<Outcome> run_man(const Flags&) {
  Outcome outcome;
  std::string& text = outcome.text;
  text = fmt::format(".TH WARPWRIGHT 1 \"\" \"warpwright {0}\" \"User Commands\"\n.SH NAME\n", jit::library_version());
  text += fmt::format("warpwright \\- {}\n.SH SYNOPSIS\n", roff(commands().front().meaning));
  for (const Command& c : commands())
    if (c.run) text += fmt::format(".B warpwright {}\n[\\fIflags\\fR]\n.br\n", roff(name_of(c)));
  text += ".SH COMMANDS\n";
  for (const Command& c : commands())
    if (c.run) text += section(c);
  text += ".SH EPILOGUES\nAn expression of \\fB\\-\\-epilogue\\fR is made of\n";
  for (const std::string& line : epilogue_help()) text += ".IP \\(bu 2\n" + roff(line) + "\n";
  text += kNotes;
  return outcome;
}

}  // namespace ww::cli
