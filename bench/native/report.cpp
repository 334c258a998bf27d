// SPDX-License-Identifier: Apache-2.0
// Derived figures, the table, the JSON object, the result file.
#include "bench/native/report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/native/suite.hpp"
#include "io/file.hpp"
#include "jit/nvrtc.hpp"
#include "runtime/source_hash.hpp"
#if WARPWRIGHT_HAS_CUDA
#include <cuda.h>
#endif

namespace ww::bench {
namespace {

constexpr const char* kMethod =
    "CUDA graph of at least 24 calls rotating over buffer sets of at least 240 MB; contenders interleaved in one loop, "
    "in another order each round, after 1.2 s of load; us = median of the replays (sustained); burst_us = one replay "
    "after 1 s of idling; operands from N(0,1), scales in [0.75, 1.25); A's block scales M-major, B's K-major";

std::string built_with() {
#if WARPWRIGHT_HAS_CUDA
  return fmt::format("CUDA headers {}.{}", CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
#else
  return "no CUDA";
#endif
}

/// The geometric mean and the least of figures; a figure of 0 was not measured.
struct Means {
  double sum = 0, least = 0;  // sum of logarithms
  int count = 0;
  void add(double figure) {
    if (!(figure > 0)) return;
    least = count == 0 ? figure : std::min(least, figure);
    sum += std::log(figure), ++count;
  }
  double mean() const { return count == 0 ? 0 : std::exp(sum / count); }
};

/// Returns the compiler of kernels that come from no pack.
std::string kernel_compiler() {
  const Result<const jit::Nvrtc*> nvrtc = jit::Nvrtc::get();
  return nvrtc ? (*nvrtc)->identity() : "no NVRTC";
}

}  // namespace

Fields measured_fields(const Contender& contender, double flops) {
  Fields fields{{"name", contender.name}, {contender.ours ? "config" : "library", contender.detail}};
  if (contender.error) {
    fields.emplace_back("error", contender.error->message);
    return fields;
  }
  const Measured& m = contender.measured;
  const auto rate = [&](double us) { return measured_or_null(us > 0 ? flops / us * 1e-6 : 0); };
  fields.insert(fields.end(), {{"us", m.us},
                               {"us_p10", m.us_low},
                               {"us_p90", m.us_high},
                               {"replays", m.replays},
                               {"calls_per_graph", m.calls},
                               {"tflops", rate(m.us)}});
  if (m.burst_us) {
    fields.emplace_back("burst_us", *m.burst_us);
    fields.emplace_back("burst_tflops", rate(*m.burst_us));
  }
  if (m.host_us) fields.emplace_back("host_us_per_call", *m.host_us);
  fields.emplace_back("max_error", m.max_error);
  return fields;
}

std::optional<GpuSample> typical(std::vector<GpuSample> samples) {
  if (samples.empty()) return std::nullopt;
  const auto middle = [&](auto figure) {
    std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2), samples.end(),
                     [&](const GpuSample& x, const GpuSample& y) { return x.*figure < y.*figure; });
    return samples[samples.size() / 2].*figure;
  };
  return GpuSample{middle(&GpuSample::sm_mhz), middle(&GpuSample::watts)};
}

Fields facts_fields(const Facts& facts, const BenchOptions& options) {
  return {{"device", facts.device.description},
          {"device_name", facts.device.name},
          {"driver", facts.gpu.driver_version},
          {"power_limit_watts", measured_or_null(facts.gpu.power_limit_watts)},
          {"built_with", built_with()},
          {"nvrtc", kernel_compiler()},
          {"cublaslt", facts.cublaslt},
          {"date", facts.date},
          {"command", options.command_line},
          {"source_hash", runtime::source_hash()},
          {"seed", options.seed},
          {"method", facts.device.emulated ? "one emulated run" : kMethod}};
}

bool ran(const Contender& contender) { return !contender.error && contender.measured.us > 0; }

const Contender* best_of_ours(const CaseResult& result) {
  const Contender* best = nullptr;
  for (const Contender& contender : result.contenders)
    if (contender.ours && ran(contender) && (best == nullptr || contender.measured.us < best->measured.us))
      best = &contender;
  return best;
}

std::optional<Error> first_failure(const CaseResult& result) {
  if (result.error) return result.error;
  for (const Contender& contender : result.contenders)
    if (contender.ours && contender.error) return contender.error;
  return std::nullopt;
}

std::string sample_text(const CaseResult& result) {
  const auto sample = typical(result.samples);
  return sample ? fmt::format("   {:.0f} MHz, {:.0f} W", sample->sm_mhz, sample->watts) : "";
}

void add_sample(const CaseResult& result, Fields& fields) {
  const auto sample = typical(result.samples);
  if (!sample) return;
  fields.emplace_back("sm_mhz", sample->sm_mhz);
  fields.emplace_back("watts", sample->watts);
}

void add_contenders(const CaseResult& result, Fields& fields) {
  List counts, contenders;
  for (const std::int64_t count : result.bench_case.counts) counts.emplace_back(count);
  for (const Contender& c : result.contenders) contenders.emplace_back(measured_fields(c, result.bench_case.flops()));
  fields.emplace_back("tokens_per_group", std::move(counts));
  fields.emplace_back("buffer_sets", static_cast<std::int64_t>(result.sets));
  if (result.error) fields.emplace_back("error", result.error->message);
  fields.emplace_back("contenders", std::move(contenders));
}

std::string number(double value, int digits) { return value > 0 ? fmt::format("{:.{}f}", value, digits) : "-"; }

Value measured_or_null(double value) { return value > 0 ? Value(value) : Value(); }

std::string contender_rows(const CaseResult& result) {
  const double flops = result.bench_case.flops();
  const auto rate = [&](double us) { return number(us > 0 ? flops / us * 1e-6 : 0, 1); };
  std::string text;
  if (result.error) text += "  " + result.error->message + "\n";
  for (const Contender& c : result.contenders) {
    if (c.error) {
      text += fmt::format("  {:<28} {}\n", c.name, c.error->message);
      continue;
    }
    const double us = c.measured.us, burst = c.measured.burst_us.value_or(0);
    text +=
        fmt::format("  {:<28} {:>10} us {:>8} TFLOP/s   burst {:>10} us {:>8} TFLOP/s   host {:>6} us   error {:.1e}\n",
                    c.name, number(us, 2), rate(us), number(burst, 2), rate(burst),
                    number(c.measured.host_us.value_or(0), 2), c.measured.max_error);
    if (c.ours) text += fmt::format("    {}\n", c.detail);
  }
  return text;
}

void add_classes(const std::vector<CaseResult>& results, Outcome& outcome) {
  std::vector<std::pair<std::string, std::vector<const CaseResult*>>> classes;
  for (const CaseResult& result : results) {
    if (result.bench_case.regime.empty()) continue;
    const auto known = std::find_if(classes.begin(), classes.end(),
                                    [&](const auto& one) { return one.first == result.bench_case.regime; });
    if (known == classes.end()) classes.push_back({result.bench_case.regime, {&result}});
    else known->second.push_back(&result);
  }
  List list;
  for (const auto& [name, members] : classes) {
    Means roof, ratio;
    for (const CaseResult* member : members) {
      const Contender* best = best_of_ours(*member);
      if (best != nullptr) roof.add(member->bench_case.roof_us / best->measured.us);
      ratio.add(member->ratio_to_cublaslt);
    }
    outcome.text += fmt::format("class {}: {} cases, {} of the roof (least {}), cuBLASLt/ours {} (least {})\n", name,
                                members.size(), number(roof.mean(), 3), number(roof.least, 3), number(ratio.mean(), 3),
                                number(ratio.least, 3));
    list.emplace_back(Fields{{"class", name},
                             {"cases", static_cast<std::int64_t>(members.size())},
                             {"mean_of_roof", measured_or_null(roof.mean())},
                             {"least_of_roof", measured_or_null(roof.least)},
                             {"mean_ratio_to_cublaslt", measured_or_null(ratio.mean())},
                             {"least_ratio_to_cublaslt", measured_or_null(ratio.least)}});
  }
  if (!list.empty()) outcome.json.emplace_back("classes", std::move(list));
}

void add_types(const Suite& suite, const std::vector<CaseResult>& results, const Facts& facts,
               const BenchOptions& options, Outcome& outcome) {
  outcome.text += fmt::format("{} cases, {} skipped\n", results.size(), facts.skipped);
  add_classes(results, outcome);
  outcome.json.insert(outcome.json.end(), {{"dtype", name_of(options.dtype)},
                                           {"out_dtype", name_of(options.out)},
                                           {"scale", name_of(options.scale)},
                                           {"cases", cases_of(suite, results)},
                                           {"skipped", facts.skipped}});
}

List cases_of(const Suite& suite, const std::vector<CaseResult>& results) {
  List cases;
  for (const CaseResult& result : results) cases.emplace_back(suite.to_fields(result));
  return cases;
}

Outcome report(const Suite& suite, const std::vector<CaseResult>& results, const Facts& facts,
               const BenchOptions& options) {
  Outcome outcome;
  outcome.text = fmt::format("{} ({})\n", facts.device.name, facts.device.description);
  outcome.json = facts_fields(facts, options);
  for (const CaseResult& result : results) outcome.text += suite.rows_of(result);
  suite.add_summary(results, facts, options, outcome);
  return outcome;
}

Result<void> write_result(const std::filesystem::path& path, const Fields& json) {
  const std::string text = nlohmann::ordered_json::parse(to_json(json)).dump(1) + "\n";
  return write_file(path.string(), "--result", [&](const Sink& sink) { return sink(text.data(), text.size()); });
}

}  // namespace ww::bench
