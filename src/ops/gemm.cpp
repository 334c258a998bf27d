// SPDX-License-Identifier: Apache-2.0
// ww::plan_gemm and ww::can_implement: validate the problem, choose a config, make the adapter.
#include "warpwright/host/gemm.hpp"

#include "launch/gemm_adapter.hpp"
#include "ops/gemm_choice.hpp"
#include "ops/operand_checks.hpp"

namespace ww {
Result<void> can_implement(const GemmProblem& problem, const GemmOptions& options) {
  WW_CHECK(ops::decide(problem, options, ops::typical_target(options)));
  return {};
}

class GemmPlan::Impl {
 public:
  std::shared_ptr<const adapters::GemmAdapter> adapter;
};

const char* name_of(ScaleType type) {
  return type == ScaleType::f32 ? "f32" : type == ScaleType::e8m0 ? "e8m0" : "e4m3";
}

const GemmProblem& GemmPlan::problem() const { return impl_->adapter->problem(); }
const GemmConfig& GemmPlan::config() const { return impl_->adapter->config(); }
std::size_t GemmPlan::workspace_bytes() const { return impl_->adapter->workspace_bytes(); }
Result<void> GemmPlan::run(const GemmOperands& operands, Stream stream) const {
  return impl_->adapter->run(operands, stream);
}
std::optional<EmuStats> GemmPlan::last_stats() const { return impl_->adapter->last_stats(); }

Result<GemmPlan> plan_gemm(const Device& device, const GemmProblem& problem, const GemmOptions& asked) {
  WW_TRY(const GemmOptions options, ops::for_arch(asked, device.info().arch));
  WW_TRY(const ops::Decision decision, ops::decide(problem, options, ops::target_of(device)));
  GemmPlan::Impl made;
  WW_TRY(made.adapter, adapters::GemmAdapter::create(device, decision.problem, decision.config, options));
  return GemmPlan(std::make_shared<const GemmPlan::Impl>(std::move(made)));
}

}  // namespace ww
