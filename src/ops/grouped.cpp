// SPDX-License-Identifier: Apache-2.0
// ww::plan_grouped and ww::can_implement: validate the problem, choose a config, make the adapter.
#include "warpwright/host/grouped.hpp"

#include <fmt/format.h>

#include "launch/grouped_adapter.hpp"
#include "ops/gemm_choice.hpp"
#include "ops/group_choice.hpp"
#include "ops/grouped_validation.hpp"
#include "ops/operand_checks.hpp"
#include "select/grouped_configs.hpp"
#include "warpwright/config/sizes.hpp"

namespace ww {

select::GroupedRequest ops::grouped_request(const GemmOptions& options, int sms) {
  select::GroupedRequest request{.config = options.config,
                                 .sms = options.sms > 0 ? min(options.sms, sms) : sms,
                                 .batch_invariant = options.batch_invariant};
  // One CTA per SM; otherwise the device would spread the CTAs over more SMs than the caller allowed.
  if (request.sms < sms && request.config.sm90.occupancy == 0) request.config.sm90.occupancy = 1;
  return request;
}

Result<ops::GroupedDecision> ops::decide(const GroupedProblem& problem, const GemmOptions& options,
                                         const LaunchTarget& target) {
  WW_CHECK(ops::check_majors(problem.a, Major::k, problem.b, problem.b_major, options.config.arch));
  WW_TRY(const GroupedProblem checked, ops::validate(problem));
  WW_CHECK(ops::check_sms(options.sms, 0));
  if (const EpilogueTree& asked = options.config.epilogue; !asked.empty() && asked != checked.epilogue)
    return failure(ErrorCode::unsupported, "config, epilogue", "none, or the epilogue of the problem", to_text(asked));
  if (options.config.grouping == Grouping::k_groups)
    return failure(ErrorCode::unsupported, "config, grouping", "row-groups for groups of rows", "k-groups");
  if (const KGroups& k_groups = options.config.k_groups; k_groups != KGroups{})
    return ops::config_failure(options.config, k_groups.capacity != 0 ? "k_groups" : "k_packing",
                               "what groups of rows have: 0 or joint");
  const select::GroupedRequest request = grouped_request(options, target.sms);
  // The rules take configs whose modules are shipped, so that an emulated device needs no compiler.
  Tuned tuned = tuned_choice(target.tuning, tuning_problem(checked, options), [&] {
    std::vector<GemmConfig> configs;
    for (const select::Candidate& candidate : select::rank(checked, request).candidates)
      configs.push_back(candidate.config);
    return configs;
  });
  GemmConfig config = tuned.config      ? *tuned.config
                      : target.emulated ? select::choose_grouped(checked, request.config, request.sms)
                                        : select::best_grouped(checked, request);
  if (options.batch_invariant && config.sm90.tile_scheduler == TileScheduler::split_k) {
    if (options.config.sm90.tile_scheduler == TileScheduler::split_k)
      return failure(ErrorCode::unsupported, "config, tile_scheduler",
                     "auto, static or dynamic: batch_invariant excludes splits of K", "split-k");
    GemmConfig whole = options.config;  // a variant that the caller requests is not split
    whole.row_groups.variant = GroupedVariant::ragged;
    config = select::choose_grouped(checked, whole, request.sms);
  }
  WW_CHECK(ops::validate(config, checked));
  WW_CHECK(ops::check_sms(options.sms, config::cluster_of(config).size()));
  if (static_cast<double>(adapters::tile_bound(checked, config)) > ops::kLargestTileCount)
    return failure(ErrorCode::unsupported, "rows, n", "fewer than 1e9 tiles",
                   fmt::format("{} x {}", checked.total_rows(), checked.n));
  return GroupedDecision{checked, config, std::move(tuned)};
}

Result<void> can_implement(const GroupedProblem& problem, const GemmOptions& options) {
  WW_CHECK(ops::decide(problem, options, ops::typical_target(options)));
  return {};
}

class GroupedPlan::Impl {
 public:
  std::shared_ptr<const adapters::GroupedAdapter> adapter;
};

const GroupedProblem& GroupedPlan::problem() const { return impl_->adapter->problem(); }
const GemmConfig& GroupedPlan::config() const { return impl_->adapter->config(); }
std::size_t GroupedPlan::workspace_bytes() const { return impl_->adapter->workspace_bytes(); }
Result<void> GroupedPlan::run(const GroupedOperands& operands, Stream stream) const {
  return impl_->adapter->run(operands, stream);
}
Result<std::vector<TileWidth>> GroupedPlan::widths(const void* workspace) const {
  return impl_->adapter->widths(workspace);
}
std::optional<EmuStats> GroupedPlan::last_stats() const { return impl_->adapter->last_stats(); }

Result<GroupedPlan> plan_grouped(const Device& device, const GroupedProblem& problem, const GemmOptions& asked) {
  WW_TRY(const GemmOptions options, ops::for_arch(asked, device.info().arch));
  WW_TRY(const ops::GroupedDecision decision, ops::decide(problem, options, ops::target_of(device)));
  GroupedPlan::Impl made;
  WW_TRY(made.adapter, adapters::GroupedAdapter::create(device, decision.problem, decision.config, options));
  return GroupedPlan(std::make_shared<const GroupedPlan::Impl>(std::move(made)));
}

}  // namespace ww
