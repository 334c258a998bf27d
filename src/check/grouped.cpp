// SPDX-License-Identifier: Apache-2.0
// A grouped GEMM under the checker: operands of noise, the groups' arrays as they are, counters zeroed once as a caller
// would, so that what a run leaves in the workspace is what the next schedule meets.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "check/emulation.hpp"
#include "cli/execution.hpp"
#include "config/config_text.hpp"
#include "operations/epilogue_operands.hpp"

namespace ww::campaign {
namespace {

class GroupedTarget final : public CheckTarget {
 public:
  GroupedTarget(Device device, const GroupedRequest& request, CheckSettings settings)
      : device_(std::move(device)),
        problem_(request.problem),
        options_(request.options),
        layout_(request.layout),
        group_flags_(request.group_flags),
        spacing_(request.spacing),
        counts_(request.counts),
        settings_(settings) {}

  Result<void> prepare() {
    options_.pdl = Pdl::on;  // why: the launch of which most is asked
    WW_TRY(plan_, plan_grouped(device_, problem_, options_));
    options_.config = plan_->config();
    const GroupedProblem& p = problem_;
    const auto noise = [&](std::int64_t rows, std::int64_t columns, int bytes) -> Result<Buffer> {
      WW_TRY(Buffer buffer,
             device_.allocate(static_cast<std::size_t>(std::max<std::int64_t>(rows * columns * bytes, 16))));
      fill_noise(buffer.data(), buffer.bytes());
      return buffer;
    };
    const std::int64_t rows = p.total_rows(), blocks = blocks_of(p.k);
    WW_TRY(a_, noise(rows, p.lda, bytes_of(p.a)));
    WW_TRY(b_, noise(p.groups * p.n, p.ldb, bytes_of(p.b)));
    WW_TRY(d_, noise(rows, p.n, bytes_of(p.d)));
    // why max: large enough for every recipe, per-row and per-column scales with a K below 128 too
    WW_TRY(scale_a_, noise(std::max(rows, p.groups), std::max<std::int64_t>(blocks, 1), 4));
    WW_TRY(scale_b_, noise(p.groups * std::max(p.n, blocks_of(p.n) * blocks), 1, 4));
    WW_TRY(sizes_, copied(layout_.sizes));
    WW_TRY(sizes2_, copied(layout_.sizes2));
    WW_TRY(status_, copied({0}));
    WW_TRY(workspace_, device_.allocate(std::max<std::size_t>(plan_->workspace_bytes(), 16)));
    std::memset(workspace_.data(), 0, workspace_.bytes());
    operands_ = {.a = a_.data(), .b = b_.data(), .d = d_.data()};
    WW_TRY(const EpilogueTensors epilogue, make_group_tensors(p.epilogue, rows, p.n, p.groups, 1));
    WW_TRY(epilogue_, upload(device_, epilogue));
    operands_.epilogue = epilogue_.operands;
    if (p.scale != Scale::none) {
      operands_.scale_a = static_cast<const float*>(scale_a_.data());
      operands_.scale_b = static_cast<const float*>(scale_b_.data());
    }
    operands_.sizes = static_cast<const std::int32_t*>(sizes_.data());
    if (!layout_.sizes2.empty()) operands_.sizes2 = static_cast<const std::int32_t*>(sizes2_.data());
    operands_.status = static_cast<std::uint32_t*>(status_.data());
    operands_.workspace = workspace_.data();
    operands_.workspace_bytes = plan_->workspace_bytes();
    return {};
  }

  CheckReport run(const ScheduleRun& schedule) override {
    // why: a schedule that was stopped half way leaves counters that mean nothing
    if (unfinished_) std::memset(workspace_.data(), 0, workspace_.bytes());
    unfinished_ = true;
    choose(device_.backend(), schedule, settings_);
    CheckReport report = report_of(device_.backend(), plan_->run(operands_));
    unfinished_ = report.verdict != ww::Verdict::clean;
    return report;
  }

  std::string command() const override {
    return fmt::format("warpwright check grouped --device {} {} --n {} --k {} --config {}{}{}{}", device_.info().name,
                       group_flags_, problem_.n, problem_.k, shell_word(ww::to_text(options_.config)),
                       problem_.zero_outside ? " --zero-outside" : "",
                       options_.sms > 0 ? fmt::format(" --sms {}", options_.sms) : "", settings_text(settings_));
  }
  std::string title() const override {
    return fmt::format(
        "check grouped {} groups, {} rows, x {} x {}, {} -> {}, scale {}, {}, math {}\n  config     {}\n",
        problem_.groups, problem_.total_rows(), problem_.n, problem_.k, name_of(problem_.a), name_of(problem_.d),
        name_of(problem_.scale), name_of(problem_.encoding), math_text(settings_), ww::to_text(options_.config));
  }
  Fields fields() const override {
    return {{"device", device_.info().name},
            {"math", math_text(settings_)},
            {"config", ww::to_text(options_.config)},
            {"groups", problem_.groups},
            {"rows", problem_.total_rows()},
            {"encoding", name_of(problem_.encoding)},
            {"n", problem_.n},
            {"k", problem_.k}};
  }

  /// N, K, and the rows of every group together. Arrays from a file stay as they are.
  int axes() const override { return counts_.empty() ? 2 : 3; }
  Result<std::unique_ptr<CheckTarget>> halved(int axis) const override {
    GroupedRequest smaller;
    smaller.problem = problem_, smaller.options = options_;
    smaller.layout = layout_, smaller.group_flags = group_flags_;
    smaller.spacing = spacing_, smaller.counts = counts_;
    GroupedProblem& p = smaller.problem;
    if (axis == 2) {
      if (std::all_of(counts_.begin(), counts_.end(), [](std::int64_t count) { return count <= 1; }))
        return std::unique_ptr<CheckTarget>();
      for (std::int64_t& count : smaller.counts) count = (count + 1) / 2;  // why up: a group stays a group
      smaller.spacing.rows.reset();
      WW_TRY(smaller.layout, make_layout(layout_.encoding, smaller.counts, smaller.spacing));
      smaller.group_flags = layout_flags(smaller.layout, smaller.counts, smaller.spacing);
      p.rows = smaller.layout.rows;
    } else {
      std::int64_t& size = axis == 0 ? p.n : p.k;
      const std::int64_t least = axis == 0 ? options_.config.tile.n : options_.config.tile.k;
      if (size <= least) return std::unique_ptr<CheckTarget>();  // below one tile a problem is as large as a tile
      size = std::max(least, (size / 2 + 15) / 16 * 16);
      WW_TRY(p.lda, operand_row(p.k, p.a));
      p.ldb = p.lda;
    }
    return make_grouped_target(device_, smaller, settings_);
  }

 private:
  Result<Buffer> copied(const std::vector<std::int32_t>& values) const {
    WW_TRY(Buffer buffer, device_.allocate(std::max<std::size_t>(values.size() * 4, 16)));
    std::memcpy(buffer.data(), values.data(), values.size() * 4);
    return buffer;
  }

  Device device_;
  GroupedProblem problem_;
  GemmOptions options_;  // with the resolved config, so that a smaller problem is solved by the same kernel
  GroupLayout layout_;
  std::string group_flags_;
  GroupSpacing spacing_;
  std::vector<std::int64_t> counts_;
  CheckSettings settings_;
  std::optional<GroupedPlan> plan_;  // once prepared
  EpilogueBuffers epilogue_;
  Buffer a_, b_, d_, scale_a_, scale_b_, sizes_, sizes2_, status_, workspace_;
  GroupedOperands operands_;
  bool unfinished_ = false;
};

}  // namespace

Result<std::unique_ptr<CheckTarget>> make_grouped_target(const Device& device, const GroupedRequest& request,
                                                         const CheckSettings& settings) {
  return make_target<GroupedTarget>(device, request, settings);
}

}  // namespace ww::campaign
