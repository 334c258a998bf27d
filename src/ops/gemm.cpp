// SPDX-License-Identifier: Apache-2.0
// ww::plan and ww::can_implement: validate, choose a config, make the adapter.
#include "warpwright/host/gemm.hpp"

#include <fmt/format.h>

#include "device/gemm_adapter.hpp"
#include "ops/gemm_validation.hpp"
#include "select/default_configs.hpp"
#include "warpwright/collective/builder.hpp"

namespace ww {
namespace {

constexpr int kTypicalSms = 132;  // for answers that come before any device

struct Decision {
  GemmProblem problem;  // with explicit strides
  GemmConfig config;    // resolved
};

Result<Decision> decide(const GemmProblem& problem, const GemmOptions& options, int sms) {
  WW_TRY(const GemmProblem checked, ops::validate(problem));
  if (options.sms < 0)
    return failure(ErrorCode::invalid, "sms", "at least 0 (0: all of the device)", fmt::format("{}", options.sms));
  const GemmConfig config = select::choose(checked, options.config, options.sms > 0 ? min(options.sms, sms) : sms);
  WW_CHECK(ops::validate(config));
  const int cluster = collective::cluster_of(config).size();
  if (options.sms > 0 && options.sms < cluster)
    return failure(ErrorCode::invalid, "sms", fmt::format("at least one cluster of {} CTAs", cluster),
                   fmt::format("{}", options.sms));
  const auto tiles =
      static_cast<double>(ceil_div(checked.m, config.tile_m)) * static_cast<double>(ceil_div(checked.n, config.tile_n));
  if (tiles > 1.0e9)
    return failure(ErrorCode::unsupported, "m, n", "fewer than 1e9 tiles",
                   fmt::format("{} x {}", checked.m, checked.n));
  return Decision{checked, config};
}

}  // namespace

Result<void> can_implement(const GemmProblem& problem, const GemmOptions& options) {
  WW_CHECK(decide(problem, options, kTypicalSms));
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
  WW_TRY(const Decision decision, decide(problem, options, device.info().sms));
  GemmPlan made;
  WW_TRY(made.adapter_, device::GemmAdapter::create(device, decision.problem, decision.config, options));
  return made;
}

}  // namespace ww
