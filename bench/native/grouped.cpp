// SPDX-License-Identifier: Apache-2.0
// `warpwright bench grouped`: our kernel variants side by side on one GPU, by the method of bench/README.md, beside the
// times of other libraries in the case file. Peers in the loop: bench/grouped_torch.py.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "bench/native/cuda.hpp"
#include "bench/native/grouped_case.hpp"
#include "bench/native/report.hpp"
#include "config/config_text.hpp"
#include "measure/timing.hpp"
#include "runtime/backend.hpp"

namespace ww::bench {
namespace {

struct GroupedResult {
  GroupedCase grouped;
  std::vector<Contender> contenders;
  std::vector<GpuSample> samples;
  std::optional<Error> error;
  std::size_t sets = 0;
};

struct Variant {
  std::string name;
  GemmConfig config;
};

/// A config that asks for types and scales alone.
GemmConfig untouched(const GemmConfig& c) {
  return {.operands = {.a = c.operands.a, .b = c.operands.b, .d = c.operands.d, .scale = c.operands.scale}};
}

/// Returns the configs of --variants; otherwise one for each kernel variant, or that of its flag. All of them start
/// from what --config and the flags of its fields ask for.
Result<std::vector<Variant>> variants_of(const GemmConfig& asked, const BenchOptions& options) {
  std::vector<Variant> list;
  for (const std::string& text : split_variants(options.variants)) {
    Variant variant{"auto", asked};
    if (!text.empty()) {
      WW_TRY(variant.config, parse_config(text, asked));
    }
    list.push_back(std::move(variant));
  }
  if (options.variants.empty()) {
    list = {{"auto", asked}};
    if (asked == untouched(asked)) {
      list.clear();
      for (GroupedVariant m :
           {GroupedVariant::contiguous, GroupedVariant::descriptors, GroupedVariant::ragged, GroupedVariant::masked}) {
        list.push_back({"", asked});
        list.back().config.row_groups.variant = m;
      }
    }
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].config.row_groups.variant != GroupedVariant::automatic)
      list[i].name = name_of(list[i].config.row_groups.variant);
    if (!options.variants.empty() && list.size() > 1) list[i].name += fmt::format("[{}]", i);
  }
  return list;
}

/// Returns whether masked groups make sense: with more than four times the rows, most of them unused, a case is ragged
/// prefill, while masked groups are for decoding.
bool suits_masked(const GroupedCase& grouped) { return grouped.groups() * grouped.most() <= 4 * grouped.rows(); }

struct Session {
  const BenchOptions& options;
  Device device;
  BenchData data;
  std::unique_ptr<GpuBench> gpu;
};

Result<Enqueue> plan_variant(const Session& session, const GroupedProblem& problem, const GroupedSets& sets,
                             const Variant& variant, std::string& detail) {
  const GemmOptions options{.config = variant.config,
                            .sms = session.options.sms,
                            .pdl = session.options.pdl,
                            .batch_invariant = session.options.batch_invariant};
  WW_TRY(const GroupedPlan plan, ww::plan_grouped(session.device, problem, options));
  const std::vector<std::byte> zeros(std::max<std::size_t>(plan.workspace_bytes(), 16));
  WW_TRY(const Buffer workspace, session.device.allocate(zeros.size()));
  WW_CHECK(session.device.upload(workspace.data(), zeros.data(), zeros.size()));
  detail = to_text(plan.config());
  return Enqueue([plan, workspace, problem, &sets](const BufferSet& set, ::ww::Stream stream) {
    GroupedOperands operands = operands_of(problem, sets, set);
    operands.workspace = workspace.data();
    operands.workspace_bytes = plan.workspace_bytes();
    return plan.run(operands, stream);
  });
}

/// Runs once on the emulator, which has no clock; checked, and timed on the wall.
Result<void> run_once(const Session& session, const BufferSet& set, Contender& contender, const SpotCheck& check) {
  const std::vector<unsigned char> poison(set.d.bytes(), 0xFF);
  WW_CHECK(session.device.upload(set.d.data(), poison.data(), poison.size()));
  const double start = now_seconds();
  WW_CHECK(contender.alternatives[0](set, {}));
  contender.measured.us = contender.measured.us_low = contender.measured.us_high = (now_seconds() - start) * 1e6;
  contender.measured.replays = contender.measured.calls = 1;
  WW_TRY(contender.measured.max_error, check(set, contender));
  return {};
}

Result<GroupedResult> run_case(Session& session, const GroupedCase& grouped, const std::vector<Variant>& variants) {
  const BenchOptions& options = session.options;
  GroupedResult result{grouped, {}, {}, {}, 0};
  WW_TRY(const GroupedSets sets, make_grouped_sets(session.device, grouped, options, session.data));
  result.sets = sets.sets.size();
  for (const Variant& variant : variants) {
    const bool masked = variant.config.row_groups.variant == GroupedVariant::masked;
    if (masked && variants.size() > 1 && !suits_masked(grouped)) continue;
    Contender contender;
    contender.name = variant.name, contender.ours = true;
    const GroupedProblem problem = problem_of(grouped, options, masked);
    Result<Enqueue> enqueue = plan_variant(session, problem, sets, variant, contender.detail);
    if (enqueue) contender.alternatives.push_back(std::move(*enqueue));
    else contender.error = enqueue.error();
    contender.masked = masked;
    result.contenders.push_back(std::move(contender));
  }
  const SpotCheck check = [&](const BufferSet& set, const Contender& contender) {
    return spot_check(session.device, grouped, problem_of(grouped, options, contender.masked), set);
  };
  if (session.gpu) {
    const MeasureOptions measure{std::max(1, options.replays), options.seconds_per_case, options.burst};
    result.samples = session.gpu->measure(check, sets.sets, result.contenders, measure);
  } else {
    for (Contender& contender : result.contenders)
      if (!contender.error)
        if (Result<void> ran = run_once(session, sets.sets[0], contender, check); !ran) contender.error = ran.error();
  }
  for (Contender& contender : result.contenders) contender.alternatives.clear();  // they hold device memory
  return result;
}

const Contender* best_of(const GroupedResult& result) {
  const Contender* best = nullptr;
  for (const Contender& c : result.contenders)
    if (!c.error && c.measured.us > 0 && (best == nullptr || c.measured.us < best->measured.us)) best = &c;
  return best;
}

/// The table's fastest peer, whatever its recipe.
std::pair<std::string, double> best_peer(const GroupedCase& grouped) {
  std::pair<std::string, double> best;
  for (const auto& [name, us] : grouped.peers_us)
    if (us > 0 && (best.second == 0 || us < best.second)) best = {name, us};
  return best;
}

Fields to_fields(const GroupedResult& result) {
  const GroupedCase& g = result.grouped;
  List counts, contenders;
  for (std::int64_t count : g.counts) counts.emplace_back(count);
  for (const Contender& contender : result.contenders) contenders.emplace_back(measured_fields(contender, g.flops()));
  Fields fields{{"op", "grouped"},
                {"regime", g.regime},
                {"groups", g.groups()},
                {"rows", g.rows()},
                {"n", g.n},
                {"k", g.k},
                {"tokens_per_group", counts},
                {"buffer_sets", static_cast<std::int64_t>(result.sets)}};
  if (result.error) fields.emplace_back("error", result.error->message);
  fields.emplace_back("contenders", std::move(contenders));
  const Contender* best = best_of(result);
  const auto [peer, peer_us] = best_peer(g);
  if (best != nullptr) {
    fields.emplace_back("best", best->name);
    if (g.roof_us > 0) fields.emplace_back("of_roof", g.roof_us / best->measured.us);
    Fields ratios;
    for (const auto& [name, us] : g.peers_us) ratios.emplace_back(name, us / best->measured.us);
    if (!ratios.empty()) fields.emplace_back("table_ratios", std::move(ratios));
    if (peer_us > 0) fields.emplace_back("table_best_peer", peer);
  }
  if (const auto sample = typical(result.samples)) {
    fields.emplace_back("sm_mhz", sample->sm_mhz);
    fields.emplace_back("watts", sample->watts);
  }
  return fields;
}

std::string rows_of(const GroupedResult& result, const BenchOptions& options) {
  const GroupedCase& g = result.grouped;
  std::string text =
      fmt::format("{}{} groups, {} rows x {} x {} {} -> {}, scale {}", g.regime.empty() ? "" : g.regime + ", ",
                  g.groups(), g.rows(), g.n, g.k, name_of(options.dtype), name_of(options.out), name_of(options.scale));
  if (const auto sample = typical(result.samples))
    text += fmt::format("   {:.0f} MHz, {:.0f} W", sample->sm_mhz, sample->watts);
  const Contender* best = best_of(result);
  if (best != nullptr && g.roof_us > 0) text += fmt::format("   {:.3f} of roof", g.roof_us / best->measured.us);
  const auto [peer, peer_us] = best_peer(g);
  if (best != nullptr && peer_us > 0)
    text += fmt::format("   table's best ({}) / ours {:.3f}", peer, peer_us / best->measured.us);
  text += '\n';
  if (result.error) text += "  " + result.error->message + "\n";
  for (const Contender& c : result.contenders)
    text += c.error ? fmt::format("  {:<16} {}\n", c.name, c.error->message)
                    : fmt::format(
                          "  {:<16} {:>10.2f} us {:>8.1f} TFLOP/s   burst {:>10.2f} us   host {:>6.2f} us   error "
                          "{:.1e}\n    {}\n",
                          c.name, c.measured.us, g.flops() / c.measured.us * 1e-6, c.measured.burst_us.value_or(0),
                          c.measured.host_us.value_or(0), c.measured.max_error, c.detail);
  return text;
}

Outcome report_grouped(const std::vector<GroupedResult>& results, const Facts& facts, const BenchOptions& options) {
  Outcome outcome;
  outcome.text = fmt::format("{} ({})\n", facts.device.name, facts.device.description);
  List cases;
  for (const GroupedResult& result : results) {
    outcome.text += rows_of(result, options);
    cases.emplace_back(to_fields(result));
  }
  outcome.text += fmt::format("{} cases, {} skipped\n", results.size(), facts.skipped);
  outcome.json = facts_fields(facts, options);
  outcome.json.insert(outcome.json.end(), {{"dtype", name_of(options.dtype)},
                                           {"out_dtype", name_of(options.out)},
                                           {"scale", name_of(options.scale)},
                                           {"cases", std::move(cases)},
                                           {"skipped", facts.skipped}});
  return outcome;
}

Result<Outcome> run_cases(Session& session, const std::vector<GroupedCase>& cases, const std::vector<Variant>& variants,
                          int skipped) {
  const BenchOptions& options = session.options;
  std::vector<GroupedResult> results;
  std::optional<Error> first_error;
  const double start = now_seconds();
  bool any = false;
  for (const GroupedCase& grouped : cases) {
    if (options.seconds_total > 0 && now_seconds() - start + options.seconds_per_case > options.seconds_total) {
      ++skipped;
      continue;
    }
    Result<GroupedResult> result = run_case(session, grouped, variants);
    if (!result) result = GroupedResult{grouped, {}, {}, result.error(), 0};
    if (!first_error) first_error = result->error;
    for (const Contender& contender : result->contenders)
      if (!first_error && contender.error) first_error = contender.error;
    any |= best_of(*result) != nullptr;
    if (options.progress) options.progress(rows_of(*result, options));
    results.push_back(std::move(*result));
  }
  if (!any && first_error) return failure(*first_error);
  Facts facts;
  facts.device = session.device.info();
  facts.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::now()));
  if (session.gpu) facts.gpu = session.gpu->facts();
  facts.skipped = skipped;
  Outcome outcome = report_grouped(results, facts, options);
  if (!options.result.empty()) WW_CHECK(write_result(options.result, outcome.json));
  return outcome;
}

}  // namespace

Result<Outcome> run_grouped_bench(const GroupedTiming& timing, const BenchOptions& options) {
  WW_TRY(const std::vector<Variant> variants, variants_of(timing.config, options));
  int skipped = 0;
  std::vector<GroupedCase> cases = {{timing.counts, timing.problem.n, timing.problem.k, "", {}, 0}};
  if (!options.cases.empty()) {
    WW_TRY(cases, grouped_cases(options.cases, skipped));
  }
  if (cases[0].rows() < 1 || cases[0].n < 1 || cases[0].k < 1)
    return failure(ErrorCode::invalid, "--rows, --n, --k", "at least one row, column and product", "none");
  WW_TRY(Device device, Device::open(options.device, options.device_options));
  Session session{options, device, BenchData(options), nullptr};
  if (!device.info().emulated) {
    WW_TRY(session.gpu, GpuBench::open(device));
  }
  return run_cases(session, cases, variants, skipped);
}

}  // namespace ww::bench
