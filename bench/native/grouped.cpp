// SPDX-License-Identifier: Apache-2.0
// `warpwright bench grouped`: our kernel variants side by side, beside the times of other libraries in the case file.
// Peers in the loop: bench/grouped_torch.py. Block scales of A lie M-major.
#include <fmt/format.h>

#include "bench/native/suite.hpp"
#include "config/config_text.hpp"
#include "warpwright/core/meta.hpp"

namespace ww::bench {
namespace {

/// A config that asks for types and scales alone.
GemmConfig untouched(const GemmConfig& c) {
  return {.operands = {.a = c.operands.a, .b = c.operands.b, .d = c.operands.d, .scale = c.operands.scale}};
}

/// Returns the configs of --variants; otherwise one for each kernel variant, or that of its flag. All of them start
/// from what --config and the flags of its fields ask for.
Result<std::vector<Variant>> variants_of(const BenchOptions& options) {
  const GemmConfig& asked = options.config;
  std::vector<Variant> list;
  for (const std::string& text : split_variants(options.variants)) {
    Variant variant{"auto", "", asked};
    if (!text.empty()) {
      WW_TRY(variant.config, parse_config(text, asked));
    }
    list.push_back(std::move(variant));
  }
  if (options.variants.empty() && asked == untouched(asked)) {
    list.clear();
    for (GroupedVariant m :
         {GroupedVariant::contiguous, GroupedVariant::descriptors, GroupedVariant::ragged, GroupedVariant::masked}) {
      list.push_back({"", "", asked});
      list.back().config.row_groups.variant = m;
    }
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    const GroupedVariant variant = list[i].config.row_groups.variant;
    if (variant != GroupedVariant::automatic) list[i].name = name_of(variant);
    if (!options.variants.empty() && list.size() > 1) list[i].name += fmt::format("[{}]", i);
  }
  return list;
}

bool is_masked(const GemmConfig& config) { return config.row_groups.variant == GroupedVariant::masked; }

/// Returns whether masked groups make sense: with more than four times the rows, most of them unused, a case is ragged
/// prefill, while masked groups are for decoding.
bool suits_masked(const BenchCase& c) { return c.groups() * c.most() <= 4 * c.rows(); }

/// The table's fastest peer, whatever its recipe.
std::pair<std::string, double> best_peer(const BenchCase& c) {
  std::pair<std::string, double> best;
  for (const auto& [name, us] : c.peers_us)
    if (us > 0 && (best.second == 0 || us < best.second)) best = {name, us};
  return best;
}

class GroupedSuite final : public Suite {
 public:
  const char* op() const override { return "grouped"; }
  Result<void> check(const BenchOptions& options) const override {
    WW_CHECK(variants_of(options));
    return {};
  }
  Result<std::vector<Variant>> variants(const Device&, const BenchCase& bench_case,
                                        const BenchOptions& options) const override {
    WW_TRY(std::vector<Variant> list, variants_of(options));
    if (list.size() > 1 && !suits_masked(bench_case))
      std::erase_if(list, [](const Variant& variant) { return is_masked(variant.config); });
    return list;
  }
  CheckTarget target(const BenchCase& bench_case, const BenchOptions& options, const GemmOptions& plan) const override;
  Fields to_fields(const CaseResult& result) const override;
  std::string rows_of(const CaseResult& result) const override;
  void add_summary(const std::vector<CaseResult>& results, const Facts& facts, const BenchOptions& options,
                   Outcome& outcome) const override {
    add_types(*this, results, facts, options, outcome);
  }
};

/// By offsets, or by masked counts for the variant of that name, and for every config beside it in `options`.
CheckTarget GroupedSuite::target(const BenchCase& c, const BenchOptions& options, const GemmOptions& plan) const {
  const bool masked = is_masked(plan.config) || is_masked(options.config);
  GroupedProblem p;
  p.groups = c.groups(), p.rows = masked ? c.most() : c.rows();
  p.n = c.n, p.k = c.k;
  p.a = p.b = options.dtype, p.d = options.out, p.scale = options.scale;
  p.encoding = masked ? GroupEncoding::masked : GroupEncoding::offsets;
  if (p.scale == Scale::block_1x128_128x128) {
    const std::int64_t blocks = ceil_div(p.k, std::int64_t{128});
    p.scale_a_row = 1, p.scale_a_k = round_up(p.total_rows(), std::int64_t{4});
    p.scale_b_n = blocks, p.scale_b_k = 1, p.scale_b_group = ceil_div(p.n, std::int64_t{128}) * blocks;
  }
  return GroupedCheck{p, {.counts = c.counts}, plan};
}

Fields GroupedSuite::to_fields(const CaseResult& result) const {
  const BenchCase& c = result.bench_case;
  Fields fields{{"op", op()}, {"regime", c.regime}, {"groups", c.groups()}, {"rows", c.rows()}, {"n", c.n}, {"k", c.k}};
  add_contenders(result, fields);
  const Contender* best = best_of_ours(result);
  const auto [peer, peer_us] = best_peer(c);
  if (best != nullptr) {
    fields.emplace_back("best", best->name);
    if (c.roof_us > 0) fields.emplace_back("of_roof", c.roof_us / best->measured.us);
    Fields ratios;
    for (const auto& [name, us] : c.peers_us) ratios.emplace_back(name, us / best->measured.us);
    if (!ratios.empty()) fields.emplace_back("table_ratios", std::move(ratios));
    if (peer_us > 0) fields.emplace_back("table_best_peer", peer);
  }
  add_sample(result, fields);
  return fields;
}

std::string GroupedSuite::rows_of(const CaseResult& result) const {
  const BenchCase& c = result.bench_case;
  std::string text =
      fmt::format("{}{} groups, {} rows x {} x {} {} -> {}, scale {}", c.regime.empty() ? "" : c.regime + ", ",
                  c.groups(), c.rows(), c.n, c.k, name_of(result.dtype), name_of(result.out), name_of(result.scale));
  text += sample_text(result);
  const Contender* best = best_of_ours(result);
  if (best != nullptr && c.roof_us > 0) text += fmt::format("   {:.3f} of roof", c.roof_us / best->measured.us);
  const auto [peer, peer_us] = best_peer(c);
  if (best != nullptr && peer_us > 0)
    text += fmt::format("   table's best ({}) / ours {:.3f}", peer, peer_us / best->measured.us);
  return text + '\n' + contender_rows(result);
}

}  // namespace

const Suite& grouped_suite() {
  static const GroupedSuite suite;
  return suite;
}

}  // namespace ww::bench
