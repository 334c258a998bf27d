// SPDX-License-Identifier: Apache-2.0
// `warpwright check`: flags -> a target of ww::check and its options -> one report.
#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "cli/check_report.hpp"
#include "cli/flags.hpp"
#include "cli/interrupt.hpp"
#include "cli/operation_request.hpp"
#include "cli/progress.hpp"
#include "host/messages.hpp"

namespace ww::cli {
namespace {

constexpr const char* kDefaultM = "256";
constexpr const char* kDefaultN = "256";
constexpr const char* kDefaultK = "1024";
constexpr const char* kDefaultGroupedTotal = "200";
constexpr const char* kDefaultGroupedK = "512";
constexpr const char* kDefaultKGroupedTotal = "1024";

/// Parses "60s", "500ms", "2m" or "60".
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

/// A check runs on an emulated device, whatever auto is elsewhere.
Result<void> expect_emulated(const Flag& flag) {
  if (!flag || *flag == "auto") return {};
  if (!flag->starts_with("cuda:")) {
    WW_TRY(const Device named, Device::open(*flag));
    if (named.info().emulated) return {};
  }
  return failure(ErrorCode::invalid, "--device",
                 fmt::format("an emulated device: {} or {}", machine_of(Arch::sm90).emulated_device,
                             machine_of(Arch::sm100).emulated_device),
                 quoted(*flag));
}

Result<CheckOptions> make_check_options(const Flags& flags) {
  CheckOptions options;
  if (flags.schedules) {
    WW_TRY(const std::int64_t count, parse_integer(*flags.schedules, "--schedules", 1, 10'000'000));
    options.schedules = static_cast<std::size_t>(count);
  }
  if (flags.seed) {
    WW_TRY(const std::int64_t seed, parse_integer(*flags.seed, "--seed", 0));
    options.seed = static_cast<std::uint64_t>(seed);
  }
  if (flags.time) {
    WW_TRY(options.seconds, parse_duration(*flags.time, "--time"));
  }
  if (flags.threads) {
    WW_TRY(const std::int64_t processes, parse_integer(*flags.threads, "--threads", 1, 256));
    options.processes = static_cast<int>(processes);
  }
  if (flags.pct_depth) {
    WW_TRY(const std::int64_t depth, parse_integer(*flags.pct_depth, "--pct-depth", 1, 64));
    options.pct_depth = static_cast<int>(depth);
  }
  if (flags.launches) {
    WW_TRY(const std::int64_t launches, parse_integer(*flags.launches, "--launches", 1, 64));
    options.launches = static_cast<int>(launches);
  }
  options.verify = flags.verify;
  WW_TRY(const int math, parse_choice(flags.math, "--math", {"on", "off", "fp32"}, 0));
  options.math = math == 0 ? EmuMath::exact : math == 1 ? EmuMath::off : EmuMath::fp32_chain;
  WW_TRY(const int kind, parse_emu_schedule(flags.emu_schedule, -1));
  if (kind >= 0) options.only = static_cast<EmuSchedule>(kind);
  if (flags.relax) options.relaxed = names_in(*flags.relax);
  if (flags.strict) options.strict = names_in(*flags.strict);
  options.shrink = !flags.no_shrink;
  options.traffic = flags.traffic;
  WW_CHECK(expect_emulated(flags.device));
  return options;
}

/// The SMs of the emulated device; 0 without the flag.
Result<int> sms_of(const Flags& flags) {
  if (!flags.sms) return 0;
  WW_TRY(const std::int64_t sms, parse_integer(*flags.sms, "--sms", 1, std::numeric_limits<int>::max()));
  return static_cast<int>(sms);
}

/// The library's argument as the flag that it came from.
Error launch_in_flags(const Error& error) {
  const std::string& argument = error.argument;
  const bool same = argument == "entry" || argument == "source" || argument == "verify" || argument == "sms";
  const std::string flag = same                                         ? "--" + argument
                           : argument == "relaxed"                      ? "--relax"
                           : argument == "strict"                       ? "--strict"
                           : argument == "launch.parameters"            ? "--launch"
                           : argument == "launch.shared_bytes"          ? "--launch, key shared"
                           : argument.starts_with("launch.parameters,") ? "--launch" + argument.substr(17)
                           : argument.starts_with("launch.")            ? "--launch, key " + argument.substr(7)
                                                                        : argument;
  if (flag == argument) return error;
  return make_error(error.code, flag, error.expected, error.actual);
}

Result<Outcome> run_campaign(const CheckTarget& target, CheckOptions options) {
  Progress progress;
  const Interrupt interrupt;
  std::stop_source stop;
  std::string phase;
  std::atomic<int>* permille = nullptr;
  options.stop = stop.get_token();
  options.progress = [&](const CheckProgress& now) {
    if (interrupt.requested()) stop.request_stop();
    if (phase != now.phase) permille = progress.phase(phase = now.phase);
    *permille = static_cast<int>(1000 * now.fraction);
  };
  const Result<CheckCampaign> campaign = ww::check(target, options);
  if (!campaign) return failure(launch_in_flags(campaign.error()));
  return report_campaign(*campaign, options);
}

/// Adds a verdict to a target that cannot run. A wrong command line gets none.
Result<Outcome> judged(Result<Outcome> result, const Flags& flags) {
  if (result || result.error().code == ErrorCode::invalid) return result;
  return report_incomplete(in_flags(result.error(), flags));
}

/// Without the flags that a check reads in its own way: how many processes, which arithmetic, which schedules only.
Flags of_problem(Flags flags) {
  flags.math.reset(), flags.emu_schedule.reset(), flags.threads.reset(), flags.seed.reset();
  return flags;
}

/// The default problems are smaller than those of the operations themselves, so that a minute covers hundreds of
/// schedules.
Flags small_gemm(Flags flags) {
  if (!flags.m && !flags.n && !flags.k) flags.m = kDefaultM, flags.n = kDefaultN, flags.k = kDefaultK;
  return flags;
}

Flags small_grouped(Flags flags) {
  const bool described = flags.offsets || flags.indptr || flags.starts || flags.row_ids || flags.masked;
  if (!flags.rows && !flags.total && !described) flags.total = kDefaultGroupedTotal;
  if (!flags.n) flags.n = kDefaultN;
  if (!flags.k) flags.k = kDefaultGroupedK;
  return flags;
}

Flags small_k_grouped(Flags flags) {
  if (!flags.ks && !flags.total) flags.total = kDefaultKGroupedTotal;
  if (!flags.m) flags.m = kDefaultM;
  if (!flags.n) flags.n = kDefaultN;
  return flags;
}

template <OperationMaker make> Result<Outcome> check_operation(const Flags& flags, Flags small(Flags)) {
  WW_CHECK(sms_of(flags));
  WW_TRY(const CheckOptions options, make_check_options(flags));
  WW_TRY(const OperationRequest asked, make(small(of_problem(flags))));
  const CheckTarget target = asked.operation->check_target();
  return run_campaign(target, options);
}

Result<Outcome> check_source(const Flags& flags) {
  if (!flags.source)
    return failure(ErrorCode::invalid, "--source",
                   "gemm, grouped, k-grouped, or --source FILE --entry NAME --launch ...", "neither");
  if (!flags.entry)
    return failure(ErrorCode::invalid, "--entry", "the name that WW_KERNEL gives the kernel", "nothing");
  if (!flags.launch) return failure(ErrorCode::invalid, "--launch", "grid=N,threads=N,... and parameters", "nothing");
  WW_TRY(const CheckOptions options, make_check_options(flags));
  WW_TRY(const CheckLaunch launch, parse_check_launch(*flags.launch, "--launch"));
  WW_TRY(const int sms, sms_of(flags));
  return run_campaign(KernelCheck{.source = *flags.source,
                                  .entry = *flags.entry,
                                  .launch = launch,
                                  .sms = sms,
                                  .arch = emulated_arch(flags.device.value_or("auto")).value_or(kDefaultArch)},
                      options);
}

}  // namespace

Result<Outcome> run_check_gemm(const Flags& flags) {
  return judged(check_operation<request_gemm>(flags, small_gemm), flags);
}
Result<Outcome> run_check_grouped(const Flags& flags) {
  return judged(check_operation<request_grouped>(flags, small_grouped), flags);
}
Result<Outcome> run_check_k_grouped(const Flags& flags) {
  return judged(check_operation<request_k_grouped>(flags, small_k_grouped), flags);
}
Result<Outcome> run_check_source(const Flags& flags) { return judged(check_source(flags), flags); }

}  // namespace ww::cli
