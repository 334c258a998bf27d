// SPDX-License-Identifier: Apache-2.0
// ww::check: options -> one worker that builds the target -> schedules on all workers -> the simplest runs -> data.
#include "warpwright/host/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "check/command.hpp"
#include "check/shrink.hpp"

namespace ww {
namespace campaign {
namespace {

constexpr std::size_t kMostSchedules = 10'000'000;
constexpr int kDeepestPct = 64;
constexpr int kMostLaunches = 64;
constexpr std::size_t kShrunkFindings = 4;  // each costs seconds, and the rest are often the same mistake
constexpr double kShortestShrink = 10;      // seconds for all of them

Result<void> validate(const CheckOptions& o) {
  if (o.schedules < 1 || o.schedules > kMostSchedules)
    return failure(ErrorCode::invalid, "schedules", fmt::format("1 to {}", kMostSchedules),
                   fmt::format("{}", o.schedules));
  if (!(o.seconds >= 0)) return failure(ErrorCode::invalid, "seconds", "0 or more", fmt::format("{}", o.seconds));
  if (o.processes < 0 || o.processes > kMostProcesses)
    return failure(ErrorCode::invalid, "processes", fmt::format("1 to {}, or 0 for one per core", kMostProcesses),
                   fmt::format("{}", o.processes));
  if (o.pct_depth < 1 || o.pct_depth > kDeepestPct)
    return failure(ErrorCode::invalid, "pct_depth", fmt::format("1 to {}", kDeepestPct),
                   fmt::format("{}", o.pct_depth));
  WW_CHECK(strict_rules(o.relaxed, o.strict));
  if (o.launches < 0 || o.launches > kMostLaunches)
    return failure(ErrorCode::invalid, "launches", fmt::format("1 to {}, or 0 for the usual number", kMostLaunches),
                   fmt::format("{}", o.launches));
  return {};
}

/// Refuses what only operations have, or what their values do not allow.
Result<void> validate_verify(const CheckTarget& target, const CheckOptions& o) {
  if (!o.verify) return {};
  if (std::holds_alternative<KernelCheck>(target))
    return failure(ErrorCode::invalid, "verify", "an operation of the library, whose values are known",
                   "a kernel of your own");
  if (o.math == EmuMath::off)
    return failure(ErrorCode::invalid, "verify", "math on or fp32", "math off, which computes no values");
  return {};
}

/// The source of a kernel becomes text, so that workers need not find the file and all see the same.
Result<CheckTarget> with_text(const CheckTarget& target) {
  CheckTarget read = target;
  auto* kernel = std::get_if<KernelCheck>(&read);
  if (!kernel || !kernel->text.empty()) return read;
  if (kernel->source.empty())
    return failure(ErrorCode::invalid, "source", "a file that defines a kernel with WW_KERNEL, or its text", "neither");
  std::error_code error;
  std::ifstream file(kernel->source, std::ios::binary);
  if (!std::filesystem::is_regular_file(kernel->source, error) || !file)
    return failure(ErrorCode::invalid, "source", "a file that can be read", "\"" + kernel->source.string() + "\"");
  kernel->text.assign(std::istreambuf_iterator<char>(file), {});
  return read;
}

CheckCampaign stopped_before(const CheckTarget& target, const CheckOptions& options) {
  CheckCampaign campaign;
  campaign.target = target;
  campaign.schedules_asked = options.schedules;
  campaign.stopped = true;
  campaign.why_incomplete = "interrupted before a schedule ran";
  return campaign;
}

class Check {
 public:
  Check(const CheckOptions& options, CheckTarget target, bool from_file)
      : options_(options),
        target_(std::move(target)),
        from_file_(from_file),
        pool_({.processes = options.processes,
               .worker = options.worker,
               .stop = options.stop,
               .tick = [this](double fraction) { show(fraction); }}) {}

  Result<CheckCampaign> campaign() {
    SetUp job{.target = target_,
              .math = options_.math,
              .pct_depth = options_.pct_depth,
              .cache_dir = options_.cache_dir.string(),
              .strict_rules = *strict_rules(options_.relaxed, options_.strict),
              .verify = options_.verify};
    Result<Ready> ready = pool_.set_up(job);
    if (!ready && options_.stop.stop_requested()) return stopped_before(shown(target_), options_);
    if (!ready) return failure(ready.error());
    job.target = std::move(ready->target);
    phase_ = "check";
    const ScheduleList schedules{.count = options_.schedules,
                                 .seed = options_.seed,
                                 .one_kind = options_.only.has_value(),
                                 .kind = options_.only.value_or(EmuSchedule::fifo),
                                 .traffic = options_.traffic,
                                 .launches = launches()};
    Campaign ran = pool_.run(schedules, {.seconds = options_.seconds});
    CheckCampaign campaign{.target = shown(job.target),
                           .schedules_ran = ran.ran,
                           .schedules_asked = options_.schedules,
                           .launches_ran = ran.launches,
                           .sms = ready->sms,
                           .why_incomplete = std::move(ran.why_incomplete),
                           .stopped = ran.stopped,
                           .seconds = ran.seconds,
                           .stats = std::move(ran.example.stats),
                           .traffic = std::move(ran.example.traffic),
                           .operands = std::move(ran.example.operands)};
    for (Found& found : ran.findings) {
      ScheduleRun run = schedules[found.first];
      run.launches = found.launch;  // those behind it do not change it
      campaign.findings.push_back(
          {std::move(found.finding), found.launch, found.schedules, replay(job.target, run), std::nullopt});
    }
    if (options_.shrink) shrink_findings(job, campaign);
    return campaign;
  }

 private:
  void shrink_findings(const SetUp& job, CheckCampaign& campaign) {
    phase_ = "shrink";
    const std::size_t count = std::min(kShrunkFindings, campaign.findings.size());
    const double end = now() + std::max(kShortestShrink, options_.seconds / 4);
    for (std::size_t i = 0; i < count && !options_.stop.stop_requested(); ++i) {
      CheckFinding& finding = campaign.findings[i];
      done_ = static_cast<double>(i) / static_cast<double>(count);
      const ScheduleRun run{finding.replay.schedule.kind, finding.replay.schedule.seed, false, finding.launch};
      const Smallest smallest =
          shrink(pool_, job, key_of(finding.finding), run, (end - now()) / static_cast<double>(count - i));
      if (!options_.stop.stop_requested()) finding.smallest = replay(smallest.target, smallest.schedule);
    }
  }

  /// As ScheduleList::launches.
  int launches() const {
    return options_.launches == 0 && std::holds_alternative<KernelCheck>(target_) ? 1 : options_.launches;
  }

  CheckReplay replay(const CheckTarget& target, const ScheduleRun& run) const {
    const CheckTarget told = shown(target);
    return {told, {run.kind, run.seed, run.launches}, replay_command(told, run, options_)};
  }

  /// A kernel that came as a file is read again when it is replayed.
  CheckTarget shown(CheckTarget target) const {
    if (auto* kernel = std::get_if<KernelCheck>(&target); kernel && from_file_) kernel->text.clear();
    return target;
  }

  void show(double fraction) const {
    if (!options_.progress) return;
    const bool shrinking = std::string_view(phase_) == "shrink";
    options_.progress({phase_, shrinking ? done_ : fraction});
  }

  const CheckOptions& options_;
  CheckTarget target_;
  bool from_file_;  // the text of the kernel
  const char* phase_ = "compile";
  double done_ = 0;
  Pool pool_;
};

}  // namespace
}  // namespace campaign

Result<CheckCampaign> check(const CheckTarget& target, const CheckOptions& options) {
  WW_CHECK(campaign::validate(options));
  WW_CHECK(campaign::validate_verify(target, options));
  WW_TRY(CheckTarget read, campaign::with_text(target));
  const auto* kernel = std::get_if<KernelCheck>(&target);
  return campaign::Check(options, std::move(read), kernel && kernel->text.empty()).campaign();
}

CheckOptions replay_options(const CheckReplay& replay, CheckOptions options) {
  options.schedules = 1;
  options.seed = replay.schedule.seed;
  options.only = replay.schedule.kind;
  options.launches = replay.schedule.launches;
  return options;
}

const char* name_of(Verdict verdict) {
  return verdict == Verdict::clean ? "clean" : verdict == Verdict::findings ? "findings" : "incomplete";
}

}  // namespace ww
