// SPDX-License-Identifier: Apache-2.0
// Chooses a config for every case, merges cases with the same kernel source, then compiles on a pool of threads.
#include "warpwright/host/prepare.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "launch/gemm_source.hpp"
#include "launch/grouped_source.hpp"
#include "ops/gemm_choice.hpp"
#include "ops/group_choice.hpp"
#include "runtime/backend.hpp"

namespace ww {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// What a plan of one case would compile.
struct Needed {
  GemmConfig config;
  std::vector<runtime::KernelSource> sources;  // the product's first; none where there is nothing to compute
};

Result<Needed> needed(const GemmProblem& problem, const GemmOptions& options, const DeviceInfo& device) {
  WW_TRY(const ops::Decision decision, ops::decide(problem, options, {device.sms, device.emulated}));
  Needed made{decision.config, {}};
  const GemmProblem& p = decision.problem;
  if (p.m == 0 || p.n == 0 || p.batch == 0) return made;
  made.sources.push_back(adapters::gemm_source(decision.config));
  if (p.pointer_array) made.sources.push_back(adapters::pointer_maps_source());
  return made;
}

Result<Needed> needed(const GroupedProblem& problem, const GemmOptions& options, const DeviceInfo& device) {
  WW_TRY(const ops::GroupedDecision decision, ops::decide(problem, options, device.sms));
  Needed made{decision.config, {}};
  const GroupedProblem& p = decision.problem;
  if (p.total_rows() == 0 || p.n == 0) return made;
  if (p.groups > 0) made.sources.push_back(adapters::grouped_source(decision.config));
  if (p.groups > 0 && decision.config.row_groups.variant == GroupedVariant::descriptors)
    made.sources.push_back(adapters::descriptor_update_source());
  if (p.zero_outside) made.sources.push_back(adapters::zero_rows_source());
  return made;
}

Result<Needed> needed(const KGroupedProblem& problem, const GemmOptions& options, const DeviceInfo&) {
  WW_TRY(const ops::KGroupedDecision decision, ops::decide(problem, options));
  Needed made{decision.config, {}};
  if (problem.m == 0 || problem.n == 0 || problem.groups == 0) return made;
  made.sources.push_back(adapters::gemm_source(decision.config));
  if (decision.config.k_groups.packing == KPacking::per_group && decision.batch.k > 0)
    made.sources.push_back(adapters::k_group_maps_source());
  return made;
}

/// A kernel to be made: its entry of the result, and what to compile.
struct Job {
  std::size_t kernel = 0;
  std::vector<runtime::KernelSource> sources;
};

/// Fills `kernels`; entries with an error get no job.
std::vector<Job> jobs_of(const Device& device, std::span<const PrepareCase> cases,
                         std::vector<PreparedKernel>& kernels) {
  std::vector<Job> jobs;
  std::map<std::string, std::size_t> known;  // source text -> entry
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Result<Needed> made = std::visit(
        [&](const auto& problem) { return needed(problem, cases[i].options, device.info()); }, cases[i].problem);
    if (!made) {
      kernels.push_back({.cases = {i}, .config = cases[i].options.config, .error = made.error()});
      continue;
    }
    if (made->sources.empty()) continue;
    const auto [at, fresh] = known.try_emplace(made->sources.front().text, kernels.size());
    if (!fresh) {
      kernels[at->second].cases.push_back(i);
      const auto job = std::find_if(jobs.begin(), jobs.end(), [&](const Job& j) { return j.kernel == at->second; });
      if (made->sources.size() > job->sources.size()) job->sources = std::move(made->sources);
      continue;
    }
    jobs.push_back({kernels.size(), std::move(made->sources)});
    kernels.push_back({.cases = {i}, .config = made->config});
  }
  return jobs;
}

/// Compiles one kernel. It lets no exception escape, because it runs at the top of a thread.
std::optional<Error> make_kernel(const Device& device, const Job& job) {
  try {
    for (const runtime::KernelSource& source : job.sources)
      if (const auto kernel = device.backend().kernel(source); !kernel) return kernel.error();
    return std::nullopt;
  } catch (const std::exception& error) {  // out of memory, at worst
    return make_error(ErrorCode::could_not_finish, {}, {}, {}, error.what());
  }
}

}  // namespace

Prepared prepare(const Device& device, std::span<const PrepareCase> cases, const PrepareOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Prepared prepared;
  const std::vector<Job> jobs = jobs_of(device, cases, prepared.kernels);
  std::mutex reporting;
  std::size_t done = 0;
  const auto report = [&](const PreparedKernel& kernel) {
    const std::lock_guard lock(reporting);
    ++done;
    if (options.progress) options.progress(done, prepared.kernels.size(), kernel);
  };
  for (const PreparedKernel& kernel : prepared.kernels)
    if (kernel.error) report(kernel);

  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i; (i = next++) < jobs.size();) {
      PreparedKernel& kernel = prepared.kernels[jobs[i].kernel];
      const auto begin = std::chrono::steady_clock::now();
      kernel.error = make_kernel(device, jobs[i]);
      kernel.seconds = seconds_since(begin);
      report(kernel);
    }
  };
  const std::size_t wanted = options.threads > 0 ? static_cast<std::size_t>(options.threads)
                                                 : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> threads;
  try {
    while (threads.size() + 1 < std::min(wanted, jobs.size())) threads.emplace_back(work);
  } catch (const std::exception&) {  // continue with the threads that were created
  }
  work();
  threads.clear();
  for (const PreparedKernel& kernel : prepared.kernels) prepared.failed += kernel.error.has_value();
  prepared.seconds = seconds_since(start);
  return prepared;
}

}  // namespace ww
