// SPDX-License-Identifier: Apache-2.0
// Filters the list of the family, evaluates the cost model, and sorts.
#include "select/ranking.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "select/common_shapes.hpp"
#include "select/config_list.hpp"
#include "select/correction.hpp"
#include "select/default_configs.hpp"
#include "select/fault_text.hpp"
#include "select/raster.hpp"
#include "select/swap_ab.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/scheduler/launch_plan.hpp"

namespace ww::select {
namespace {

// Sums over rows of D are accumulated tile by tile, so their bits depend on the tile. The tile is therefore chosen for
// this fixed number of rows and all SMs of the modelled device.
constexpr std::int64_t kInvariantRows = 2048;

std::size_t workspace_of(const GemmProblem& given, const GemmConfig& c, int sms) {
  const GemmProblem p = kernel_problem(given, c);
  scheduler::TileGrid grid;
  grid.cluster_tiles_m = static_cast<int>(ceil_div(p.m, c.tile.m * c.cluster.m) * p.batch);
  grid.cluster_tiles_n = static_cast<int>(ceil_div(p.n, c.tile.n * c.cluster.n));
  const int k_blocks = static_cast<int>(ceil_div(p.k, c.tile.k)), cluster = config::cluster_of(c).size();
  const i64 clusters = max<i64>(1, min<i64>(scheduler::useful_clusters(c, grid, k_blocks), sms / cluster));
  const auto params = scheduler::scheduler_params(c, grid, k_blocks, clusters);
  return static_cast<std::size_t>(scheduler::workspace_plan(c, params, clusters).bytes);
}

/// Returns the reason why this call cannot use `c`, or "".
std::string objection(const GemmProblem& p, const GemmConfig& c, const Request& request) {
  if (request.batch_invariant && !is_batch_invariant(c))
    return fmt::format("tile_scheduler: batch_invariant excludes splits of K, which {} makes",
                       name_of(c.sm90.tile_scheduler));
  // The reductions of an epilogue sum partial results in the order of whole tiles.
  if (config::reduces(p.epilogue) && c.sm90.tile_scheduler != TileScheduler::fixed &&
      request.config.sm90.tile_scheduler == TileScheduler::automatic)
    return fmt::format("tile_scheduler: {} is chosen on request only with an epilogue that reduces",
                       name_of(c.sm90.tile_scheduler));
  if (config::cluster_of(c).size() > request.sms)
    return fmt::format("cluster: more CTAs than the {} SMs that may be used", request.sms);
  // A cluster of more CTAs than are portable needs a GPC with as many SMs. Devices of 132 SMs are known to have some.
  const int portable = config::machine_of(c).portable_cluster;
  const Cluster& asked = request.config.cluster;
  const bool requested = i64{max(1, asked.m)} * max(1, asked.n) > portable / max(1, asked.k);
  if (c.arch == Arch::sm90 && config::cluster_of(c).size() > portable && request.sms < kH200.sms && !requested)
    return fmt::format("cluster: more than {} CTAs, where fewer than {} SMs may be used", portable, kH200.sms);
  if (!config::fits_halves(c, p.n))
    return fmt::format("tile (n): halves of SwiGLU's tile within 128 columns that share a scale, N = {}", p.n);
  if (config::sums_in_workspace(c) && workspace_of(p, c, request.sms) > request.workspace_limit)
    return fmt::format("workspace: more than the limit of {} bytes", request.workspace_limit);
  return "";
}

bool names_matrix(const EpilogueTree& tree) {
  return tree.has(EpilogueOp::c) || tree.has(EpilogueOp::auxiliary) || tree.has(EpilogueOp::store);
}

/// Returns `config` with the order of tiles that suits this problem, unless the caller gives its width.
GemmConfig in_order(const GemmProblem& problem, GemmConfig config, const GemmConfig& requested, int sms) {
  if (requested.arch == Arch::sm90 && requested.raster.width == 0)
    config.raster = raster_for(problem, config, sms, requested.raster.band);
  return config;
}

/// What launches that never or always overlap gain by it does not depend on the config.
CostConstants constants_of(const Request& request) {
  CostConstants k;
  if (request.pdl != Pdl::automatic) k.overlap_us = 0;
  return k;
}

CostConstants without_correction(CostConstants k) {
  k.corrected = false;
  return k;
}

bool takes_less(const Candidate& a, const Candidate& b) { return a.cost.total() < b.cost.total(); }

GemmProblem with_nominal_rows(GemmProblem p) {
  p.m = kInvariantRows;
  return p;
}

}  // namespace

void exclude(std::vector<Exclusion>& list, const std::string& reason, const GemmConfig& config) {
  const auto same = [&](const Exclusion& e) { return e.reason == reason; };
  auto at = std::find_if(list.begin(), list.end(), same);
  if (at == list.end()) at = list.insert(list.end(), Exclusion{reason, {}});
  at->configs.push_back(config);
}

bool is_batch_invariant(const GemmConfig& c) {
  return c.sm90.tile_scheduler != TileScheduler::stream_k && c.sm90.tile_scheduler != TileScheduler::split_k &&
         c.sm90.split <= 1 && c.cluster.k <= 1;
}

GemmConfig of_problem(const GemmProblem& p, const GemmConfig& requested) {
  GemmConfig c = requested;
  c.operands.a = p.a, c.operands.b = p.b, c.operands.d = p.d, c.operands.scale = p.scale;
  c.operands.batched = p.batch > 1 || p.pointer_array;
  c.operands.pointer_array = p.pointer_array;
  c.epilogue = p.epilogue;
  c.operands.layout.a = p.a_major, c.operands.layout.b = p.b_major, c.operands.d_layout = p.d_layout;
  // Without such a matrix, both layouts are the same kernel, which should be compiled and cached once.
  c.operands.c_layout = names_matrix(p.epilogue) ? p.c_layout : OutputLayout::row;
  if (c.tile.n == 0 && config::pairs_halves(c) && (p.n <= 256 || config::shares_scales_of_halves(c)))
    c.tile.n = config::tile_of_halves(c, p.n, 256);
  return c;
}

Ranking rank(const GemmProblem& problem, const Request& request) {
  Ranking ranking;
  const GemmConfig requested = of_problem(problem, request.config);
  const bool fixed = request.batch_invariant && config::reduces(problem.epilogue);
  const GemmProblem timed = fixed ? with_nominal_rows(problem) : problem;
  const int sms = fixed ? rates_of(requested.arch).sms : request.sms;
  const CostConstants plain = without_correction(constants_of(request));
  for (const GemmConfig& listed : config_list(requested)) {
    const GemmConfig config = in_order(timed, listed, requested, sms);
    const std::string reason = objection(problem, config, request);
    if (reason.empty()) ranking.candidates.push_back({config, cost_of(timed, config, sms, plain)});
    else exclude(ranking.exclusions, reason, config);
  }
  correct(timed, ranking.candidates);
  for (const GemmConfig& shape : config_shapes(requested.arch)) {
    if (!is_for(shape, requested)) continue;
    const GemmConfig config = complete(shape, requested);
    if (const config::ConfigFault fault = config::fault_of(config))
      exclude(ranking.exclusions, fmt::format("{}: expected {}", fault.field, expected_text(fault)), config);
  }
  std::stable_sort(ranking.candidates.begin(), ranking.candidates.end(), takes_less);
  prefer_common(timed, ranking.candidates);
  return ranking;
}

GemmConfig choose(const GemmProblem& problem, const Request& request) {
  const GemmConfig requested = of_problem(problem, request.config);
  const bool fixed = request.batch_invariant && config::reduces(problem.epilogue);
  const GemmProblem timed = fixed ? with_nominal_rows(problem) : problem;
  const int sms = fixed ? rates_of(requested.arch).sms : request.sms;
  if (request.emulated) {
    const GemmConfig config = choose_default(timed, requested, sms);
    if (!config::fault_of(config)) return config;
  }
  const CostConstants k = constants_of(request), plain = without_correction(k);
  struct Bounded {
    const GemmConfig* config;
    double us;  // the least it may take
  };
  std::vector<Bounded> listed;
  for (const GemmConfig& config : config_list(requested)) listed.push_back({&config, least_us(timed, config, sms, k)});
  std::stable_sort(listed.begin(), listed.end(), [](const Bounded& a, const Bounded& b) { return a.us < b.us; });

  double least = std::numeric_limits<double>::infinity();
  const auto may_be_chosen = [&](double us) { return us <= least * (1 + kIndistinct); };
  std::vector<Candidate> waiting, known;
  const auto consider = [&](std::span<Candidate> candidates) {
    correct(timed, candidates);
    for (const Candidate& c : candidates) least = std::min(least, c.cost.total()), known.push_back(c);
  };
  // Evaluating the trees takes about ten times as long as the model. So a config whose modelled time is not below the
  // least corrected time so far is set aside, and corrected later only if the largest reduction could make it faster.
  const double most_gain = std::exp(kLeastCorrection);
  for (const Bounded& one : listed) {
    if (!may_be_chosen(one.us)) break;
    if (!objection(problem, *one.config, request).empty()) continue;
    const GemmConfig config = in_order(timed, *one.config, requested, sms);
    Candidate candidate{config, cost_of(timed, config, sms, plain)};
    const double us = candidate.cost.total();
    if (us < least) consider({&candidate, 1});
    else if (may_be_chosen(us * most_gain)) waiting.push_back(candidate);
  }
  std::stable_sort(waiting.begin(), waiting.end(), takes_less);
  constexpr std::size_t kAtOnce = 16;
  for (std::size_t i = 0; i < waiting.size() && may_be_chosen(waiting[i].cost.total() * most_gain); i += kAtOnce)
    consider(std::span(waiting).subspan(i, std::min(kAtOnce, waiting.size() - i)));
  std::stable_sort(known.begin(), known.end(), takes_less);
  prefer_common(timed, known);
  return known.empty() ? complete({}, requested) : known.front().config;
}

}  // namespace ww::select
