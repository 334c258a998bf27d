// SPDX-License-Identifier: Apache-2.0
// `warpwright bench gemm`: our configs beside cuBLASLt. Block scales are stored so that every contender takes them
// without a copy: A's M-major, B's K-major, rows padded to a multiple of 4 floats, which is cuBLASLt's layout.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bench/native/suite.hpp"
#include "config/config_text.hpp"
#include "host/messages.hpp"
#include "ops/gemm_choice.hpp"
#include "warpwright/core/meta.hpp"

namespace ww::bench {
namespace {

bool is_best(const std::string& variant) { return variant.starts_with("best:"); }
Result<std::int64_t> count_of_best(const std::string& best) {
  return parse_integer(best.substr(5), "--variants, best", 1, 1000);
}

double tflops(double flops, double us) { return us > 0 ? flops / us * 1e-6 : 0; }

const Contender* find(const CaseResult& result, std::string_view name) {
  for (const Contender& contender : result.contenders)
    if (contender.name == name && ran(contender)) return &contender;
  return nullptr;
}

/// The peer that ratios are taken against: per tensor for FP8, whatever our own recipe is.
std::string reference_of(const CaseResult& result) {
  return result.dtype == DType::e4m3 ? "cublaslt_fp8_per_tensor" : fmt::format("cublaslt_{}", name_of(result.dtype));
}

/// The DeepGEMM figure of a case file that solves the same problem as we do, or "".
std::string deepgemm_of(const CaseResult& result) {
  if (result.dtype == DType::e4m3 && result.scale == Scale::block_1x128_128x128) return "deepgemm_fp8_1x128_128x128";
  return result.dtype == DType::bf16 ? "deepgemm_bf16" : "";
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

Fields stats_fields(const EmuStats& stats) {
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

Fields contender_fields(const CaseResult& result, const Contender& contender, const EmuStats* stats) {
  Fields fields = measured_fields(contender, result.bench_case.flops());
  if (contender.error) return fields;
  if (const Contender* peer = find(result, reference_of(result)); peer != nullptr && contender.ours)
    fields.emplace_back("ratio_to_cublaslt", peer->measured.us / contender.measured.us);
  if (stats != nullptr) fields.emplace_back("emulator", stats_fields(*stats));
  return fields;
}

class DenseSuite final : public Suite {
 public:
  const char* op() const override { return "dense"; }
  Result<void> check(const BenchOptions& options) const override {
    for (const std::string& variant : split_variants(options.variants))
      if (is_best(variant)) WW_CHECK(count_of_best(variant));
      else if (!variant.empty()) WW_CHECK(parse_config(variant));
    return {};
  }
  Result<std::vector<Variant>> variants(const Device& device, const BenchCase& bench_case,
                                        const BenchOptions& options) const override;
  CheckTarget target(const BenchCase& bench_case, const BenchOptions& options, const GemmOptions& plan) const override {
    return GemmCheck{problem_of(bench_case, options), plan};
  }

  bool has_peers() const override { return true; }
  void add_peers(const Result<std::shared_ptr<CublasLt>>& cublaslt, const CaseResult& result, const Device& device,
                 const BufferSet& set, const BenchOptions& options, std::vector<Contender>& list) const override;
  void place(CaseResult& result) const override;
  Fields to_fields(const CaseResult& result) const override;
  std::string rows_of(const CaseResult& result) const override;
  std::string one_line(const CaseResult& result) const override;
  void add_summary(const std::vector<CaseResult>& results, const Facts& facts, const BenchOptions&,
                   Outcome& outcome) const override;
};

/// Returns the texts of --variants, each "best:N" replaced by the N configs that the model ranks first for this case.
Result<std::vector<std::string>> variant_texts(const Device& device, const GemmProblem& problem,
                                               const BenchOptions& options) {
  std::vector<std::string> texts;
  for (const std::string& variant : split_variants(options.variants)) {
    if (!is_best(variant)) {
      texts.push_back(variant);
      continue;
    }
    WW_TRY(std::int64_t count, count_of_best(variant));
    WW_TRY(const ops::Alternatives all,
           ops::alternatives(problem,
                             {.config = options.config, .sms = options.sms, .batch_invariant = options.batch_invariant},
                             {device.info().sms, device.info().emulated}));
    for (const select::Candidate& candidate : all.ranking.candidates)
      if (count-- > 0) texts.push_back(to_text(candidate.config));
  }
  return texts;
}

Result<std::vector<Variant>> DenseSuite::variants(const Device& device, const BenchCase& bench_case,
                                                  const BenchOptions& options) const {
  WW_TRY(const std::vector<std::string> texts, variant_texts(device, problem_of(bench_case, options), options));
  return variants_of(texts, options);
}

void DenseSuite::add_peers(const Result<std::shared_ptr<CublasLt>>& cublaslt, const CaseResult& result,
                           const Device& device, const BufferSet& set, const BenchOptions& options,
                           std::vector<Contender>& list) const {
  const GemmProblem problem = problem_of(result.bench_case, options);
  const bool fp8 = problem.a == DType::e4m3;
  std::vector<std::pair<Peer, std::string>> peers;
  if (!fp8) peers.emplace_back(Peer::half, fmt::format("cublaslt_{}", name_of(problem.a)));
  if (fp8) peers.emplace_back(Peer::fp8_per_tensor, "cublaslt_fp8_per_tensor");
  if (fp8 && problem.scale == Scale::block_1x128_128x128)
    peers.emplace_back(Peer::fp8_block, "cublaslt_fp8_1x128_128x128");
  for (const auto& [peer, name] : peers) {
    Result<Contender> made = cublaslt ? (*cublaslt)->contender(peer, problem, device, set, options.peer_candidates)
                                      : Result<Contender>(failure(cublaslt.error()));
    Contender contender;
    if (made) contender = std::move(*made);
    else contender.error = made.error();
    contender.name = name;
    list.push_back(std::move(contender));
  }
}

void DenseSuite::place(CaseResult& result) const {
  const Contender* ours = best_of_ours(result);
  const std::string reference = reference_of(result);
  const Contender* peer = find(result, reference);
  if (ours == nullptr || peer == nullptr) return;
  result.ratio_to_cublaslt = peer->measured.us / ours->measured.us;
  const double table_peer = table_us(result.bench_case, reference);
  const double table_deepgemm = table_us(result.bench_case, deepgemm_of(result));
  if (table_peer > 0 && table_deepgemm > 0)
    result.vs_table_deepgemm = result.ratio_to_cublaslt / (table_peer / table_deepgemm);
}

Fields DenseSuite::to_fields(const CaseResult& result) const {
  const BenchCase& c = result.bench_case;
  Fields fields{{"op", op()},
                {"m", c.m},
                {"n", c.n},
                {"k", c.k},
                {"dtype", name_of(result.dtype)},
                {"out_dtype", name_of(result.out)},
                {"scale", name_of(result.scale)},
                {"buffer_sets", static_cast<std::int64_t>(result.sets)}};
  if (!c.regime.empty()) fields.emplace_back("regime", c.regime);
  if (result.error) fields.emplace_back("error", result.error->message);
  List contenders;
  for (std::size_t i = 0; i < result.contenders.size(); ++i) {
    const EmuStats* stats = i < result.emulated.size() ? &result.emulated[i] : nullptr;
    contenders.emplace_back(contender_fields(result, result.contenders[i], stats));
  }
  fields.emplace_back("contenders", std::move(contenders));
  if (result.ratio_to_cublaslt > 0) fields.emplace_back("ratio_to_cublaslt", result.ratio_to_cublaslt);
  if (result.vs_table_deepgemm > 0) fields.emplace_back("vs_table_deepgemm", result.vs_table_deepgemm);
  const Contender* best = best_of_ours(result);
  if (c.roof_us > 0 && best != nullptr) fields.emplace_back("of_roof", c.roof_us / best->measured.us);
  add_sample(result, fields);
  return fields;
}

std::string DenseSuite::rows_of(const CaseResult& result) const {
  const BenchCase& p = result.bench_case;
  std::string text = fmt::format("{}x{}x{} {} -> {}, scale {}", p.m, p.n, p.k, name_of(result.dtype),
                                 name_of(result.out), name_of(result.scale));
  text += sample_text(result);
  if (result.ratio_to_cublaslt > 0) text += fmt::format("   cuBLASLt/ours {:.3f}", result.ratio_to_cublaslt);
  if (result.vs_table_deepgemm > 0) text += fmt::format("   vs table's DeepGEMM {:.3f}", result.vs_table_deepgemm);
  text += '\n' + contender_rows(result);
  for (const EmuStats& s : result.emulated)
    text +=
        fmt::format("    emulator: {:.3f} s, {} CTAs, {} fibers, {} switches, {} TMA loads, {} TMA stores, {} wgmmas\n",
                    s.seconds, s.ctas, s.fibers, s.switches, s.tma_loads, s.tma_stores, s.wgmmas);
  return text;
}

std::string DenseSuite::one_line(const CaseResult& result) const {
  const BenchCase& p = result.bench_case;
  const Contender* best = best_of_ours(result);
  if (best == nullptr) {
    const std::optional<Error> error = first_failure(result);
    return fmt::format("{}x{}x{}: {}", p.m, p.n, p.k, error ? error->message : "not run");
  }
  return fmt::format("{}x{}x{}: {:.2f} us, {:.1f} TFLOP/s, cuBLASLt/ours {}, vs table's DeepGEMM {}", p.m, p.n, p.k,
                     best->measured.us, tflops(p.flops(), best->measured.us), number(result.ratio_to_cublaslt, 3),
                     number(result.vs_table_deepgemm, 3));
}

void DenseSuite::add_summary(const std::vector<CaseResult>& results, const Facts& facts, const BenchOptions&,
                             Outcome& outcome) const {
  const double ratio = geometric_mean(results, &CaseResult::ratio_to_cublaslt);
  const double table = geometric_mean(results, &CaseResult::vs_table_deepgemm);
  outcome.text += fmt::format("geometric means: cuBLASLt/ours {}, vs table's DeepGEMM {}; {} cases, {} skipped\n",
                              number(ratio, 3), number(table, 3), results.size(), facts.skipped);
  add_classes(results, outcome);
  outcome.json.insert(outcome.json.end(), {{"cases", cases_of(*this, results)},
                                           {"geomean_ratio_to_cublaslt", measured_or_null(ratio)},
                                           {"geomean_vs_table_deepgemm", measured_or_null(table)},
                                           {"skipped", facts.skipped}});
}

}  // namespace

GemmProblem problem_of(const BenchCase& bench_case, const BenchOptions& options) {
  GemmProblem p{.m = bench_case.m,
                .n = bench_case.n,
                .k = bench_case.k,
                .a = options.dtype,
                .b = options.dtype,
                .d = options.out,
                .scale = options.scale};
  if (p.scale == Scale::block_1x128_128x128) {
    p.scale_a_row = 1, p.scale_a_k = round_up(p.m, std::int64_t{4});
    p.scale_b_n = round_up(ceil_div(p.k, std::int64_t{128}), std::int64_t{4}), p.scale_b_k = 1;
  }
  return p;
}

const Suite& dense_suite() {
  static const DenseSuite suite;
  return suite;
}

}  // namespace ww::bench
