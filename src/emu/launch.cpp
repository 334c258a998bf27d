// SPDX-License-Identifier: Apache-2.0
// A launch: checks it, distributes its clusters over OS threads (or keeps all on one when they wait for each other or
// are checked), and adds up the statistics. Clusters start in order, and the report of the lowest one wins, so that
// nothing depends on the thread count.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>

#include "emu/check/checker.hpp"
#include "emu/check/summary.hpp"
#include "emu/emulator.hpp"
#include "emu/machine.hpp"

namespace ww::emu {
namespace {

constexpr std::size_t kParamsAlignment = 128;

tl::unexpected<Error> wrong(const char* argument, std::string expected, std::string actual) {
  return failure(ErrorCode::invalid, argument, std::move(expected), std::move(actual));
}

Result<void> check_request(const MachineTraits& traits, const arch::KernelEntry& entry, const runtime::Launch& launch,
                           int sms) {
  constexpr u32 kMaxThreads = u32{MachineTraits::kCtaThreads};
  const u32 most_shared = static_cast<u32>(traits.shared_bytes()), most_ctas = static_cast<u32>(traits.largest_cluster);
  if (!entry.run) return wrong("kernel", "an entry with a body", "none");
  if (launch.threads != entry.threads)
    return wrong("threads", fmt::format("{}, as kernel {} was compiled for", entry.threads, entry.name),
                 fmt::to_string(launch.threads));
  if (launch.threads < kWarpSize || launch.threads > kMaxThreads || launch.threads % kWarpSize != 0)
    return wrong("threads", fmt::format("a multiple of {} from {} to {}", kWarpSize, kWarpSize, kMaxThreads),
                 fmt::to_string(launch.threads));
  if (launch.cluster < 1 || launch.cluster > most_ctas)
    return wrong("cluster", fmt::format("1 to {} CTAs", most_ctas), fmt::to_string(launch.cluster));
  if (launch.grid < 1 || launch.grid % launch.cluster != 0)
    return wrong("grid", fmt::format("a positive multiple of the cluster's {} CTAs", launch.cluster),
                 fmt::to_string(launch.grid));
  if (launch.shared_bytes > most_shared)
    return wrong("shared_bytes", fmt::format("at most {}", most_shared), fmt::to_string(launch.shared_bytes));
  if (launch.params_bytes != entry.params_bytes || (launch.params_bytes != 0 && !launch.params))
    return wrong("params", fmt::format("{} bytes", entry.params_bytes), fmt::to_string(launch.params_bytes));
  if (sms < static_cast<int>(launch.cluster))
    return wrong("sms", fmt::format("at least the cluster's {}", launch.cluster), fmt::to_string(sms));
  return {};
}

/// The results of all machines of one launch.
struct Outcome {
  std::mutex mutex;
  Counters total;
  u32 failed_cluster = ~0u;
  std::string report;
  bool out_of_memory = false;
  CheckResult check;
  std::atomic<u32> next{0};
  std::atomic<u32> stop_at{~0u};  // clusters from here on need not run

  void add(const Counters& counters) {
    total.ctas += counters.ctas;
    total.fibers += counters.fibers;
    total.switches += counters.switches;
    total.tma_loads += counters.tma_loads;
    total.tma_stores += counters.tma_stores;
    total.mmas += counters.mmas;
    total.stores_under_mma += counters.stores_under_mma;
    total.results_under_mma += counters.results_under_mma;
    total.mma_copies += counters.mma_copies;
    total.mma_shared_bytes.resize(std::max(total.mma_shared_bytes.size(), counters.mma_shared_bytes.size()));
    for (std::size_t i = 0; i < counters.mma_shared_bytes.size(); ++i)
      total.mma_shared_bytes[i] += counters.mma_shared_bytes[i];
    total.dsmem_bytes += counters.dsmem_bytes;
    total.work.resize(std::max(total.work.size(), counters.work.size()));
    for (std::size_t i = 0; i < counters.work.size(); ++i) {
      total.work[i].tiles += counters.work[i].tiles;
      total.work[i].parts += counters.work[i].parts;
      total.work[i].k_blocks += counters.work[i].k_blocks;
    }
    total.timeline.insert(total.timeline.end(), counters.timeline.begin(), counters.timeline.end());
    total.ranges.resize(counters.ranges.size());
    for (std::size_t i = 0; i < counters.ranges.size(); ++i) {
      total.ranges[i].l2_read += counters.ranges[i].l2_read;
      total.ranges[i].l2_write += counters.ranges[i].l2_write;
      total.ranges[i].shared_write += counters.ranges[i].shared_write;
      total.ranges[i].thread_read += counters.ranges[i].thread_read;
      total.ranges[i].thread_write += counters.ranges[i].thread_write;
    }
  }
  void note_failure(u32 cluster, const std::string& text) {
    const std::lock_guard lock(mutex);
    if (cluster >= failed_cluster) return;
    failed_cluster = cluster;
    report = text;
    stop_at = cluster;
  }
};

/// Returns whether one machine runs all clusters at once: they wait for each other, a checker compares what all of them
/// touch, or a timeline shows all of them.
bool runs_together(const runtime::Launch& launch, const EmuOptions& options, bool check) {
  return launch.cross_cta || check || options.timeline;
}

u32 clusters_of_a_run(const LaunchContext& context) {
  return runs_together(context.launch, context.options, context.check) ? context.launch.grid / context.launch.cluster
                                                                       : context.model.clusters_of_a_run;
}

/// Runs one OS thread: a machine that runs cluster after cluster, or all clusters at once.
void work(const LaunchContext& context, Outcome& outcome) {
  const u32 clusters = context.launch.grid / context.launch.cluster;
  const u32 batch = clusters_of_a_run(context);
  try {
    Machine machine(context);
    for (;;) {
      const u32 first = outcome.next.fetch_add(batch);
      if (first >= clusters || first >= outcome.stop_at) break;
      const bool fine = machine.run(first, min(batch, clusters - first));
      if (Checker* checker = machine.checker(); checker && fine) checker->expect_zero_counters();
      if (Checker* checker = machine.checker()) outcome.check = checker->take_result();  // of all clusters
      if (fine) continue;
      outcome.note_failure(first, machine.report());
      break;
    }
    const std::lock_guard lock(outcome.mutex);
    outcome.add(machine.counters());
  } catch (const std::bad_alloc&) {
    const std::lock_guard lock(outcome.mutex);
    outcome.out_of_memory = true;
    outcome.stop_at = 0;
  }
}

void run_workers(const LaunchContext& context, Outcome& outcome) {
  const u32 clusters = context.launch.grid / context.launch.cluster;
  u32 workers =
      context.options.threads > 0 ? static_cast<u32>(context.options.threads) : std::thread::hardware_concurrency();
  workers = max(1u, min(workers, ceil_div(clusters, clusters_of_a_run(context))));
  std::vector<std::thread> others;
  try {
    for (u32 i = 1; i < workers; ++i) others.emplace_back([&] { work(context, outcome); });
  } catch (const std::system_error&) {
    // Fewer threads change the time, not the result.
  }
  work(context, outcome);
  for (std::thread& other : others) other.join();
}

EmuStats stats_of(const MachineModel& model, const Counters& total, const runtime::Launch& launch, double seconds) {
  EmuStats stats;
  stats.seconds = seconds;
  stats.ctas = total.ctas;
  stats.fibers = total.fibers;
  stats.switches = total.switches;
  stats.tma_loads = total.tma_loads;
  stats.tma_stores = total.tma_stores;
  if (model.add_stats) model.add_stats(total, stats);
  stats.dsmem_bytes = total.dsmem_bytes;
  stats.work = total.work;
  stats.timeline = total.timeline;
  for (std::size_t i = 0; i < launch.memory.size(); ++i) {
    const RangeBytes& bytes = total.ranges[i];
    if (bytes.l2_read) stats.l2_read_bytes[launch.memory[i].name] += bytes.l2_read;
    if (bytes.l2_write) stats.l2_write_bytes[launch.memory[i].name] += bytes.l2_write;
    if (bytes.shared_write) stats.shared_write_bytes[launch.memory[i].name] += bytes.shared_write;
    if (bytes.thread_read) stats.thread_read_bytes[launch.memory[i].name] += bytes.thread_read;
    if (bytes.thread_write) stats.thread_write_bytes[launch.memory[i].name] += bytes.thread_write;
  }
  return stats;
}

struct AlignedBytes {
  std::byte* data;
  explicit AlignedBytes(std::size_t bytes)
      : data(static_cast<std::byte*>(::operator new (bytes + 1, std::align_val_t{kParamsAlignment}))) {}
  ~AlignedBytes() { ::operator delete (data, std::align_val_t{kParamsAlignment}); }
  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;
};

/// Runs a launch from its check to the last thread; `outcome` receives the results.
Result<double> run_launch(const MachineModel& model, const arch::KernelEntry& entry, const runtime::Launch& launch,
                          const EmuOptions& options, int sms, bool check, bool hooked, Outcome& outcome) {
  WW_CHECK(check_request(model.traits, entry, launch, sms));
  if (current_thread) return failure(ErrorCode::invalid, "kernel", "a launch from the host", "a launch from a kernel");
  const auto start = std::chrono::steady_clock::now();
  try {
    AlignedBytes params(launch.params_bytes);
    if (launch.params_bytes) std::memcpy(params.data, launch.params, launch.params_bytes);
    const u32 resident = runs_together(launch, options, check) ? static_cast<u32>(sms) / launch.cluster : 1;
    const LaunchContext context{model, entry, launch, options, params.data, resident, check, hooked};
    run_workers(context, outcome);
  } catch (const std::bad_alloc&) {
    outcome.out_of_memory = true;
  }
  if (outcome.out_of_memory)
    return failure(ErrorCode::could_not_finish, "kernel", "memory for the emulated CTAs", "out of memory");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Result<EmuStats> run(const MachineModel& model, const arch::KernelEntry& entry, const runtime::Launch& launch,
                     const EmuOptions& options, int sms) {
  Outcome outcome;
  WW_TRY(const double seconds, run_launch(model, entry, launch, options, sms, false, false, outcome));
  if (outcome.failed_cluster != ~0u)
    return failure({ErrorCode::could_not_finish, "kernel", "a run to the end", "a finding", outcome.report});
  return stats_of(model, outcome.total, launch, seconds);
}

CheckReport check(const MachineModel& model, const arch::KernelEntry& entry, const runtime::Launch& launch,
                  const EmuOptions& options, int sms, bool hooked) {
  Outcome outcome;
  const Result<double> seconds = run_launch(model, entry, launch, options, sms, true, hooked, outcome);
  CheckReport report;
  if (!seconds) {
    report.why_incomplete = seconds.error().message;
    return report;
  }
  if (outcome.failed_cluster == ~0u) report.stats = stats_of(model, outcome.total, launch, *seconds);
  summarise(outcome.check, launch, hooked, outcome.failed_cluster != ~0u ? outcome.report : "", report);
  return report;
}

}  // namespace ww::emu
