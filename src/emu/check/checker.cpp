// SPDX-License-Identifier: Apache-2.0
// Synchronisation: what each barrier, fence and warp-wide exchange makes known to which thread.
#include "emu/check/checker.hpp"

#include <fmt/format.h>

#include "emu/idle_pool.hpp"
#include "emu/machine.hpp"

namespace ww::emu {

namespace {

constexpr u32 kLargestKept = 16;  // CTAs at once; a larger checker's memory is freed
constexpr u32 kLateAgents = 64;   // slots of a CTA that its barriers and bulk stores get as they appear

bool is_release(arch::Ordering ordering) {
  return ordering.order == arch::MemoryOrder::release || ordering.order == arch::MemoryOrder::acq_rel;
}

IdlePool<Checker, 4>& idle_checkers() {
  static IdlePool<Checker, 4> idle;
  return idle;
}

}  // namespace

std::unique_ptr<Checker> borrow_checker(const LaunchContext& context) {
  std::unique_ptr<Checker> checker = idle_checkers().borrow();
  checker->start_launch(context);
  return checker;
}

void give_back_checker(std::unique_ptr<Checker> checker) {
  if (checker && checker->largest() <= kLargestKept) idle_checkers().give_back(std::move(checker));
}

void Checker::start_launch(const LaunchContext& context) {
  context_ = &context;
  traffic_.start(context.model, context.options.traffic);
  starts_early_ = context.launch.pdl;
  strict_ = context.options.strict_rules;
  unsupported_.clear();
  module_pages_.clear();  // another module, or an operand, may lie where one was
  for (u64& page : seen_module_pages_) page = 0;
}

void Checker::reset() {
  names_.clear();
  ctas_of_slots_.clear();
  clusters_.clear();
  for (auto& cta : ctas_) cta->exits = {};
  barriers_.clear();
  accesses_.clear();
  lasting_ = {};
  arrivals_.clear();
  idle_arrivals_.clear();
  locations_.clear();
  map_acquires_.clear();
  global_.clear();
  global_overflow_.clear();
  pool_.forget();
  known_.clear();
  met_.clear();
  findings_.clear();
  traffic_.clear();
  early_accesses_.clear();
  agents_ = used_ctas_ = used_clusters_ = 0;
  hooked_ = false;
}

void Checker::start_cluster(Cluster& cluster) {
  cluster.check_index = used_clusters_++;
  clusters_.resize(used_clusters_);
  for (const auto& cta : cluster.ctas) {
    cta->check_index = used_ctas_++;
    if (ctas_.size() < used_ctas_) ctas_.push_back(std::make_unique<CtaState>());
    CtaState& state = *ctas_[cta->check_index];
    state.cta = cta.get();
    state.index = cta->index;
    state.cluster = cluster.check_index;
    if (state.shadow.empty() && !idle_memory_.empty()) {
      state.shadow = std::move(idle_memory_.back().shadow);
      state.overflow = std::move(idle_memory_.back().overflow);
      state.threads = std::move(idle_memory_.back().threads);
      idle_memory_.pop_back();
    } else if (state.shadow.empty()) {
      ++memories_;
    }
    state.shadow.assign(ceil_div(cta->shared_end, kGranule), Granule{});
    state.overflow.clear();
    for (Rounds& named : state.named) named = {};
    state.warps.assign(cta->warps.size(), WarpState{});
    state.barriers.clear();
    state.foreign.clear();
    state.exits = {};
    state.last_exit = ~0u;
    state.pdl_wait = {};
    state.unwaited = state.waited = {};
    const u32 count = static_cast<u32>(cta->threads.size());
    const u32 first = new_agents(count);
    if (state.threads.size() != count) state.threads = std::vector<ThreadState>(count);
    for (u32 i = 0; i < count; ++i) {
      ThreadState& thread = state.threads[i] = ThreadState{};
      thread.cta = cta->check_index;
      thread.index = i;
      thread.cluster = cluster.check_index;
      names_[first + i] = {cta->check_index, i, {}};
      ctas_of_slots_[first + i] = cta->check_index;
      cta->threads[i].check_slot = first + i;
      cta->threads[i].check_state = &thread;
    }
    for (const auto& engine : cta->warpgroups) engine->start_check(*this);
    if (cta->engine) cta->engine->start_check(*this);
    state.next_agent = new_agents(kLateAgents);
    state.end_agents = agents_;
  }
}

void Checker::end_cluster(Cluster& cluster) {
  accesses_.forget(clusters_[cluster.check_index].accesses);
  for (const auto& cta : cluster.ctas) {
    CtaState& state = *ctas_[cta->check_index];
    state.foreign.clear();
    idle_memory_.push_back(
        {std::exchange(state.shadow, {}), std::exchange(state.overflow, {}), std::exchange(state.threads, {})});
  }
}

/// Returns slots for agents that appear while the CTA runs.
u32 Checker::late_agents(CtaState& cta, u32 count) {
  if (cta.end_agents - cta.next_agent < count) return new_agents(count);
  return std::exchange(cta.next_agent, cta.next_agent + count);
}

SyncThread Checker::sync_thread(Thread& thread) {
  ThreadState& self = state(thread);
  return {thread.check_slot, self.cta, self.cluster, self, self.fences};
}

void Checker::strong_access(Thread& thread, u64 place, u32 bytes, arch::Access access, arch::Ordering ordering) {
  locations_.access(pool_, place, bytes, access, ordering, sync_thread(thread));
}

void Checker::fence(Thread& thread, arch::Fence kind, arch::Site) {
  ThreadState& self = state(thread);
  switch (kind) {
    case arch::Fence::proxy_async_global: return proxy_fence(self, kind);
    case arch::Fence::mbarrier_init:
    case arch::Fence::proxy_async_shared:
    case arch::Fence::proxy_async:
      for (const u32 number : ctas_[self.cta]->barriers) {
        BarrierState& barrier = barriers_[number];
        if (barrier.init_fenced) continue;
        barrier.init_fenced = barrier.init_thread == thread.check_slot ||
                              (self.base && self.base->executed().at(barrier.init_thread) >= barrier.init_epoch);
        barrier.init_round = clusters_[self.cluster].barrier.round + thread.cluster_arrived;
      }
      if (kind != arch::Fence::mbarrier_init) proxy_fence(self, kind);
      return;
    case arch::Fence::acq_rel_cta: return ww::emu::fence(pool_, sync_thread(thread), Reach::cta);
    case arch::Fence::acq_rel_cluster: return ww::emu::fence(pool_, sync_thread(thread), Reach::cluster);
    case arch::Fence::acq_rel_gpu:
    case arch::Fence::acq_rel_system: return ww::emu::fence(pool_, sync_thread(thread), Reach::gpu);
    case arch::Fence::sc_cta: return fence_sc(thread, Reach::cta);
    case arch::Fence::sc_cluster: return fence_sc(thread, Reach::cluster);
    case arch::Fence::sc_gpu:
    case arch::Fence::sc_system: return fence_sc(thread, Reach::gpu);
  }
}

void Checker::fence_sc(Thread& thread, Reach reach) {
  locations_.fence_sc(pool_, sync_thread(thread), reach);
  ww::emu::fence(pool_, sync_thread(thread), reach);
}

/// Makes the thread's accesses before the fence known to the async proxy; with reader-side-fence relaxed, all that it
/// knows of.
void Checker::proxy_fence(ThreadState& self, arch::Fence kind) {
  const bool shared = kind != arch::Fence::proxy_async_global, global = kind != arch::Fence::proxy_async_shared;
  if (shared) self.visible = self.epoch;
  if (global) self.visible_global = self.epoch;
  ++self.epoch;
  if ((strict_ & kReaderSideFence) == 0) self.base = pool_.all_visible(self.base, shared, global);
  self.at_proxy_fence = self.base;
}

void Checker::named_barrier_arrives(Thread& thread, u32 id, bool last) {
  ThreadState& self = state(thread);
  Rounds& rounds = state(*thread.cta).named[id];
  rounds.open.add(pool_, self, thread.check_slot);
  ++self.epoch;
  if (last) rounds.complete();
}

void Checker::named_barrier_passed(Thread& thread, u32 id, u32 round) {
  ThreadState& self = state(thread);
  self.base = state(*thread.cta).named[id].after(pool_, round, self.base);
}

void Checker::convergence(Thread& thread, u32 mask) {
  if (mask == ~0u) state(thread).waits = 0;
}

void Checker::cluster_arrives(Thread& thread, bool relaxed, arch::Site site) {
  ThreadState& self = state(thread);
  WarpState& warp = state(*thread.cta).warps[thread.index / kWarpSize];
  if (warp.cluster_lanes == 0)
    warp.cluster_waits = self.waits, warp.cluster_first = thread.check_slot, warp.cluster_site = site,
    warp.cluster_from = thread.call;
  else if (warp.cluster_waits != self.waits)
    report(Rule::divergent_call,
           party(warp.cluster_first, warp.cluster_site, "barrier.cluster.arrive.aligned", warp.cluster_from),
           party(thread.check_slot, site, "barrier.cluster.arrive.aligned", thread.call), 0, 0, "", {},
           "lanes of one warp come to the cluster barrier from different branches, one of which waits: nothing "
           "brought them together before this .aligned instruction");
  if (++warp.cluster_lanes == kWarpSize) warp.cluster_lanes = 0;
  Rounds& rounds = clusters_[self.cluster].barrier;
  self.cluster_round = rounds.round;
  const SyncThread sync = sync_thread(thread);
  if (!relaxed) rounds.open.add(pool_, self, thread.check_slot);
  else rounds.open.add_narrow(pool_, thread.check_slot, last_fence(sync, Reach::cta), last_fence(sync, Reach::cluster));
  ++self.epoch;
}

void Checker::cluster_completed(Cluster& cluster) { clusters_[cluster.check_index].barrier.complete(); }

void Checker::cluster_passed(Thread& thread) {
  ThreadState& self = state(thread);
  self.base = pool_.join(self.base, clusters_[self.cluster].barrier.of(self.cluster_round));
  self.cluster_rounds = self.cluster_round + 1;
  self.waits = 0;
}

void Checker::warp_meets(Thread& thread, u32 which, bool last) {
  ThreadState& self = state(thread);
  WarpState& warp = state(*thread.cta).warps[thread.index / kWarpSize];
  while (which >= warp.syncs.size()) warp.syncs.emplace_back();
  Rounds& rounds = warp.syncs[which];
  rounds.open.add(pool_, self, thread.check_slot);
  ++self.epoch;
  if (last) rounds.complete();
}

void Checker::warp_parted(Thread& thread, u32 which, u32 round) {
  ThreadState& self = state(thread);
  WarpState& warp = state(*thread.cta).warps[thread.index / kWarpSize];
  self.base = warp.syncs[which].after(pool_, round, self.base);
  convergence(thread, thread.warp->syncs[which].mask);
}

// --- mbarriers ------------------------------------------------------------------------------------

void Checker::mbarrier_initialised(Thread& thread, MBarrier& barrier, arch::Site site) {
  BarrierState& state_of = barriers_.add();
  barrier.check_number = state_of.number;
  state_of.slot = late_agents(state(*thread.cta), 1);
  state_of.cta = thread.cta->check_index;
  state_of.offset = barrier.offset;
  state_of.init_thread = thread.check_slot;
  state_of.init_epoch = state(thread).epoch;
  CtaState& cta = state(*thread.cta);
  cta.barriers.push_back(barrier.check_number);
  const u32 access = thread_access(thread, Access::mbarrier, arch::kWeak, site);
  accesses_[access].barrier = barrier.check_number;
  Actor actor = actor_of(thread, access, true, true);
  touch_shared(cta, barrier.offset, 8, actor);
  state(thread).last().access = ~0u;  // this record names one barrier and must not be shared
  state_of.init_site = site;
  state_of.init_from = thread.call;
  state_of.log.note(EventLog::What::initialised, barrier.count, thread.check_slot, thread.lane(), 0, site, thread.call);
}

void Checker::mbarrier_invalidated(Thread& thread, MBarrier& barrier, arch::Site site) {
  check_barrier_use(thread, barriers_[barrier.check_number], false, site);
  CtaState& cta = state(*thread.cta);
  for (const auto& [agent, number] : cta.foreign) {
    const AccessRecord& arrival = accesses_[number];
    const ClockRef& known = state(thread).base;
    if (arrival.kind != Access::remote_arrive || arrival.generic || arrival.barrier != barrier.check_number) continue;
    if (known && known->executed().at(agent) >= arrival.epoch) continue;
    report(Rule::phase_misuse, party(arrival), party(thread.check_slot, site, "mbarrier.inval", thread.call),
           barrier.offset, barrier.offset + 8, fmt::format("shared memory of CTA {}", cta.index),
           history_of(barrier.check_number), "an mbarrier is invalidated while an arrival at it may be in flight");
  }
  std::erase(cta.barriers, barrier.check_number);
  Granule& granule = cta.shadow[barrier.offset / kGranule];
  ShadowEntry* entries = cta.overflow.entries(granule);
  for (u32 i = 0; i < granule.count; ++i)
    if (accesses_[entries[i].access].barrier == barrier.check_number &&
        accesses_[entries[i].access].kind == Access::mbarrier)
      entries[i].access = thread_access(thread, Access::store_shared, arch::kWeak, site);
}

void Checker::check_barrier_use(Thread& thread, BarrierState& barrier, bool async, arch::Site site) {
  const ThreadState& self = state(thread);
  if (barrier.init_thread == thread.check_slot && !async) return;
  const bool known = barrier.init_thread == thread.check_slot ||
                     (barrier.init_fenced && self.cluster_rounds > barrier.init_round) ||
                     (self.base && self.base->executed().at(barrier.init_thread) >= barrier.init_epoch);
  const bool scoped = barrier.init_thread == thread.check_slot || barrier.init_fenced ||
                      (self.base && self.base->s.at(barrier.init_thread) >= barrier.init_epoch);
  if (known && scoped && (!async || barrier.init_fenced)) return;
  const Rule rule = !known ? Rule::data_race : async && !barrier.init_fenced ? Rule::proxy_fence : Rule::scope;
  const u64 begin = barrier.offset;
  report(rule, party(barrier.init_thread, barrier.init_site, "mbarrier.init", barrier.init_from),
         party(thread.check_slot, site, async ? "TMA load that completes on it" : "use of the mbarrier"), begin,
         begin + 8, fmt::format("shared memory of CTA {}", ctas_[barrier.cta]->index), history_of(barrier.number),
         !known ? "an mbarrier is used by a thread that does not know of its initialisation"
                : "an mbarrier is initialised without fence.mbarrier_init before others use it");
}

u32 Checker::new_arrival() {
  if (idle_arrivals_.empty()) {
    arrivals_.emplace_back();
    return static_cast<u32>(arrivals_.size() - 1);
  }
  const u32 note = idle_arrivals_.back();
  idle_arrivals_.pop_back();
  return note;
}

u32 Checker::engine_arrives(Thread& thread, Cta& target, u32 offset, u32 agent, u32 epoch, arch::Site site) {
  const u32 note = new_arrival();
  arrivals_[note] = {};
  const u32 arrival = agent + 1 + target.rank;  // at one CTA it may be late after another has it
  arrivals_[note].of_engine =
      ThreadClock{pool_.raise(pool_.raise(state(thread).base, agent, epoch), arrival, epoch), 0, 0, 0};
  AccessRecord record;
  record.slot = arrival;
  record.epoch = epoch;
  record.thread = thread.check_slot;
  record.kind = Access::remote_arrive;
  record.generic = false;
  record.site = site;
  record.from = thread.call;
  for (const u32 number : state(target).barriers) {
    if (barriers_[number].offset != offset) continue;
    check_barrier_use(thread, barriers_[number], true, site);
    record.barrier = number;
  }
  state(target).foreign[arrival] = new_access(record);
  return note + 1;
}

u32 Checker::remote_arrive(Thread& thread, Cta& target, u32 offset, arch::Ordering ordering, arch::Site site) {
  ThreadState& self = state(thread);
  const u32 note = new_arrival();
  const SyncThread sync = sync_thread(thread);
  const auto released = [&](Reach reach) -> std::optional<ThreadClock> {
    if (is_release(ordering)) return self;
    const ThreadClock* const fence = last_fence(sync, reach);
    return fence ? std::optional(*fence) : std::nullopt;
  };
  arrivals_[note] = {released(Reach::cta), {}, {}};
  if (reach_of(ordering.scope) >= Reach::cluster) arrivals_[note].wide = released(Reach::cluster);
  for (const u32 number : state(target).barriers)
    if (barriers_[number].offset == offset) {
      check_barrier_use(thread, barriers_[number], false, site);
      self.last_arrived = number;
    }
  const u32 access = thread_access(thread, Access::remote_arrive, arch::kWeak, site);
  state(target).foreign[thread.check_slot] = access;
  ++self.epoch;
  return note + 1;
}

void Checker::mbarrier_signalled(Cta& cta, MBarrier& mbarrier, u32 arrivals, i64 expect, i64 arrived, Origin origin,
                                 u32 note, arch::Ordering ordering) {
  BarrierState& barrier = barriers_[mbarrier.check_number];
  const u32 slot = origin.thread->check_slot;
  using What = EventLog::What;
  const auto log = [&](What what, i64 amount, const void* from) {
    barrier.log.note(what, amount, slot, origin.thread->lane(), mbarrier.phase, origin.site, from);
  };
  const void* const from = note == 0 && !arrived ? origin.thread->call : nullptr;  // it lands while its thread goes on
  if (expect) log(What::expected, expect, from);
  if (arrivals) log(What::arrived, arrivals, from);
  if (arrived) {
    log(What::landed, arrived, accesses_[note].from);
    AccessRecord& access = accesses_[note];
    access.epoch = mbarrier.phase + 1;
    for (u32 with = access.with; with != ~0u; with = accesses_[with].with) accesses_[with].epoch = access.epoch;
    if (mbarrier.phase != access.phase)
      report(Rule::transaction_count, last_change_of(barrier, origin), party(access), mbarrier.offset,
             mbarrier.offset + 8, fmt::format("shared memory of CTA {}", cta.index), history_of(mbarrier.check_number),
             fmt::format("a copy issued in phase {} of its mbarrier lands in phase {}: fewer bytes were announced than "
                         "copied",
                         access.phase, mbarrier.phase));
    barrier.bytes_landed = true;
    if (access.waited) barrier.rounds.open.add_wait(pool_);
    return;
  }
  auto& thread = const_cast<Thread&>(*origin.thread);
  if (note) {
    const Arrival arrival = std::exchange(arrivals_[note - 1], Arrival{});
    idle_arrivals_.push_back(note - 1);
    if (!arrivals) return;
    if (arrival.of_engine) barrier.rounds.open.add(pool_, *arrival.of_engine, slot);
    if (arrival.released) barrier.rounds.open.add_narrow(pool_, slot, &*arrival.released, nullptr);
    if (!arrival.wide) return;
    if (!barrier.far) {
      barrier.far = std::make_unique<Rounds>();
      barrier.far->round = barrier.rounds.round;
    }
    barrier.far->open.add(pool_, *arrival.wide, slot);
    return;
  }
  check_barrier_use(thread, barrier, false, origin.site);
  if (!arrivals) return;
  state(thread).last_arrived = barrier.number;
  if (is_release(ordering)) {
    barrier.rounds.open.add(pool_, state(thread), slot);
  } else {
    const ThreadClock* const fence = last_fence(sync_thread(thread), Reach::cta);
    barrier.rounds.open.add_narrow(pool_, slot, fence, fence);
  }
  ++state(thread).epoch;
}

void Checker::mbarrier_completed(MBarrier& mbarrier) {  // called with the new phase
  BarrierState& barrier = barriers_[mbarrier.check_number];
  if (std::exchange(barrier.bytes_landed, false)) barrier.rounds.open.add_agent(pool_, barrier.slot, mbarrier.phase);
  barrier.rounds.complete();
  if (barrier.far) barrier.far->complete();
}

void Checker::mbarrier_passed(Thread& thread, MBarrier& mbarrier, u32 phase_at_start, arch::Ordering ordering,
                              arch::Site site) {
  BarrierState& barrier = barriers_[mbarrier.check_number];
  ThreadState& self = state(thread);
  ++self.waits;
  check_barrier_use(thread, barrier, false, site);
  if (mbarrier.phase > phase_at_start + 1)
    report(Rule::phase_misuse, last_change_of(barrier, {}),
           party(thread.check_slot, site, "mbarrier wait", thread.call), mbarrier.offset, mbarrier.offset + 8,
           fmt::format("shared memory of CTA {}", thread.cta->index), history_of(mbarrier.check_number),
           fmt::format("a thread that waits for phase {} is passed by: phase {} is open when it looks, and its parity "
                       "means another phase by now",
                       phase_at_start, mbarrier.phase));
  self.last_passed = barrier.number;
  barrier.log.note(EventLog::What::passed, 1, thread.check_slot, thread.lane(), mbarrier.phase - 1, site, thread.call);
  if (mbarrier.phase == 0) return;  // a fresh barrier lets the other parity pass: nothing has been released
  const ClockRef& near = barrier.rounds.of(mbarrier.phase - 1);
  const bool acquires = ordering.order != arch::MemoryOrder::relaxed;
  if (acquires) self.base = pool_.join(self.base, near);
  else see(pool_, sync_thread(thread), Reach::cta, near);
  if (!barrier.far) [[likely]]
    return;
  const ClockRef& far = barrier.far->of(mbarrier.phase - 1);
  const bool wide = reach_of(ordering.scope) >= Reach::cluster;
  if (acquires) {
    ClockRef& known = wide ? self.base : self.released_afar;
    known = pool_.join(known, far);
  } else if (wide) {
    see(pool_, sync_thread(thread), Reach::cluster, far);
  }
}

// --- the end --------------------------------------------------------------------------------------

void Checker::thread_exits(Thread& thread) {
  ThreadState& self = state(thread);
  CtaState& cta = state(*thread.cta);
  hooked_ = hooked_ || thread.head().plain_seen;
  if (self.stores > self.stores_read) {
    const AccessRecord& store = accesses_[self.last_store_access];
    report(Rule::unfinished_store, party(store), party(thread.check_slot, {}, "exit of the thread", thread.call), 0, 0,
           fmt::format("shared memory of CTA {}", cta.index), {},
           "a thread exits without having waited for its bulk stores to read shared memory");
  }
  cta.exits.add(pool_, self, thread.check_slot);
  cta.last_exit = thread.check_slot;
  if (thread.cta->live_threads == 0) check_foreign(cta, thread);
}

void Checker::check_foreign(CtaState& cta, const Thread& last) {
  const ClockRef known = cta.exits.take();
  for (const auto& [slot, number] : cta.foreign) {
    const AccessRecord& access = accesses_[number];
    if (access.epoch != ~0u && known && known->executed().at(slot) >= access.epoch) continue;
    report(Rule::exited_cta, party(access), party(last.check_slot, {}, "exit of the CTA", last.call), 0, 0,
           fmt::format("shared memory of CTA {}", cta.index), history_of(access.barrier),
           "a CTA may exit before this has reached its shared memory: no thread of it waits for that");
  }
}

}  // namespace ww::emu
