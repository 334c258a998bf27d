// SPDX-License-Identifier: Apache-2.0
// ww::plan_k_grouped and ww::can_implement. The problem becomes a batch of dense products that share A and B; the
// checks that only groups need follow, and the dense adapter launches it.
#include "warpwright/host/k_grouped.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "config/config_text.hpp"
#include "host/messages.hpp"
#include "launch/gemm_adapter.hpp"
#include "ops/gemm_validation.hpp"
#include "ops/group_choice.hpp"
#include "ops/grouped_validation.hpp"
#include "ops/operand_checks.hpp"
#include "select/fault_text.hpp"
#include "select/grouped_configs.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/config/group_encoding.hpp"
#include "warpwright/config/sizes.hpp"

namespace ww {
namespace {

GemmProblem batch_of(const KGroupedProblem& p) {
  GemmProblem batch{.m = p.m, .n = p.n, .k = p.total_k(), .a = p.a, .b = p.b, .d = p.d, .scale = p.scale};
  batch.scale_type = p.scale_type;
  batch.lda = p.lda, batch.ldb = p.ldb, batch.ldd = p.ldd;
  batch.scale_a_row = p.scale_a_row, batch.scale_a_k = p.scale_a_k;
  batch.scale_b_n = p.scale_b_n, batch.scale_b_k = p.scale_b_k;
  batch.a_major = p.a_major, batch.b_major = p.b_major;
  batch.batch = p.groups;
  // Extents are not checked yet, so the product may overflow 64 bits; in that case the check of strides refuses it.
  if (p.stride_d_group != 0) batch.batch_d = p.stride_d_group;
  else if (__builtin_mul_overflow(p.m, p.ldd != 0 ? p.ldd : p.n, &batch.batch_d)) batch.batch_d = -1;
  batch.batch_scale_a = p.scale_a_group, batch.batch_scale_b = p.scale_b_group;
  if (p.accumulate) batch.epilogue = evt::acc + evt::c(p.d);
  return batch;
}

/// Returns whether `major` makes the packing of the groups a matter of memory.
bool packs(const KGroupedProblem& p, Major major) { return p.packing == KPacking::per_group && major == Major::k; }

/// An error about the batch as one about the groups that it stands for.
Error in_group_terms(Error error) {
  constexpr std::pair<const char*, const char*> kNames[] = {{"batch_d", "stride_d_group"},
                                                            {"batch_scale_a", "scale_a_group"},
                                                            {"batch_scale_b", "scale_b_group"},
                                                            {"batch", "groups"}};
  for (const auto& [of_batch, of_groups] : kNames)
    if (error.argument.starts_with(of_batch))
      return with_argument(error, of_groups + error.argument.substr(std::string_view(of_batch).size()));
  return error;
}

/// Checks what only groups that are packed one by one need.
Result<void> check_packing(const KGroupedProblem& p) {
  if (p.packing > KPacking::per_group)
    return failure(ErrorCode::invalid, "packing", "joint or per_group", fmt::format("{}", static_cast<int>(p.packing)));
  if (p.packing == KPacking::per_group && is_microscaled(p.scale))
    return failure(ErrorCode::unsupported, "packing", "joint with scales of mx and nv", "per_group");
  for (const auto& [name, major, ld] : {std::tuple{"lda", p.a_major, p.lda}, {"ldb", p.b_major, p.ldb}}) {
    if (!packs(p, major)) continue;
    if (ld != 0)
      return failure(ErrorCode::invalid, name,
                     "0: in groups packed one by one, a row of a K-major operand is as long as its group's K",
                     fmt::format("{}", ld));
    if (p.k % ops::kScaleSpan != 0)
      return failure(ErrorCode::unsupported, "k", "a multiple of 128 for groups packed one by one",
                     fmt::format("{}", p.k));
  }
  return {};
}

Result<void> check(const KGroupedProblem& p) {
  for (const auto& [name, type] : {std::pair("a (type)", p.a), std::pair("b (type)", p.b)})
    if (is_packed(type) && !is_microscaled(p.scale))
      return failure(ErrorCode::unsupported, name,
                     "e4m3, e5m2, bf16, f16 or tf32 for groups of K without scales of mx or nv", name_of(type));
  WW_CHECK(ops::check_group_count(p.groups));
  WW_CHECK(ops::check_extent("k", p.k));
  WW_CHECK(ops::check_encoding(p.encoding, p.alignment));
  if (p.total_k() > ops::kLargestExtent)
    return failure(ErrorCode::unsupported, "k", fmt::format("at most {} in all groups", ops::kLargestExtent),
                   fmt::format("{} groups of {}", p.groups, p.k));
  if ((is_block(p.scale) || is_microscaled(p.scale)) && (p.scale_a_group != 0 || p.scale_b_group != 0))
    return failure(ErrorCode::invalid, p.scale_a_group != 0 ? "scale_a_group" : "scale_b_group",
                   "0: scales of blocks of K are those of the group that has them",
                   fmt::format("{}", p.scale_a_group != 0 ? p.scale_a_group : p.scale_b_group));
  const std::int64_t granularity = ops::k_granularity(p);
  if (p.encoding == GroupEncoding::masked && p.k % granularity != 0)
    return failure(ErrorCode::unsupported, "k",
                   fmt::format("a multiple of {} for masked groups of K-major operands, and with scales of mx and nv",
                               granularity),
                   fmt::format("{}", p.k));
  return check_packing(p);
}

/// `problem` with the strides of `batch`.
KGroupedProblem with_strides(KGroupedProblem problem, const GemmProblem& batch) {
  if (!packs(problem, problem.a_major)) problem.lda = batch.lda;
  if (!packs(problem, problem.b_major)) problem.ldb = batch.ldb;
  problem.ldd = batch.ldd;
  problem.stride_d_group = batch.batch_d;
  problem.scale_a_row = batch.scale_a_row, problem.scale_a_k = batch.scale_a_k;
  problem.scale_b_n = batch.scale_b_n, problem.scale_b_k = batch.scale_b_k;
  problem.scale_type = batch.scale_type;
  return problem;
}

}  // namespace

Result<void> ops::check_k_grouped(const GemmConfig& config, std::int64_t groups) {
  if (config.k_groups.capacity < groups)
    return config_failure(config, "k_groups", fmt::format("at least {}, the groups of the problem", groups));
  if (const config::ConfigFault fault = config::fault_of_k_grouped(config))
    return config_failure(config, std::string_view(fault.field) == "groups" ? "k_groups" : fault.field,
                          select::expected_text(fault));
  return {};
}

Result<KGroupedProblem> ops::validate(const KGroupedProblem& problem) {
  WW_CHECK(check(problem));
  const Result<GemmProblem> batch = ops::validate(batch_of(problem));
  if (!batch) return failure(in_group_terms(batch.error()));
  return with_strides(problem, *batch);
}

std::vector<GemmConfig> ops::k_grouped_configs(const GemmProblem& batch, KPacking packing, const GemmOptions& options) {
  constexpr int kTiles[][2] = {{64, 64}, {128, 128}, {128, 256}};
  std::vector<GemmConfig> configs;
  for (const auto& [tile_m, tile_n] : kTiles)
    for (const int cluster_m : {1, 2}) {
      GemmConfig requested = options.config;
      requested.tile.m = tile_m, requested.tile.n = tile_n, requested.cluster.m = cluster_m;
      requested.k_groups.packing = packing;
      if (options.config.arch == Arch::sm100 && tile_m == 128 && cluster_m == 2) requested.sm100.pair = true;
      configs.push_back(select::choose_k_grouped(batch, requested));
    }
  GemmConfig open = options.config;  // what auto takes without measurements is one of them
  open.k_groups.packing = packing;
  const GemmConfig chosen = select::choose_k_grouped(batch, open);
  if (std::find(configs.begin(), configs.end(), chosen) == configs.end()) configs.push_back(chosen);
  return configs;
}

Result<ops::KGroupedDecision> ops::decide(const KGroupedProblem& problem, const GemmOptions& options,
                                          const LaunchTarget& target) {
  WW_CHECK(check(problem));
  WW_CHECK(ops::check_majors(problem.a, problem.a_major, problem.b, problem.b_major, options.config.arch));
  KGroupedDecision decision;
  Result<GemmProblem> batch = ops::validate(batch_of(problem));
  if (!batch) return failure(in_group_terms(batch.error()));
  decision.batch = *batch;
  WW_CHECK(ops::check_sms(options.sms, 0));
  const RowGroups& row_groups = options.config.row_groups;
  if (options.config.grouping == Grouping::row_groups)
    return config_failure(options.config, "grouping", "k-groups for groups of K");
  if (row_groups != RowGroups{})
    return config_failure(options.config, row_groups.capacity != 0 ? "groups" : "variant",
                          "what groups of K have, which one kernel solves: 0 or auto");
  GemmConfig requested = options.config;
  if (options.sms == 1 && requested.cluster.m == 0) requested.cluster.m = 1;
  const bool packed = packs(problem, problem.a_major) || packs(problem, problem.b_major);
  requested.k_groups.packing = packed ? KPacking::per_group : KPacking::joint;
  decision.tuned = tuned_choice(target.tuning, tuning_problem(decision.batch, problem, options), [&] {
    // A requested tile or cluster leaves no choice.
    const bool open = requested.tile == GemmConfig{}.tile && requested.cluster == GemmConfig{}.cluster;
    return open ? k_grouped_configs(decision.batch, requested.k_groups.packing, options)
                : std::vector<GemmConfig>{select::choose_k_grouped(decision.batch, requested)};
  });
  decision.config =
      decision.tuned.config ? *decision.tuned.config : select::choose_k_grouped(decision.batch, requested);
  WW_CHECK(check_k_grouped(decision.config, problem.groups));
  WW_CHECK(ops::check_sms(options.sms, config::cluster_of(decision.config).size()));
  const bool masked = problem.encoding == GroupEncoding::masked;
  decision.groups = {.encoding = problem.encoding,
                     .groups = problem.groups,
                     .rows = problem.total_k(),
                     .alignment = masked ? problem.k : problem.alignment,
                     .granularity = ops::k_granularity(problem)};
  return decision;
}

Result<void> can_implement(const KGroupedProblem& problem, const GemmOptions& options) {
  WW_CHECK(ops::decide(problem, options));
  return {};
}

class KGroupedPlan::Impl {
 public:
  KGroupedProblem problem;  // with explicit strides
  std::shared_ptr<const adapters::GemmAdapter> adapter;
};

const KGroupedProblem& KGroupedPlan::problem() const { return impl_->problem; }
const GemmConfig& KGroupedPlan::config() const { return impl_->adapter->config(); }
std::size_t KGroupedPlan::workspace_bytes() const { return impl_->adapter->workspace_bytes(); }
std::optional<EmuStats> KGroupedPlan::last_stats() const { return impl_->adapter->last_stats(); }

Result<void> KGroupedPlan::run(const KGroupedOperands& operands, Stream stream) const {
  GemmOperands batch{.a = operands.a,
                     .b = operands.b,
                     .d = operands.d,
                     .scale_a = operands.scale_a,
                     .scale_b = operands.scale_b,
                     .global_scale = operands.global_scale};
  batch.workspace = operands.workspace, batch.workspace_bytes = operands.workspace_bytes;
  if (impl_->problem.accumulate) {
    batch.epilogue.c = operands.c != nullptr ? operands.c : operands.d;
    batch.epilogue.ldc = impl_->problem.ldd;
    batch.epilogue.batch_c = impl_->problem.stride_d_group;
  }
  return impl_->adapter->run(batch, stream, {operands.sizes, operands.sizes2, operands.status});
}

Result<KGroupedPlan> plan_k_grouped(const Device& device, const KGroupedProblem& problem, const GemmOptions& asked) {
  WW_TRY(const GemmOptions options, ops::for_arch(asked, device.info().arch));
  WW_TRY(const ops::KGroupedDecision decision, ops::decide(problem, options, ops::target_of(device)));
  KGroupedPlan::Impl made{with_strides(problem, decision.batch), nullptr};
  WW_TRY(made.adapter,
         adapters::GemmAdapter::create(device, decision.batch, decision.config, options, decision.groups));
  return KGroupedPlan(std::make_shared<const KGroupedPlan::Impl>(std::move(made)));
}

}  // namespace ww
