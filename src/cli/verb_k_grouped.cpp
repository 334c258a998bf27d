// SPDX-License-Identifier: Apache-2.0
// `warpwright k-grouped`: request -> device -> plan -> operands -> run -> verify -> report.
#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cli/k_grouped_operands.hpp"
#include "cli/progress.hpp"
#include "config/config_text.hpp"

namespace ww::cli {
namespace {

/// Everything about a finished run that the report shows.
struct Run {
  DeviceInfo device;
  GemmConfig config;
  double plan_seconds = 0;
  Timing timing;
  std::uint32_t status = 0;
  std::optional<Verdict> verdict;
  std::uint64_t hash = 0;  // XXH3 of the bytes of D
};

/// Uploads, runs, downloads D and the status word.
Result<void> execute(const Device& device, const KGroupedPlan& plan, const KGroupedRequest& request,
                     KGroupedTensors& tensors, Run& run, Progress& progress) {
  progress.phase("copy operands");
  WW_TRY(const KGroupedBuffers buffers, upload(device, request, tensors));
  progress.phase(run.device.emulated ? "emulate" : "run");
  const auto launch = [&] { return plan.run(buffers.operands); };
  if (request.problem.accumulate) {  // once: every run adds to D
    const double start = now_seconds();
    WW_CHECK(launch());
    WW_CHECK(device.synchronize());
    run.timing = {now_seconds() - start, 1, plan.last_stats()};
  } else {
    WW_TRY(run.timing, timed_runs(device, launch, [&] { return plan.last_stats(); }));
  }
  if (tensors.d.bytes() > 0) WW_CHECK(device.download(tensors.d.data(), buffers.d.data(), tensors.d.bytes()));
  WW_CHECK(device.download(&run.status, buffers.status.data(), sizeof run.status));
  run.hash = XXH3_64bits(tensors.d.data(), tensors.d.bytes());
  return {};
}

Outcome report(const KGroupedRequest& request, const Run& run) {
  const KGroupedProblem& p = request.problem;
  const std::int64_t useful = request.meaning.rows();
  const double flops = 2.0 * static_cast<double>(useful) * static_cast<double>(p.m) * static_cast<double>(p.n);
  const double rate = run.timing.seconds > 0 ? flops / run.timing.seconds : 0;
  const bool right = !run.verdict || (!run.verdict->first && run.status == request.meaning.status);
  Outcome outcome;
  outcome.text = fmt::format("k-grouped {} groups of {} x {}, {} of {} rows of K, {} -> {}{}, scale {}, {}, seed {}\n",
                             p.groups, p.m, p.n, useful, p.total_k(), name_of(p.a), name_of(p.d),
                             p.accumulate ? " added to D" : "", name_of(p.scale), name_of(p.encoding), request.seed);
  outcome.text += fmt::format("  device     {}: {}\n", run.device.name, run.device.description);
  outcome.text += fmt::format("  config     {}\n", to_text(run.config));
  outcome.text += fmt::format("  time       {}, {}{}; plan {}\n", duration(run.timing.seconds), scaled(rate, "FLOP/s"),
                              run.device.emulated ? " emulated" : fmt::format(", mean of {}", run.timing.runs),
                              duration(run.plan_seconds));
  outcome.json = {{"device", run.device.name},
                  {"config", to_text(run.config)},
                  {"encoding", name_of(p.encoding)},
                  {"groups", p.groups},
                  {"m", p.m},
                  {"n", p.n},
                  {"k", p.total_k()},
                  {"useful_k", useful},
                  {"accumulate", p.accumulate},
                  {"seconds", run.timing.seconds},
                  {"tflops", rate * 1e-12},
                  {"ok", right},
                  {"verified", run.verdict.has_value()},
                  {"seed", request.seed},
                  {"plan_seconds", run.plan_seconds},
                  {"status", static_cast<std::int64_t>(run.status)},
                  {"status_names", status_text(run.status)},
                  {"d_xxh3", fmt::format("{:016x}", run.hash)},
                  {"device_description", run.device.description}};
  if (run.timing.stats) report_stats(*run.timing.stats, outcome);
  if (run.verdict) report_verdict(*run.verdict, p.groups * p.m * p.n, outcome);
  outcome.text += fmt::format("  status     {}\n", status_text(run.status));
  if (run.verdict && run.status != request.meaning.status && !outcome.error)
    outcome.error = make_error(ErrorCode::wrong_result, "status word", status_text(request.meaning.status),
                               status_text(run.status));
  outcome.text +=
      fmt::format("  D          xxh3 {:016x}{}\n", run.hash, request.out ? ", written to " + *request.out : "");
  return outcome;
}

}  // namespace

Result<Outcome> run_k_grouped(const Flags& flags) {
  WW_TRY(const KGroupedRequest request, make_k_grouped_request(flags));
  const KGroupedProblem& p = request.problem;
  Run run;
  Progress progress;
  progress.phase("open device");
  WW_CHECK(can_implement(p, request.options));
  WW_TRY(const Device device, Device::open(request.device, request.device_options));
  run.device = device.info();
  WW_CHECK(check_fits(run.device, bytes_of(p), "--ks, --m, --n"));
  progress.phase("plan and compile");
  const double start = now_seconds();
  WW_TRY(const KGroupedPlan plan, plan_k_grouped(device, p, request.options));
  run.plan_seconds = now_seconds() - start;
  run.config = plan.config();
  progress.phase("make operands");
  WW_TRY(KGroupedTensors tensors, make_tensors(request, request.seed));
  WW_CHECK(execute(device, plan, request, tensors, run, progress));
  if (request.out) WW_CHECK(write_npy(*request.out, "--out", tensors.d, p.groups));
  if (request.verify) {
    progress.phase("verify");
    const EmuMath math = run.device.emulated ? request.device_options.emu.math : EmuMath::exact;
    WW_TRY(run.verdict, judge(request, tensors, math));
  }
  return report(request, run);
}

}  // namespace ww::cli
