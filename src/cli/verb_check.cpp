// SPDX-License-Identifier: Apache-2.0
// `warpwright check`: flags -> target -> many schedules -> one report. Schedule i has seed --seed + i; the first is
// fifo, the others take turns, so a longer campaign contains the shorter one.
#include <fmt/format.h>

#include <charconv>
#include <chrono>

#include "check/report.hpp"
#include "check/shrink.hpp"
#include "cli/flags.hpp"
#include "cli/gemm_request.hpp"
#include "cli/progress.hpp"

namespace ww::cli {

using namespace campaign;

namespace {

constexpr const char* kDefaultM = "256";
constexpr const char* kDefaultN = "256";
constexpr const char* kDefaultK = "1024";
constexpr const char* kDefaultGroupedTotal = "200";
constexpr const char* kDefaultGroupedK = "512";
constexpr const char* kDefaultKGroupedTotal = "1024";
constexpr std::size_t kShrunkFindings = 4;  // each costs seconds; the rest are often the same mistake

struct CheckRequest {
  std::string device = "auto";
  std::vector<ScheduleRun> schedules;
  double seconds = 60;
  int processes = 0;
  CheckSettings settings;
};

/// "60s", "500ms", "2m", "60".
Result<double> parse_duration(const std::string& text, const std::string& argument) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(end, text.data() + text.size());
  const double scale = unit.empty() || unit == "s" ? 1
                       : unit == "ms"              ? 1e-3
                       : unit == "m"               ? 60
                       : unit == "h"               ? 3600
                                                   : 0;
  if (status == std::errc{} && scale > 0 && value >= 0 && value * scale <= 1e6) return value * scale;
  return failure(ErrorCode::invalid, argument, "a time such as 60s, 500ms or 2m", quoted(text));
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<ScheduleRun> rotation(std::size_t count, std::uint64_t seed, std::optional<EmuSchedule> only) {
  constexpr EmuSchedule kTurns[] = {EmuSchedule::random, EmuSchedule::pct, EmuSchedule::adversarial};
  std::vector<ScheduleRun> runs;
  for (std::size_t i = 0; i < count; ++i)
    runs.push_back({only ? *only : i == 0 ? EmuSchedule::fifo : kTurns[(i - 1) % 3], seed + i});
  return runs;
}

Result<CheckRequest> make_check_request(const Flags& flags) {
  CheckRequest request;
  request.device = flags.device.value_or("auto");
  std::int64_t count = 200, seed = 0;
  if (flags.schedules) {
    WW_TRY(count, parse_integer(*flags.schedules, "--schedules", 1, 10'000'000));
  }
  if (flags.seed) {
    WW_TRY(seed, parse_integer(*flags.seed, "--seed", 0));
  }
  if (flags.time) {
    WW_TRY(request.seconds, parse_duration(*flags.time, "--time"));
  }
  if (flags.threads) {
    WW_TRY(const std::int64_t processes, parse_integer(*flags.threads, "--threads", 1, 256));
    request.processes = static_cast<int>(processes);
  }
  if (flags.pct_depth) {
    WW_TRY(const std::int64_t depth, parse_integer(*flags.pct_depth, "--pct-depth", 1, 64));
    request.settings.pct_depth = static_cast<int>(depth);
  }
  WW_TRY(const int math, parse_choice(flags.math, "--math", {"on", "off", "fp32"}, 0));
  request.settings.math = math == 0 ? EmuMath::exact : math == 1 ? EmuMath::off : EmuMath::fp32_chain;
  WW_TRY(const int kind, parse_emu_schedule(flags.emu_schedule, -1));
  const auto only = kind < 0 ? std::nullopt : std::optional(static_cast<EmuSchedule>(kind));
  request.schedules = rotation(static_cast<std::size_t>(count), static_cast<std::uint64_t>(seed), only);
  return request;
}

Outcome run_campaign(CheckTarget& target, const CheckRequest& request, const Flags& flags, Progress& progress) {
  const PoolOptions options{
      .processes = request.processes, .seconds = request.seconds, .permille = progress.phase("check")};
  const Campaign campaign = run_schedules(
      request.schedules, [&](const ScheduleRun& run) { return target.run(run); }, options);
  std::vector<Replay> replays;
  std::atomic<int>* permille = progress.phase("shrink");
  const std::size_t shrunk = flags.no_shrink ? 0 : std::min(kShrunkFindings, campaign.findings.size());
  const double end = seconds_now() + std::max(10.0, request.seconds / 4);
  for (std::size_t i = 0; i < campaign.findings.size(); ++i) {
    const ScheduleRun& run = request.schedules[campaign.findings[i].first];
    Replay replay{replay_command(target, run), ""};
    if (i < shrunk)
      replay.smallest = shrink(target, key_of(campaign.findings[i].finding), run, request.processes,
                               (end - seconds_now()) / static_cast<double>(shrunk - i));
    replays.push_back(std::move(replay));
    *permille = static_cast<int>(1000 * (i + 1) / campaign.findings.size());
  }
  return report_campaign(target, request.schedules, campaign, replays, flags.traffic);
}

/// What cannot be run cannot be judged, and says so with a verdict. A wrong command line has none.
Result<Outcome> judged(Result<Outcome> result, const Flags& flags) {
  if (result || result.error().code == ErrorCode::invalid) return result;
  Outcome outcome;
  outcome.error = in_flags(result.error(), flags);
  outcome.error->code = ErrorCode::could_not_finish;
  outcome.text = "check\n  verdict    incomplete\n  incomplete " + outcome.error->message + "\n";
  outcome.json = {{"ok", false},
                  {"verdict", "incomplete"},
                  {"why_incomplete", outcome.error->message},
                  {"schedules", std::uint64_t{0}}};
  return outcome;
}

/// Without the flags that a check reads in its own way: how many processes, which arithmetic, which schedules only.
Flags of_problem(Flags flags) {
  flags.math.reset(), flags.emu_schedule.reset(), flags.threads.reset(), flags.seed.reset();
  return flags;
}

Result<Outcome> check_gemm(const Flags& flags) {
  WW_TRY(const CheckRequest request, make_check_request(flags));
  Flags problem = of_problem(flags);
  if (!flags.m && !flags.n && !flags.k) problem.m = kDefaultM, problem.n = kDefaultN, problem.k = kDefaultK;
  WW_TRY(const GemmRequest gemm, make_request(problem));
  if (gemm.problem.pointer_array)
    return failure(ErrorCode::unsupported, "--config, key pointers", "0: check makes no arrays of pointers", "1");
  Progress progress;
  progress.phase("compile");
  WW_TRY(const Device device, open_checking_device(request.device));
  WW_TRY(const std::unique_ptr<CheckTarget> target,
         make_gemm_target(device, gemm.problem, gemm.options, request.settings));
  return run_campaign(*target, request, flags, progress);
}

Result<Outcome> check_grouped(const Flags& flags) {
  WW_TRY(const CheckRequest request, make_check_request(flags));
  Flags problem = of_problem(flags);
  // smaller than a first run of the operation: hundreds of schedules in a minute
  const bool described = flags.offsets || flags.indptr || flags.starts || flags.row_ids || flags.masked;
  if (!flags.rows && !flags.total && !described) problem.total = kDefaultGroupedTotal;
  if (!flags.n) problem.n = kDefaultN;
  if (!flags.k) problem.k = kDefaultGroupedK;
  WW_TRY(const GroupedRequest grouped, make_grouped_request(problem));
  Progress progress;
  progress.phase("compile");
  WW_TRY(const Device device, open_checking_device(request.device));
  WW_TRY(const std::unique_ptr<CheckTarget> target, make_grouped_target(device, grouped, request.settings));
  return run_campaign(*target, request, flags, progress);
}

Result<Outcome> check_k_grouped(const Flags& flags) {
  WW_TRY(const CheckRequest request, make_check_request(flags));
  Flags problem = of_problem(flags);
  if (!flags.ks && !flags.total) problem.total = kDefaultKGroupedTotal;
  if (!flags.m) problem.m = kDefaultM;
  if (!flags.n) problem.n = kDefaultN;
  WW_TRY(const KGroupedRequest grouped, make_k_grouped_request(problem));
  Progress progress;
  progress.phase("compile");
  WW_TRY(const Device device, open_checking_device(request.device));
  WW_TRY(const std::unique_ptr<CheckTarget> target, make_k_grouped_target(device, grouped, request.settings));
  return run_campaign(*target, request, flags, progress);
}

Result<Outcome> check_source(const Flags& flags) {
  if (!flags.source)
    return failure(ErrorCode::invalid, "--source", "gemm, or --source FILE --entry NAME --launch ...", "neither");
  if (!flags.entry)
    return failure(ErrorCode::invalid, "--entry", "the name that WW_KERNEL gives the kernel", "nothing");
  if (!flags.launch) return failure(ErrorCode::invalid, "--launch", "grid=N,threads=N,... and parameters", "nothing");
  WW_TRY(const CheckRequest request, make_check_request(flags));
  WW_TRY(const LaunchText launch, parse_launch(*flags.launch, "--launch"));
  Progress progress;
  progress.phase("compile");
  WW_TRY(const Device device, open_checking_device(request.device));
  WW_TRY(const std::unique_ptr<CheckTarget> target,
         make_source_target(device, *flags.source, *flags.entry, launch, request.settings));
  return run_campaign(*target, request, flags, progress);
}

}  // namespace

Result<Outcome> run_check_gemm(const Flags& flags) { return judged(check_gemm(flags), flags); }
Result<Outcome> run_check_grouped(const Flags& flags) { return judged(check_grouped(flags), flags); }
Result<Outcome> run_check_k_grouped(const Flags& flags) { return judged(check_k_grouped(flags), flags); }
Result<Outcome> run_check_source(const Flags& flags) { return judged(check_source(flags), flags); }

}  // namespace ww::cli
