// SPDX-License-Identifier: Apache-2.0
// `warpwright gemm`, `grouped`, `k-grouped`: request -> operation -> device -> plan -> operands -> run -> judge ->
// report. Everything that can be refused is refused before memory is allocated: flags and files first, then what no
// kernel computes, then what does not fit.
#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cli/execution.hpp"
#include "cli/operation_request.hpp"
#include "cli/progress.hpp"
#include "cli/report.hpp"
#include "config/config_text.hpp"

namespace ww::cli {
namespace {

using operations::GroupFacts;
using operations::Judgement;

/// Everything about a finished run that the report shows and the operation does not know.
struct Run {
  DeviceInfo device;
  double plan_seconds = 0;
  Timing timing;
  std::optional<Judgement> judgement;
  std::uint64_t hash = 0;                    // XXH3 of the packed bytes of D
  std::optional<std::uint64_t> scales_hash;  // of the scales of a quantised D, in rows
};

/// Where every run adds to D there is one.
Result<Timing> timed(const operations::Operation& operation, const Device& device) {
  const auto run = [&] { return operation.run(); };
  if (operation.repeats()) return timed_runs(device, run, [&] { return operation.last_stats(); });
  const double start = now_seconds();
  WW_CHECK(run());
  WW_CHECK(device.synchronize());
  return Timing{now_seconds() - start, 1, operation.last_stats()};
}

/// "widths 8: 3 tiles, 64 normal: 12 tiles"
std::string widths_text(const std::vector<TileWidth>& widths) {
  std::string text;
  for (const TileWidth& w : widths)
    if (w.tiles > 0)
      text += fmt::format("{}{}{}: {} tile{}", text.empty() ? "" : ", ", w.width, w.swapped ? "" : " normal", w.tiles,
                          w.tiles == 1 ? "" : "s");
  return text.empty() ? "none" : text;
}

List widths_list(const std::vector<TileWidth>& widths) {
  List list;
  for (const TileWidth& w : widths)
    if (w.tiles > 0) list.emplace_back(Fields{{"width", w.width}, {"swapped", w.swapped}, {"tiles", w.tiles}});
  return list;
}

/// What was written outside every group, and a status word that is not what the sizes deserve, are wrong results too.
void report_groups(const GroupFacts& groups, const std::optional<Judgement>& judgement, Outcome& outcome) {
  outcome.text += fmt::format("  status     {}\n", status_text(groups.status));
  outcome.json.emplace_back("status", static_cast<std::int64_t>(groups.status));
  outcome.json.emplace_back("status_names", status_text(groups.status));
  if (!groups.widths.empty()) {
    outcome.text += fmt::format("  widths     {}\n", widths_text(groups.widths));
    outcome.json.emplace_back("widths", widths_list(groups.widths));
  }
  if (!judgement) return;
  const auto& v = judgement->verdict;
  if (v.outside > 0) {
    outcome.text += fmt::format("  outside    {} of {} elements in no group are {}\n", v.outside - v.outside_wrong,
                                v.outside, groups.outside);
    outcome.json.emplace_back("outside", v.outside);
    outcome.json.emplace_back("outside_wrong", v.outside_wrong);
  }
  if (v.first_outside && !outcome.error)
    outcome.error = make_error(
        ErrorCode::wrong_result, fmt::format("D at row {}, column {}", v.first_outside->row, v.first_outside->column),
        fmt::format("an element in no group, which is {}", groups.outside), fmt::format("{:.9g}", v.first_outside->got),
        fmt::format("{} of {} elements in no group are wrong", v.outside_wrong, v.outside));
  if (groups.status != groups.expected && !outcome.error)
    outcome.error =
        make_error(ErrorCode::wrong_result, "status word", status_text(groups.expected), status_text(groups.status));
}

bool is_right(const operations::Operation& operation, const std::optional<Judgement>& judgement) {
  if (!judgement) return true;
  const std::optional<GroupFacts> groups = operation.groups();
  return !judgement->verdict.first && !judgement->verdict.first_outside &&
         (!groups || groups->status == groups->expected);
}

Outcome report(const operations::Operation& operation, const Request& request, const Run& run) {
  const double seconds = run.timing.seconds, rate = seconds > 0 ? operation.flops() / seconds : 0;
  const std::optional<GroupFacts> groups = operation.groups();
  Outcome outcome;
  outcome.text = fmt::format("{}, seed {}\n", operation.title(), request.seed) + sources_text(request);
  outcome.text += fmt::format("  device     {}: {}\n", run.device.name, run.device.description);
  if (const std::string asked = request_for_results(run.device); !asked.empty())
    outcome.text += fmt::format("  untested   {}\n", asked);
  outcome.text += fmt::format("  config     {}\n", to_text(operation.config()));
  outcome.text += fmt::format(
      "  time       {}, {}{}{}; plan {}\n", duration(seconds), scaled(rate, "FLOP/s"), groups ? " useful" : "",
      run.device.emulated ? ", emulated" : fmt::format(", mean of {}", run.timing.runs), duration(run.plan_seconds));
  outcome.json = {{"device", run.device.name}, {"config", to_text(operation.config())}};
  for (auto& field : operation.sizes()) outcome.json.push_back(std::move(field));
  for (auto& field : Fields{{"seconds", seconds},
                            {"tflops", rate * 1e-12},
                            {"ok", is_right(operation, run.judgement)},
                            {"verified", run.judgement.has_value()},
                            {"seed", request.seed},
                            {"plan_seconds", run.plan_seconds},
                            {"d_xxh3", fmt::format("{:016x}", run.hash)},
                            {"device_description", run.device.description}})
    outcome.json.push_back(std::move(field));
  if (run.scales_hash) outcome.json.emplace_back("out_scales_xxh3", fmt::format("{:016x}", *run.scales_hash));
  if (operation.config().grouping == Grouping::row_groups)
    outcome.json.emplace_back("variant", name_of(operation.config().row_groups.variant));
  if (run.timing.stats) report_stats(*run.timing.stats, outcome);
  if (const std::optional<float> amax = operation.amax()) {
    outcome.json.emplace_back("amax", *amax);
    outcome.text += fmt::format("  amax       {}\n", *amax);
  }
  if (run.judgement) report_verdict(run.judgement->verdict, run.judgement->elements, outcome, run.judgement->where);
  if (groups) report_groups(*groups, run.judgement, outcome);
  outcome.text +=
      fmt::format("  D          xxh3 {:016x}{}\n", run.hash, request.out ? ", written to " + *request.out : "");
  if (run.scales_hash) outcome.text += fmt::format("  out_scales xxh3 {:016x}\n", *run.scales_hash);
  return outcome;
}

}  // namespace

Result<Outcome> run_operation(OperationRequest asked, const Flags&) {
  const Request& request = asked.request;
  operations::Operation& operation = *asked.operation;
  Run run;
  Progress progress;
  progress.phase("open device");
  WW_CHECK(operation.can_implement());
  WW_TRY(const Device device, Device::open(request.device, request.device_options));
  run.device = device.info();
  WW_CHECK(operation.check_memory(run.device));
  progress.phase("plan and compile");
  const double start = now_seconds();
  WW_CHECK(operation.plan(device));
  run.plan_seconds = now_seconds() - start;
  progress.phase("make operands");
  WW_CHECK(operation.make_tensors());
  progress.phase("copy operands");
  WW_CHECK(operation.upload());
  progress.phase(run.device.emulated ? "emulate" : "run");
  WW_TRY(run.timing, timed(operation, device));
  WW_CHECK(operation.download());
  run.hash = XXH3_64bits(operation.d().data(), operation.d().bytes());
  if (const Matrix& scales = operation.epilogue().out_scales; scales.bytes() > 0)
    run.scales_hash = XXH3_64bits(scales.data(), scales.bytes());
  progress.phase("write");
  if (request.out) WW_CHECK(write_npy_batch(*request.out, "--out", operation.d(), operation.matrices()));
  WW_CHECK(write_outputs(asked.epilogue, operation.epilogue(), operation.matrices()));
  if (request.verify) {
    const EmuMath math = run.device.emulated ? request.device_options.emu.math : EmuMath::exact;
    WW_TRY(run.judgement, operation.judge(math, progress.phase("verify")));
  }
  return report(operation, request, run);
}

}  // namespace ww::cli
