// SPDX-License-Identifier: Apache-2.0
// Explanations, lists of configs and statistics as reports.
#include "capi/objects.hpp"
#include "capi/problems.hpp"
#include "facts/facts.hpp"
#include "warpwright/host/config.hpp"

namespace ww::capi {
namespace {

template <class CProblem>
ww_status explain_problem(ww_device device, const CProblem* problem, const ww_options* options,
                          Explanation& explanation) {
  Request<CProblem> request;
  if (device == nullptr) {
    WW_C_PASS(request.read(problem, options));
    WW_C_TRY(explanation, explain(request.problem, request.options));
    return WW_OK;
  }
  DeviceUse use;
  WW_C_PASS(use_device(device, use));
  WW_C_PASS(request.read(problem, options, use->state->device->info().arch));
  WW_C_TRY(explanation, explain(*use->state->device, request.problem, request.options));
  return WW_OK;
}

template <class CProblem>
ww_status explained(ww_device device, const CProblem* problem, const ww_options* options, ww_report* report) {
  WW_C_PASS(check_output("report", report));
  *report = nullptr;
  Explanation explanation;
  WW_C_PASS(explain_problem(device, problem, options, explanation));
  return make_report(io::to_json(facts::fields_of(explanation)), report);
}

template <class CProblem>
ww_status configs(ww_device device, const CProblem* problem, const ww_options* options, ww_report* report) {
  WW_C_PASS(check_output("report", report));
  *report = nullptr;
  Explanation explanation;
  WW_C_PASS(explain_problem(device, problem, options, explanation));
  io::List list;
  for (const RankedConfig& ranked : explanation.ranking) list.emplace_back(to_text(ranked.config));
  return make_report(io::to_json({{"chosen", to_text(explanation.chosen.config)}, {"configs", list}}), report);
}

ww_status stats(ww_plan plan, ww_report* report) {
  WW_C_PASS(check_output("report", report));
  *report = nullptr;
  PlanUse use;
  WW_C_PASS(use_plan(plan, use));
  const auto found = std::visit([](const auto& p) { return p.last_stats(); }, use->plan);
  if (!found)
    return record(make_error(ErrorCode::unsupported, "plan", "one that this thread last ran on its emulated device",
                             use->device->device->info().emulated ? "one that it did not" : "one of a GPU"));
  io::Fields fields{{"seconds", found->seconds}};
  for (auto& field : facts::fields_of(*found)) fields.push_back(std::move(field));
  return make_report(io::to_json(fields), report);
}

}  // namespace
}  // namespace ww::capi

using namespace ww::capi;

#define WW_C_OPERATION(name)                                                                                     \
  ww_status ww_##name##_explain(ww_device device, const ww_##name##_problem* problem, const ww_options* options, \
                                ww_report* report) {                                                             \
    return guarded([&] { return explained(device, problem, options, report); });                                 \
  }                                                                                                              \
  ww_status ww_##name##_configs(ww_device device, const ww_##name##_problem* problem, const ww_options* options, \
                                ww_report* report) {                                                             \
    return guarded([&] { return configs(device, problem, options, report); });                                   \
  }

extern "C" {

WW_C_OPERATION(gemm)
WW_C_OPERATION(grouped)
WW_C_OPERATION(k_grouped)

ww_status ww_plan_stats(ww_plan plan, ww_report* report) {
  return guarded([&] { return stats(plan, report); });
}

}  // extern "C"
