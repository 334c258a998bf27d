// SPDX-License-Identifier: Apache-2.0
// Greedy: a step that loses the finding is not taken.
#include "cli/check_shrink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

namespace ww::cli {
namespace {

constexpr int kSeedsOfEachKind = 4;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Candidates from simple to the one that is known to work (`last`).
std::vector<ScheduleRun> candidates(const ScheduleRun& last) {
  std::vector<ScheduleRun> runs{{EmuSchedule::fifo, 0}};
  for (EmuSchedule kind : {EmuSchedule::random, EmuSchedule::pct, EmuSchedule::adversarial}) {
    if (kind > last.kind) break;  // no simpler than what is known
    for (std::uint64_t seed = 0; seed < kSeedsOfEachKind; ++seed) runs.push_back({kind, seed});
  }
  runs.push_back(last);
  return runs;
}

/// The first of `runs` in which `target` shows the finding.
std::optional<ScheduleRun> first_that_shows(CheckTarget& target, const std::string& key,
                                            const std::vector<ScheduleRun>& runs, const PoolOptions& options) {
  const Campaign campaign = run_schedules(
      runs, [&](const ScheduleRun& run) { return target.run(run); }, options);
  for (const Found& found : campaign.findings)
    if (key_of(found.finding) == key) return runs[found.first];
  return std::nullopt;
}

}  // namespace

std::string replay_command(const CheckTarget& target, const ScheduleRun& schedule) {
  return fmt::format("{} --schedules 1 --schedule {} --seed {}", target.command(), name_of(schedule.kind),
                     schedule.seed);
}

std::string shrink(CheckTarget& target, const std::string& key, const ScheduleRun& found_by, int processes,
                   double seconds) {
  const double deadline = now() + seconds;
  const auto left = [&] { return PoolOptions{.processes = processes, .seconds = std::max(0.0, deadline - now())}; };
  ScheduleRun best = first_that_shows(target, key, candidates(found_by), left()).value_or(found_by);
  std::unique_ptr<CheckTarget> owner;
  CheckTarget* smallest = &target;
  std::vector<bool> exhausted(static_cast<std::size_t>(target.axes()));
  for (int axis = 0; now() < deadline && !std::all_of(exhausted.begin(), exhausted.end(), [](bool x) { return x; });
       axis = (axis + 1) % target.axes()) {
    const auto at = static_cast<std::size_t>(axis);
    if (exhausted[at]) continue;
    Result<std::unique_ptr<CheckTarget>> smaller = smallest->halved(axis);
    if (!smaller || !*smaller) {
      exhausted[at] = true;
      continue;
    }
    if (const auto shows = first_that_shows(**smaller, key, candidates(best), left())) {
      best = *shows;
      owner = std::move(*smaller);
      smallest = owner.get();
    } else {
      exhausted[at] = true;
    }
  }
  return replay_command(*smallest, best);
}

}  // namespace ww::cli
