// SPDX-License-Identifier: Apache-2.0
// Memory: compares every access with those before it, granule by granule.
#include <dlfcn.h>

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "emu/check/checker.hpp"
#include "emu/machine.hpp"
#include "emu/memory.hpp"

namespace ww::emu {
namespace {

bool same(arch::Ordering a, arch::Ordering b) { return std::bit_cast<u16>(a) == std::bit_cast<u16>(b); }

u16 bytes_mask(u32 first, u32 last) { return static_cast<u16>((1u << last) - (1u << first)); }

/// Returns a name of a byte of shared memory that no global address has.
u64 place_in_shared(u32 cta, u32 offset) { return u64{1} << 63 | u64{cta} << 32 | offset; }

bool is_read(Access kind) {
  return kind == Access::load_shared || kind == Access::ldmatrix || kind == Access::load_global ||
         kind == Access::plain_load || kind == Access::tma_store_source || kind == Access::tma_load_source ||
         kind == Access::tensor_map_copy || kind == Access::tensor_map_use;
}

}  // namespace

u32 Checker::thread_access(Thread& thread, Access kind, arch::Ordering ordering, arch::Site site) {
  ThreadState& self = state(thread);
  const auto shared_with = [&](const LastAccess& last) {
    return last.access != ~0u && last.kind == kind && last.epoch == self.epoch && last.site.line == site.line &&
           last.site.file == site.file && same(last.ordering, ordering);
  };
  if (shared_with(self.last())) return self.last().access;
  self.newest ^= 1;
  LastAccess& last = self.last();
  if (shared_with(last)) return last.access;
  // Field by field: structures that are built elsewhere and copied wait for their stores.
  last.access = accesses_.add(outlives_cluster(kind) ? lasting_ : clusters_[self.cluster].accesses);
  last.epoch = self.epoch;
  last.site = site;
  last.kind = kind;
  last.ordering = ordering;
  AccessRecord& record = accesses_[last.access];
  record.slot = record.thread = thread.check_slot;
  record.epoch = self.epoch;
  record.kind = kind;
  record.order = ordering.order;
  record.scope = ordering.scope;
  record.site = site;
  record.from = thread.call;
  return last.access;
}

Checker::Actor Checker::actor_of(Thread& thread, u32 access, bool write, bool generic) {
  ThreadState& self = state(thread);
  Actor actor;
  actor.access = access;
  if (access == self.last().access) {  // its key is here, and the record may have left the caches
    actor.slot = thread.check_slot;
    actor.kind = self.last().kind;
    actor.ordering = self.last().ordering;
  } else {
    const AccessRecord& record = accesses_[access];
    actor.slot = record.slot;
    actor.kind = record.kind;
    actor.ordering = {record.order, record.scope};
  }
  actor.self = thread.check_slot;
  actor.issuer = &self;
  actor.self_epoch = self.epoch;
  actor.self_visible = self.visible;
  actor.self_visible_global = self.visible_global;
  actor.cta = self.cta;
  actor.write = write;
  actor.reads = !write;
  actor.generic = generic;
  actor.clocks = &self.base;
  actor.clock_count = 1;
  return actor;
}

/// Returns whether an access that crosses from the generic to the async proxy passed the fence that it needs. `shared`
/// and `global` are the epochs up to which its thread's accesses passed fences of those memories.
bool Checker::fenced(const AccessRecord& old, bool old_write, const Actor& actor, u32 shared, u32 global) const {
  // The fence of shared memory is one of the thread's own CTA: .shared::cta.
  if (actor.space != kSharedSpaceOfNobody)
    return shared >= old.epoch && (ctas_of_slots_[old.slot] == actor.space || global >= old.epoch);
  // Where a bulk store overwrites what was read, such as C by D, the stored data came through shared memory. The
  // reader's fence of that memory is then on the way; a store before the read would be an input of itself.
  return global >= old.epoch || (!old_write && actor.kind == Access::tma_store && shared >= old.epoch);
}

[[gnu::always_inline]] inline Checker::Order Checker::order_inline(const AccessRecord& old, bool old_write,
                                                                   const Actor& actor) const {
  if (old.kind == Access::mbarrier) return Order::unordered;  // no access may touch a live mbarrier
  if (old.epoch == ~0u) return Order::unordered;
  const bool crosses =
      old.generic && !actor.generic && (old_write || (actor.write && (strict_ & kReadBeforeAsyncWrite) != 0));
  if (old.slot == actor.self)
    return crosses && !fenced(old, old_write, actor, actor.self_visible, actor.self_visible_global) ? Order::unfenced
                                                                                                    : Order::ordered;
  Order worst = Order::ordered;
  for (u32 i = 0; i < actor.clock_count; ++i) {
    const Clock* clock = actor.clocks[i].get();
    if (!clock) return Order::unordered;
    for (u32 slot = 0; slot < old.slots; ++slot)
      if (clock->s.at(old.slot + slot) < old.epoch) [[unlikely]] {
        if (!clock->split || clock->h.at(old.slot + slot) < old.epoch) return Order::unordered;
        if (!released_by_arrival(old, old_write, actor)) worst = Order::narrow;
      }
    if (crosses && worst == Order::ordered &&
        !fenced(old, old_write, actor, clock->v.at(old.slot), clock->g.at(old.slot)))
      worst = Order::unfenced;
  }
  return worst;
}

/// Returns whether a write needs no causality order after the access, only an order of execution. Every multicast
/// relies on remote arrivals of the default scope after reads, and on waits of the default scope. A peer that waited
/// for such an arrival may pass the order on to the reader's own CTA, by an arrival there that completes a phase early.
bool Checker::released_by_arrival(const AccessRecord& old, bool old_write, const Actor& actor) const {
  if (!actor.write || context_->launch.cluster == 1) return false;
  const bool stores = actor.generic && actor.kind != Access::store_async, own = ctas_of_slots_[old.thread] == actor.cta;
  if (!old.generic && !stores) return true;
  if (!old_write && (own || !stores)) return (strict_ & kRemoteReleaseOfReads) == 0;
  if (own || stores || !actor.issuer || (strict_ & kRemoteAcquireOfWrites) != 0) return false;
  const ClockRef& released = actor.issuer->released_afar;
  return released && released->s.at(old.slot) >= old.epoch;
}

Checker::Order Checker::order(const AccessRecord& old, bool old_write, const Actor& actor) const {
  return order_inline(old, old_write, actor);
}

/// Returns the order after a record and those whose end tells of its end.
[[gnu::noinline]] Checker::Order Checker::order_of_any(u32 record, bool old_write, const Actor& actor) const {
  Order best = Order::unordered;
  for (; record != ~0u && best == Order::unordered; record = accesses_[record].or_known)
    best = order(accesses_[record], old_write, actor);
  return best;
}

/// Returns whether two strong accesses to the same bytes cannot race.
bool Checker::morally_strong(const AccessRecord& old, const Actor& actor) const {
  const u32 cta = ctas_of_slots_[old.slot];
  const Reach apart = between(cta, ctas_[cta]->cluster, actor.cta, ctas_[actor.cta]->cluster);
  return apart <= reach_of(old.scope) && apart <= reach_of(actor.ordering.scope);
}

/// Returns whether what races with `old` races with an access of `actor`'s, ordered after it, as well.
bool Checker::covers(const Actor& actor, const AccessRecord& old) const {
  if (!strong(actor)) return true;
  if (!old.strong()) return false;
  if (reach_of(old.scope) == Reach::gpu && reach_of(actor.ordering.scope) == Reach::gpu) return true;
  return ctas_of_slots_[old.slot] == actor.cta && old.scope >= actor.ordering.scope;
}

/// Returns whether an access of `actor`'s stands for `old`, a read: it is one more of the same by the same agent.
[[gnu::always_inline]] inline bool Checker::is_repeated(const AccessRecord& old, const Actor& actor) const {
  return old.slot == actor.slot && old.kind == actor.kind && old.order == actor.ordering.order &&
         old.scope == actor.ordering.scope &&
         accesses_[actor.access].or_known == ~0u;  // known by other barriers, it may be known earlier
}

/// As judge() for a weak read after another read, which cannot conflict. Hundreds of threads read a granule of scales.
[[gnu::always_inline]] inline u16 Checker::judge_reads(ShadowEntry entry, u16 bytes, bool crowded,
                                                       const Actor& actor) const {
  const AccessRecord& old = accesses_[entry.access];
  bool gone = is_repeated(old, actor);
  if (crowded && !gone) {
    Order verdict = order_inline(old, false, actor);
    if (verdict == Order::unordered && old.or_known != ~0u) [[unlikely]]
      verdict = order_of_any(entry.access, false, actor);
    gone = verdict == Order::ordered;
  }
  return gone ? static_cast<u16>(entry.bytes & ~bytes) : entry.bytes;
}

/// Returns the bytes of `entry`, which shares `common` with an access to `bytes`, that still count after it.
u16 Checker::judge(ShadowEntry entry, u16 common, u16 bytes, bool crowded, Actor& actor, u32 cta, u64 address) {
  const AccessRecord& old = accesses_[entry.access];
  const bool known = entry.access == actor.known[0] || entry.access == actor.known[1] ||
                     entry.access == actor.known[2] || entry.access == actor.known[3];
  const bool both_strong = old.strong() && strong(actor);
  const bool may_conflict =
      (entry.write || actor.write) && !known && !(both_strong && entry.bytes == bytes && morally_strong(old, actor));
  // What is ordered before this access is ordered before everything that waits for it.
  const bool may_fade = (crowded && !entry.write) || (actor.write && strong(actor));
  Order verdict = may_conflict || may_fade ? order_inline(old, entry.write, actor) : Order::unordered;
  if (verdict == Order::unordered && old.or_known != ~0u) [[unlikely]]
    verdict = order_of_any(entry.access, entry.write, actor);
  if (may_conflict) {
    if (verdict == Order::ordered) {
      actor.known[actor.next_known++ % 4] = entry.access;
    } else {
      const u32 first = static_cast<u32>(__builtin_ctz(common)), last = 32 - static_cast<u32>(__builtin_clz(common));
      conflict(verdict, old, entry.write, actor, cta, address + first, address + last);
      actor.found = true;
    }
  }
  const bool again = !entry.write && is_repeated(old, actor);
  const bool replaced = actor.write && !strong(actor) && old.kind != Access::mbarrier;
  if (old.strong()) [[unlikely]]
    actor.met_strong = actor.met_strong || (replaced && entry.write);
  const bool gone = replaced || again || (may_fade && verdict == Order::ordered && covers(actor, old));
  return gone ? static_cast<u16>(entry.bytes & ~bytes) : entry.bytes;
}

void Checker::touch(Overflow& overflow, Granule& granule, u16 bytes, Actor& actor, u32 cta, u64 address) {
  ShadowEntry* const entries = overflow.entries(granule);
  const u32 count = granule.count;
  actor.found = false;
  u32 kept = 0;
  u16 written = 0;
  const bool reads_weakly = !actor.write && !strong(actor);
  // judge() is separate, because most entries are of other bytes where each lane of a warp reads its own.
  for (u32 i = 0; i < count; ++i) {
    ShadowEntry entry = entries[i];
    const u16 common = entry.bytes & bytes;
    if (common != 0) {
      written = static_cast<u16>(written | (entry.write ? common : 0));
      entry.bytes = reads_weakly && !entry.write ? judge_reads(entry, bytes, count > 8, actor)
                                                 : judge(entry, common, bytes, count > 8, actor, cta, address);
      if (entry.bytes == 0) continue;
    }
    entries[kept++] = entry;
  }
  granule.count = kept;
  if (const u16 missing = static_cast<u16>(bytes & ~written); missing && actor.reads && actor.read_of_nothing) {
    const u32 first = static_cast<u32>(__builtin_ctz(missing)), last = 32 - static_cast<u32>(__builtin_clz(missing));
    uninitialised(actor, cta, address + first, address + last);
    actor.found = true;
  }
  overflow.append(granule, {actor.access, bytes, actor.write});
}

void Checker::touch_whole_anew(Overflow& overflow, Granule& granule, Actor& actor, u32 cta, u64 address) {
  const Granule before = granule;
  touch(overflow, granule, 0xFFFF, actor, cta, address);
  if (actor.found || actor.met_strong || before.overflow != 0 || granule.overflow != 0) return;
  actor.turn = actor.noted++ % kTurns;
  actor.turns = max(actor.turns, actor.turn + 1);
  turns_[actor.turn] = {before, granule};
}

void Checker::touch_shared(CtaState& cta, u32 offset, u32 bytes, Actor& actor) {
  const u32 index = actor.space = cta.cta->check_index;
  if ((offset | bytes) % kGranule == 0)
    touch_each(
        cta.overflow, bytes / kGranule,
        [first = &cta.shadow[offset / kGranule]](u32 i) -> Granule& { return first[i]; }, actor, index,
        [=](u32 i) { return u64{offset} + i * kGranule; });
  else
    for (u32 at = offset; at < offset + bytes;) {
      const u32 begin = at % kGranule, end = min(kGranule, begin + offset + bytes - at);
      if (end - begin == kGranule) touch_whole(cta.overflow, cta.shadow[at / kGranule], actor, index, at);
      else touch(cta.overflow, cta.shadow[at / kGranule], bytes_mask(begin, end), actor, index, at - begin);
      at += end - begin;
    }
  if (actor.met_strong) [[unlikely]]
    locations_.overwritten(place_in_shared(index, offset), bytes);
}

void Checker::touch_global(u64 address, u32 bytes, Actor& actor, bool unwritten) {
  actor.read_of_nothing = unwritten;
  for (u64 at = address; at < address + bytes;) {
    const u32 begin = static_cast<u32>(at % kGranule);
    const u32 end = static_cast<u32>(min(u64{kGranule}, begin + address + bytes - at));
    Granule& granule = global_.at(at);
    if (end - begin == kGranule) touch_whole(global_overflow_, granule, actor, kSharedSpaceOfNobody, at);
    else touch(global_overflow_, granule, bytes_mask(begin, end), actor, kSharedSpaceOfNobody, at - begin);
    at += end - begin;
  }
  if (actor.met_strong) [[unlikely]]
    locations_.overwritten(address, bytes);
}

void Checker::shared_access(Thread& thread, Cta& cta, u32 offset, u32 bytes, Access kind, arch::Site site,
                            arch::Ordering ordering) {
  const u32 access = thread_access(thread, kind, ordering, site);
  Actor actor = actor_of(thread, access, !is_read(kind), true);
  actor.reads = actor.reads || kind == Access::atomic_shared;
  touch_shared(state(cta), offset, bytes, actor);
  if (strong(actor)) [[unlikely]]
    strong_access(thread, place_in_shared(cta.check_index, offset), bytes,
                  kind == Access::atomic_shared  ? arch::Access::atomic
                  : kind == Access::store_shared ? arch::Access::write
                                                 : arch::Access::read,
                  ordering);
  if (thread.cta != &cta) state(cta).foreign[thread.check_slot] = access;
  traffic_.shared(thread, offset, bytes, kind, site);
}

void Checker::global_access(Thread& thread, u64 address, u32 bytes, arch::Access access, arch::Ordering ordering,
                            arch::Site site) {
  const int range = range_of(*thread.machine, address, bytes, access != arch::Access::read);
  if (range < 0) return;
  const runtime::MemoryRange& memory = context_->launch.memory[static_cast<std::size_t>(range)];
  const Access kind = access == arch::Access::read    ? Access::load_global
                      : access == arch::Access::write ? Access::store_global
                                                      : Access::atomic_global;
  if (may_be_early(thread)) [[unlikely]]
    early_access(thread, name_of(kind), address, address + bytes, "", site);
  traffic_.global(kind, site, static_cast<u32>(range), address - reinterpret_cast<u64>(memory.base), bytes,
                  access != arch::Access::read);
  if (!memory.writable) return;
  Actor actor = actor_of(thread, thread_access(thread, kind, ordering, site), access != arch::Access::read, true);
  actor.reads = actor.reads || access == arch::Access::atomic;
  touch_global(address, bytes, actor, memory.unwritten);
  if (strong(actor)) [[unlikely]]
    strong_access(thread, address, bytes, access, ordering);
}

// --- copies ---------------------------------------------------------------------------------------

u32 Checker::counted_write(Thread& thread, Cta& cta, u32 offset, u32 bytes, MBarrier& mbarrier, Access kind,
                           arch::Site site) {
  BarrierState& barrier = barriers_[mbarrier.check_number];
  check_barrier_use(thread, barrier, true, site);
  AccessRecord record;
  record.slot = barrier.slot;
  record.epoch = ~0u;
  record.thread = thread.check_slot;
  record.barrier = mbarrier.check_number;
  record.phase = mbarrier.phase;
  record.passed = state(thread).last_passed;
  record.kind = kind;
  record.waited = starts_early_ && !may_be_early(thread);
  record.generic = false;  // for later accesses: the wait for the mbarrier suffices, at any distance
  record.site = site;
  record.from = thread.call;
  const u32 access = new_access(record);
  Actor actor = actor_of(thread, access, true, kind == Access::store_async);  // st.async belongs to the generic proxy
  touch_shared(state(cta), offset, bytes, actor);
  state(cta).foreign[barrier.slot] = access;
  return access;
}

u32 Checker::tma_load(Thread& thread, Cta& cta, u32 offset, u32 bytes, MBarrier& mbarrier, LoadSource& source,
                      arch::Site site) {
  const u32 access = counted_write(thread, cta, offset, bytes, mbarrier, Access::tma_load, site);
  if (!source.judged) return access;
  AccessRecord record = accesses_[access];
  record.kind = Access::tma_load_source;
  const u32 read = new_access(record);
  accesses_[access].with = read;
  if (source.first == ~0u) source.first = read;
  else accesses_[source.last].or_known = read;
  source.last = read;
  return access;
}

u32 Checker::store_async(Thread& thread, Cta& cta, u32 offset, u32 bytes, MBarrier& mbarrier, arch::Site site) {
  traffic_.shared(thread, offset, bytes, Access::store_async, site);
  return counted_write(thread, cta, offset, bytes, mbarrier, Access::store_async, site);
}

u32 Checker::launch_answer(Thread& thread, Cta& cta, u32 offset, u32 bytes, MBarrier& mbarrier, arch::Site site) {
  traffic_.copy(Access::launch_answer, site, bytes, 0, 0);
  // PTX asks for the readers' fence by name, so that no option switches this off.
  const StrictRules chosen = std::exchange(strict_, strict_ | kReadBeforeAsyncWrite);
  const u32 access = counted_write(thread, cta, offset, bytes, mbarrier, Access::launch_answer, site);
  strict_ = chosen;
  return access;
}

void Checker::tma_row_read(Thread& thread, u64 address, u32 bytes, const LoadSource& source, bool unwritten) {
  Actor actor = actor_of(thread, source.first, false, false);
  touch_global(address, bytes, actor, unwritten);
}

void Checker::tma_row_written(Thread& thread, u64 address, u32 bytes, arch::Site site) {
  ThreadState& self = state(thread);
  AccessRecord record;
  record.thread = thread.check_slot;
  record.kind = Access::tma_store;
  record.slot = self.store_slot + 1;
  record.epoch = self.stores;
  record.generic = false;
  record.site = site;
  record.from = thread.call;
  const AccessRecord* last = lasting_.blocks.empty() ? nullptr : &accesses_[lasting_.next - 1];
  const bool same = last && last->kind == record.kind && last->slot == record.slot && last->epoch == record.epoch &&
                    last->site.line == site.line && last->site.file == site.file && last->from == record.from;
  Actor actor = actor_of(thread, same ? lasting_.next - 1 : new_access(record), true, false);
  touch_global(address, bytes, actor);
}

u32 Checker::tma_store(Thread& thread, u32 offset, u32 bytes, arch::Site site) {
  ThreadState& self = state(thread);
  if (self.store_slot == ~0u) self.store_slot = late_agents(state(*thread.cta), 2);
  AccessRecord record;
  record.slot = self.store_slot;
  record.epoch = self.stores = thread.bulk_first + static_cast<u32>(thread.bulk_groups.size());
  record.thread = thread.check_slot;
  record.kind = Access::tma_store_source;
  record.generic = false;
  record.site = site;
  record.from = thread.call;
  self.last_store_access = new_access(record);
  Actor actor = actor_of(thread, self.last_store_access, false, false);
  touch_shared(state(*thread.cta), offset, bytes, actor);
  return self.last_store_access;
}

void Checker::bulk_waited(Thread& thread, u32 groups, bool read_only) {
  ThreadState& self = state(thread);
  if (self.store_slot == ~0u) return;
  self.stores_read = max(self.stores_read, groups);
  self.base = pool_.raise(self.base, self.store_slot, groups);
  if (!read_only) self.base = pool_.raise(self.base, self.store_slot + 1, groups);
}

// --- engines of one machine -----------------------------------------------------------------------

void Checker::engine_access(Cta& cta, const EngineAccess& access, const u32* granules, u32 count) {
  CtaState& memory = state(cta);
  auto& thread = const_cast<Thread&>(*access.origin.thread);
  AccessRecord record;
  record.slot = access.agent;
  record.slots = access.agents;
  record.epoch = access.epoch;
  record.thread = thread.check_slot;
  record.kind = access.kind;
  record.generic = false;
  record.site = access.origin.site;
  record.from = access.from;
  Actor actor = actor_of(thread, new_access(record), access.write, false);
  actor.space = cta.check_index;
  if (!access.by_one_thread) {
    actor.issuer = nullptr;
    actor.self = ~0u;  // all issuers must know; one thread's own program order does not suffice
  }
  if (thread.cta != &cta) memory.foreign[access.agent] = actor.access;
  actor.clocks = access.issuers.data();
  actor.clock_count = static_cast<u32>(access.issuers.size());
  Granule* const shadow = memory.shadow.data();
  // Prefetched, because rows of 128 bytes lie a quarter of a KiB apart and were last touched some time ago.
  for (u32 i = 0; i < count; i += 2) __builtin_prefetch(&shadow[granules[i] / kGranule], 1);
  touch_each(
      memory.overflow, count, [=](u32 i) -> Granule& { return shadow[granules[i] / kGranule]; }, actor, cta.check_index,
      [=](u32 i) { return u64{granules[i]}; });
  traffic_.copy(access.kind, access.origin.site, u64{count} * kGranule, 0, 0);
}

bool Checker::in_module(u64 address) {
  const u64 page = address / GlobalShadow::kPageBytes;
  if (module_pages_.count(page)) {
    bool shared = false;  // the page holds an operand too, which a program may keep in its own data
    for (const runtime::MemoryRange& range : context_->launch.memory) {
      const u64 begin = reinterpret_cast<u64>(range.base);
      shared = shared ||
               (begin < (page + 1) * GlobalShadow::kPageBytes && begin + range.bytes > page * GlobalShadow::kPageBytes);
    }
    if (!shared) seen_module_pages_[page % std::size(seen_module_pages_)] = page;
    return true;
  }
  Dl_info module{};
  if (::dladdr(reinterpret_cast<const void*>(address), &module) == 0) return false;
  module_pages_.insert(page);
  return true;
}

void Checker::plain_access(Thread& thread, u64 address, u32 bytes, bool write, bool is_volatile, const void* from) {
  // Checked first, because arguments and the pointer to the emulator's table are most of the accesses that are not
  // local.
  const u64 params = reinterpret_cast<u64>(context_->params);
  const u64 page = address / GlobalShadow::kPageBytes;
  if (page == seen_module_pages_[page % std::size(seen_module_pages_)]) return;
  if (address - params < context_->launch.params_bytes && !write) return;
  // No debug information is read here; the address in the module stands for the line until the report.
  const arch::Site site{static_cast<const char*>(from), -1};
  if (thread.on_stack(address)) {  // locals, which include registers of the engines' instructions
    for (const Engine* engine : {thread.warpgroup, thread.cta->engine.get()})
      if (engine) engine->local_access(*this, thread, address, bytes, write, site);
    return;
  }
  for (const auto& cta : thread.cta->cluster->ctas)  // shared memory, through the pointer of a call that was checked
    if (address - reinterpret_cast<u64>(cta->shared.get()) < cta->shared_end) return;
  const int range = range_of(*thread.machine, address, bytes, write);
  if (range < 0 && in_module(address)) return;
  const char* const kind = name_of(write ? Access::plain_store : Access::plain_load);
  if (range < 0 || (write && !context_->launch.memory[static_cast<std::size_t>(range)].writable))
    return report(
        Rule::out_of_bounds, operands_party(), party(thread.check_slot, site, kind), 0, 0, "", {},
        range < 0 ? words_of_place(context_->launch, address, bytes) : "a plain store writes a read-only operand");
  constexpr arch::Ordering kVolatile{arch::MemoryOrder::relaxed, arch::Scope::system};
  global_access(thread, address, bytes, write ? arch::Access::write : arch::Access::read,
                is_volatile ? kVolatile : arch::kWeak, site);
}

}  // namespace ww::emu
