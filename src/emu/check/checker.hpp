// SPDX-License-Identifier: Apache-2.0
// Happens-before over one machine's run. The mechanisms of the emulator report what threads and engines do; the checker
// keeps clocks and shadow memory and collects findings. It changes nothing about the run.
//   synchronisation  checker.cpp     memory  accesses.cpp     tensor maps  tensor_maps.cpp
//   dependent launches  early_access.cpp     traffic  traffic.hpp
//   findings  findings.cpp, stops.cpp     who and where  parties.cpp, histories.cpp     advice  advice.cpp
//   rules of one machine's instructions  with its engines, ../<machine>/
// An asynchronous operation is compared, when it is issued, with every access known by then; later accesses are
// compared with it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>

#include "emu/check/access_records.hpp"
#include "emu/check/clock.hpp"
#include "emu/check/event_log.hpp"
#include "emu/check/locations.hpp"
#include "emu/check/shadow.hpp"
#include "emu/check/traffic.hpp"
#include "emu/cta.hpp"
#include "emu/operation.hpp"
#include "warpwright/host/device.hpp"
#include "warpwright/host/report.hpp"

namespace ww::emu {

struct Counterpart;
struct LaunchContext;

/// The findings of a run.
struct CheckResult {
  std::vector<Finding> findings;
  std::vector<LineTraffic> traffic;
  std::vector<SectorRun> sectors;
  bool hooked = false;      // a plain access was seen
  std::string unsupported;  // an operation that occurred and is not modelled
};

class Checker {
 public:
  /// Prepares for the first run of a launch. Memory of an earlier launch is reused.
  void start_launch(const LaunchContext& context);
  /// Prepares for a run.
  void reset();
  void start_cluster(Cluster& cluster);
  /// Notes that all threads and operations of a cluster have ended. Its memory is used for others.
  void end_cluster(Cluster& cluster);
  void thread_exits(Thread& thread);
  void has_role(const Thread& thread) { names_[thread.check_slot].role = thread.role; }
  CheckResult take_result();
  /// Returns the largest number of CTAs that it has held at once.
  u32 largest() const { return memories_; }

  // Synchronisation, checker.cpp.
  void fence(Thread& thread, arch::Fence kind, arch::Site site);
  void named_barrier_arrives(Thread& thread, u32 id, bool last);
  void named_barrier_passed(Thread& thread, u32 id, u32 round);
  void cluster_arrives(Thread& thread, bool relaxed, arch::Site site);
  void cluster_completed(Cluster& cluster);
  void cluster_passed(Thread& thread);
  /// Notes a lane at bar.warp.sync number `which` of its warp, and that it leaves it.
  void warp_meets(Thread& thread, u32 which, bool last);
  void warp_parted(Thread& thread, u32 which, u32 round);
  /// Notes that a lane leaves an exchange of its warp, which brought the lanes together but orders no memory.
  void warp_exchanged(Thread& thread) { state(thread).waits = 0; }
  void mbarrier_initialised(Thread& thread, MBarrier& barrier, arch::Site site);
  void mbarrier_invalidated(Thread& thread, MBarrier& barrier, arch::Site site);
  /// Remembers the clock of a remote arrival until it lands. The result belongs to the operation.
  u32 remote_arrive(Thread& thread, Cta& target, u32 offset, arch::Ordering ordering, arch::Site site);
  /// Notes a signal at the barrier: an arrival or expectation by the origin's thread (`note` from remote_arrive), or
  /// bytes of a copy (`access` from tma_load).
  void mbarrier_signalled(Cta& cta, MBarrier& barrier, u32 arrivals, i64 expect, i64 arrived, Origin origin, u32 note,
                          arch::Ordering ordering);
  void mbarrier_completed(MBarrier& barrier);
  void mbarrier_passed(Thread& thread, MBarrier& barrier, u32 phase_at_start, arch::Ordering ordering, arch::Site site);

  // Memory, accesses.cpp.
  void shared_access(Thread& thread, Cta& cta, u32 offset, u32 bytes, Access kind, arch::Site site,
                     arch::Ordering ordering = arch::kWeak);
  void global_access(Thread& thread, u64 address, u32 bytes, arch::Access access, arch::Ordering ordering,
                     arch::Site site);
  /// The read of global memory by a load, in use until one of its destinations is known to have its bytes.
  struct LoadSource {
    bool judged = false;          // some thread of the launch may write the memory
    u32 first = ~0u, last = ~0u;  // records, one for each destination
  };
  /// Notes one destination of a load. The result belongs to the operation.
  u32 tma_load(Thread& thread, Cta& cta, u32 offset, u32 bytes, MBarrier& barrier, LoadSource& source, arch::Site site);
  u32 store_async(Thread& thread, Cta& cta, u32 offset, u32 bytes, MBarrier& barrier, arch::Site site);
  /// Notes one destination of an answer of cluster launch control. The result belongs to the operation.
  u32 launch_answer(Thread& thread, Cta& cta, u32 offset, u32 bytes, MBarrier& barrier, arch::Site site);
  /// Notes a row that a load reads, after all its destinations were noted. `unwritten` as MemoryRange::unwritten.
  void tma_row_read(Thread& thread, u64 address, u32 bytes, const LoadSource& source, bool unwritten);
  void tma_row_written(Thread& thread, u64 address, u32 bytes, arch::Site site);
  /// Notes a bulk store. The result goes to tensor_map_used.
  u32 tma_store(Thread& thread, u32 offset, u32 bytes, arch::Site site);
  void bulk_waited(Thread& thread, u32 groups, bool read_only);
  /// Notes a plain load or store of kernel code that is about to happen.
  void plain_access(Thread& thread, u64 address, u32 bytes, bool write, bool is_volatile, const void* from);

  // Tensor maps in global memory, tensor_maps.cpp.
  void tensor_map_replaced(Thread& thread, u32 offset, arch::Site site);
  /// Notes one lane's part of a release: 4 of the 128 bytes.
  void tensor_map_released(Thread& thread, u32 offset, u64 address, arch::Site site);
  void tensor_map_acquired(Thread& thread, u64 address, arch::Site site);
  /// Notes a use of a map. `operation` is the access of the copy, which has read the map once it has landed or has read
  /// its source.
  void tensor_map_used(Thread& thread, u64 address, u32 operation, arch::Site site);

  // Programmatic dependent launch, early_access.cpp.
  void pdl_waited(Thread& thread, arch::Site site);
  /// Notes that a copy to or from operand `range` of the launch is issued.
  void tma_operand(Thread& thread, u32 range, bool write, arch::Site site) {
    if (may_be_early(thread)) [[unlikely]]
      tma_early(thread, range, write, site);
  }

  // For the rules of a machine's own engines, which keep their state themselves.
  /// Adds `count` agents with consecutive numbers: each is known up to an epoch of its own.
  u32 new_agents(u32 count) {
    names_.resize(agents_ + count);
    ctas_of_slots_.resize(agents_ + count, 0);
    return std::exchange(agents_, agents_ + count);
  }
  /// Returns what the thread knows of the others.
  const ClockRef& knowledge(const Thread& thread) { return state(thread).base; }
  /// Notes that the thread now knows what `agent` did up to `epoch`.
  void learn(Thread& thread, u32 agent, u32 epoch) {
    ThreadState& self = state(thread);
    self.base = pool_.raise(self.base, agent, epoch);
  }
  /// An asynchronous access of an engine to granules of a CTA's shared memory.
  struct EngineAccess {
    Access kind{};
    u32 agent = 0;                      // the first of those that do it
    u8 agents = 1;                      // later accesses have to know all of them
    u32 epoch = 0;                      // of the agents, when it is done
    Origin origin;                      // the thread that issued it
    const void* from = nullptr;         // return address of its call
    std::span<const ClockRef> issuers;  // what the threads knew when they issued it
    bool write = false;
    bool by_one_thread = false;  // its own program order counts too
  };
  /// Notes the access, at issue. `granules` are offsets, multiples of kGranule.
  void engine_access(Cta& cta, const EngineAccess& access, const u32* granules, u32 count);
  /// Notes that an engine will arrive at a barrier once `agent` has reached `epoch`: whoever waits for that knows what
  /// the thread knew when it asked for it. The agents behind `agent`, one for each CTA of the cluster, stand for the
  /// arrivals there. The result is for signal_now().
  u32 engine_arrives(Thread& thread, Cta& target, u32 offset, u32 agent, u32 epoch, arch::Site site);
  FindingParty party(u32 thread, arch::Site site, std::string operation, const void* from = nullptr) const;
  /// Adds a finding unless one of the same rule and lines is known. Without `advice` it gets that of its rule.
  void report(Rule rule, FindingParty first, FindingParty second, u64 begin, u64 end, std::string space,
              std::vector<BarrierHistory> barriers, const std::string& what, const char* advice = nullptr);

  // Events that stop a run, stops.cpp.
  /// Reports counters of the launch's memory that its end leaves at other values than zero.
  void expect_zero_counters();
  void stopped(Rule rule, Origin origin, const std::string& what, const Counterpart& other);
  /// Reports a deadlock, or a livelock of the thread of `origin`.
  void stuck(Rule rule, Origin origin, const std::string& text, const std::vector<std::unique_ptr<Cluster>>& clusters);

  Traffic& traffic() { return traffic_; }

 private:
  u32 counted_write(Thread& thread, Cta& cta, u32 offset, u32 bytes, MBarrier& barrier, Access kind, arch::Site site);
  struct BarrierPlace {
    u32 number = 0, slot = 0, cta = 0, offset = 0, init_thread = 0, init_epoch = 0;
    bool init_fenced = false, bytes_landed = false;
    u32 init_round = 0;  // once it is fenced: the round of the cluster barrier that makes it known, also a relaxed one
    Rounds rounds;       // for a wait of CTA scope
    // Arrivals of other CTAs at cluster scope, which a wait of that scope takes too; null while there are none.
    std::unique_ptr<Rounds> far;
    arch::Site init_site{};
    const void* init_from = nullptr;
  };
  struct BarrierState : BarrierPlace {
    EventLog log;
  };
  /// The mbarriers of a run, by number. Their memory is kept, because a run has a hundred and they are large.
  class Barriers {
   public:
    BarrierState& operator[](u32 number) { return *all_[number]; }
    const BarrierState& operator[](u32 number) const { return *all_[number]; }
    u32 size() const { return size_; }
    BarrierState& add() {
      if (size_ == all_.size()) all_.push_back(std::make_unique<BarrierState>());
      BarrierState& added = *all_[size_];
      static_cast<BarrierPlace&>(added) = {};
      added.number = size_++;
      added.log.clear();
      return added;
    }
    /// Frees the clocks of those that there were.
    void clear() {
      while (size_ != 0) static_cast<BarrierPlace&>(*all_[--size_]) = {};
    }

   private:
    std::vector<std::unique_ptr<BarrierState>> all_;
    u32 size_ = 0;
  };
  /// The record of an access, and what later accesses must have in common with it to share it.
  struct LastAccess {
    u32 access = ~0u;  // none
    u32 epoch = 0;
    arch::Site site{};
    Access kind{};
    arch::Ordering ordering;
  };
  // Aligned, because it is prefetched line by line while another thread runs.
  struct alignas(64) ThreadState : ThreadClock {
    std::unique_ptr<Fences> fences;  // null before the first
    ClockRef released_afar;          // by cluster-scope arrivals of other CTAs, for which it waited at CTA scope only
    ClockRef at_proxy_fence;         // what it knew at its last proxy fence
    u32 store_slot = ~0u;            // agents for its bulk stores: reads of the sources, writes of the results
    u32 stores = 0, stores_read = 0;
    // Records that may be shared, with their keys, because the records are too many to stay in caches. Two, because a
    // store to global memory is two accesses: that of the instruction, and the plain one that carries it out.
    LastAccess recent[2];
    u32 newest = 0;  // of the two
    LastAccess& last() { return recent[newest]; }
    u32 last_store_access = 0;
    u32 last_passed = ~0u, last_arrived = ~0u;  // numbers of mbarriers
    u32 cluster_round = 0, cluster_rounds = 0;  // that it arrived at last; that it has passed
    u32 waits = 0;                              // blocking waits since its warp was last known to be converged
    u32 cta = 0, index = 0, cluster = 0;
  };
  /// What reports say of a thread, also after its end.
  struct ThreadName {
    u32 cta = 0, index = 0;
    RoleName role;
  };
  struct WarpState {
    std::vector<Rounds> syncs;  // by mask, as Warp::syncs
    u32 cluster_waits = ~0u;    // `waits` of the first lane at the cluster barrier
    u32 cluster_lanes = 0;
    u32 cluster_first = 0;  // slot of that lane
    arch::Site cluster_site{};
    const void* cluster_from = nullptr;
  };
  struct PdlWait {
    u32 thread = ~0u;  // slot
    arch::Site site{};
    const void* from = nullptr;
  };
  struct CtaState {
    Cta* cta = nullptr;  // another CTA's after its end
    u32 index = 0, cluster = 0;
    u32 next_agent = 0, end_agents = 0;  // slots kept for barriers and bulk stores, to be neighbours of its threads
    PdlWait pdl_wait;                    // the wait of its first thread that has one
    ClockRef unwaited, waited;           // the knowledge of the last thread that waited, before and after
    std::vector<Granule> shadow;
    Overflow overflow;
    std::vector<ThreadState> threads;
    Rounds named[16];
    std::vector<WarpState> warps;
    std::vector<u32> barriers;   // live, numbers in barriers_
    std::map<u32, u32> foreign;  // last access of each agent that its exit must wait for
    Gathering exits;
    u32 last_exit = ~0u;  // slot of the thread that exited last
  };
  struct ClusterState {
    Rounds barrier;
    AccessRecords::Part accesses;  // those that its end makes irrelevant
  };
  struct Arrival {
    std::optional<ThreadClock> released, wide;  // with its scope; at cluster scope
    std::optional<ThreadClock> of_engine;       // what an engine's arrival makes known, whatever the scope
  };
  /// A finding whose second party is not known yet, because the wait comes later.
  struct EarlyAccess {
    std::size_t finding;
    u32 thread;
    PdlWait wait;  // of that thread
  };
  /// A thread's acquire of a tensor map: the first since the map last changed, and the newest.
  struct MapAcquire {
    u32 slot = 0, epoch = 0, cta = 0;
    ClockRef base;
    bool outdated = false;  // the map has changed since
  };
  enum class Order { ordered, unordered, narrow, unfenced };
  /// The agent of an access and its knowledge.
  struct Actor {
    u32 access = 0;
    u32 slot = 0;  // kind and ordering too: of the access
    Access kind{};
    arch::Ordering ordering;
    u32 self = ~0u;                       // slot of the thread whose program order applies
    const ThreadState* issuer = nullptr;  // its state; null if several issue the access together
    u32 self_epoch = 0, self_visible = 0, self_visible_global = 0;
    u32 space = ~0u;  // the CTA whose shared memory it touches; kSharedSpaceOfNobody for global memory
    u32 cta = 0;
    bool write = false, reads = true, generic = true;
    bool met_strong = false;  // it weakly wrote bytes that a strong write had written
    const ClockRef* clocks = nullptr;
    u32 clock_count = 0;
    u32 known[4] = {~0u, ~0u, ~0u, ~0u};  // accesses found ordered before
    u32 next_known = 0;
    bool read_of_nothing = true;  // reads are checked for initialisation
    bool found = false;           // the last granule produced a finding
    u32 turns = 0, turn = 0;      // entries of turns_ that belong to it, and the last that matched
    u32 noted = 0;                // entries noted so far
  };
  /// A whole granule in state `before` changes to state `after`, without a finding.
  struct Turn {
    Granule before, after;
  };

  /// Returns null once the thread's CTA has ended.
  const ThreadState* state_of(u32 slot) const {
    const std::vector<ThreadState>& threads = ctas_[names_[slot].cta]->threads;
    return names_[slot].index < threads.size() ? &threads[names_[slot].index] : nullptr;
  }
  /// Returns the mbarrier on which the thread arrived last; ~0 if none is known.
  u32 last_arrived(u32 slot) const {
    const ThreadState* const thread = state_of(slot);
    return thread ? thread->last_arrived : ~0u;
  }
  ThreadState& state(const Thread& thread) { return *static_cast<ThreadState*>(thread.check_state); }
  CtaState& state(const Cta& cta) { return *ctas_[cta.check_index]; }
  u32 new_access(const AccessRecord& record) {
    const u32 cluster = ctas_[names_[record.thread].cta]->cluster;
    const u32 access = accesses_.add(outlives_cluster(record.kind) ? lasting_ : clusters_[cluster].accesses);
    accesses_[access] = record;
    return access;
  }
  u32 thread_access(Thread& thread, Access kind, arch::Ordering ordering, arch::Site site);
  bool strong(const Actor& actor) const { return actor.ordering.order != arch::MemoryOrder::weak; }
  bool morally_strong(const AccessRecord& old, const Actor& actor) const;
  bool covers(const Actor& actor, const AccessRecord& old) const;
  bool released_by_arrival(const AccessRecord& old, bool old_write, const Actor& actor) const;
  SyncThread sync_thread(Thread& thread);
  void strong_access(Thread& thread, u64 place, u32 bytes, arch::Access access, arch::Ordering ordering);
  u32 late_agents(CtaState& cta, u32 count);
  u32 new_arrival();
  void fence_sc(Thread& thread, Reach reach);
  Actor actor_of(Thread& thread, u32 access, bool write, bool generic);
  Order order(const AccessRecord& old, bool old_write, const Actor& actor) const;
  bool fenced(const AccessRecord& old, bool old_write, const Actor& actor, u32 shared, u32 global) const;
  Order order_of_any(u32 record, bool old_write, const Actor& actor) const;
  Order order_inline(const AccessRecord& old, bool old_write, const Actor& actor) const;
  void touch(Overflow& overflow, Granule& granule, u16 bytes, Actor& actor, u32 cta, u64 address);
  bool is_repeated(const AccessRecord& old, const Actor& actor) const;
  u16 judge_reads(ShadowEntry entry, u16 bytes, bool crowded, const Actor& actor) const;
  u16 judge(ShadowEntry entry, u16 common, u16 bytes, bool crowded, Actor& actor, u32 cta, u64 address);
  /// Accesses all of a granule. Most granules have the state of one of the last few, because a copy or an operand has
  /// few histories; the four operands of a row of a stage are an example.
  void touch_whole(Overflow& overflow, Granule& granule, Actor& actor, u32 cta, u64 address) {
    for (u32 left = actor.turns, at = actor.turn; left != 0; --left) {
      if (granule == turns_[at].before) {
        granule = turns_[at].after;
        actor.turn = at;
        return;
      }
      at = at + 1 == actor.turns ? 0 : at + 1;  // rows repeat, so that the one that followed it before is next
    }
    touch_whole_anew(overflow, granule, actor, cta, address);
  }
  void touch_whole_anew(Overflow& overflow, Granule& granule, Actor& actor, u32 cta, u64 address);
  /// Accesses all of `count` granules: granule_at(i) is at address_at(i).
  template <class GranuleAt, class AddressAt>
  void touch_each(Overflow& overflow, u32 count, GranuleAt granule_at, Actor& actor, u32 cta, AddressAt address_at) {
    for (u32 i = 0; i < count; ++i) {
      touch_whole(overflow, granule_at(i), actor, cta, address_at(i));
      if (actor.turns == 0) continue;
      // The inner loop contains no calls, so that the histories stay in registers.
      const Turn last = turns_[actor.turn];
      while (i + 1 < count && granule_at(i + 1) == last.before) granule_at(++i) = last.after;
    }
  }
  void touch_shared(CtaState& cta, u32 offset, u32 bytes, Actor& actor);
  void touch_global(u64 address, u32 bytes, Actor& actor, bool unwritten = false);
  bool in_module(u64 address);
  const MapAcquire* map_acquire_before(Thread& thread, u64 address) const;
  void judge_map_write(const AccessRecord& write, const AccessRecord& use, const MapAcquire* acquire, u64 address);
  void check_foreign(CtaState& cta, const Thread& last);
  void convergence(Thread& thread, u32 mask);
  void proxy_fence(ThreadState& self, arch::Fence kind);
  void check_barrier_use(Thread& thread, BarrierState& barrier, bool async, arch::Site site);

  /// Returns whether kernels before this one may still run, as far as the thread knows.
  bool may_be_early(const Thread& thread) {
    if (!starts_early_) return false;
    const ClockRef& known = state(thread).base;
    return !known || !known->waited;
  }
  void early_access(Thread& thread, const char* operation, u64 begin, u64 end, std::string space, arch::Site site);
  void tma_early(Thread& thread, u32 range, bool write, arch::Site site);
  void complete_early_accesses();

  // findings.cpp
  void conflict(Order order, const AccessRecord& old, bool old_write, const Actor& actor, u32 cta, u64 begin, u64 end);
  std::string strict_rule_of(Order order, const AccessRecord& old, bool old_write, const Actor& actor) const;
  void uninitialised(const Actor& actor, u32 cta, u64 begin, u64 end);

  // parties.cpp
  FindingParty party(const AccessRecord& record) const;
  FindingParty party(const EventLog::Event& event, std::string operation) const;
  /// Returns what the launch provided as a party, at the line of the kernel's definition.
  FindingParty launch_party(std::string what) const;
  FindingParty shared_memory_party(u32 cta) const;
  FindingParty operands_party() const;
  FindingParty exit_party(u32 cta) const;
  /// Returns the latest change of the barrier before the one that `now` makes.
  FindingParty last_change_of(const BarrierState& barrier, Origin now) const;
  FindingParty store_party(const ThreadState& thread) const;
  FindingParty counterpart(Rule rule, Origin origin, const Counterpart& other) const;
  /// Returns the last write of a byte of global memory, or `otherwise`.
  FindingParty last_write_of(u64 address, FindingParty otherwise);
  FindingParty missing_party(const Thread& waiting, const std::vector<std::unique_ptr<Cluster>>& clusters);
  std::string completion_of(const AccessRecord& record) const;
  std::string words_of_barrier(u32 number) const;
  std::string words_of_thread(u32 slot) const;
  std::string space_of(u32 cta, u64& begin, u64& end) const;

  // advice.cpp; null: the advice of the rule
  const char* race_advice(const AccessRecord& old, const AccessRecord& mine, u32 cta) const;
  const char* reuse_advice(const AccessRecord& old, bool old_write, const AccessRecord& mine) const;
  const char* fence_advice(const AccessRecord& old, bool old_write, u32 cta) const;
  /// `cta` has the bytes, or is kSharedSpaceOfNobody.
  const char* conflict_advice(Rule rule, const AccessRecord& old, bool old_write, const AccessRecord& mine,
                              u32 cta) const;
  const char* stop_advice(Rule rule, Origin origin, const Counterpart& other, const std::string& what) const;
  const char* stuck_advice(Rule rule, const Thread* waiting, bool apart) const;

  // histories.cpp
  BarrierHistory one_history(u32 barrier, std::string relation) const;
  std::vector<BarrierHistory> history_of(u32 barrier) const;
  std::vector<BarrierHistory> histories_of(const AccessRecord& old, const AccessRecord& mine) const;

  const LaunchContext* context_ = nullptr;
  ClockPool pool_;
  std::vector<ThreadName> names_;   // by slot; those of other agents are unused
  std::vector<u32> ctas_of_slots_;  // separate, so that it stays in caches
  std::vector<std::unique_ptr<CtaState>> ctas_;
  std::vector<ClusterState> clusters_;
  Barriers barriers_;
  AccessRecords accesses_;
  AccessRecords::Part lasting_;  // of global memory
  std::vector<Arrival> arrivals_;
  std::vector<u32> idle_arrivals_;
  Locations locations_;
  std::unordered_map<u64, std::vector<MapAcquire>> map_acquires_;
  GlobalShadow global_;
  Overflow global_overflow_;
  static constexpr u32 kTurns = 4;
  Turn turns_[kTurns];  // of the current actor; not a member of it, because most actors touch one granule
  u32 agents_ = 0;
  u32 used_ctas_ = 0, used_clusters_ = 0;
  struct Memory {
    std::vector<Granule> shadow;
    Overflow overflow;
    std::vector<ThreadState> threads;
  };
  std::vector<Memory> idle_memory_;  // of CTAs that have ended
  u32 memories_ = 0;
  bool hooked_ = false;
  bool starts_early_ = false;  // the launch may: Launch::pdl
  StrictRules strict_ = 0;
  std::vector<EarlyAccess> early_accesses_;
  std::set<u64> module_pages_;      // of kernel code and its constants
  u64 seen_module_pages_[16] = {};  // of those, by number modulo 16; no operand shares them
  std::string unsupported_;
  std::map<std::tuple<int, std::string, int, std::string, int>, std::size_t> known_;
  // Conflicts of the same two instructions, which produce no second finding; their parties need not be described.
  std::map<std::tuple<int, const void*, const char*, int, const void*, const char*, int>, std::size_t> met_;
  std::vector<Finding> findings_;
  Traffic traffic_;
};

inline constexpr u32 kSharedSpaceOfNobody = ~0u;  // global memory, where a CTA is expected
inline constexpr std::size_t kMostFindings = 64;

/// Borrows a checker for one launch, and returns it. Schedules are short and many, and memory that was used before is
/// in caches.
std::unique_ptr<Checker> borrow_checker(const LaunchContext& context);
void give_back_checker(std::unique_ptr<Checker> checker);

/// Returns the report of a finding.
std::string text_of(const Finding& finding);

}  // namespace ww::emu
