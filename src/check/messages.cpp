// SPDX-License-Identifier: Apache-2.0
// Schedules by number, frames, and the fingerprint of a build.
#include "check/messages.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstring>

#include "jit/keys.hpp"

namespace ww::campaign {

std::string to_text(const ScheduleRun& run) { return fmt::format("{}, seed {}", name_of(run.kind), run.seed); }

namespace {

constexpr std::uint64_t kSequencesOneIn = 32;  // costs 5 % of the time of a campaign

std::uint64_t mix(std::uint64_t x) {  // splitmix64
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

/// Returns the launches of schedule `i` of an operation. The first schedule always has three, because a flag that only
/// every second launch puts back needs them.
int drawn_launches(std::uint64_t i, std::uint64_t seed) {
  if (i == 0) return 3;
  if (i <= 3) return 2;  // the first of every other kind: a flag that was left set may do no harm under fifo
  const std::uint64_t drawn = mix(seed);
  return drawn % kSequencesOneIn != 0 ? 1 : 2 + static_cast<int>(drawn / kSequencesOneIn % 2);
}

}  // namespace

std::uint64_t seed_of_launch(const ScheduleRun& run, int launch) {
  return launch == 1 ? run.seed : mix(run.seed ^ mix(static_cast<std::uint64_t>(launch)));
}

ScheduleRun ScheduleList::operator[](std::uint64_t i) const {
  constexpr EmuSchedule kTurns[] = {EmuSchedule::random, EmuSchedule::pct, EmuSchedule::adversarial};
  ScheduleRun run = listed.empty() ? ScheduleRun{one_kind ? kind
                                                 : i == 0 ? EmuSchedule::fifo
                                                          : kTurns[(i - 1) % 3],
                                                 seed + i}
                                   : listed[i];
  run.traffic = traffic && i == 0;
  if (listed.empty()) run.launches = launches > 0 ? launches : drawn_launches(i, run.seed);
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
