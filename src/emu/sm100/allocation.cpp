// SPDX-License-Identifier: Apache-2.0
// tcgen05.alloc, relinquish_alloc_permit and dealloc: requests are served in order, those of a pair in both CTAs at
// once.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "emu/aligned.hpp"
#include "emu/memory.hpp"
#include "emu/sm100/engine.hpp"
#include "emu/sm100/model.hpp"
#include "emu/warp_meeting.hpp"

namespace ww::emu::sm100 {
namespace {

// Kinds of warp-wide exchange, of which src/emu/warp_ops.cpp has the smaller numbers.
constexpr u32 kMeetsForAlloc = 0x100, kMeetsForDealloc = 0x101, kMeetsForRelinquish = 0x102;

/// Reports lanes of a warp that come with different operands.
void check_equal(Thread& thread, u32 half, const char* instruction, arch::Site site) {
  const u32* values = thread.warp->values[half];
  for (u32 lane = 1; lane < kWarpSize; ++lane)
    if (values[lane] != values[0])
      thread.machine->fail({&thread, site},
                           fmt::format("{}: lanes 0 and {} of a warp have different operands", instruction, lane),
                           Rule::divergent_call);
}

/// Returns a number that decides where an empty memory's first allocation is; 0 in the plain order.
u32 draw(const Cta& cta) {
  const Machine& machine = *cta.machine;
  if (machine.context().options.schedule == EmuSchedule::fifo) return 0;
  return static_cast<u32>(mix(machine.seed() + cta.index) >> 32);
}

template <class List> auto& numbered(List& list, u32 number) {
  return *std::find_if(list.begin(), list.end(), [=](const auto& item) { return item.number == number; });
}

/// Drops what all lanes have seen.
template <class List> void drop_seen(List& list) {
  while (!list.empty() && list.front().done && list.front().left == 0) list.pop_front();
}

}  // namespace

void TensorEngine::alloc(Thread& thread, arch::CtaGroup group, u32 result, u32 columns, arch::Site site) {
  Machine& machine = *thread.machine;
  const Origin origin{&thread, site};
  aligned_call(thread, "tcgen05.alloc.sync.aligned", site);
  const Ctas ctas = ctas_of(thread, group, "tcgen05.alloc", site);
  if (!std::has_single_bit(columns) || columns < kFewestColumns || columns > kColumns)
    refuse(origin, fmt::format("tcgen05.alloc: {} columns; expected a power of two from {} to {}", columns,
                               kFewestColumns, kColumns));
  const SharedPlace place = own_shared_place(thread, result, 4, 4, "tcgen05.alloc", site);
  meet(thread, kMeetsForAlloc, result * 1021 + columns, site, [&](u32 half) {
    check_equal(thread, half, "tcgen05.alloc", site);
    if (relinquished_)
      refuse(origin, "tcgen05.alloc after the CTA has given up its permit by relinquish_alloc_permit", kTensorMemory);
    if (least_columns_ != 0 && columns > least_columns_)
      refuse(origin,
             fmt::format("tcgen05.alloc: {} columns after an allocation of {}; successive allocations of a CTA must "
                         "not grow",
                         columns, least_columns_),
             kTensorMemory);
    least_columns_ = columns;
    if (ctas.count() == 2) rules_.pair_allocates(thread, *ctas.at[ctas.at[0] == &cta_ ? 1 : 0], site);
    requests_.push_back({++last_request_, columns, place.offset, group, origin});
    machine.progress();
    serve();
  });
  // All lanes of the warp are here, and no other request of it can be open.
  const u32 number = [&] {
    for (const Request& request : requests_)
      if (request.origin.thread->warp == thread.warp && request.left != 0) return request.number;
    return last_request_;
  }();
  while (!numbered(requests_, number).done) {
    allocators_.push(thread);
    const For what = ctas.count() == 2 ? For::pair_columns : For::columns;
    machine.park(thread, Wait::cta_engine, site, static_cast<u32>(what), columns);
  }
  rules_.allocated(thread, number);
  if (thread.lane() == 0)
    if (Checker* checker = machine.checker())
      checker->shared_access(thread, cta_, place.offset, 4, Access::store_shared, site);
  --numbered(requests_, number).left;
  drop_seen(requests_);
}

void TensorEngine::serve() {
  for (Request& request : requests_) {
    if (request.done) continue;
    if (request.group == arch::CtaGroup::pair) return serve_pair(of(*cta_.cluster->ctas[cta_.rank ^ 1]));
    const u32 base = memory_.find(request.columns, draw(cta_));
    if (base == ~0u) return;
    grant(request, base);
  }
}

void TensorEngine::serve_pair(TensorEngine& peer) {
  const auto open = [](const Request& request) { return !request.done; };
  const auto mine = std::find_if(requests_.begin(), requests_.end(), open);
  const auto other = std::find_if(peer.requests_.begin(), peer.requests_.end(), open);
  if (mine == requests_.end() || other == peer.requests_.end()) return;
  if (mine->columns != other->columns || mine->result != other->result)
    refuse(
        mine->origin,
        fmt::format("tcgen05.alloc.cta_group::2: {} columns with the result at offset 0x{:x}, and {} at 0x{:x} in the "
                    "peer CTA; expected the same in both",
                    mine->columns, mine->result, other->columns, other->result),
        kTensorMemory, {.origin = other->origin, .operation = "tcgen05.alloc.cta_group::2"});
  const u32 base = memory_.find(mine->columns, draw(*cta_.cluster->ctas[cta_.rank & ~1u]), &peer.memory_);
  if (base == ~0u) return;
  grant(*mine, base);
  peer.grant(*other, base);
  serve();
}

void TensorEngine::grant(Request& request, u32 base) {
  memory_.take(base, request.columns, request.origin);
  rules_.granted(base, request.columns, request.number);
  std::memcpy(cta_.shared.get() + request.result, &base, sizeof base);
  request.done = true;
  cta_.machine->wake_all(allocators_);
}

void TensorEngine::relinquish(Thread& thread, arch::CtaGroup group, arch::Site site) {
  aligned_call(thread, "tcgen05.relinquish_alloc_permit.sync.aligned", site);
  ctas_of(thread, group, "tcgen05.relinquish_alloc_permit", site);
  meet(thread, kMeetsForRelinquish, 0, site, [&](u32) { relinquished_ = true; });
}

void TensorEngine::dealloc(Thread& thread, arch::CtaGroup group, u32 address, u32 columns, arch::Site site) {
  Machine& machine = *thread.machine;
  const Origin origin{&thread, site};
  aligned_call(thread, "tcgen05.dealloc.sync.aligned", site);
  const Ctas ctas = ctas_of(thread, group, "tcgen05.dealloc", site);
  for (Cta* cta : ctas.at)
    if (cta && address < kColumns && columns <= kColumns - address)
      of(*cta).rules_.freed(thread, rules_, address, columns, site);
  u32 number = 0;
  meet(thread, kMeetsForDealloc, address * 1021 + columns, site, [&](u32 half) {
    check_equal(thread, half, "tcgen05.dealloc", site);
    const auto& all = memory_.allocations();
    const bool known = std::any_of(all.begin(), all.end(), [&](const TensorMemory::Allocation& a) {
      return a.base == address && a.columns == columns;
    });
    const bool again =
        std::any_of(freed_.begin(), freed_.end(), [&](const Freed& f) { return f.base == address && !f.done; });
    if (!known || again)
      refuse(origin, fmt::format("tcgen05.dealloc: no allocation of {} columns at address 0x{:x}", columns, address),
             kTensorMemory);
    machine.progress();
    if (ctas.count() == 1) {
      memory_.free(address, columns);
      return serve();
    }
    freed_.push_back({++last_request_, address, columns, origin});
    free_pair(of(*ctas.at[ctas.at[0] == &cta_ ? 1 : 0]), freed_.back());
  });
  if (ctas.count() == 1) return;
  for (const Freed& freed : freed_)
    if (freed.origin.thread->warp == thread.warp && freed.left != 0) number = freed.number;
  while (!numbered(freed_, number).done) {
    allocators_.push(thread);
    machine.park(thread, Wait::cta_engine, site, static_cast<u32>(For::pair_dealloc), columns);
  }
  --numbered(freed_, number).left;
  drop_seen(freed_);
}

/// Frees the columns in both CTAs once both have asked for that.
void TensorEngine::free_pair(TensorEngine& peer, Freed& mine) {
  const auto other = std::find_if(peer.freed_.begin(), peer.freed_.end(), [](const Freed& f) { return !f.done; });
  if (other == peer.freed_.end()) return;
  if (other->base != mine.base || other->columns != mine.columns)
    refuse(mine.origin,
           fmt::format("tcgen05.dealloc.cta_group::2 of {} columns from {} on, and of {} from {} on in the peer CTA; "
                       "expected the same in both",
                       mine.columns, mine.base, other->columns, other->base),
           kTensorMemory, {.origin = other->origin, .operation = "tcgen05.dealloc.cta_group::2"});
  mine.done = other->done = true;
  memory_.free(mine.base, mine.columns);
  peer.memory_.free(mine.base, mine.columns);
  cta_.machine->wake_all(allocators_);
  cta_.machine->wake_all(peer.allocators_);
  serve();
  peer.serve();
}

void TensorEngine::cta_exits(Thread& last) {
  const Origin origin{&last, last.site};
  if (!memory_.allocations().empty()) {
    const TensorMemory::Allocation& leak = memory_.allocations().front();
    refuse(origin,
           fmt::format("the CTA exits with {} columns of tensor memory still allocated",
                       kColumns - memory_.free_columns()),
           kTensorMemory, {.origin = leak.by, .operation = "tcgen05.alloc"});
  }
  for (const auto& issuer : issuers_)
    for (const Entry& entry : issuer->entries)
      if (!entry.done)
        refuse(origin, "the CTA exits while its tcgen05 operations are in flight: wait for a commit first",
               Rule::exited_cta, {.origin = entry.origin, .operation = "tcgen05"});
  if (arrivals_in_flight_ != 0)
    refuse(origin, "the CTA exits while arrivals of its tcgen05.commit are in flight: wait for them first",
           Rule::exited_cta);
}

}  // namespace ww::emu::sm100
