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
#include "ops/gemm_choice.hpp"
#include "runtime/backend.hpp"

namespace ww {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// A kernel to compile: its entry in the result, and its source.
struct Job {
  std::size_t kernel = 0;
  runtime::KernelSource source;
  bool pointer_array = false;  // also compile the kernel that builds tensor maps from pointers
};

/// Fills `kernels`; entries with an error get no job.
std::vector<Job> jobs_of(const Device& device, std::span<const PrepareCase> cases,
                         std::vector<PreparedKernel>& kernels) {
  std::vector<Job> jobs;
  std::map<std::string, std::size_t> known;  // source text -> index of the entry
  const ops::LaunchTarget place{device.info().sms, device.info().emulated};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Result<ops::Decision> decision = ops::decide(cases[i].problem, cases[i].options, place);
    if (!decision) {
      kernels.push_back({.cases = {i}, .config = cases[i].options.config, .error = decision.error()});
      continue;
    }
    const GemmProblem& p = decision->problem;
    if (p.m == 0 || p.n == 0 || p.batch == 0) continue;
    runtime::KernelSource source = adapters::gemm_source(decision->config);
    const auto [at, fresh] = known.try_emplace(source.text, kernels.size());
    if (!fresh) {
      kernels[at->second].cases.push_back(i);
      continue;
    }
    jobs.push_back({kernels.size(), std::move(source), p.pointer_array});
    kernels.push_back({.cases = {i}, .config = decision->config});
  }
  return jobs;
}

/// Compiles one kernel. It lets no exception escape, because it runs at the top of a thread.
std::optional<Error> make_kernel(const Device& device, const Job& job) {
  try {
    if (const auto kernel = device.backend().kernel(job.source); !kernel) return kernel.error();
    if (!job.pointer_array) return std::nullopt;
    const auto maps = device.backend().kernel(adapters::pointer_maps_source());
    return maps ? std::nullopt : std::optional(maps.error());
  } catch (const std::exception& error) {  // std::bad_alloc, for example
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
