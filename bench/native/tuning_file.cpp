// SPDX-License-Identifier: Apache-2.0
// Reads, locks and replaces tuning files.
#include "bench/native/tuning_file.hpp"

#include <algorithm>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "io/file.hpp"
#include "ops/gemm_choice.hpp"
#include "ops/gemm_validation.hpp"
#include "ops/group_choice.hpp"
#include "ops/grouped_validation.hpp"
#include "ops/operand_checks.hpp"

namespace ww::bench {
namespace {

/// variant=masked says how the groups are given. Their choice, as that of any call, is among all variants for them.
GemmConfig restriction_of(GemmConfig config) {
  if (config.row_groups.variant == GroupedVariant::masked) config.row_groups.variant = GroupedVariant::automatic;
  return config;
}

}  // namespace

Result<std::shared_ptr<Operation>> tuned_operation(const Suite& suite, const BenchCase& bench_case,
                                                   const BenchOptions& options) {
  return operation_of(suite.target(bench_case, options,
                                   {.config = restriction_of(options.config),
                                    .sms = options.sms,
                                    .pdl = options.pdl,
                                    .batch_invariant = options.batch_invariant}));
}

Result<tuning::Problem> tuning_problem_of(const Operation& operation, Arch arch) {
  const CheckTarget target = operation.check_target();
  if (const auto* check = std::get_if<GemmCheck>(&target)) {
    WW_TRY(const GemmOptions options, ops::for_arch(check->options, arch));
    WW_TRY(const GemmProblem problem, ops::validate(check->problem));
    return ops::tuning_problem(problem, options);
  }
  if (const auto* check = std::get_if<GroupedCheck>(&target)) {
    WW_TRY(const GemmOptions options, ops::for_arch(check->options, arch));
    WW_TRY(const GroupedProblem problem, ops::validate(check->problem));
    return ops::tuning_problem(problem, options);
  }
  const auto& check = std::get<KGroupedCheck>(target);
  WW_TRY(const GemmOptions options, ops::for_arch(check.options, arch));
  WW_TRY(const ops::KGroupedDecision decision, ops::decide(check.problem, options));
  return ops::tuning_problem(decision.batch, check.problem, options);
}

std::string date_now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::now())); }

Result<void> TuningFile::read() {
  lines_.clear();
  if (!std::filesystem::exists(path_)) return {};
  WW_TRY(lines_, tuning::read_lines(path_));
  return {};
}

bool TuningFile::has(const tuning::Problem& problem) const {
  return std::any_of(lines_.begin(), lines_.end(), [&](const tuning::FileLine& one) {
    return !one.line.modelled && one.line.problem == problem && tuning::staleness(one.line.place, place_).empty();
  });
}

Result<void> TuningFile::check_unmeasured(const tuning::Problem& problem) const {
  if (!has(problem)) return {};
  return failure(ErrorCode::invalid, "--tuning", "a file without measured lines of these problems",
                 fmt::format("{} {} x {} x {}", problem.op, problem.m, problem.n, problem.k));
}

Result<void> TuningFile::check_lock() const {
  WW_TRY(const std::optional<jit::FileDescriptor> lock, try_lock(std::chrono::seconds(0)));
  return {};
}

Result<void> TuningFile::add(std::vector<tuning::Line> lines) {
  WW_TRY(const std::optional<jit::FileDescriptor> lock, try_lock(std::chrono::seconds(60)));
  if (!lock) return failure(ErrorCode::could_not_finish, "--tuning", "a lock within 60 s", lock_path().string());
  WW_CHECK(read());
  for (const tuning::Line& line : lines)
    if (line.modelled) WW_CHECK(check_unmeasured(line.problem));
  std::erase_if(lines_, [&](const tuning::FileLine& one) {
    return one.line.place.device == place_.device && one.line.place.sms == place_.sms &&
           std::any_of(lines.begin(), lines.end(),
                       [&](const tuning::Line& line) { return line.problem == one.line.problem; });
  });
  for (tuning::Line& line : lines) {
    std::string text = tuning::to_text(line);
    lines_.push_back({std::move(line), std::move(text), 0});
  }
  return write_file(path_.string(), "--tuning", [&](const Sink& sink) {
    return std::all_of(lines_.begin(), lines_.end(), [&](const tuning::FileLine& one) {
      return sink(one.text.data(), one.text.size()) && sink("\n", 1);
    });
  });
}

/// Returns the file that is locked. The file itself is replaced, and a lock of the old one would hold nobody off.
std::filesystem::path TuningFile::lock_path() const {
  std::error_code failed;
  const std::filesystem::path path = std::filesystem::weakly_canonical(path_, failed);
  return (failed ? path_ : path).string() + ".lock";
}

/// Empty if others held the lock for all of `timeout`.
Result<std::optional<jit::FileDescriptor>> TuningFile::try_lock(std::chrono::milliseconds timeout) const {
  auto held = jit::advisory_lock(lock_path(), timeout);
  if (held) return held;
  return failure(
      make_error(ErrorCode::could_not_finish, "--tuning", "a file that can be locked", held.error().message));
}

}  // namespace ww::bench
