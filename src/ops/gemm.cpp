// SPDX-License-Identifier: Apache-2.0
// ww::plan and ww::can_implement: validate, choose a config, make the adapter.
#include "warpwright/host/gemm.hpp"

#include <fmt/format.h>

#include "device/gemm_adapter.hpp"
#include "ops/epilogue_validation.hpp"
#include "ops/gemm_validation.hpp"
#include "ops/operand_checks.hpp"
#include "select/default_configs.hpp"
#include "warpwright/collective/builder.hpp"

namespace ww {
namespace {

struct Decision {
  GemmProblem problem;  // with explicit strides
  GemmConfig config;    // resolved
};

Result<Decision> decide(const GemmProblem& problem, const GemmOptions& options, int sms) {
  WW_TRY(const GemmProblem checked, ops::validate(problem));
  WW_CHECK(ops::check_sms(options.sms, 0));
  const GemmConfig config = select::choose(checked, options.config, options.sms > 0 ? min(options.sms, sms) : sms);
  WW_CHECK(ops::validate(config));
  WW_CHECK(ops::check_epilogue_tile(checked, config));
  WW_CHECK(ops::check_sms(options.sms, collective::cluster_of(config).size()));
  const auto tiles = static_cast<double>(ceil_div(checked.m, config.tile_m)) *
                     static_cast<double>(ceil_div(checked.n, config.tile_n)) * static_cast<double>(checked.batch);
  if (tiles > ops::kLargestTileCount)
    return failure(ErrorCode::unsupported, "m, n", "fewer than 1e9 tiles",
                   fmt::format("{} x {}{}", checked.m, checked.n,
                               checked.batch == 1 ? "" : fmt::format(", batch {}", checked.batch)));
  return Decision{checked, config};
}

}  // namespace

Result<void> can_implement(const GemmProblem& problem, const GemmOptions& options) {
  WW_CHECK(decide(problem, options, ops::kTypicalSms));
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
