// SPDX-License-Identifier: Apache-2.0
// Checks the problem, then the options, then the config. Each refusal names its argument.
#include "ops/gemm_choice.hpp"

#include <fmt/format.h>

#include <tuple>

#include "ops/epilogue_validation.hpp"
#include "ops/gemm_validation.hpp"
#include "ops/operand_checks.hpp"
#include "select/swap_ab.hpp"
#include "warpwright/config/sizes.hpp"

namespace ww::ops {
namespace {

select::Request request_of(const GemmOptions& options, const LaunchTarget& place) {
  return {.config = options.config,
          .sms = options.sms > 0 ? min(options.sms, place.sms) : place.sms,
          .emulated = place.emulated,
          .batch_invariant = options.batch_invariant,
          .workspace_limit = options.workspace_limit,
          .pdl = options.pdl};
}

/// Refuses options that contradict batch_invariant.
Result<void> check_invariance(const GemmOptions& options) {
  if (!options.batch_invariant || select::is_batch_invariant(options.config)) return {};
  return failure(ErrorCode::invalid, "config, tile_scheduler",
                 "auto, static, dynamic, single or clc: batch_invariant excludes splits of K",
                 options.config.sm90.tile_scheduler == TileScheduler::automatic
                     ? fmt::format("split {}, cluster k {}", options.config.sm90.split, options.config.cluster.k)
                     : name_of(options.config.sm90.tile_scheduler));
}

/// Refuses a config with fixed extents that differ from the problem's.
Result<void> check_fixed(const GemmProblem& p, const GemmConfig& config) {
  for (const auto& [name, fixed, extent] :
       {std::tuple("n", config.dense.fixed_n, p.n), std::tuple("k", config.dense.fixed_k, p.k)})
    if (fixed != 0 && fixed != extent)
      return failure(ErrorCode::unsupported, name,
                     fmt::format("{}: the config has fixed_{}={}, a kernel for no other extent", fixed, name, fixed),
                     fmt::format("{}", extent));
  return {};
}

Result<void> check_tiles(const GemmProblem& p, const GemmConfig& config) {
  const GemmProblem product = select::kernel_problem(p, config);
  const auto tiles = static_cast<double>(ceil_div(product.m, config.tile.m)) *
                     static_cast<double>(ceil_div(product.n, config.tile.n)) * static_cast<double>(p.batch);
  if (tiles <= kLargestTileCount) return {};
  return failure(ErrorCode::unsupported, "m, n", "fewer than 1e9 tiles",
                 fmt::format("{} x {}{}", p.m, p.n, p.batch == 1 ? "" : fmt::format(", batch {}", p.batch)));
}

/// Reductions of a batch-invariant epilogue are left to the model, because their bits depend on the tile.
Tuned tuned_dense(const GemmProblem& p, const GemmOptions& options, const select::Request& request,
                  const LaunchTarget& place) {
  if (request.batch_invariant && config::reduces(p.epilogue)) return {};
  return tuned_choice(place.tuning, tuning_problem(p, options), [&] {
    std::vector<GemmConfig> configs;
    for (const select::Candidate& candidate : select::rank(p, request).candidates) configs.push_back(candidate.config);
    return configs;
  });
}

}  // namespace

Result<Decision> decide(const GemmProblem& problem, const GemmOptions& options, const LaunchTarget& place) {
  WW_CHECK(check_majors(problem.a, problem.a_major, problem.b, problem.b_major, options.config.arch));
  WW_TRY(const GemmProblem checked, validate(problem));
  WW_CHECK(check_sms(options.sms, 0));
  WW_CHECK(check_invariance(options));
  WW_CHECK(check_fixed(checked, options.config));
  const select::Request request = request_of(options, place);
  Tuned tuned = tuned_dense(checked, options, request, place);
  const GemmConfig config = tuned.config ? *tuned.config : select::choose(checked, request);
  WW_CHECK(validate(config));
  WW_CHECK(check_epilogue_tile(checked, config));
  WW_CHECK(check_sms(options.sms, config::cluster_of(config).size()));
  WW_CHECK(check_tiles(checked, config));
  return Decision{checked, config, std::move(tuned)};
}

Result<Alternatives> alternatives(const GemmProblem& problem, const GemmOptions& options, const LaunchTarget& place) {
  WW_TRY(const Decision decision, decide(problem, options, place));
  return Alternatives{decision, select::rank(decision.problem, request_of(options, place))};
}

}  // namespace ww::ops
