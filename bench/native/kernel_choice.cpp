// SPDX-License-Identifier: Apache-2.0
// Lists the problems, has kernels chosen for them, and writes what was chosen.
#include "bench/native/kernel_choice.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "bench/native/tuning_file.hpp"
#include "config/config_text.hpp"
#include "io/file.hpp"
#include "ops/kernel_choice.hpp"
#include "runtime/place.hpp"

namespace ww::bench {
namespace {

/// The cases, or with `up_to` each of their N, K and numbers of groups with every step of rows.
Result<std::vector<BenchCase>> cases_of(const Suite& suite, const TuneOptions& options) {
  int skipped = 0;
  WW_TRY(std::vector<BenchCase> given, bench_cases(options.bench, suite.op(), skipped));
  if (options.up_to == 0) return given;
  std::vector<BenchCase> cases;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> done;
  for (const BenchCase& one : given) {
    if (!done.emplace(one.n, one.k, one.groups()).second) continue;
    for (const std::int64_t rows : row_steps(options.up_to)) {
      BenchCase& made = cases.emplace_back(BenchCase{.n = one.n, .k = one.k, .counts = one.counts});
      if (one.counts.empty()) made.m = rows;
      for (std::int64_t group = 0; group < one.groups(); ++group)
        made.counts[static_cast<std::size_t>(group)] = rows / one.groups() + (group < rows % one.groups());
    }
  }
  return cases;
}

/// The problems and what was chosen for each. Cases that a tuning file knows as one problem are one here.
struct Choice {
  std::vector<tuning::Problem> problems;
  ops::KernelChoice kernels;  // of the same order
  ops::KernelChoice::Chosen chosen;
};

Result<void> add_problem(const Operation& operation, Arch arch, const Device* device, const TuningFile* file,
                         Choice& choice) {
  WW_TRY(tuning::Problem problem, tuning_problem_of(operation, arch));
  if (std::find(choice.problems.begin(), choice.problems.end(), problem) != choice.problems.end()) return {};
  if (file != nullptr) WW_CHECK(file->check_unmeasured(problem));
  WW_TRY(const Explanation all, operation.explain(device));
  choice.kernels.add(all.ranking);
  choice.problems.push_back(std::move(problem));
  return {};
}

/// Errors name the case, which is one of many.
Result<void> add_case(const Suite& suite, const BenchCase& one, const TuneOptions& options, const Device* device,
                      const TuningFile* file, Choice& choice) {
  WW_TRY(const std::shared_ptr<Operation> operation, tuned_operation(suite, one, options.bench));
  const Arch arch = device != nullptr ? device->info().arch : options.bench.config.arch;
  Result<void> added = add_problem(*operation, arch, device, file, choice);
  if (!added) added.error().message += fmt::format("; the case is {}", operation->title());
  return added;
}

/// A chosen kernel with the config of its first problem, and how many problems take it.
struct Use {
  std::string text;
  std::int64_t problems = 0;
};
/// Most used first.
std::vector<Use> uses_of(const Choice& choice) {
  std::map<std::size_t, Use> by_kernel;
  for (const auto& served : choice.chosen.problems) {
    if (!served) continue;
    Use& use = by_kernel[served->kernel];
    if (use.problems++ == 0) use.text = to_text(*served->config);
  }
  std::vector<Use> uses;
  for (auto& [kernel, use] : by_kernel) uses.push_back(std::move(use));
  std::stable_sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) { return a.problems > b.problems; });
  return uses;
}

Result<void> write_lines(const Choice& choice, TuningFile& file) {
  std::vector<tuning::Line> lines;
  for (std::size_t p = 0; p < choice.problems.size(); ++p) {
    const auto& served = choice.chosen.problems[p];
    if (!served) continue;
    const std::string config = to_text(*served->config);
    lines.push_back(
        {choice.problems[p], file.place(), config, served->us, {{config, served->us}}, date_now(), true});
  }
  return file.add(std::move(lines));
}

Result<void> write_list(const std::vector<Use>& uses, const TuneOptions& options) {
  std::string text = fmt::format("# {}\n", options.bench.command_line);
  for (const Use& use : uses) text += fmt::format("{}  # {}\n", use.text, use.problems);
  return write_file(options.list.string(), "--list", [&](const Sink& sink) { return sink(text.data(), text.size()); });
}

Outcome report(const Suite& suite, const Choice& choice, const std::vector<Use>& uses) {
  const auto automatic = static_cast<std::int64_t>(choice.kernels.automatic());
  const auto problems = static_cast<std::int64_t>(choice.problems.size());
  Outcome outcome;
  outcome.text = fmt::format("tune {}: {} problems, which auto runs with {} kernels\n", suite.op(),
                             problems, automatic);
  outcome.text += "  kernels  loss in the mean   worst\n";
  List losses, kernels;
  for (const select::KernelLoss& loss : choice.chosen.losses) {
    outcome.text += fmt::format("  {:>7} {:>16.1f} % {:>6.1f} %{}\n", loss.kernels, 100 * loss.mean, 100 * loss.worst,
                                loss.unsolved == 0 ? "" : fmt::format(", {} without a kernel", loss.unsolved));
    losses.emplace_back(Fields{{"kernels", static_cast<std::int64_t>(loss.kernels)},
                               {"mean", loss.mean},
                               {"worst", loss.worst},
                               {"unsolved", static_cast<std::int64_t>(loss.unsolved)}});
  }
  outcome.text += "  problems  kernel\n";
  for (const Use& use : uses) {
    outcome.text += fmt::format("  {:>8}  {}\n", use.problems, use.text);
    kernels.emplace_back(Fields{{"config", use.text}, {"problems", use.problems}});
  }
  outcome.json = {{"problems", problems},
                  {"kernels_of_auto", automatic},
                  {"losses", std::move(losses)},
                  {"kernels", std::move(kernels)}};
  return outcome;
}

}  // namespace

std::vector<std::int64_t> row_steps(std::int64_t most) {
  std::vector<std::int64_t> steps;
  for (std::int64_t rows = 1; rows < most;) {
    steps.push_back(rows);
    rows += std::max<std::int64_t>(1, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(rows)) / 8));
  }
  steps.push_back(most);
  return steps;
}

Result<Outcome> choose_kernels(const Suite& suite, const TuneOptions& options) {
  if (std::string_view(suite.op()) == k_grouped_suite().op())
    return failure(ErrorCode::unsupported, "--kernels", "gemm or grouped, whose configs have modelled times",
                   suite.op());
  WW_TRY(const std::vector<BenchCase> cases, cases_of(suite, options));
  std::optional<Device> device;
  std::optional<TuningFile> file;
  if (!options.file.empty()) {
    WW_TRY(device, Device::open(options.bench.device, options.bench.device_options));
    file.emplace(options.file, runtime::place_of(device->info()));
    WW_CHECK(file->read());
    if (!options.dry_run) WW_CHECK(file->check_lock());
  }
  Choice choice;
  for (const BenchCase& one : cases)
    WW_CHECK(add_case(suite, one, options, device ? &*device : nullptr, file ? &*file : nullptr, choice));
  choice.chosen = choice.kernels.choose(static_cast<std::size_t>(options.kernels));
  const std::vector<Use> uses = uses_of(choice);
  if (!options.dry_run && file) WW_CHECK(write_lines(choice, *file));
  if (!options.dry_run && !options.list.empty()) WW_CHECK(write_list(uses, options));
  return report(suite, choice, uses);
}

}  // namespace ww::bench
