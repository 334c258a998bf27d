// SPDX-License-Identifier: Apache-2.0
// Derived figures, the table, the JSON object, the result file.
#include "bench/native/report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "io/file.hpp"
#include "jit/digest.hpp"
#include "jit/embedded_headers.hpp"
#if WARPWRIGHT_HAS_CUDA
#include <cuda.h>
#endif

namespace ww::bench {
namespace {

constexpr const char* kMethod =
    "CUDA graph of at least 24 calls rotating over buffer sets of at least 240 MB; contenders interleaved in one loop, "
    "in another order each round, after 1.2 s of load; us = median of the replays (sustained); burst_us = one replay "
    "after 1 s of idling; operands from N(0,1), scales in [0.75, 1.25); A's block scales M-major, B's K-major";

double tflops(const GemmProblem& p, double us) {
  return us > 0 ? 2e-6 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) / us : 0;
}

bool ran(const Contender& contender) { return !contender.error && contender.measured.us > 0; }

const Contender* find(const CaseResult& result, std::string_view name) {
  for (const Contender& contender : result.contenders)
    if (contender.name == name && ran(contender)) return &contender;
  return nullptr;
}

/// The peer that ratios are taken against: per tensor for FP8, whatever our own recipe is.
std::string reference_of(const GemmProblem& problem) {
  return problem.a == DType::e4m3 ? "cublaslt_fp8_per_tensor" : fmt::format("cublaslt_{}", name_of(problem.a));
}

/// The DeepGEMM figure of a case file that solves the same problem as we do, or "".
std::string deepgemm_of(const GemmProblem& problem) {
  if (problem.a == DType::e4m3 && problem.scale == Scale::block_1x128_128x128) return "deepgemm_fp8_1x128_128x128";
  return problem.a == DType::bf16 ? "deepgemm_bf16" : "";
}

std::string source_hash() {
  std::vector<std::string_view> fields;
  for (const jit::EmbeddedHeader& header : jit::embedded_headers())
    fields.insert(fields.end(), {header.name, header.text});
  return "xxh3-128:" + jit::key_of(fields);
}

std::string built_with() {
#if WARPWRIGHT_HAS_CUDA
  return fmt::format("CUDA headers {}.{}", CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
#else
  return "no CUDA";
#endif
}

double geometric_mean(const std::vector<CaseResult>& results, double CaseResult::*figure) {
  double sum = 0;
  int count = 0;
  for (const CaseResult& result : results)
    if (result.*figure > 0) sum += std::log(result.*figure), ++count;
  return count ? std::exp(sum / count) : 0;
}

Value bytes_of_operands(const std::map<std::string, std::uint64_t>& bytes) {
  Fields fields;
  for (const auto& [name, count] : bytes) fields.emplace_back(name, count);
  return fields;
}

Fields to_fields(const EmuStats& stats) {
  return {{"seconds", stats.seconds},
          {"ctas", stats.ctas},
          {"fibers", stats.fibers},
          {"switches", stats.switches},
          {"tma_loads", stats.tma_loads},
          {"tma_stores", stats.tma_stores},
          {"wgmmas", stats.wgmmas},
          {"l2_read_bytes", bytes_of_operands(stats.l2_read_bytes)},
          {"l2_write_bytes", bytes_of_operands(stats.l2_write_bytes)},
          {"shared_write_bytes", bytes_of_operands(stats.shared_write_bytes)}};
}

Fields to_fields(const CaseResult& result, const Contender& contender, const EmuStats* stats) {
  Fields fields = measured_fields(contender, tflops(result.problem, 1) * 1e6);
  if (contender.error) return fields;
  if (const Contender* peer = find(result, reference_of(result.problem)); peer != nullptr && contender.ours)
    fields.emplace_back("ratio_to_cublaslt", peer->measured.us / contender.measured.us);
  if (stats != nullptr) fields.emplace_back("emulator", to_fields(*stats));
  return fields;
}

Fields to_fields(const CaseResult& result) {
  const GemmProblem& p = result.problem;
  Fields fields{{"op", "dense"},
                {"m", p.m},
                {"n", p.n},
                {"k", p.k},
                {"dtype", name_of(p.a)},
                {"out_dtype", name_of(p.d)},
                {"scale", name_of(p.scale)},
                {"buffer_sets", static_cast<std::int64_t>(result.sets)}};
  if (result.error) fields.emplace_back("error", result.error->message);
  List contenders;
  for (std::size_t i = 0; i < result.contenders.size(); ++i) {
    const EmuStats* stats = i < result.emulated.size() ? &result.emulated[i] : nullptr;
    contenders.emplace_back(to_fields(result, result.contenders[i], stats));
  }
  fields.emplace_back("contenders", std::move(contenders));
  if (result.ratio_to_cublaslt > 0) fields.emplace_back("ratio_to_cublaslt", result.ratio_to_cublaslt);
  if (result.vs_table_deepgemm > 0) fields.emplace_back("vs_table_deepgemm", result.vs_table_deepgemm);
  const Contender* best = best_of_ours(result);
  if (result.bench_case.roof_us > 0 && best != nullptr)
    fields.emplace_back("of_roof", result.bench_case.roof_us / best->measured.us);
  if (const auto sample = typical(result.samples)) {
    fields.emplace_back("sm_mhz", sample->sm_mhz);
    fields.emplace_back("watts", sample->watts);
  }
  return fields;
}

std::string number(double value, int digits) { return value > 0 ? fmt::format("{:.{}f}", value, digits) : "-"; }

std::string rows_of(const CaseResult& result) {
  const GemmProblem& p = result.problem;
  std::string text =
      fmt::format("{}x{}x{} {} -> {}, scale {}", p.m, p.n, p.k, name_of(p.a), name_of(p.d), name_of(p.scale));
  if (const auto sample = typical(result.samples))
    text += fmt::format("   {:.0f} MHz, {:.0f} W", sample->sm_mhz, sample->watts);
  if (result.ratio_to_cublaslt > 0) text += fmt::format("   cuBLASLt/ours {:.3f}", result.ratio_to_cublaslt);
  if (result.vs_table_deepgemm > 0) text += fmt::format("   vs table's DeepGEMM {:.3f}", result.vs_table_deepgemm);
  text += '\n';
  if (result.error) return text + "  " + result.error->message + "\n";
  for (const Contender& c : result.contenders) {
    if (c.error) {
      text += fmt::format("  {:<28} {}\n", c.name, c.error->message);
      continue;
    }
    const double burst = c.measured.burst_us.value_or(0);
    text +=
        fmt::format("  {:<28} {:>10} us {:>8} TFLOP/s   burst {:>10} us {:>8} TFLOP/s   host {:>6} us   error {:.1e}\n",
                    c.name, number(c.measured.us, 2), number(tflops(p, c.measured.us), 1), number(burst, 2),
                    number(tflops(p, burst), 1), number(c.measured.host_us.value_or(0), 2), c.measured.max_error);
    if (c.ours) text += fmt::format("    {}\n", c.detail);
  }
  for (const EmuStats& s : result.emulated)
    text +=
        fmt::format("    emulator: {:.3f} s, {} CTAs, {} fibers, {} switches, {} TMA loads, {} TMA stores, {} wgmmas\n",
                    s.seconds, s.ctas, s.fibers, s.switches, s.tma_loads, s.tma_stores, s.wgmmas);
  return text;
}

}  // namespace

Fields measured_fields(const Contender& contender, double flops) {
  Fields fields{{"name", contender.name}, {contender.ours ? "config" : "library", contender.detail}};
  if (contender.error) {
    fields.emplace_back("error", contender.error->message);
    return fields;
  }
  const Measured& m = contender.measured;
  const auto rate = [&](double us) { return us > 0 ? flops / us * 1e-6 : 0; };
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
          {"power_limit_watts", facts.gpu.power_limit_watts},
          {"built_with", built_with()},
          {"cublaslt", facts.cublaslt},
          {"date", facts.date},
          {"command", options.command_line},
          {"source_hash", source_hash()},
          {"seed", options.seed},
          {"method", facts.device.emulated ? "one emulated run" : kMethod}};
}

const Contender* best_of_ours(const CaseResult& result) {
  const Contender* best = nullptr;
  for (const Contender& contender : result.contenders)
    if (contender.ours && ran(contender) && (best == nullptr || contender.measured.us < best->measured.us))
      best = &contender;
  return best;
}

void place(CaseResult& result) {
  const Contender* ours = best_of_ours(result);
  const std::string reference = reference_of(result.problem);
  const Contender* peer = find(result, reference);
  if (ours == nullptr || peer == nullptr) return;
  result.ratio_to_cublaslt = peer->measured.us / ours->measured.us;
  const double table_peer = table_us(result.bench_case, reference);
  const double table_deepgemm = table_us(result.bench_case, deepgemm_of(result.problem));
  if (table_peer > 0 && table_deepgemm > 0)
    result.vs_table_deepgemm = result.ratio_to_cublaslt / (table_peer / table_deepgemm);
}

std::optional<Error> first_failure(const CaseResult& result) {
  if (result.error) return result.error;
  for (const Contender& contender : result.contenders)
    if (contender.ours && contender.error) return contender.error;
  return std::nullopt;
}

std::string one_line(const CaseResult& result) {
  const GemmProblem& p = result.problem;
  const Contender* best = best_of_ours(result);
  if (best == nullptr) {
    const std::optional<Error> error = first_failure(result);
    return fmt::format("{}x{}x{}: {}", p.m, p.n, p.k, error ? error->message : "not run");
  }
  return fmt::format("{}x{}x{}: {:.2f} us, {:.1f} TFLOP/s, cuBLASLt/ours {}, vs table's DeepGEMM {}", p.m, p.n, p.k,
                     best->measured.us, tflops(p, best->measured.us), number(result.ratio_to_cublaslt, 3),
                     number(result.vs_table_deepgemm, 3));
}

Outcome report(const std::vector<CaseResult>& results, const Facts& facts, const BenchOptions& options) {
  Outcome outcome;
  outcome.text = fmt::format("{} ({})\n", facts.device.name, facts.device.description);
  List cases;
  for (const CaseResult& result : results) {
    outcome.text += rows_of(result);
    cases.emplace_back(to_fields(result));
  }
  const double ratio = geometric_mean(results, &CaseResult::ratio_to_cublaslt);
  const double table = geometric_mean(results, &CaseResult::vs_table_deepgemm);
  outcome.text += fmt::format("geometric means: cuBLASLt/ours {}, vs table's DeepGEMM {}; {} cases, {} skipped\n",
                              number(ratio, 3), number(table, 3), results.size(), facts.skipped);
  outcome.json = facts_fields(facts, options);
  outcome.json.insert(outcome.json.end(), {{"cases", std::move(cases)},
                                           {"geomean_ratio_to_cublaslt", ratio},
                                           {"geomean_vs_table_deepgemm", table},
                                           {"skipped", facts.skipped}});
  return outcome;
}

Result<void> write_result(const std::filesystem::path& path, const Fields& json) {
  const std::string text = nlohmann::ordered_json::parse(to_json(json)).dump(1) + "\n";
  return write_file(path.string(), "--result", [&](const Sink& sink) { return sink(text.data(), text.size()); });
}

}  // namespace ww::bench
