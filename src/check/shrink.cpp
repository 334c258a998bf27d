// SPDX-License-Identifier: Apache-2.0
// Greedy: a step that loses the finding is not taken.
#include "check/shrink.hpp"

#include "check/target.hpp"

namespace ww::campaign {
namespace {

constexpr int kSeedsOfEachKind = 4;
constexpr double kGrace = 1;

/// Candidates from simple to the one that is known to work (`last`).
std::vector<ScheduleRun> candidates(const ScheduleRun& last) {
  std::vector<ScheduleRun> runs;
  if (last.launches > 1) runs.push_back({EmuSchedule::fifo, 0});
  runs.push_back({EmuSchedule::fifo, 0, false, last.launches});
  for (const EmuSchedule kind : {EmuSchedule::random, EmuSchedule::pct, EmuSchedule::adversarial}) {
    if (kind > last.kind) break;  // no simpler than what is known
    for (std::uint64_t seed = 0; seed < kSeedsOfEachKind; ++seed) runs.push_back({kind, seed, false, last.launches});
  }
  runs.push_back(last);
  return runs;
}

/// How many sizes of a target may be halved.
int axes(const CheckTarget& target) {
  const auto operation = operation_of(target);
  return operation && *operation ? (*operation)->axes() : 1;
}

/// `target` with one size halved: of an operation, or the grid of a kernel. Empty when that one is as small as it may
/// be.
std::optional<CheckTarget> halved(const CheckTarget& target, int axis) {
  if (const auto* kernel = std::get_if<KernelCheck>(&target)) {
    KernelCheck half = *kernel;
    half.launch.grid = half.launch.grid / 2 / half.launch.cluster * half.launch.cluster;
    return half.launch.grid == 0 ? std::nullopt : std::optional<CheckTarget>(half);
  }
  const auto operation = operation_of(target);
  const std::unique_ptr<Operation> half = operation ? (*operation)->halved(axis) : nullptr;
  return half ? std::optional(half->check_target()) : std::nullopt;
}

class Shrinker {
 public:
  Shrinker(Pool& pool, const SetUp& job, const std::string& key, const ScheduleRun& found_by, double seconds)
      : pool_(pool), job_(job), key_(key), best_{job.target, found_by}, deadline_(now() + seconds) {}

  Smallest smallest() {
    if (!take_least()) halve();
    // Last, because on a small problem a schedule costs little.
    if (const auto shows = first_that_shows(best_.target)) best_.schedule = *shows;
    return best_;
  }

 private:
  bool time_is_up() const { return now() >= deadline_; }

  /// The first of the candidates in which `target` shows the finding.
  std::optional<ScheduleRun> first_that_shows(const CheckTarget& target) {
    if (time_is_up()) return std::nullopt;
    job_.target = target;
    if (!pool_.set_up(job_) || time_is_up()) return std::nullopt;
    const ScheduleList list{.listed = candidates(best_.schedule)};
    const Campaign campaign = pool_.run(list, {.seconds = deadline_ - now(), .grace = kGrace, .until = key_});
    for (const Found& found : campaign.findings)
      if (key_of(found.finding) == key_) return list.listed[found.first];
    return std::nullopt;
  }

  bool try_target(const CheckTarget& target) {
    const auto shows = first_that_shows(target);
    if (!shows) return false;
    best_ = {target, *shows};
    return true;
  }

  /// All sizes at their least.
  bool take_least() {
    CheckTarget least = best_.target;
    bool smaller = false;
    for (int axis = 0; axis < axes(least); ++axis)
      while (std::optional<CheckTarget> half = halved(least, axis)) least = std::move(*half), smaller = true;
    return !smaller || try_target(least);
  }

  void halve() {
    for (int axis = 0; axis < axes(best_.target); ++axis) {
      while (!time_is_up()) {
        const std::optional<CheckTarget> half = halved(best_.target, axis);
        if (!half || !try_target(*half)) break;
      }
    }
  }

  Pool& pool_;
  SetUp job_;
  std::string key_;
  Smallest best_;
  double deadline_;
};

}  // namespace

Smallest shrink(Pool& pool, const SetUp& job, const std::string& key, const ScheduleRun& found_by, double seconds) {
  return Shrinker(pool, job, key, found_by, seconds).smallest();
}

}  // namespace ww::campaign
