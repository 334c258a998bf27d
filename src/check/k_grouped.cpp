// SPDX-License-Identifier: Apache-2.0
// A product with groups of K under the checker: the groups' arrays as they are, C in place of D.
#include <algorithm>
#include <optional>

#include "check/groups.hpp"
#include "check/runner.hpp"

namespace ww::campaign {
namespace {

class KGroupedRunner final : public Runner {
 public:
  KGroupedRunner(Device device, const KGroupedCheck& check, CheckSettings settings)
      : device_(std::move(device)), check_(check), settings_(settings) {}

  Result<void> prepare() {
    WW_CHECK(lay_out(check_));
    check_.options.pdl = Pdl::on;  // the launch of which most is asked
    WW_TRY(plan_, plan_k_grouped(device_, check_.problem, check_.options));
    check_.options.config = plan_->config();
    WW_CHECK(make_operands(plan_->problem()));
    WW_TRY(sizes_, copied(device_, check_.groups.sizes));
    WW_TRY(sizes2_, copied(device_, check_.groups.sizes2));
    WW_TRY(status_, copied(device_, {0}));
    operands_.sizes = static_cast<const std::int32_t*>(sizes_.data());
    if (!check_.groups.sizes2.empty()) operands_.sizes2 = static_cast<const std::int32_t*>(sizes2_.data());
    operands_.status = static_cast<std::uint32_t*>(status_.data());
    return {};
  }

  CheckReport run(const ScheduleRun& schedule) override {
    choose(device_.backend(), schedule, settings_);
    return report_of(device_.backend(), plan_->run(operands_));
  }

  CheckTarget target() const override { return check_; }

 private:
  Result<void> make_operands(const KGroupedProblem& p) {
    const auto or_packed = [](std::int64_t stride, std::int64_t packed) { return stride != 0 ? stride : packed; };
    const bool a_mn = p.a_major == Major::mn, b_mn = p.b_major == Major::mn;
    const std::int64_t k = p.total_k(), blocks = std::max<std::int64_t>((k + 127) / 128, 1);
    const std::int64_t lda = or_packed(p.lda, a_mn ? p.m : k), ldb = or_packed(p.ldb, b_mn ? p.n : k);
    const std::int64_t ldd = or_packed(p.ldd, p.n), step = or_packed(p.stride_d_group, p.m * ldd);
    WW_TRY(a_, noise(device_, span_of({{a_mn ? k : p.m, lda}, {lda, 1}}) * bytes_of(p.a)));
    WW_TRY(b_, noise(device_, span_of({{b_mn ? k : p.n, ldb}, {ldb, 1}}) * bytes_of(p.b)));
    WW_TRY(d_, noise(device_, span_of({{p.groups, step}, {p.m, ldd}, {ldd, 1}}) * bytes_of(p.d)));
    const auto scales = [&](std::int64_t rows, std::int64_t group, std::int64_t row, std::int64_t block) {
      return noise(device_, 4 * std::max(std::max(p.groups, blocks) * rows,
                                         span_of({{p.groups, group}, {rows, row}, {blocks, block}})));
    };
    WW_TRY(scale_a_, scales(p.m, p.scale_a_group, p.scale_a_row, p.scale_a_k));
    WW_TRY(scale_b_, scales(p.n, p.scale_b_group, p.scale_b_n, p.scale_b_k));
    operands_ = {.a = a_.data(), .b = b_.data(), .d = d_.data()};
    if (p.scale != Scale::none) {
      operands_.scale_a = static_cast<const float*>(scale_a_.data());
      operands_.scale_b = static_cast<const float*>(scale_b_.data());
    }
    return {};
  }

  Device device_;
  KGroupedCheck check_;  // with the resolved config, so that a smaller problem is solved by the same kernel
  CheckSettings settings_;
  std::optional<KGroupedPlan> plan_;  // once prepared
  Buffer a_, b_, d_, scale_a_, scale_b_, sizes_, sizes2_, status_;
  KGroupedOperands operands_;
};

}  // namespace

Result<std::unique_ptr<Runner>> make_runner(const Device& device, const KGroupedCheck& check, CheckSettings settings) {
  return prepared<KGroupedRunner>(device, check, settings);
}

}  // namespace ww::campaign
