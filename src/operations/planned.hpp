// SPDX-License-Identifier: Apache-2.0
// An operation whose problem, plan and operands have the types of the public interface. All three products share what
// is here; they differ in the shapes of their operands, the judge and the description.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "operations/operation.hpp"
#include "ops/gemm_validation.hpp"
#include "ops/grouped_validation.hpp"
#include "warpwright/core/meta.hpp"
#include "warpwright/core/scale_chunks.hpp"

namespace ww::operations {

inline constexpr std::int64_t kScaleBlock = 128;  // elements of K that one scale of the block recipes covers

inline Result<GemmPlan> make_plan(const Device& device, const GemmProblem& p, const GemmOptions& options) {
  return plan_gemm(device, p, options);
}
inline Result<GroupedPlan> make_plan(const Device& device, const GroupedProblem& p, const GemmOptions& options) {
  return plan_grouped(device, p, options);
}
inline Result<KGroupedPlan> make_plan(const Device& device, const KGroupedProblem& p, const GemmOptions& options) {
  return plan_k_grouped(device, p, options);
}

/// An extent of an array and the elements from one step along it to the next.
struct Extent {
  std::int64_t size = 0, stride = 0;
};
/// Elements from the first to the last of an array, which is empty when one of its extents is.
std::int64_t span_of(std::initializer_list<Extent> extents);

/// Half of `size` in steps of `step`; false when that is not smaller, or `size` is already `least`.
bool halve_size(std::int64_t& size, std::int64_t least, std::int64_t step);
inline constexpr std::int64_t kHalvedStep = 16;  // halved sizes are multiples of 16 bytes of the narrowest type

/// The shortest row of `columns` elements that TMA can follow.
inline std::int64_t row_of(std::int64_t columns, DType type) {
  return round_up(columns, is_packed(type) ? row_multiple(e3m2) : row_multiple(type));
}

/// The type of the recipe's scales in memory.
inline DType scale_element(Scale scale) { return scale == Scale::mx ? e8m0 : scale == Scale::nv ? e4m3 : f32; }

/// The matrix of an operand (rows, K) as it is stored.
inline OperandShape stored_shape(DType type, Major major, std::int64_t rows, std::int64_t k, std::int64_t ld) {
  return major == Major::mn ? OperandShape{type, k, rows, ld} : OperandShape{type, rows, k, ld};
}

template <class Problem, class Plan, class Operands> class PlannedOperation : public Operation {
 public:
  PlannedOperation(const Problem& problem, Inputs inputs, std::optional<Groups> groups = {})
      : Operation(std::move(inputs)), problem_(problem) {
    groups_ = std::move(groups);
  }

  Result<void> can_implement() const override { return ww::can_implement(problem_, inputs_.options); }
  Result<void> check_memory(const DeviceInfo& device) const override {
    return check_fits(device, shapes().bytes(), sizes_argument());
  }
  PrepareCase prepare_case() const override { return {problem_, inputs_.options}; }
  Result<Explanation> explain(const Device* device) const override {
    return device ? ww::explain(*device, problem_, inputs_.options) : ww::explain(problem_, inputs_.options);
  }
  Result<void> plan(const Device& device) override {
    WW_TRY(plan_, make_plan(device, problem_, inputs_.options));
    device_ = device;
    return {};
  }
  const GemmConfig& config() const override { return plan_->config(); }
  std::optional<EmuStats> last_stats() const override { return plan_->last_stats(); }

  Result<void> fill(const OperandSet& set) const override {
    const OperandBytes bytes = operand_bytes();
    WW_CHECK(fill_operand(*device_, set.a, problem_.a, bytes.a, Operand::a, inputs_.seed));
    WW_CHECK(fill_operand(*device_, set.b, problem_.b, bytes.b, Operand::b, inputs_.seed));
    const DType scales = scale_element(problem_.scale);
    WW_CHECK(fill_operand(*device_, set.scale_a, scales, bytes.scale_a, Operand::scale_a, inputs_.seed));
    WW_CHECK(fill_operand(*device_, set.scale_b, scales, bytes.scale_b, Operand::scale_b, inputs_.seed));
    return fill_operand(*device_, set.d, problem_.d, bytes.d, Operand::a, inputs_.seed + 1);
  }
  Result<Verification> verify(const OperandSet& set, EmuMath math, const void* before) const override {
    Operands operands = operands_of(set);
    if constexpr (requires { operands.c; }) operands.c = before;
    return ww::verify(plan_->problem(), operands, {.math = math, .arch = plan_->config().arch});
  }

  using Operation::run;
  Result<void> run(const OperandSet& set, Stream stream) const override { return plan_->run(operands_of(set), stream); }

 protected:
  std::size_t workspace_bytes() const override {
    if constexpr (requires { plan_->workspace_bytes(); }) return plan_->workspace_bytes();
    else return 0;
  }

  /// Draws the factor of products with scales of nv.
  Result<void> make_global_scale() {
    if (problem_.scale != Scale::nv) return {};
    WW_TRY(host_.global_scale, Matrix::allocate(DType::f32, 1, 1, 1, "--scale"));
    fill_scales(host_.global_scale, inputs_.seed, Operand::global_scale);
    return {};
  }

  /// That D is the product of the operands on the host.
  Claim host_claim(EmuMath math) const {
    Claim claim{.a = host_.a, .b = host_.b, .d = host_.d, .scale = problem_.scale, .math = math};
    if (claim.scale != Scale::none) claim.scale_a = &host_.scale_a, claim.scale_b = &host_.scale_b;
    if (host_.global_scale.bytes() > 0) claim.global_scale = *host_.global_scale.floats();
    if (plan_) claim.arch = plan_->config().arch;
    return claim;
  }

  /// The options with the config that the plan resolved, so that a smaller problem is solved by the same kernel.
  GemmOptions resolved_options() const {
    GemmOptions options = inputs_.options;
    if (plan_) options.config = plan_->config();
    return options;
  }

  virtual Operands operands_of(const OperandSet& set) const {
    Operands made{.a = set.a.data(), .b = set.b.data(), .d = set.d.data()};
    if (problem_.scale != Scale::none) made.scale_a = set.scale_a.data(), made.scale_b = set.scale_b.data();
    made.global_scale = static_cast<const float*>(on_device_.global_scale.data());
    if constexpr (requires { made.sizes; }) {
      made.sizes = static_cast<const std::int32_t*>(on_device_.sizes.data());
      if (!groups_->layout.sizes2.empty()) made.sizes2 = static_cast<const std::int32_t*>(on_device_.sizes2.data());
      made.status = static_cast<std::uint32_t*>(on_device_.status.data());
    }
    if constexpr (requires { made.workspace; })
      made.workspace = on_device_.workspace.data(), made.workspace_bytes = workspace_bytes();
    if constexpr (requires { made.epilogue; }) made.epilogue = on_device_.epilogue.operands;
    return made;
  }

  /// Where the scales of an element are, from the start of those of its matrix or group.
  static void add_scales(const Problem& p, std::int64_t row, std::int64_t column, DotProduct& to) {
    to.scaled = p.scale != Scale::none;
    if (p.scale == Scale::none || p.scale == Scale::tensor || is_microscaled(p.scale)) return;
    to.scale_a += row * p.scale_a_row;
    to.scale_b += column / columns_of_scale(p.scale) * p.scale_b_n;
    if (is_block(p.scale)) to.scale_a_step = p.scale_a_k, to.scale_b_step = p.scale_b_k;
  }

  /// Bytes of the scales of `rows` rows of A and of N columns of B, in each of several sets.
  static void add_scale_bytes(const Problem& p, std::int64_t rows, std::int64_t k, Extent sets_of_a, Extent sets_of_b,
                              OperandBytes& to) {
    if (p.scale == Scale::none) return;
    if (is_microscaled(p.scale)) {
      const int vector = scale_vector(p.scale);
      const auto bytes = [vector, k](Extent sets, std::int64_t rows_of_set) {
        return sets.size <= 0 ? 0 : (sets.size - 1) * sets.stride + scale_bytes(rows_of_set, k, vector);
      };
      to.scale_a = bytes(sets_of_a, rows), to.scale_b = bytes(sets_of_b, p.n);
      return;
    }
    const bool block = is_block(p.scale), vectors = block || p.scale == Scale::row_column;
    const std::int64_t blocks = block ? std::max<std::int64_t>(ceil_div(k, kScaleBlock), 1) : 1;
    const std::int64_t columns = vectors ? ceil_div(p.n, std::int64_t{columns_of_scale(p.scale)}) : 1;
    to.scale_a = 4 * span_of({sets_of_a, {vectors ? rows : 1, p.scale_a_row}, {blocks, p.scale_a_k}});
    to.scale_b = 4 * span_of({sets_of_b, {columns, p.scale_b_n}, {blocks, p.scale_b_k}});
  }

  /// The problem with every stride.
  Problem resolved() const { return plan_ ? plan_->problem() : ops::validate(problem_).value_or(problem_); }

  Problem problem_;
  std::optional<Plan> plan_;
};

/// An operation on groups, which `Check` describes to ww::check.
template <class Problem, class Plan, class Operands, class Check>
class GroupsOperation : public PlannedOperation<Problem, Plan, Operands> {
 public:
  GroupsOperation(const Problem& problem, Inputs inputs, Groups groups)
      : PlannedOperation<Problem, Plan, Operands>(problem, std::move(inputs), std::move(groups)) {}

  CheckTarget check_target() const override { return check(); }
  int axes() const override { return this->groups_->described.counts.empty() ? 2 : 3; }

 protected:
  Check check() const { return {this->problem_, this->groups_->described, this->resolved_options()}; }
};

}  // namespace ww::operations
