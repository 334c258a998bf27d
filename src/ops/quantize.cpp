// SPDX-License-Identifier: Apache-2.0
// ww::plan_quantize, ww::plan_transpose and ww::can_implement. A transpose runs as a quantisation whose x is FP8.
#include "warpwright/host/quantize.hpp"

#include "launch/quantize_adapter.hpp"
#include "ops/quantize_validation.hpp"
#include "warpwright/core/meta.hpp"

namespace ww {

const char* name_of(QuantizeBlock block) { return block == QuantizeBlock::b1x128 ? "1x128" : "128x128"; }

std::int64_t transposed_columns(const QuantizeProblem& p) {
  if (p.groups <= 0 || p.padding <= 0) return p.m;
  // A group of r > 0 rows has at most r + padding - 1 padded ones.
  const std::int64_t bound = p.m + min(p.groups, p.m) * (p.padding - 1);
  return bound / p.padding * p.padding;
}

Result<void> can_implement(const QuantizeProblem& problem, const QuantizeOptions& options) {
  WW_CHECK(ops::validate(problem, options));
  return {};
}

Result<void> can_implement(const TransposeProblem& problem, const QuantizeOptions& options) {
  WW_CHECK(ops::validate(problem, options));
  return {};
}

class QuantizePlan::Impl {
 public:
  std::shared_ptr<const adapters::QuantizeAdapter> adapter;
};

const QuantizeProblem& QuantizePlan::problem() const { return impl_->adapter->problem(); }
std::optional<EmuStats> QuantizePlan::last_stats() const { return impl_->adapter->last_stats(); }
Result<void> QuantizePlan::run(const QuantizeOperands& operands, Stream stream) const {
  return impl_->adapter->run(operands, nullptr, stream);
}

Result<QuantizePlan> plan_quantize(const Device& device, const QuantizeProblem& problem,
                                   const QuantizeOptions& options) {
  WW_TRY(const QuantizeProblem valid, ops::validate(problem, options));
  WW_TRY(auto adapter, adapters::QuantizeAdapter::create(device, valid, options));
  return QuantizePlan(std::make_shared<const QuantizePlan::Impl>(QuantizePlan::Impl{std::move(adapter)}));
}

class TransposePlan::Impl {
 public:
  TransposeProblem problem;
  std::shared_ptr<const adapters::QuantizeAdapter> adapter;
};

const TransposeProblem& TransposePlan::problem() const { return impl_->problem; }
std::optional<EmuStats> TransposePlan::last_stats() const { return impl_->adapter->last_stats(); }
Result<void> TransposePlan::run(const TransposeOperands& o, Stream stream) const {
  if (problem().n == 0 || problem().k == 0 || problem().batch == 0) return {};
  if ((o.scales == nullptr) != (o.transposed_scales == nullptr))
    return failure(ErrorCode::invalid, o.scales == nullptr ? "scales" : "transposed_scales",
                   "both of them, or neither for a matrix without scales", "null");
  QuantizeOperands operands;
  operands.x = o.w, operands.transposed = o.transposed, operands.transposed_scales = o.transposed_scales;
  return impl_->adapter->run(operands, o.scales, stream);
}

Result<TransposePlan> plan_transpose(const Device& device, const TransposeProblem& problem,
                                     const QuantizeOptions& options) {
  WW_TRY(const QuantizeProblem valid, ops::validate(problem, options));
  WW_TRY(auto adapter, adapters::QuantizeAdapter::create(device, valid, options));
  return TransposePlan(
      std::make_shared<const TransposePlan::Impl>(TransposePlan::Impl{ops::as_transpose(valid), std::move(adapter)}));
}

}  // namespace ww
