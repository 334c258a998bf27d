// SPDX-License-Identifier: Apache-2.0
// Schedules by number, frames, and the fingerprint of a build.
#include "check/messages.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstring>

#include "jit/keys.hpp"

namespace ww::campaign {

std::string to_text(const ScheduleRun& run) { return fmt::format("{}, seed {}", name_of(run.kind), run.seed); }

ScheduleRun ScheduleList::operator[](std::uint64_t i) const {
  constexpr EmuSchedule kTurns[] = {EmuSchedule::random, EmuSchedule::pct, EmuSchedule::adversarial};
  ScheduleRun run = listed.empty() ? ScheduleRun{one_kind ? kind
                                                 : i == 0 ? EmuSchedule::fifo
                                                          : kTurns[(i - 1) % 3],
                                                 seed + i}
                                   : listed[i];
  run.traffic = traffic && i == 0;
  return run;
}

std::string fingerprint() {
  return fmt::format("{} {} {} {} {} {} {}", jit::module_source_key("check", jit::IsaLevel::baseline),
                     sizeof(GemmProblem), sizeof(GroupedProblem), sizeof(KGroupedProblem), sizeof(GemmOptions),
                     sizeof(KernelCheck), sizeof(CheckReport));
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string frame(Message kind, const std::string& bytes) {
  const std::uint64_t head[2] = {bytes.size(), static_cast<std::uint64_t>(kind)};
  std::string message(sizeof head, '\0');
  std::memcpy(message.data(), head, sizeof head);
  return message + bytes;
}

}  // namespace ww::campaign
