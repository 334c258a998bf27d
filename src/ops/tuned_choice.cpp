// SPDX-License-Identifier: Apache-2.0
// Looks a problem up in a tuning file.
#include "ops/tuned_choice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "select/grouped_list.hpp"
#include "select/ranking.hpp"
#include "warpwright/host/config.hpp"

namespace ww::ops {
namespace {

/// The limits of a choice that are no fields of a config.
std::string limits_of(const GemmOptions& options) {
  std::string limits = options.batch_invariant ? "batch-invariant" : "";
  if (options.sms != 0) limits += fmt::format("{}sms={}", limits.empty() ? "" : ",", options.sms);
  return limits;
}

}  // namespace

tuning::Problem tuning_problem(const GemmProblem& p, const GemmOptions& options) {
  return {"gemm", p.m, p.n, p.k, p.batch, to_text(select::of_problem(p, options.config)), limits_of(options)};
}

tuning::Problem tuning_problem(const GroupedProblem& p, const GemmOptions& options) {
  return {p.encoding == GroupEncoding::masked ? "masked" : "grouped",
          p.total_rows(),
          p.n,
          p.k,
          p.groups,
          to_text(select::of_problem(p, options.config)),
          limits_of(options)};
}

tuning::Problem tuning_problem(const GemmProblem& batch, const KGroupedProblem& p, const GemmOptions& options) {
  GemmConfig requested = options.config;
  requested.k_groups.packing = p.packing;
  const std::string family = to_text(select::of_problem(batch, requested));
  return {"k-grouped", p.m, p.n, p.total_k(), p.groups, family, limits_of(options)};
}

Tuned tuned_choice(const tuning::Table* table, const tuning::Problem& problem,
                   const std::function<std::vector<GemmConfig>()>& candidates) {
  const tuning::Table::Entry* entry = table == nullptr ? nullptr : table->find(problem);
  if (entry == nullptr) return {};
  if (!entry->stale.empty()) return {std::nullopt, fmt::format("{} is stale: {}", entry->where, entry->stale)};
  const std::vector<GemmConfig> open = candidates();
  const auto at = std::find_if(open.begin(), open.end(), [&](GemmConfig c) {
    c.raster = entry->config.raster;  // which no kernel depends on
    return c == entry->config;
  });
  if (at == open.end())
    return {std::nullopt,
            fmt::format("{} has a config that this call excludes: {}", entry->where, to_text(entry->config))};
  const bool other = entry->extent != (problem.op == "k-grouped" ? problem.k : problem.m);
  const std::string rows =
      other ? fmt::format(" for {} of {}", problem.op == "k-grouped" ? "a K" : "an M", entry->extent) : "";
  const std::string why =
      entry->modelled
          ? fmt::format("one of few kernels for many problems{}, {:.4g} us modelled", rows, entry->us)
          : fmt::format("the fastest of {} configs measured{}, {:.4g} us", entry->measured, rows, entry->us);
  return {other ? *at : entry->config, fmt::format("{} ({})", why, entry->where)};
}

}  // namespace ww::ops
