// SPDX-License-Identifier: Apache-2.0
// A grouped GEMM under the checker: the groups' arrays as they are, counters zeroed once as a caller would, so that
// what a run leaves in the workspace is what the next schedule meets.
#include <algorithm>
#include <cstring>
#include <optional>

#include "check/groups.hpp"
#include "check/runner.hpp"
#include "operations/epilogue_operands.hpp"
#include "warpwright/config/epilogue_stages.hpp"

namespace ww::campaign {
namespace {

class GroupedRunner final : public Runner {
 public:
  GroupedRunner(Device device, const GroupedCheck& check, CheckSettings settings)
      : device_(std::move(device)), check_(check), settings_(settings) {}

  Result<void> prepare() {
    WW_CHECK(lay_out(check_));
    check_.options.pdl = Pdl::on;  // the launch of which most is asked
    WW_TRY(plan_, plan_grouped(device_, check_.problem, check_.options));
    check_.options.config = plan_->config();
    WW_CHECK(make_operands(plan_->problem()));
    WW_TRY(sizes_, copied(device_, check_.groups.sizes));
    WW_TRY(sizes2_, copied(device_, check_.groups.sizes2));
    WW_TRY(status_, copied(device_, {0}));
    WW_TRY(workspace_, device_.allocate(std::max<std::size_t>(plan_->workspace_bytes(), 16)));
    std::memset(workspace_.data(), 0, workspace_.bytes());
    operands_.sizes = static_cast<const std::int32_t*>(sizes_.data());
    if (!check_.groups.sizes2.empty()) operands_.sizes2 = static_cast<const std::int32_t*>(sizes2_.data());
    operands_.status = static_cast<std::uint32_t*>(status_.data());
    operands_.workspace = workspace_.data();
    operands_.workspace_bytes = plan_->workspace_bytes();
    return {};
  }

  CheckReport run(const ScheduleRun& schedule) override {
    // A schedule that was stopped half way leaves counters that mean nothing.
    if (unfinished_) std::memset(workspace_.data(), 0, workspace_.bytes());
    unfinished_ = true;
    choose(device_.backend(), schedule, settings_);
    CheckReport report = report_of(device_.backend(), plan_->run(operands_));
    unfinished_ = report.verdict != Verdict::clean;
    return report;
  }

  CheckTarget target() const override { return check_; }

 private:
  Result<void> make_operands(const GroupedProblem& p) {
    const auto or_packed = [](std::int64_t stride, std::int64_t packed) { return stride != 0 ? stride : packed; };
    const std::int64_t rows = p.total_rows(), blocks = std::max<std::int64_t>((p.k + 127) / 128, 1);
    const std::int64_t lda = or_packed(p.lda, p.k), ldb = or_packed(p.ldb, p.k);
    const std::int64_t ldd = or_packed(p.ldd, config::output_columns(p.epilogue, p.n));
    const std::int64_t step = or_packed(p.stride_b_group, p.n * ldb);
    WW_TRY(a_, noise(device_, span_of({{rows, lda}, {lda, 1}}) * bytes_of(p.a)));
    WW_TRY(b_, noise(device_, span_of({{p.groups, step}, {p.n, ldb}, {ldb, 1}}) * bytes_of(p.b)));
    WW_TRY(d_, noise(device_, span_of({{rows, ldd}, {ldd, 1}}) * bytes_of(p.d)));
    // Large enough for every recipe, per-row and per-column scales with a K below 128 too.
    const std::int64_t of_a =
        std::max(std::max(rows, p.groups) * blocks,
                 span_of({{p.groups, p.scale_a_group}, {rows, p.scale_a_row}, {blocks, p.scale_a_k}}));
    const std::int64_t of_b = std::max(
        p.groups * p.n * blocks, span_of({{p.groups, p.scale_b_group}, {p.n, p.scale_b_n}, {blocks, p.scale_b_k}}));
    WW_TRY(scale_a_, noise(device_, of_a * 4));
    WW_TRY(scale_b_, noise(device_, of_b * 4));
    operands_ = {.a = a_.data(), .b = b_.data(), .d = d_.data()};
    if (p.scale != Scale::none) {
      operands_.scale_a = static_cast<const float*>(scale_a_.data());
      operands_.scale_b = static_cast<const float*>(scale_b_.data());
    }
    WW_TRY(const operations::EpilogueTensors epilogue,
           operations::make_group_tensors(p.epilogue, rows, p.n, p.groups, 1));
    WW_TRY(epilogue_, operations::upload(device_, epilogue));
    operands_.epilogue = epilogue_.operands;
    return {};
  }

  Device device_;
  GroupedCheck check_;  // with the resolved config, so that a smaller problem is solved by the same kernel
  CheckSettings settings_;
  std::optional<GroupedPlan> plan_;  // once prepared
  operations::EpilogueBuffers epilogue_;
  Buffer a_, b_, d_, scale_a_, scale_b_, sizes_, sizes2_, status_, workspace_;
  GroupedOperands operands_;
  bool unfinished_ = false;
};

}  // namespace

Result<std::unique_ptr<Runner>> make_runner(const Device& device, const GroupedCheck& check, CheckSettings settings) {
  return prepared<GroupedRunner>(device, check, settings);
}

}  // namespace ww::campaign
