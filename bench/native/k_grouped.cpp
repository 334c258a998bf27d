// SPDX-License-Identifier: Apache-2.0
// `warpwright bench k-grouped`: our configs for groups of K side by side. Types, layout and encoding come from the
// flags, the groups from the flags or from a case file.
#include <fmt/format.h>

#include "bench/native/suite.hpp"
#include "config/config_text.hpp"

namespace ww::bench {
namespace {

class KGroupedSuite final : public Suite {
 public:
  const char* op() const override { return "k-grouped"; }
  Result<void> check(const BenchOptions& options) const override {
    WW_CHECK(variants_of(split_variants(options.variants), options));
    return {};
  }
  Result<std::vector<Variant>> variants(const Device&, const BenchCase&, const BenchOptions& options) const override {
    return variants_of(split_variants(options.variants), options);
  }
  CheckTarget target(const BenchCase& c, const BenchOptions& options, const GemmOptions& plan) const override {
    KGroupedCheck made = options.k_grouped;
    made.options = plan;
    if (options.cases.empty()) return made;
    KGroupedProblem& p = made.problem;
    p.m = c.m, p.n = c.n, p.k = 0, made.groups.counts = c.counts;
    p.lda = p.ldb = p.ldd = p.stride_d_group = 0;
    if (p.scale == Scale::row_column) p.scale_a_group = p.m, p.scale_b_group = p.n;
    return made;
  }
  Fields to_fields(const CaseResult& result) const override {
    const BenchCase& c = result.bench_case;
    Fields fields{{"op", op()}, {"groups", c.groups()}, {"m", c.m}, {"n", c.n}, {"rows", c.rows()}};
    add_contenders(result, fields);
    const Contender* best = best_of_ours(result);
    if (best != nullptr) fields.emplace_back("best", best->name);
    if (best != nullptr && c.roof_us > 0) fields.emplace_back("of_roof", c.roof_us / best->measured.us);
    add_sample(result, fields);
    return fields;
  }
  std::string rows_of(const CaseResult& result) const override {
    const BenchCase& c = result.bench_case;
    return fmt::format("{} groups of {} x {}, {} rows of K, {} -> {}, scale {}{}\n", c.groups(), c.m, c.n, c.rows(),
                       name_of(result.dtype), name_of(result.out), name_of(result.scale), sample_text(result)) +
           contender_rows(result);
  }
  void add_summary(const std::vector<CaseResult>& results, const Facts& facts, const BenchOptions& options,
                   Outcome& outcome) const override {
    add_types(*this, results, facts, options, outcome);
  }
};

}  // namespace

const Suite& k_grouped_suite() {
  static const KGroupedSuite suite;
  return suite;
}

}  // namespace ww::bench
