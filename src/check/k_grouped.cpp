// SPDX-License-Identifier: Apache-2.0
// A product with groups of K under the checker: operands of noise, the groups' arrays as they are.
#include <fmt/format.h>

#include <algorithm>

#include "check/emulation.hpp"
#include "cli/k_grouped_operands.hpp"
#include "config/config_text.hpp"

namespace ww::campaign {
namespace {

class KGroupedTarget final : public CheckTarget {
 public:
  KGroupedTarget(Device device, KGroupedCase request, GemmOptions options, CheckSettings settings)
      : device_(std::move(device)), request_(std::move(request)), options_(options), settings_(settings) {}

  Result<void> prepare() {
    options_.pdl = Pdl::on;  // why: the launch of which most is asked
    WW_TRY(plan_, plan_k_grouped(device_, request_.problem, options_));
    options_.config = plan_->config();
    WW_TRY(const KGroupedTensors tensors, make_tensors(request_, 0));
    WW_TRY(buffers_, upload(device_, request_, tensors));
    return {};
  }

  CheckReport run(const ScheduleRun& schedule) override {
    choose(device_.backend(), schedule, settings_);
    return report_of(device_.backend(), plan_->run(buffers_.operands));
  }

  std::string command() const override {
    const KGroupedProblem& p = request_.problem;
    return fmt::format("warpwright check k-grouped --device {} {} --m {} --n {} --layout {}{} --config {}{}{}",
                       device_.info().name, request_.group_flags, p.m, p.n, name_of(MatrixLayout{p.a_major, p.b_major}),
                       p.accumulate ? " --accumulate" : "", shell_word(ww::to_text(options_.config)),
                       options_.sms > 0 ? fmt::format(" --sms {}", options_.sms) : "", settings_text(settings_));
  }
  std::string title() const override {
    const KGroupedProblem& p = request_.problem;
    return fmt::format(
        "check k-grouped {} groups of {} x {}, {} rows of K, {} -> {}, scale {}, {}, math {}\n  config     {}\n",
        p.groups, p.m, p.n, p.total_k(), name_of(p.a), name_of(p.d), name_of(p.scale), name_of(p.encoding),
        math_text(settings_), ww::to_text(options_.config));
  }
  Fields fields() const override {
    const KGroupedProblem& p = request_.problem;
    return {{"device", device_.info().name},
            {"math", math_text(settings_)},
            {"config", ww::to_text(options_.config)},
            {"groups", p.groups},
            {"m", p.m},
            {"n", p.n},
            {"k", p.total_k()},
            {"encoding", name_of(p.encoding)}};
  }

  /// M, N, and the K of every group together.
  int axes() const override { return 3; }
  Result<std::unique_ptr<CheckTarget>> halved(int axis) const override {
    KGroupedCase smaller = request_;
    KGroupedProblem& p = smaller.problem;
    const GemmConfig& c = options_.config;
    if (axis == 2) {
      const bool tails = p.a_major == Major::mn && p.b_major == Major::mn;
      const std::int64_t granularity = tails ? 1 : 128;
      if (std::all_of(smaller.counts.begin(), smaller.counts.end(), [&](std::int64_t n) { return n <= granularity; }))
        return std::unique_ptr<CheckTarget>();
      // why up: a group stays a group
      for (std::int64_t& count : smaller.counts) count = (count / granularity + 1) / 2 * granularity;
      smaller.spacing.rows.reset();
    } else {
      std::int64_t& size = axis == 0 ? p.m : p.n;
      const std::int64_t least = axis == 0 ? c.tile.m : c.tile.n;
      if (size <= least) return std::unique_ptr<CheckTarget>();  // below one tile a problem is as large as a tile
      size = std::max(least, (size / 2 + 15) / 16 * 16);
    }
    WW_CHECK(lay_out(smaller));
    return make_target<KGroupedTarget>(device_, smaller, options_, settings_);
  }

 private:
  Device device_;
  KGroupedCase request_;
  GemmOptions options_;  // with the resolved config, so that a smaller problem is solved by the same kernel
  CheckSettings settings_;
  std::optional<KGroupedPlan> plan_;  // once prepared
  KGroupedBuffers buffers_;
};

}  // namespace

Result<std::unique_ptr<CheckTarget>> make_k_grouped_target(const Device& device, const KGroupedRequest& request,
                                                           const CheckSettings& settings) {
  return make_target<KGroupedTarget>(device, request, request.options, settings);
}

}  // namespace ww::campaign
