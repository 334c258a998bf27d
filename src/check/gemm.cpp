// SPDX-License-Identifier: Apache-2.0
// The library's GEMM under the checker.
#include <algorithm>
#include <cstring>
#include <optional>

#include "check/runner.hpp"
#include "operations/epilogue_operands.hpp"
#include "warpwright/config/epilogue_stages.hpp"

namespace ww::campaign {
namespace {

class GemmRunner final : public Runner {
 public:
  GemmRunner(Device device, const GemmCheck& check, CheckSettings settings)
      : device_(std::move(device)), check_(check), settings_(settings) {}

  Result<void> prepare() {
    if (check_.problem.pointer_array)
      return failure(ErrorCode::unsupported, "pointer_array", "a batch by strides: a check makes no arrays of pointers",
                     "true");
    check_.options.pdl = Pdl::on;  // the launch of which most is asked
    WW_TRY(plan_, plan_gemm(device_, check_.problem, check_.options));
    check_.options.config = plan_->config();
    const GemmProblem& p = plan_->problem();
    const bool a_rows = p.a_major == Major::k, b_rows = p.b_major == Major::k, d_rows = p.d_layout == OutputLayout::row;
    const std::int64_t columns = config::output_columns(p.epilogue, p.n);
    const auto matrix = [&](std::int64_t rows, std::int64_t ld, std::int64_t step, DType type) {
      return noise(device_, span_of({{p.batch, step}, {rows, ld}, {ld, 1}}) * bytes_of(type));
    };
    WW_TRY(a_, matrix(a_rows ? p.m : p.k, p.lda, p.batch_a, p.a));
    WW_TRY(b_, matrix(b_rows ? p.n : p.k, p.ldb, p.batch_b, p.b));
    WW_TRY(d_, matrix(d_rows ? p.m : columns, p.ldd, p.batch_d, p.d));
    const std::int64_t blocks = std::max<std::int64_t>((p.k + 127) / 128, 1);
    const auto scales = [&](std::int64_t rows, std::int64_t row, std::int64_t block, std::int64_t step) {
      return noise(device_,
                   4 * std::max(p.batch * rows * blocks, span_of({{p.batch, step}, {rows, row}, {blocks, block}})));
    };
    WW_TRY(scale_a_, scales(p.m, p.scale_a_row, p.scale_a_k, p.batch_scale_a));
    WW_TRY(scale_b_, scales(p.n, p.scale_b_n, p.scale_b_k, p.batch_scale_b));
    WW_TRY(workspace_, device_.allocate(std::max<std::size_t>(plan_->workspace_bytes(), 16)));
    operands_ = {.a = a_.data(), .b = b_.data(), .d = d_.data()};
    if (p.scale != Scale::none) {
      operands_.scale_a = static_cast<const float*>(scale_a_.data());
      operands_.scale_b = static_cast<const float*>(scale_b_.data());
    }
    WW_TRY(operations::EpilogueTensors epilogue, operations::make_tensors(p.epilogue, p.m, p.n, 1, {}, 0, p.batch));
    epilogue.layout = p.c_layout;
    WW_TRY(epilogue_, operations::upload(device_, epilogue));
    operands_.epilogue = epilogue_.operands;
    operands_.workspace = workspace_.data(), operands_.workspace_bytes = plan_->workspace_bytes();
    return {};
  }

  CheckReport run(const ScheduleRun& schedule) override {
    // Each time, because a run that was stopped leaves flags behind.
    std::memset(workspace_.data(), 0, workspace_.bytes());
    choose(device_.backend(), schedule, settings_);
    return report_of(device_.backend(), plan_->run(operands_));
  }

  CheckTarget target() const override { return check_; }

 private:
  Device device_;
  GemmCheck check_;  // with the resolved config, so that a smaller problem is solved by the same kernel
  CheckSettings settings_;
  std::optional<GemmPlan> plan_;  // once prepared
  Buffer a_, b_, d_, scale_a_, scale_b_, workspace_;
  operations::EpilogueBuffers epilogue_;
  GemmOperands operands_;
};

}  // namespace

Result<std::unique_ptr<Runner>> make_runner(const Device& device, const GemmCheck& check, CheckSettings settings) {
  return prepared<GemmRunner>(device, check, settings);
}

}  // namespace ww::campaign
