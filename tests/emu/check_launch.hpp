// SPDX-License-Identifier: Apache-2.0
// Runs a plain function as a kernel under the checker, and looks for rules in the report.
#pragma once

#include "harness.hpp"

namespace ww::emu::test {

template <auto kKernel, class P>
CheckReport check_launch(const P& params, const Shape& shape, std::vector<MemoryRange> memory = {},
                         EmuOptions options = {}, const MachineModel& model = sm90::kModel) {
  const arch::KernelEntry entry{"test_kernel", [](const void* p) { kKernel(*static_cast<const P*>(p)); }, sizeof(P),
                                shape.threads, nullptr};
  runtime::Launch request;
  request.grid = shape.grid;
  request.cluster = shape.cluster;
  request.threads = shape.threads;
  request.shared_bytes = shape.shared_bytes;
  request.params = &params;
  request.params_bytes = sizeof(P);
  request.memory = memory;
  request.cross_cta = shape.cross_cta;
  request.pdl = shape.pdl;
  return check(model, entry, request, options, shape.sms);
}

inline std::string all_of(const CheckReport& report) {
  std::string text = report.why_incomplete + "\n";
  for (const Finding& finding : report.findings) text += finding.text;
  return text;
}

inline bool has(const CheckReport& report, Rule rule) {
  for (const Finding& finding : report.findings)
    if (finding.rule == rule) return true;
  return false;
}

/// Returns the first finding of the rule; fails if there is none.
inline const Finding& finding_of(const CheckReport& report, Rule rule) {
  for (const Finding& finding : report.findings)
    if (finding.rule == rule) return finding;
  static const Finding none;
  ADD_FAILURE() << "no " << rule_name(rule) << "\n" << all_of(report);
  return none;
}

/// Expects that the kernel without its mistake has no findings and the one with it breaks exactly `rule`, whatever the
/// schedule.
template <auto kKernel> void expect_rule(Rule rule, const Shape& shape, const MachineModel& model = sm90::kModel) {
  for (u64 seed = 0; seed < 6; ++seed) {
    const EmuOptions options{.seed = seed, .schedule = seed == 5 ? EmuSchedule::fifo : EmuSchedule::random};
    const CheckReport clean = check_launch<kKernel>(false, shape, {}, options, model);
    EXPECT_TRUE(clean.findings.empty()) << "seed " << seed << "\n" << all_of(clean);
    const CheckReport broken = check_launch<kKernel>(true, shape, {}, options, model);
    EXPECT_TRUE(has(broken, rule)) << "expected " << rule_name(rule) << ", seed " << seed << "\n" << all_of(broken);
  }
}

}  // namespace ww::emu::test
