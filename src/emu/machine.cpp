// SPDX-License-Identifier: Apache-2.0
// Starts clusters, switches between fibers and operations, and detects that nothing can make progress.
#include "emu/machine.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <tuple>

#if defined(__SANITIZE_ADDRESS__)
#include <pthread.h>
#endif

#include "emu/aligned.hpp"
#include "emu/barriers.hpp"
#include "emu/check/checker.hpp"
#include "emu/check/source_lines.hpp"
#include "emu/memory.hpp"
#include "emu/register_budget.hpp"
#include "emu/report.hpp"
#include "emu/tma_engine.hpp"
#include "emu/watch.hpp"

namespace ww::emu {

thread_local Thread* current_thread = nullptr;

namespace {

/// Returns how many clusters are resident from the start. Those of a checked launch that nobody declared to wait for
/// each other run one after another, because one cluster's state stays in caches (all at once take 1.3 to 2.5 times
/// as long: docs/checking-kernels.md) and the checker compares them whatever their order; one that polls brings the
/// next. One schedule in 32 runs them all at once all the same, because what a kernel does may depend on the order.
u32 clusters_at_once(const LaunchContext& context) {
  constexpr u64 kSchedules = 32;
  const bool one = context.check && !context.launch.cross_cta && mix(context.options.seed + 1) % kSchedules != 0;
  return one ? 1 : context.resident;
}

/// Returns the place of the first line among the samples, as a return address, so that a report does not depend on the
/// moments of the samples.
const void* first_place(const LoopPlaces& places) {
  const void* first = nullptr;
  SourceLines lines;
  const auto key = [](const SourceLines& l) {
    return std::tie(l.first().line, l.first().file, l.inner_line, l.inner_file);
  };
  for (int i = 0; i < places.count; ++i) {
    const void* const after = static_cast<const char*>(places.at[i]) + 1;
    SourceLines here = source_lines(after);
    if (first != nullptr && (here.first().line == 0 || !(key(here) < key(lines)))) continue;
    first = after, lines = std::move(here);
  }
  return first;
}

/// Returns the stack of the scheduler, because AddressSanitizer must know the target of every switch.
Stack own_stack() {
  Stack stack;
#if defined(__SANITIZE_ADDRESS__)
  pthread_attr_t attributes;
  void* bottom = nullptr;
  std::size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &bottom, &bytes);
    pthread_attr_destroy(&attributes);
  }
  stack = {static_cast<char*>(bottom), static_cast<char*>(bottom) + bytes};
#endif
  return stack;
}

/// Fills the stack below the caller's frame, where the kernel's own variables will be, with kUnsetBits. It does so when
/// the thread starts, because the kernel needs these lines then.
[[gnu::noinline, gnu::no_sanitize_address]] void fill_unset() {
  u32 area[2048 / sizeof(u32)];  // accumulators and their copies are in the first frames
  std::fill(std::begin(area), std::end(area), kUnsetBits);
  static void (*volatile give_away)(u32*) = [](u32*) {};
  give_away(area);  // the compiler does not know the function, so that the stores are not dead
}

/// Returns whether the thread's stack is filled: in CTA 0, whose warps have all roles, those of all threads, elsewhere
/// those of two lanes of each warp. The fill would evict half of what a CTA keeps in caches.
bool is_filled(const Thread& thread, u64 seed) {
  if (thread.cta->index == 0 || thread.lane() == 0) return true;
  return thread.lane() == mix(seed + (u64{thread.cta->index} << 32 | thread.index / kWarpSize)) % kWarpSize;
}

}  // namespace

Machine::Machine(const LaunchContext& context) : context_(context), stacks_(borrow_stacks()) {
  counters_.ranges.resize(context.launch.memory.size());
  if (context.check) checker_ = borrow_checker(context);
  own_.stack = own_stack();
}

Machine::~Machine() {
  give_back_stacks(std::move(stacks_));
  idle_.clear(), resident_.clear();  // first, because rules of their engines hold clocks of the checker
  give_back_checker(std::move(checker_));
}

bool Machine::run(u32 first, u32 count) {
  seed_ = mix(context_.options.seed + 0x9E3779B97F4A7C15ull * (first + 1));
  schedule_.reset(context_.options, seed_, context_.launch.threads / kWarpSize, context_.launch.cluster);
  steps_ = idle_polls_ = counted_polls_ = 0;
  ++runs_;
  looping_ = nullptr;
  loops_ = 0;
  maps_before_.clear();
  if (checker_) checker_->reset();
  wanted_ = clusters_at_once(context_);
  next_cluster_ = first;
  end_cluster_ = first + count;
  handed_out_ = 0;
  is_handed_out_.clear();
  try {
    loop();
  } catch (const Stop&) {
    // The report has been made.
  }
  return !failed_;
}

void Machine::loop() {
  while (!failed_) {
    while (resident_.size() < wanted_ && next_cluster_ != end_cluster_) start_next();
    Next next;
    if (pending_) next.operation = std::exchange(pending_, nullptr);
    else next = schedule_.pop();
    ++steps_;
    if (next.operation) {
      progress();
      carry_out(*next.operation);
    } else if (next.thread) {
      resume(*next.thread);
    } else if (live_threads_ != 0 && !start_another()) {
      failed_ = true;
      report_ = looping_ ? loop_report() : deadlock_report(context_, waiting());
      if (checker_ && looping_) checker_->stuck(Rule::livelock, {looping_, looping_->site}, report_, resident_);
      else if (checker_) checker_->stuck(Rule::deadlock, {}, report_, resident_);
    }
    retire_clusters();
    if (resident_.empty() && next_cluster_ == end_cluster_) return;
  }
}

void Machine::retire_clusters() {
  for (std::size_t i = 0; i < resident_.size(); ++i) {
    if (resident_[i]->live_threads != 0 || resident_[i]->operations != 0) continue;
    if (checker_) checker_->end_cluster(*resident_[i]);
    idle_.push_back(std::move(resident_[i]));
    resident_.erase(resident_.begin() + static_cast<std::ptrdiff_t>(i--));
  }
}

/// Starts one more cluster, for which those that are resident may wait; false if none may start.
bool Machine::start_another() {
  if (resident_.size() >= context_.resident || next_cluster_ == end_cluster_) return false;
  wanted_ = static_cast<u32>(resident_.size()) + 1;
  start_next();
  progress();
  return true;
}

void Machine::start_next() {
  start_cluster(next_cluster_++);
  if (handed_out_ != 0) skip_handed_out();
}

void Machine::skip_handed_out() {
  for (; next_cluster_ != end_cluster_ && is_handed_out_[next_cluster_]; ++next_cluster_) --handed_out_;
}

u32 Machine::hand_out(u32 which) {
  is_handed_out_.resize(end_cluster_, false);
  u32 index = next_cluster_;
  for (u32 left = which; is_handed_out_[index] || left != 0; ++index) left -= !is_handed_out_[index];
  is_handed_out_[index] = true;
  ++handed_out_;
  skip_handed_out();
  return index;
}

Cluster& Machine::idle_cluster() {
  if (idle_.empty()) {
    idle_.push_back(std::make_unique<Cluster>());
    idle_.back()->slot = static_cast<u32>(resident_.size());
  }
  resident_.push_back(std::move(idle_.back()));
  idle_.pop_back();
  return *resident_.back();
}

void Machine::start_cluster(u32 index) {
  const runtime::Launch& launch = context_.launch;
  Cluster& cluster = idle_cluster();
  cluster.live_threads = launch.cluster * launch.threads;
  cluster.arrived = cluster.phase = cluster.operations = cluster.remote_arrivals = 0;
  cluster.waiters = {};
  cluster.requests = {};
  for (u32 rank = 0; rank < launch.cluster; ++rank) {
    if (cluster.ctas.size() <= rank) cluster.ctas.push_back(std::make_unique<Cta>());
    prepare_cta(*cluster.ctas[rank], cluster, index * launch.cluster + rank, rank);
  }
  if (checker_) checker_->start_cluster(cluster);
  live_threads_ += cluster.live_threads;
  counters_.ctas += launch.cluster;
  counters_.fibers += cluster.live_threads;
}

void Machine::prepare_cta(Cta& cta, Cluster& cluster, u32 index, u32 rank) {
  const runtime::Launch& launch = context_.launch;
  cta.machine = this;
  cta.cluster = &cluster;
  cta.index = index;
  cta.rank = rank;
  cta.shared_end = kSharedBase + launch.shared_bytes;
  if (!cta.shared)
    cta.shared.reset(
        static_cast<u8*>(::operator new[](cta.shared_end, std::align_val_t{MachineTraits::kSwizzleAlignment})));
  std::memset(cta.shared.get(), 0xFF, cta.shared_end);  // a NaN in every element type
  cta.live_threads = launch.threads;
  cta.unread_stores = 0;
  cta.registers = make_register_pool(launch.threads);
  for (NamedBarrier& barrier : cta.named) barrier = {};
  cta.barriers.clear();
  cta.maps.clear();
  cta.warps.assign(launch.threads / kWarpSize, Warp{});
  prepare_engines(cta);
  cta.threads.resize(launch.threads);
  const u32 first_stack = (cluster.slot * launch.cluster + rank) * launch.threads;
  for (u32 i = 0; i < launch.threads; ++i) prepare_thread(cta, i, stacks_->at(first_stack + i));
}

void Machine::prepare_engines(Cta& cta) {
  const MachineModel& model = context_.model;
  while (model.warpgroup_engine && cta.warpgroups.size() < context_.launch.threads / kWarpgroupSize)
    cta.warpgroups.push_back(model.warpgroup_engine(cta));
  for (auto& warpgroup : cta.warpgroups) warpgroup->reset();
  if (model.cta_engine && !cta.engine) cta.engine = model.cta_engine(cta);
  if (cta.engine) cta.engine->reset();
}

void Machine::prepare_thread(Cta& cta, u32 index, Stack stack) {
  Thread& thread = cta.threads[index];
  thread = Thread{};
  thread.machine = this;
  thread.cta = &cta;
  thread.index = index;
  thread.warp = &cta.warps[index / kWarpSize];
  const u32 warpgroup = index / kWarpgroupSize;
  thread.warpgroup = warpgroup < cta.warpgroups.size() ? cta.warpgroups[warpgroup].get() : nullptr;
  thread.registers =
      static_cast<u32>(context_.model.traits.registers_at_launch(static_cast<int>(context_.launch.threads)));
  prepare(thread.fiber, stack, thread_main);
  thread.head() = {.in_flight_begin = ~u64{0},
                   .in_flight_end = 0,
                   .params = reinterpret_cast<u64>(context_.params),
                   .shared = reinterpret_cast<u64>(cta.shared.get()),
                   .params_bytes = static_cast<u32>(context_.launch.params_bytes),
                   .shared_bytes = cta.shared_end,
                   .plain_seen = false};
  schedule_.push(Ready(thread));
}

void Machine::thread_main(boost::context::detail::transfer_t from) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
  arrived(from);
  Thread& thread = *current_thread;
  Machine& machine = *thread.machine;
  if (machine.checker_ && is_filled(thread, machine.seed_)) fill_unset();
  const char* problem = nullptr;
  try {
    machine.context_.entry.run(machine.context_.params);
  } catch (const std::bad_alloc&) {
    problem = "the emulator ran out of memory";
  } catch (...) {
    problem = "the kernel threw an exception";
  }
  if (problem) machine.fail({&thread, {}}, problem);
  machine.thread_ended(thread);
}

void Machine::thread_ended(Thread& thread) {
  Cta& cta = *thread.cta;
  progress();
  thread.wait = Wait::exited;
  --live_threads_;
  --cta.cluster->live_threads;
  --cta.live_threads;
  if (checker_) checker_->thread_exits(thread);
  if (checker_ && lane_that_exited_before(cta, thread.index / kWarpSize))
    report_skipped(thread, "exit of the thread", {});
  if (cta.live_threads == 0 && cta.unread_stores != 0)
    fail({&thread, thread.site}, "the CTA exits while bulk stores still read its shared memory: wait for them first",
         Rule::unfinished_store);
  if (cta.live_threads == 0 && cta.engine) cta.engine->cta_exits(thread);
  cluster_thread_ended(thread);
  current_thread = nullptr;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(nullptr, own_.stack.bottom, own_.stack.top - own_.stack.bottom);
#endif
  boost::context::detail::jump_fcontext(own_.context, &thread.fiber);
  __builtin_unreachable();
}

/// Prefetches what Schedule could not when it guessed the next thread.
inline void fetch_ahead(const Thread& thread) {
  const auto fetch = [](const void* from, int lines) {
    for (int i = 0; i < lines; ++i) __builtin_prefetch(static_cast<const char*>(from) + 64 * i, 1);
  };
  fetch(&thread.head(), 1);
  fetch(static_cast<const char*>(thread.fiber.context) + 64 * Schedule::kFrames, 4);
}

void Machine::resume(Thread& thread) {
  ++counters_.switches;
  current_thread = &thread;
  switch_fiber(own_, thread.fiber);
}

void Machine::switch_away(Thread& thread) {
  if (launch_is_late) [[unlikely]]
    give_up(thread);
  const Next next = schedule_.pop();
  ++steps_;
  if (next.thread == &thread) return;
  if (next.thread) {
    ++counters_.switches;
    current_thread = next.thread;
    fetch_ahead(*next.thread);
    switch_fiber(thread.fiber, next.thread->fiber);
  } else {
    pending_ = next.operation;
    current_thread = nullptr;
    switch_fiber(thread.fiber, own_);
  }
}

void Machine::note_wait(Thread& thread, Wait wait, arch::Site site, u32 a, u32 b) {
  thread.wait = wait;
  thread.site = site;
  thread.wait_a = a;
  thread.wait_b = b;
}

void Machine::park(Thread& thread, Wait wait, arch::Site site, u32 a, u32 b) {
  if (wait == Wait::warp) meets(thread);
  else progress();
  note_wait(thread, wait, site, a, b);
  switch_away(thread);
  thread.wait = Wait::none;
}

void Machine::yield(Thread& thread) {
  schedule_.push_yielded(Ready(thread));
  switch_away(thread);
}

void Machine::poll(Thread& thread, Wait wait, arch::Site site, u32 a, u32 b) {
  // Under a random order a poller may be picked many times before the thread it waits for.
  constexpr u64 kLooksWithoutProgress = 4096;
  note_wait(thread, wait, site, a, b);
  if (wait == Wait::polling) start_another();
  if (++idle_polls_ > kLooksWithoutProgress + 256 * u64{live_threads_})
    fail({&thread, site}, "livelock: threads poll and nothing else makes progress\n" + waiting(), Rule::livelock);
  yield(thread);
  thread.wait = Wait::none;
}

void Machine::look(Thread& thread, Wait wait, u64 address, u64 value, const void* from, const void* registers,
                   arch::Site site) {
  if (!thread.looking) thread.looking = std::make_unique<Looking>();
  if (thread.loads == kLooksAtOnce + 1) *thread.looking = {};
  const u64 state = registers ? digest_of_stack(registers, &thread.head()) ^ mix(value) : thread.loads;
  switch (look_again(*thread.looking, thread.loads, address, from, state)) {
    case Look::first: return;
    case Look::moves: return count_poll(thread, wait, address, site);
    case Look::idle: return poll(thread, wait, site, static_cast<u32>(address), static_cast<u32>(address >> 32));
  }
}

/// Yields after a poll by a thread that is not in an earlier state: it counts, say. So many polls in which nothing else
/// happens are a livelock, because no kernel counts that far.
void Machine::count_poll(Thread& thread, Wait wait, u64 address, arch::Site site) {
  constexpr u64 kCountedPolls = u64{1} << 22;
  idle_polls_ = 0;
  note_wait(thread, wait, site, static_cast<u32>(address), static_cast<u32>(address >> 32));
  if (++counted_polls_ > kCountedPolls + 256 * u64{live_threads_} && !thread.looking->clock_read)
    fail({&thread, site}, "livelock: threads poll, count how often, and nothing else happens\n" + waiting(),
         Rule::livelock);
  yield(thread);
  thread.wait = Wait::none;
}

/// Returns the waiting threads, and how many clusters could not start, for which they may wait. Without the checker,
/// clusters of a launch that does not say that they wait for each other start in any order.
std::string Machine::waiting() const {
  const bool full = resident_.size() >= context_.resident && (context_.check || context_.launch.cross_cta);
  return waiting_report(context_, resident_, full ? end_cluster_ - next_cluster_ - handed_out_ : 0);
}

std::string Machine::loop_report() const {
  return "livelock: threads run for seconds without waiting for anything, and no other thread can go on\n" + waiting();
}

void Machine::loops(Thread& thread, const LoopPlaces& places) {
  constexpr u32 kMostLoops = 64;  // each costs time to find
  thread.call = first_place(places);
  note_wait(thread, Wait::looping, {static_cast<const char*>(thread.call), -1}, 0, 0);
  if (looping_ == nullptr) looping_ = &thread;
  if (++loops_ == kMostLoops) fail({&thread, thread.site}, loop_report(), Rule::livelock);
  switch_away(thread);
  __builtin_unreachable();  // nothing makes it runnable
}

void Machine::give_up(Thread& thread) {
  failed_ = true;
  report_ = "the launch had not ended when its time was over\n" + waiting();
  current_thread = nullptr;
  switch_fiber(thread.fiber, own_);
  __builtin_unreachable();
}

void Machine::look_at_clock(Thread& thread) {
  if (++thread.loads <= kLooksAtOnce) return;
  if (!thread.looking) thread.looking = std::make_unique<Looking>();
  if (thread.loads == kLooksAtOnce + 1) *thread.looking = {};
  thread.looking->clock_read = true;
  thread.looking->idle = false;
  progress();
  yield(thread);
}

const TensorMapData* Machine::map_before(u64 address) const {
  const auto found = maps_before_.find(address);
  return found == maps_before_.end() ? nullptr : &found->second;
}

void Machine::keep_map_before(u64 address, const TensorMapData& data) {
  if (data.magic == kTensorMapMagic) maps_before_.try_emplace(address, data);
}

void Machine::wake_all(WaitList& waiters) {
  for (const Ready& ready : waiters.threads) schedule_.push(ready);
  waiters.threads.clear();
}

void Machine::submit(Operation& operation) {
  ++operation.cta->cluster->operations;
  schedule_.push(operation);
}

void Machine::carry_out(Operation& operation) {
  --operation.cta->cluster->operations;
  if (operation.kind == Operation::Kind::engine) return operation.engine->execute(operation);
  switch (operation.kind) {
    case Operation::Kind::tma_load: land_load(operation); break;
    case Operation::Kind::store_read: read_store(operation); return;  // continues as a write
    case Operation::Kind::store_write: write_store(operation); break;
    case Operation::Kind::remote_arrive:
      signal_now(*operation.cta, operation.barrier, operation.arrivals, operation.expect_bytes, 0, operation.origin,
                 operation.note);
      remote_arrival_landed(*operation.cta->cluster, *this);
      break;
    case Operation::Kind::store_async: land_store(operation); break;
    case Operation::Kind::engine: break;
  }
  operations_.give_back(operation);
}

void Machine::fail(Origin origin, std::string what, Rule rule, Counterpart other) {
  if (!failed_) {
    failed_ = true;
    if (checker_ && rule == Rule::livelock) checker_->stuck(rule, origin, what, resident_);
    else if (checker_) checker_->stopped(rule, origin, what, other);
    report_ = failure_report(context_, origin, what);
  }
  std::string().swap(what);  // an abandoned fiber runs no destructors
  if (!current_thread) throw Stop{};
  Thread& thread = *current_thread;
  current_thread = nullptr;
  switch_fiber(thread.fiber, own_);
  __builtin_unreachable();
}

}  // namespace ww::emu
