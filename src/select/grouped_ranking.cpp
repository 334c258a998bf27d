// SPDX-License-Identifier: Apache-2.0
// Filters the list of the family, evaluates the cost model, corrects modelled times by recorded ones, and sorts.
#include "select/grouped_ranking.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "select/common_shapes.hpp"
#include "select/fault_text.hpp"
#include "select/grouped_configs.hpp"
#include "select/grouped_correction.hpp"
#include "select/grouped_list.hpp"
#include "select/raster.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/config/sizes.hpp"

namespace ww::select {
namespace {

/// Returns the reason why this call cannot use `c`, or "".
std::string objection(const GroupedProblem& p, const GemmConfig& c, const GroupedRequest& request) {
  if (request.batch_invariant && c.sm90.tile_scheduler == TileScheduler::split_k)
    return "tile_scheduler: batch_invariant excludes splits of K, which split-k makes";
  if (config::cluster_of(c).size() > request.sms) return "cluster: more CTAs than the SMs that may be used";
  if (!config::fits_halves(c, p.n)) return "tile (n): halves of SwiGLU's tile within 128 columns that share a scale";
  return "";
}

bool has_own_shape(const GemmConfig& c) {
  // A split without the scheduler that splits is refused, not completed.
  const bool splits = c.sm90.split != 0 && c.sm90.tile_scheduler != TileScheduler::split_k;
  return c.tile.m || c.tile.n || c.tile.k || c.cluster.m || c.cluster.n || c.cluster.k || c.sm90.stages ||
         c.sm90.consumer_warpgroups || c.sm90.occupancy > 1 || splits;
}
bool is_for_descriptors(const GemmConfig& c) {
  return c.row_groups.variant == GroupedVariant::descriptors || c.sm90.tile_scheduler == TileScheduler::horizontal ||
         c.sm90.tile_scheduler == TileScheduler::vertical;
}

bool takes_less(const Candidate& a, const Candidate& b) { return a.cost.total() < b.cost.total(); }

std::vector<LikelySizes> sizes_for(const GroupedProblem& problem, const GroupedRequest& request) {
  return request.sizes.empty() ? assumed_sizes(problem) : std::vector<LikelySizes>{{1, request.sizes}};
}

/// Returns the configs of the list that can compute the problem, with modelled times. Others go to `exclusions`.
std::vector<Candidate> candidates_for(const GroupedProblem& problem, const GroupedRequest& request,
                                      const std::vector<LikelySizes>& sizes, std::vector<Exclusion>& exclusions) {
  GroupedConstants plain;
  plain.corrected = false;
  std::vector<Candidate> candidates;
  const GemmConfig requested = of_problem(problem, request.config);
  for (GemmConfig config : grouped_list(requested, problem.encoding, problem.n)) {
    if (requested.arch == Arch::sm90 && requested.raster.width == 0 && !config::is_ragged(config))
      config.raster = raster_for(problem, config);
    const std::string reason = objection(problem, config, request);
    if (!reason.empty()) exclude(exclusions, reason, config);
    else candidates.push_back({config, cost_of(problem, sizes, config, request.sms, plain)});
  }
  return candidates;
}

}  // namespace

Ranking rank(const GroupedProblem& problem, const GroupedRequest& request) {
  Ranking ranking;
  const std::vector<LikelySizes> sizes = sizes_for(problem, request);
  ranking.candidates = candidates_for(problem, request, sizes, ranking.exclusions);
  correct(problem, sizes, request.sms, ranking.candidates);
  const GemmConfig requested = of_problem(problem, request.config);
  for (const GemmConfig& config : faulty_grouped(requested, problem.encoding, problem.n)) {
    const config::ConfigFault fault = config::fault_of_grouped(config);
    exclude(ranking.exclusions, fmt::format("{}: expected {}", fault.field, expected_text(fault)), config);
  }
  std::stable_sort(ranking.candidates.begin(), ranking.candidates.end(), takes_less);
  prefer_common(problem, sizes, ranking.candidates);
  return ranking;
}

GemmConfig best_grouped(const GroupedProblem& problem, const GroupedRequest& request) {
  const GemmConfig& asked = request.config;
  if (asked.arch != Arch::sm90 || has_own_shape(asked) || is_for_descriptors(asked))
    return choose_grouped(problem, asked, request.sms);
  const std::vector<LikelySizes> sizes = sizes_for(problem, request);
  std::vector<Exclusion> exclusions;
  std::vector<Candidate> candidates = candidates_for(problem, request, sizes, exclusions);
  if (candidates.empty()) return choose_grouped(problem, asked, request.sms);
  // Trees take longer than the model: configs that even the largest reduction would leave behind are not corrected.
  std::stable_sort(candidates.begin(), candidates.end(), takes_less);
  constexpr std::size_t kAtOnce = 8;
  const double reach = (1 + kIndistinctGroups) / std::exp(kLeastCorrection);
  double least = std::numeric_limits<double>::infinity();
  std::size_t done = 0;
  while (done < candidates.size() && candidates[done].cost.total() <= least * reach) {
    const auto some = std::span(candidates).subspan(done, std::min(kAtOnce, candidates.size() - done));
    correct(problem, sizes, request.sms, some);
    for (const Candidate& c : some) least = std::min(least, c.cost.total());
    done += some.size();
  }
  candidates.resize(done);
  std::stable_sort(candidates.begin(), candidates.end(), takes_less);
  prefer_common(problem, sizes, candidates);
  return candidates.front().config;
}

}  // namespace ww::select
