// SPDX-License-Identifier: Apache-2.0
// One emulated machine: the clusters that are resident together, on one OS thread, under one schedule.
//   loop: pick a thread or an operation; a thread runs until it must wait, an operation takes effect at once
// Only waits switch: parking switches directly to the next thread, and to the machine's own stack for operations.
// If threads wait while nothing is runnable or in flight, it is a deadlock; many failed polls in a row are a livelock.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "emu/cta.hpp"
#include "emu/machine_model.hpp"
#include "emu/operation.hpp"
#include "emu/schedule.hpp"
#include "warpwright/host/report.hpp"

namespace ww::emu {

/// The state that all machines of a launch share, read only.
struct LaunchContext {
  const MachineModel& model;
  const arch::KernelEntry& entry;
  const runtime::Launch& launch;
  const EmuOptions& options;
  const void* params;  // a copy, aligned for tensor maps
  u32 resident;        // clusters at once on one machine
  bool check = false;
  bool hooked = false;  // the module was compiled for checking, with debug information
};

/// The other party of an operation that a machine stops at, for the checker's report: a thread and what it did, or a
/// thing that is no thread.
struct Counterpart {
  Origin origin{};
  const char* operation = nullptr;
  u32 barrier = ~0u;         // MBarrier::check_number, whose latest events tell
  const Cta* cta = nullptr;  // a CTA that has exited
  bool global = false;       // an access to global memory: the operands of the launch
};

/// Returns the first of the threads that wait, if there is one.
inline Counterpart other_of(const WaitList& waiters, const char* operation) {
  if (waiters.empty()) return {};
  const Thread* first = waiters.threads.front().thread;
  return {.origin = {first, first->site}, .operation = operation};
}

struct RangeBytes {
  u64 l2_read = 0, l2_write = 0, shared_write = 0;
  u64 thread_read = 0, thread_write = 0;
};

struct Counters {
  u64 ctas = 0, fibers = 0, switches = 0, tma_loads = 0, tma_stores = 0, mmas = 0, stores_under_mma = 0;
  u64 results_under_mma = 0, mma_copies = 0;
  std::vector<u64> mma_shared_bytes;  // that MMAs read of each CTA's shared memory, by CTA
  u64 dsmem_bytes = 0;
  std::vector<CtaWork> work;       // by CTA
  std::vector<RangeBytes> ranges;  // as launch.memory
  std::vector<EmuEvent> timeline;
};

/// Addresses at which a thread was seen while it ran without waiting.
struct LoopPlaces {
  static constexpr int kMost = 32;
  const void* at[kMost] = {};
  int count = 0;
};

class Checker;

class Machine {
 public:
  explicit Machine(const LaunchContext& context);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Runs clusters [first, first + count) of the grid, at most context.resident at a time. If it returns false, see
  /// `report`.
  bool run(u32 first, u32 count);
  const std::string& report() const { return report_; }

  // For the mechanisms, on a thread's fiber.
  /// Suspends the thread until another wakes it. A deadlock report names `a` and `b`, which identify what it waits for.
  void park(Thread& thread, Wait wait, arch::Site site, u32 a = 0, u32 b = 0);
  /// Lets other threads run; the thread resumes later.
  void yield(Thread& thread);
  /// Yields after a poll without success. Too many of these in a row without progress are a livelock.
  void poll(Thread& thread, Wait wait, arch::Site site, u32 a = 0, u32 b = 0);
  /// Yields before a load of a thread that has loaded kLooksAtOnce times or more without an effect; the thread makes
  /// the load when this returns. `registers` is WW_SAVED_REGISTERS of the function that the kernel called.
  void look(Thread& thread, Wait wait, u64 address, u64 value, const void* from, const void* registers,
            arch::Site site);
  /// Notes that the thread reads the time repeatedly.
  void look_at_clock(Thread& thread);
  /// Returns true now and then under every schedule but fifo, so that a try that could succeed fails.
  bool fails_spuriously(u32 one_in) { return schedule_.is_random() && schedule_.random().one_in(one_in); }
  /// Does the same for a wait that could pass at once, as if the thread were slow.
  bool dawdle(u32 one_in) { return !schedule_.keeps_priorities() && fails_spuriously(one_in); }

  // For the watch of src/emu/watch.hpp.
  /// Stops the thread for the rest of the launch because it runs without ever waiting. Called on its fiber in the
  /// kernel's own code, or before a call has an effect.
  [[noreturn]] void loops(Thread& thread, const LoopPlaces& places);
  bool has_loops() const { return looping_ != nullptr; }
  /// Counts run(), so that steps of one launch are not taken for those of another.
  u64 runs() const { return runs_; }

  // From anywhere.
  void wake(Thread& thread) { schedule_.push(Ready(thread)); }
  void wake_all(WaitList& waiters);
  void progress() { idle_polls_ = counted_polls_ = 0; }
  /// Notes a write or an atomic. An atomic of a thread that only polls, or that makes nothing but atomics in a loop, is
  /// no progress by which that loop could end.
  void progress_of(const Thread& thread) {
    if (thread.idle()) return;
    idle_polls_ = 0;
    if (thread.loads <= kLooksAtOnce) counted_polls_ = 0;
  }
  /// Notes progress of a thread that synchronises within its warp; this is none if all of its threads only poll.
  void meets(const Thread& thread) {
    if (!thread.idle()) progress();
  }
  Operation& new_operation(Operation::Kind kind, Origin origin) { return operations_.take(kind, origin); }
  /// Submits an operation to the scheduler; it counts for its CTA's cluster until executed.
  void submit(Operation& operation);
  /// Takes back an operation of new_operation() that an engine has executed.
  void recycle(Operation& operation) { operations_.give_back(operation); }
  /// Returns how many clusters of this run have neither started nor been handed out.
  u32 clusters_left() const { return end_cluster_ - next_cluster_ - handed_out_; }
  /// Hands out the work of one of clusters_left(), number `which` of them in order: it will not start. Returns its
  /// index in the grid.
  u32 hand_out(u32 which);
  /// Records an error and stops. The first report wins, and nothing of this machine runs afterwards.
  [[noreturn]] void fail(Origin origin, std::string what, Rule rule = Rule::invalid_operation, Counterpart other = {});

  const LaunchContext& context() const { return context_; }
  Counters& counters() { return counters_; }
  u64 steps() const { return steps_; }
  u64 seed() const { return seed_; }
  /// Returns the map at `address` before this launch released another there, because an SM may still have it cached.
  const TensorMapData* map_before(u64 address) const;
  void keep_map_before(u64 address, const TensorMapData& data);
  /// Returns null when the run is not checked.
  Checker* checker() const { return checker_.get(); }

 private:
  struct Stop {};  // leaves an operation on the machine's own stack

  bool start_another();
  void start_next();
  void skip_handed_out();
  Cluster& idle_cluster();
  void start_cluster(u32 index);
  void prepare_cta(Cta& cta, Cluster& cluster, u32 index, u32 rank);
  void prepare_engines(Cta& cta);
  void prepare_thread(Cta& cta, u32 index, Stack stack);
  void loop();
  void retire_clusters();
  void carry_out(Operation& operation);
  void resume(Thread& thread);
  void switch_away(Thread& thread);
  void note_wait(Thread& thread, Wait wait, arch::Site site, u32 a, u32 b);
  void count_poll(Thread& thread, Wait wait, u64 address, arch::Site site);
  std::string waiting() const;
  std::string loop_report() const;
  /// Ends the launch without a verdict because its time is over.
  [[noreturn]] void give_up(Thread& thread);
  static void thread_main(boost::context::detail::transfer_t from);
  void thread_ended(Thread& thread);

  const LaunchContext& context_;
  Counters counters_;
  Schedule schedule_;
  OperationPool operations_;
  std::unique_ptr<StackPool> stacks_;
  std::unique_ptr<Checker> checker_;
  Fiber own_;                     // where the loop runs
  Operation* pending_ = nullptr;  // picked on a fiber, to be executed on the machine's own stack
  std::vector<std::unique_ptr<Cluster>> idle_, resident_;
  u32 wanted_ = 1;  // clusters at once, up to context_.resident
  u32 next_cluster_ = 0, end_cluster_ = 0;
  u32 handed_out_ = 0;               // of those from next_cluster_ on
  std::vector<bool> is_handed_out_;  // by cluster before end_cluster_; empty until the first is
  std::unordered_map<u64, TensorMapData> maps_before_;
  u32 live_threads_ = 0;
  u64 steps_ = 0, seed_ = 0, idle_polls_ = 0, counted_polls_ = 0, runs_ = 0;
  Thread* looping_ = nullptr;  // the first thread that runs without waiting, of so many
  u32 loops_ = 0;
  bool failed_ = false;
  std::string report_;
};

/// The emulated thread that runs on this OS thread at the moment; null on a machine's own stack.
extern thread_local Thread* current_thread;

}  // namespace ww::emu
