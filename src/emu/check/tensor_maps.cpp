// SPDX-License-Identifier: Apache-2.0
// Tensor maps in global memory. This must hold when a TMA operation uses one:
//   the last change -> release by tensormap.cp_fenceproxy -> (happens before) -> acquire in this CTA -> (before) -> use
// A change must come after every operation that was issued with the map is known to have completed.
// The acquire is required in every launch, even if nothing in this launch wrote the map: an earlier kernel or the host
// did, stream order covers ordinary reads only, and the SM's cache of maps outlives kernels.
// Another thread of the CTA may execute the fence if it happens before the use, because proxy fences order along such a
// path.
#include <fmt/format.h>

#include "emu/check/checker.hpp"
#include "emu/machine.hpp"
#include "emu/memory.hpp"

namespace ww::emu {
namespace {

constexpr u32 kMapBytes = sizeof(arch::TensorMap);

}  // namespace

void Checker::tensor_map_replaced(Thread& thread, u32 offset, arch::Site site) {
  const u32 access = thread_access(thread, Access::tensor_map_replace, arch::kWeak, site);
  Actor reads = actor_of(thread, access, false, true);  // it keeps the fields that it does not replace
  touch_shared(state(*thread.cta), offset, kMapBytes, reads);
  Actor writes = actor_of(thread, access, true, true);
  touch_shared(state(*thread.cta), offset, kMapBytes, writes);
}

void Checker::tensor_map_released(Thread& thread, u32 offset, u64 address, arch::Site site) {
  const u32 part = 4 * thread.lane();
  if (may_be_early(thread)) [[unlikely]]
    early_access(thread, name_of(Access::tensor_map_release), address + part, address + part + 4, "", site);
  Actor reads = actor_of(thread, thread_access(thread, Access::tensor_map_copy, arch::kWeak, site), false, true);
  touch_shared(state(*thread.cta), offset + part, 4, reads);
  Actor writes = actor_of(thread, thread_access(thread, Access::tensor_map_release, arch::kWeak, site), true, true);
  touch_global(address + part, 4, writes);
  if (const auto found = map_acquires_.find(address); found != map_acquires_.end())
    for (MapAcquire& acquire : found->second) acquire.outdated = true;
  ++state(thread).epoch;  // an acquire of the thread comes after
}

void Checker::tensor_map_acquired(Thread& thread, u64 address, arch::Site site) {
  // Its wait matters, because it makes writes that happened before it visible to TMA.
  if (may_be_early(thread)) [[unlikely]]
    early_access(thread, "fence.proxy.tensormap (acquire of a tensor map)", address, address + kMapBytes, "", site);
  ThreadState& self = state(thread);
  auto& acquires = map_acquires_[address];
  // Two are kept: threads that know of the first only may use the map while this one, ahead of them, acquires it again.
  std::erase_if(acquires, [&](const MapAcquire& a) { return a.slot == thread.check_slot && a.outdated; });
  MapAcquire* newest = nullptr;
  int mine = 0;
  for (MapAcquire& acquire : acquires)
    if (acquire.slot == thread.check_slot) newest = &acquire, ++mine;
  if (mine < 2) newest = &acquires.emplace_back();
  *newest = {thread.check_slot, self.epoch, self.cta, self.base};
  ++self.epoch;  // later writes of the thread come after
}

/// Returns the CTA's acquire that the thread knows of, preferring its own; null when there is none.
const Checker::MapAcquire* Checker::map_acquire_before(Thread& thread, u64 address) const {
  const ThreadState& self = *static_cast<const ThreadState*>(thread.check_state);
  const auto found = map_acquires_.find(address);
  if (found == map_acquires_.end()) return nullptr;
  const MapAcquire *own = nullptr, *best = nullptr;
  for (const MapAcquire& acquire : found->second) {
    if (acquire.slot == thread.check_slot) own = &acquire;
    const bool known = self.base && self.base->s.at(acquire.slot) >= acquire.epoch;
    if (acquire.cta == self.cta && known) best = &acquire;
  }
  return own ? own : best;
}

void Checker::judge_map_write(const AccessRecord& write, const AccessRecord& use, const MapAcquire* acquire,
                              u64 address) {
  const char* wrong = nullptr;
  if (write.kind != Access::tensor_map_release) {
    wrong = "a tensor map was written by ordinary stores, which are not released to TMA";
  } else if (!acquire) {
    wrong = "a tensor map was changed and is used without an acquire by this CTA: TMA may see the old one";
  } else {
    Actor actor;
    actor.self = acquire->slot;
    actor.cta = acquire->cta;
    actor.clocks = &acquire->base;
    actor.clock_count = 1;
    // The copy is one operation of its warp: a lane that executed its part has executed the others.
    const ThreadName &writer = names_[write.thread], &acquirer = names_[acquire->slot];
    if (writer.cta == acquirer.cta && writer.index / kWarpSize == acquirer.index / kWarpSize &&
        write.slot != acquire->slot)
      return;
    const bool own_later = write.slot == acquire->slot && write.epoch >= acquire->epoch;
    if (own_later || order(write, true, actor) != Order::ordered)
      wrong = "a tensor map was changed, and nothing orders that before the acquire by the CTA that uses it";
  }
  if (!wrong) return;
  u64 begin = address, end = address + kMapBytes;
  std::string space = space_of(kSharedSpaceOfNobody, begin, end);
  report(Rule::stale_descriptor, party(write), party(use), begin, end, std::move(space), {}, wrong);
}

void Checker::tensor_map_used(Thread& thread, u64 address, u32 operation, arch::Site) {
  AccessRecord record = accesses_[operation];
  record.kind = Access::tensor_map_use;
  const u32 use = new_access(record);
  accesses_[operation].with = use;
  const MapAcquire* acquire = map_acquire_before(thread, address);
  bool written = false;
  for (u64 at = address; at < address + kMapBytes; at += kGranule) {
    Granule& granule = global_.at(at);
    ShadowEntry* entries = global_overflow_.entries(granule);
    u32 kept = 0;
    for (u32 i = 0; i < granule.count; ++i) {
      const AccessRecord& old = accesses_[entries[i].access];
      if (entries[i].write) {
        written = true;
        judge_map_write(old, record, acquire, address);
      } else if (old.kind == Access::tensor_map_use && old.slot == record.slot) {
        continue;  // this one completes no earlier
      }
      entries[kept++] = entries[i];
    }
    granule.count = kept;
    global_overflow_.append(granule, {use, 0xFFFF, false});
  }
  if (written || acquire) return;
  u64 begin = address, end = address + kMapBytes;
  std::string space = space_of(kSharedSpaceOfNobody, begin, end);
  FindingParty before = launch_party(fmt::format("write of the tensor map in {} before the launch", space));
  report(
      Rule::stale_descriptor, std::move(before), party(record), begin, end, std::move(space), {},
      "a tensor map in global memory is used without an acquire by this CTA: an earlier kernel or the host wrote it, "
      "and TMA may see what was there before");
}

}  // namespace ww::emu
