// SPDX-License-Identifier: Apache-2.0
// An operation of the library under the checker: generated operands, and groups as they are. A schedule is a sequence
// of launches in one workspace, which is zeroed before the first of them, as a caller does. Results are the same bits
// in every run, so that a later launch that leaves others has met something that an earlier one left behind.
#include <fmt/format.h>

#include <cstring>

#include "check/runner.hpp"

namespace ww::campaign {
namespace {

/// The target with programmatic dependent launch, which asks most of a kernel.
CheckTarget with_pdl(CheckTarget target) {
  std::visit(
      [](auto& check) {
        if constexpr (requires { check.options; }) check.options.pdl = Pdl::on;
      },
      target);
  return target;
}

/// The finding that FP64 gives other values, or none.
std::optional<Finding> judged(const Verification& verdict, int launch) {
  if (verdict.right()) return std::nullopt;
  Finding finding;
  finding.first.operation = "the result in FP64, with an error bound for each element";
  finding.second.operation = fmt::format("launch {}", launch);
  if (verdict.first)
    finding.second.operation +=
        fmt::format(": row {}, column {} of product {} of {} is {:.9g} instead of {:.9g}, bound {:.3g}",
                    verdict.first->row, verdict.first->column, verdict.first->product, verdict.first->tensor,
                    verdict.first->got, verdict.first->expected, verdict.first->bound);
  return wrong_value(std::move(finding), launch,
                     fmt::format("{} of {} elements are outside their error bounds", verdict.wrong, verdict.elements));
}

class OperationRunner final : public Runner {
 public:
  OperationRunner(Device device, CheckSettings settings) : device_(std::move(device)), settings_(settings) {}

  Result<void> prepare(const CheckTarget& target) {
    WW_TRY(operation_, operation_of(with_pdl(target)));
    WW_CHECK(operation_->plan(device_));
    WW_TRY(set_, operation_->allocate());
    WW_CHECK(operation_->fill(set_));
    WW_CHECK(operation_->set_up());
    WW_CHECK(operation_->point_to(set_));
    for (const Operation::Output& output : operation_->outputs(set_))
      outputs_.push_back({output.name, output.data, output.bytes});
    // D, to which every run adds.
    if (!operation_->repeats() && outputs_.front().name == "d") before_ = image_of({outputs_.front()});
    return {};
  }

  CheckTarget target() const override { return operation_->check_target(); }
  int sms() const override { return device_.info().sms; }

 protected:
  Result<void> begin(const ScheduleRun& schedule) override {
    alone_.assign(static_cast<std::size_t>(schedule.launches) + 1, {});
    for (int launch = 2; launch <= schedule.launches && !settings_.verify; ++launch)
      WW_CHECK(run_alone(schedule, launch));
    return operation_->clear_workspace();
  }

  CheckReport launch(const ScheduleRun& schedule, int launch) override {
    const Result<bool> other_sizes = draw_sizes(schedule, launch);
    CheckReport report = other_sizes ? run_once(schedule, launch) : CheckReport{};
    if (!other_sizes) report.why_incomplete = other_sizes.error().message;
    if (report.verdict != Verdict::clean) return report;
    if (settings_.verify) return verified(std::move(report), launch, *other_sizes);
    if (launch == 1) first_ = schedule.launches > 1 ? image_of(outputs_) : Image();
    else if (!*other_sizes) add(report, difference(outputs_, first_, launch, "launch 1"));
    else if (const Image& alone = alone_[static_cast<std::size_t>(launch)]; !alone.empty())
      add(report, difference(outputs_, alone, launch, "the same launch in a zeroed workspace"));
    return report;
  }

 private:
  Result<bool> draw_sizes(const ScheduleRun& schedule, int launch) {
    return operation_->draw_sizes(launch == 1 ? 0 : seed_of_launch(schedule, launch) | 1);
  }

  CheckReport run_once(const ScheduleRun& schedule, int launch) {
    // All bits set, which is NaN: an element that the kernel leaves out cannot look right.
    for (const Imaged& output : outputs_) std::memset(output.data, output.name == "status" ? 0 : 0xff, output.bytes);
    if (!before_.empty()) std::memcpy(outputs_.front().data, before_.data(), before_.size());
    choose(device_.backend(), schedule, launch, settings_);
    return report_of(device_.backend(), operation_->run(set_, {}));
  }

  /// Notes what launch `launch` of other sizes leaves if no launch is before it.
  Result<void> run_alone(const ScheduleRun& schedule, int launch) {
    WW_TRY(const bool other_sizes, draw_sizes(schedule, launch));
    if (!other_sizes) return {};
    WW_CHECK(operation_->clear_workspace());
    if (run_once({EmuSchedule::fifo, schedule.seed}, 1).verdict == Verdict::clean)
      alone_[static_cast<std::size_t>(launch)] = image_of(outputs_);
    return {};
  }

  CheckReport verified(CheckReport report, int launch, bool other_sizes) {
    // The bits of a right result are right wherever they appear again.
    if (!other_sizes && !right_.empty() && !difference(outputs_, right_, launch, "")) return report;
    const Result<Verification> verdict =
        operation_->verify(set_, settings_.math, before_.empty() ? nullptr : before_.data());
    if (!verdict) {
      report.verdict = Verdict::incomplete;
      report.why_incomplete = "the values were not compared: " + verdict.error().message;
      return report;
    }
    add(report, judged(*verdict, launch));
    if (report.verdict == Verdict::clean && !other_sizes) right_ = image_of(outputs_);
    return report;
  }

  Device device_;
  CheckSettings settings_;
  std::unique_ptr<Operation> operation_;
  operations::OperandSet set_;
  std::vector<Imaged> outputs_;
  Image before_;              // D before a run that adds to it, else empty
  Image first_;               // what the first launch of this schedule left
  Image right_;               // with the problem's own sizes, as FP64 has confirmed
  std::vector<Image> alone_;  // by launch of this schedule; empty where sizes are the problem's own
};

}  // namespace

Result<std::unique_ptr<Runner>> make_operation_runner(const Device& device, const CheckTarget& target,
                                                      CheckSettings settings) {
  auto runner = std::make_unique<OperationRunner>(device, settings);
  WW_CHECK(runner->prepare(target));
  return runner;
}

}  // namespace ww::campaign
