// SPDX-License-Identifier: Apache-2.0
// Greedy: a step that loses the finding is not taken.
#include "check/shrink.hpp"

#include <fmt/format.h>

#include <chrono>
#include <optional>

namespace ww::campaign {
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

class Shrinker {
 public:
  Shrinker(CheckTarget& target, const std::string& key, const ScheduleRun& found_by, int processes, double seconds)
      : smallest_(&target), key_(key), best_(found_by), processes_(processes), deadline_(now() + seconds) {}

  std::string command() {
    if (!take_smallest()) halve();
    // why last: on a small problem a schedule costs little
    if (const auto shows = first_that_shows(*smallest_, candidates(best_))) best_ = *shows;
    return replay_command(*smallest_, best_);
  }

 private:
  bool time_is_up() const { return now() >= deadline_; }

  /// The first of `runs` in which `target` shows the finding.
  std::optional<ScheduleRun> first_that_shows(CheckTarget& target, const std::vector<ScheduleRun>& runs) const {
    if (time_is_up()) return std::nullopt;
    const PoolOptions options{.processes = processes_, .seconds = deadline_ - now(), .grace = 1, .until = key_};
    const Campaign campaign = run_schedules(
        runs, [&](const ScheduleRun& run) { return target.run(run); }, options);
    for (const Found& found : campaign.findings)
      if (key_of(found.finding) == key_) return runs[found.first];
    return std::nullopt;
  }

  bool try_target(std::unique_ptr<CheckTarget> target) {
    const auto shows = first_that_shows(*target, candidates(best_));
    if (!shows) return false;
    best_ = *shows;
    owner_ = std::move(target);
    smallest_ = owner_.get();
    return true;
  }

  /// All sizes at their least.
  bool take_smallest() {
    std::unique_ptr<CheckTarget> least;
    for (int axis = 0; axis < smallest_->axes(); ++axis) {
      for (;;) {
        Result<std::unique_ptr<CheckTarget>> smaller = (least ? least.get() : smallest_)->halved(axis);
        if (!smaller || !*smaller) break;
        least = std::move(*smaller);
      }
    }
    return !least || try_target(std::move(least));
  }

  void halve() {
    for (int axis = 0; axis < smallest_->axes(); ++axis) {
      while (!time_is_up()) {
        Result<std::unique_ptr<CheckTarget>> smaller = smallest_->halved(axis);
        if (!smaller || !*smaller || !try_target(std::move(*smaller))) break;
      }
    }
  }

  CheckTarget* smallest_;
  std::unique_ptr<CheckTarget> owner_;
  std::string key_;
  ScheduleRun best_;
  int processes_;
  double deadline_;
};

}  // namespace

std::string replay_command(const CheckTarget& target, const ScheduleRun& schedule) {
  return fmt::format("{} --schedules 1 --emu-schedule {} --seed {}", target.command(), name_of(schedule.kind),
                     schedule.seed);
}

std::string shrink(CheckTarget& target, const std::string& key, const ScheduleRun& found_by, int processes,
                   double seconds) {
  return Shrinker(target, key, found_by, processes, seconds).command();
}

}  // namespace ww::campaign
