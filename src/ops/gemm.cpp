// SPDX-License-Identifier: Apache-2.0
// ww::plan and ww::can_implement: validate, choose a config, make the adapter.
#include "warpwright/host/gemm.hpp"

#include "launch/gemm_adapter.hpp"
#include "ops/gemm_choice.hpp"
#include "ops/operand_checks.hpp"

namespace ww {
Result<void> can_implement(const GemmProblem& problem, const GemmOptions& options) {
  WW_CHECK(ops::decide(problem, options, {ops::kTypicalSms, false}));
  return {};
}

const GemmProblem& GemmPlan::problem() const { return adapter_->problem(); }
const GemmConfig& GemmPlan::config() const { return adapter_->config(); }
std::size_t GemmPlan::workspace_bytes() const { return adapter_->workspace_bytes(); }
Result<void> GemmPlan::run(const GemmOperands& operands, Stream stream) const {
  return adapter_->run(operands, stream);
}
std::optional<EmuStats> GemmPlan::last_stats() const { return adapter_->last_stats(); }

Result<GemmPlan> plan(const Device& device, const GemmProblem& problem, const GemmOptions& options) {
  const DeviceInfo& info = device.info();
  WW_TRY(const ops::Decision decision, ops::decide(problem, options, {info.sms, info.emulated}));
  GemmPlan made;
  WW_TRY(made.adapter_, adapters::GemmAdapter::create(device, decision.problem, decision.config, options));
  return made;
}

}  // namespace ww
