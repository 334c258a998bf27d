// SPDX-License-Identifier: Apache-2.0
// Campaigns of the checker.
#include "warpwright/host/check.hpp"

#include <cmath>

#include "capi/enumerations.hpp"
#include "capi/objects.hpp"
#include "capi/problems.hpp"
#include "facts/facts.hpp"
#include "host/messages.hpp"

namespace ww::capi {
namespace {

Result<void> check_range(const char* field, std::int64_t value, std::int64_t most) {
  if (value >= 0 && value <= most) return {};
  return failure(ErrorCode::invalid, field, fmt::format("0 to {}", most), fmt::format("{}", value));
}

Result<CheckOptions> to_check_options(const ww_check_options& from) {
  CheckOptions to;
  WW_CHECK(check_range("check, schedules", from.schedules, 100'000'000));
  WW_CHECK(check_range("check, processes", from.processes, 1024));
  WW_CHECK(check_range("check, pct_depth", from.pct_depth, 1024));
  if (!(from.seconds >= 0) || std::isinf(from.seconds))
    return failure(ErrorCode::invalid, "check, seconds", "a finite number, at least 0",
                   fmt::format("{}", from.seconds));
  if (from.schedules > 0) to.schedules = static_cast<std::size_t>(from.schedules);
  to.seed = from.seed;
  if (from.seconds > 0) to.seconds = from.seconds;
  WW_TRY(to.only, to_schedule("check, only", from.only));
  WW_TRY(to.math, to_math("check, math", from.math));
  to.processes = from.processes;
  if (from.pct_depth > 0) to.pct_depth = from.pct_depth;
  to.shrink = from.no_shrink == 0;
  to.traffic = from.traffic != 0;
  to.relaxed = names_in(text_or_empty(from.relaxed));
  to.strict = names_in(text_or_empty(from.strict));
  WW_CHECK(check_range("check, launches", from.launches, 64));
  to.launches = from.launches;
  to.verify = from.verify != 0;
  to.cache_dir = text_or_empty(from.cache_dir);
  to.worker = text_or_empty(from.worker);
  return to;
}

ww_status run_campaign(const CheckTarget& target, const ww_check_options* given, ww_verdict* verdict,
                       ww_report* report) {
  Given<ww_check_options> from;
  WW_C_PASS(from.read("check", given, true));
  WW_C_TRY(CheckOptions options, to_check_options(*from));
  std::stop_source stop;
  options.stop = stop.get_token();
  if (from->progress != nullptr || from->stop != nullptr)
    options.progress = [&](const CheckProgress& told) {
      if (from->progress != nullptr) from->progress(from->context, told.phase, told.fraction);
      if (from->stop != nullptr && from->stop(from->context) != 0) stop.request_stop();
    };
  WW_C_TRY(const CheckCampaign campaign, check(target, options));
  if (verdict != nullptr) *verdict = from_verdict(campaign.verdict());
  if (report == nullptr) return WW_OK;
  return make_report(io::to_json(facts::fields_of(campaign, options)), report);
}

Result<void> check_array(const char* field, const void* array, std::int64_t count) {
  if (array != nullptr || count == 0) return {};
  return failure(ErrorCode::invalid, field, fmt::format("{} numbers", count), "null");
}

/// The arrays of a problem's groups, whose lengths follow from its encoding. `rows` as in the problem.
template <class Problem>
Result<CheckGroups> to_groups(const ww_check_groups& from, const Problem& problem, std::int64_t rows) {
  constexpr std::int64_t kMostGroups = 4096, kMostRows = std::int64_t{1} << 31;
  if (problem.groups < 0 || problem.groups > kMostGroups)
    return failure(ErrorCode::invalid, "groups", fmt::format("0 to {}", kMostGroups),
                   fmt::format("{}", problem.groups));
  CheckGroups to;
  to.alignment = problem.alignment;
  to.gap = from.gap;
  if (from.counts != nullptr) {
    to.counts.assign(from.counts, from.counts + problem.groups);
    return to;
  }
  const GroupEncoding encoding = problem.encoding;
  if (encoding == GroupEncoding::row_ids && (rows < 0 || rows > kMostRows))
    return failure(ErrorCode::invalid, "rows", fmt::format("0 to {}", kMostRows), fmt::format("{}", rows));
  const std::int64_t count = encoding == GroupEncoding::row_ids  ? rows
                             : encoding == GroupEncoding::indptr ? problem.groups + 1
                                                                 : problem.groups;
  WW_CHECK(check_array("groups->sizes", from.sizes, count));
  to.sizes.assign(from.sizes, from.sizes + count);
  if (encoding != GroupEncoding::starts_counts) return to;
  WW_CHECK(check_array("groups->sizes2", from.sizes2, problem.groups));
  to.sizes2.assign(from.sizes2, from.sizes2 + problem.groups);
  return to;
}

/// Clears the results, so that a failure leaves none.
void clear(ww_verdict* verdict, ww_report* report) {
  if (verdict != nullptr) *verdict = 0;
  if (report != nullptr) *report = nullptr;
}

ww_status check_dense(const ww_gemm_problem* problem, const ww_options* options, const ww_check_options* check,
                      ww_verdict* verdict, ww_report* report) {
  clear(verdict, report);
  Request<ww_gemm_problem> request;
  WW_C_PASS(request.read(problem, options));
  return run_campaign(GemmCheck{request.problem, request.options}, check, verdict, report);
}

/// Groups of rows or of K; `rows` is the problem's field that counts them.
template <class Check, class CProblem, class Problem>
ww_status check_groups(const CProblem* problem, const ww_check_groups* groups, std::int64_t Problem::*rows,
                       const ww_options* options, const ww_check_options* check, ww_verdict* verdict,
                       ww_report* report) {
  clear(verdict, report);
  Request<CProblem> request;
  WW_C_PASS(request.read(problem, options));
  Given<ww_check_groups> from;
  WW_C_PASS(from.read("groups", groups));
  WW_C_TRY(CheckGroups made, to_groups(*from, request.problem, request.problem.*rows));
  return run_campaign(Check{request.problem, std::move(made), request.options}, check, verdict, report);
}

ww_status check_kernel(const ww_kernel_source* kernel, const ww_check_options* check, ww_verdict* verdict,
                       ww_report* report) {
  clear(verdict, report);
  Given<ww_kernel_source> from;
  WW_C_PASS(from.read("kernel", kernel));
  KernelCheck target;
  target.source = text_or_empty(from->source);
  target.text = text_or_empty(from->text);
  target.entry = text_or_empty(from->entry);
  target.sms = from->sms;
  WW_C_TRY(target.launch, parse_check_launch(text_or_empty(from->launch)));
  return run_campaign(target, check, verdict, report);
}

}  // namespace
}  // namespace ww::capi

using namespace ww::capi;

extern "C" {

ww_status ww_gemm_check(const ww_gemm_problem* problem, const ww_options* options, const ww_check_options* check,
                        ww_verdict* verdict, ww_report* report) {
  return guarded([&] { return check_dense(problem, options, check, verdict, report); });
}
ww_status ww_grouped_check(const ww_grouped_problem* problem, const ww_check_groups* groups, const ww_options* options,
                           const ww_check_options* check, ww_verdict* verdict, ww_report* report) {
  return guarded([&] {
    return check_groups<ww::GroupedCheck>(problem, groups, &ww::GroupedProblem::rows, options, check, verdict, report);
  });
}
ww_status ww_k_grouped_check(const ww_k_grouped_problem* problem, const ww_check_groups* groups,
                             const ww_options* options, const ww_check_options* check, ww_verdict* verdict,
                             ww_report* report) {
  return guarded([&] {
    return check_groups<ww::KGroupedCheck>(problem, groups, &ww::KGroupedProblem::k, options, check, verdict, report);
  });
}
ww_status ww_kernel_check(const ww_kernel_source* kernel, const ww_check_options* check, ww_verdict* verdict,
                          ww_report* report) {
  return guarded([&] { return check_kernel(kernel, check, verdict, report); });
}

}  // extern "C"
