// SPDX-License-Identifier: Apache-2.0
// An operation of the library under the checker: operands of noise, groups as they are. The workspace is zeroed once,
// as a caller would, so that what a run leaves in it is what the next schedule meets.
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

class OperationRunner final : public Runner {
 public:
  OperationRunner(Device device, CheckSettings settings) : device_(std::move(device)), settings_(settings) {}

  Result<void> prepare(const CheckTarget& target) {
    WW_TRY(operation_, operation_of(with_pdl(target)));
    WW_CHECK(operation_->plan(device_));
    WW_TRY(set_, operation_->allocate());
    for (const Buffer* buffer : {&set_.a, &set_.b, &set_.scale_a, &set_.scale_b, &set_.d})
      fill_noise(buffer->data(), buffer->bytes());
    return operation_->set_up();
  }

  CheckReport run(const ScheduleRun& schedule) override {
    // A schedule that was stopped half way leaves counters that mean nothing.
    Result<void> done = unfinished_ ? operation_->clear_workspace() : Result<void>();
    unfinished_ = true;
    choose(device_.backend(), schedule, settings_);
    if (done) done = operation_->run(set_, {});
    CheckReport report = report_of(device_.backend(), done);
    unfinished_ = report.verdict != Verdict::clean;
    return report;
  }

  CheckTarget target() const override { return operation_->check_target(); }

 private:
  Device device_;
  CheckSettings settings_;
  std::unique_ptr<Operation> operation_;
  operations::OperandSet set_;
  bool unfinished_ = false;
};

}  // namespace

Result<std::unique_ptr<Runner>> make_operation_runner(const Device& device, const CheckTarget& target,
                                                      CheckSettings settings) {
  auto runner = std::make_unique<OperationRunner>(device, settings);
  WW_CHECK(runner->prepare(target));
  return runner;
}

}  // namespace ww::campaign
