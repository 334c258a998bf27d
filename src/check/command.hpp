// SPDX-License-Identifier: Apache-2.0
// One run of a target as a command line of the program.
#pragma once

#include "check/messages.hpp"

namespace ww::campaign {

/// `text` as one word of a shell's command line.
std::string shell_word(const std::string& text);

/// "on", "off" or "fp32", as --math takes them.
const char* math_text(EmuMath math);

/// "warpwright check gemm --m 256 ... --schedules 1 --emu-schedule pct --seed 17". Empty for what a command line cannot
/// say: the text of a kernel that is in no file, groups whose arrays are in no file and have no counts.
std::string replay_command(const CheckTarget& target, const ScheduleRun& schedule, const CheckOptions& options);

}  // namespace ww::campaign
