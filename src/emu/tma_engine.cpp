// SPDX-License-Identifier: Apache-2.0
// Checks and executes bulk tensor copies.
#include "emu/tma_engine.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "emu/check/checker.hpp"
#include "emu/machine.hpp"
#include "emu/memory.hpp"
#include "emu/tensor_map_update.hpp"
#include "emu/timeline.hpp"

namespace ww::emu {
namespace {

constexpr u32 kDestinationAlignment = 128;

/// The part [first, last) of a box along `d` that is inside the tensor.
struct Part {
  u32 first, last;
};
Part part_inside(const TensorMapData& map, const arch::TmaCoordinates& at, int d) {
  const i64 from = at.at[d], extent = static_cast<i64>(map.extent[d]), box = map.box[d];
  const i64 first = min(max(-from, i64{0}), box), last = max(first, min(extent - from, box));
  return {static_cast<u32>(first), static_cast<u32>(last)};
}

/// The memory that a copy may access: all of the tensor or, where two modes have one stride, the box's part.
struct Span {
  u64 base, bytes;
};
Span span_of(const TensorMapData& map, const arch::TmaCoordinates& at) {
  if (!map.adds_coordinates()) return {map.base, map.span_bytes()};
  Span span{map.base, map.element_bytes};
  for (int d = 0; d < map.rank; ++d) {
    const Part part = part_inside(map, at, d);
    if (part.first == part.last) return {0, 0};  // nothing
    const u64 stride = d == 0 ? map.element_bytes : map.stride[d - 1];
    span.base += (static_cast<u64>(i64{at.at[d]}) + part.first) * stride;
    span.bytes += (part.last - part.first - 1) * stride;
  }
  return span;
}

constexpr u32 kNoRange = ~0u;

/// Returns the name of a tensor's memory for a timeline.
std::string name_of_range(const Machine& machine, u32 range) {
  return range == kNoRange ? "a tensor" : machine.context().launch.memory[range].name;
}

/// Returns the coordinates with the innermost one in units of the map, of which narrow elements share one.
arch::TmaCoordinates in_units(Thread& thread, const TensorMapData& map, arch::TmaCoordinates at, arch::Site site) {
  if (map.elements == 1) return at;
  const int step = map.padded() ? 128 : 32;  // of 4-bit elements in 16 bytes
  if (at.at[0] % step != 0)
    thread.machine->fail(
        {&thread, site},
        fmt::format("TMA: innermost coordinate {} of narrow elements; expected a multiple of {}", at.at[0], step),
        Rule::misaligned, {.global = true});
  at.at[0] /= map.elements;
  return at;
}

/// Checks the instruction's use of `map`. Returns the memory range of its tensor, or kNoRange when the box has no part
/// of it.
u32 check_access(Thread& thread, const TensorMapData& map, int rank, const arch::TmaCoordinates& at, bool write,
                 arch::Site site) {
  Machine& machine = *thread.machine;
  if (map.rank != rank)
    machine.fail({&thread, site}, fmt::format("TMA of rank {} with a tensor map of rank {}", rank, map.rank));
  if (!map.padded() && i64{at.at[0]} * map.element_bytes % 16 != 0)
    machine.fail({&thread, site},
                 fmt::format("TMA: innermost coordinate {} times {} bytes is no multiple of 16 bytes", at.at[0],
                             map.element_bytes),
                 Rule::misaligned, {.global = true});
  const Span span = span_of(map, at);
  if (span.bytes == 0) return kNoRange;
  const int range = range_of(machine, span.base, span.bytes, write);
  if (range < 0)
    machine.fail({&thread, site},
                 "TMA: the memory of the tensor map is in no operand of the launch: " +
                     words_of_place(machine.context().launch, span.base, span.bytes),
                 Rule::out_of_bounds, {.global = true});
  return static_cast<u32>(range);
}

/// Returns the map as stores use it: rows are clipped at 16 bytes of memory, not at the extent, so up to 15 bytes after
/// a row are overwritten (H200, 2026-11-20). Loads fill with zeros from the extent on.
TensorMapData as_stored(const TensorMapData& map) {
  TensorMapData stored = map;
  stored.extent[0] = round_up(map.extent[0] * map.element_bytes, u64{16}) / map.element_bytes;
  return stored;
}

u64 bytes_inside(const TensorMapData& map, const arch::TmaCoordinates& at) {
  u64 bytes = map.element_bytes;
  for (int d = 0; d < map.rank; ++d) {
    const Part part = part_inside(map, at, d);
    bytes *= part.last - part.first;
  }
  return bytes;
}

/// Returns the bytes from the base to the end of the box's memory; 0 when it has none.
u64 reach_of(const TensorMapData& map, const arch::TmaCoordinates& at) {
  if (bytes_inside(map, at) == 0) return 0;
  u64 reach = 0;
  for (int d = 0; d < map.rank; ++d) {
    const u64 end = static_cast<u64>(at.at[d]) + part_inside(map, at, d).last;
    reach += d == 0 ? end * map.element_bytes : (end - 1) * map.stride[d - 1];
  }
  return reach;
}

/// Returns whether two rows of the box have the same memory: two modes have one stride, and the box has more than one
/// row along each. It is then undefined which of the rows a store leaves there.
bool writes_twice(const TensorMapData& map, const arch::TmaCoordinates& at) {
  const auto rows = [&](int d) { return part_inside(map, at, d).last - part_inside(map, at, d).first; };
  for (int outer = 2; outer < map.rank; ++outer)
    for (int inner = 1; inner < outer; ++inner)
      if (map.stride[outer - 1] == map.stride[inner - 1] && rows(inner) > 1 && rows(outer) > 1) return true;
  return false;
}

/// Checks a store. A load fills memory before the tensor with zeros, but a store there is an illegal instruction.
/// `range` is the result of check_access().
void check_store(Thread& thread, const TensorMapData& map, u32 range, const arch::TmaCoordinates& at, arch::Site site) {
  Machine& machine = *thread.machine;
  for (int d = 0; d < map.rank; ++d)
    if (at.at[d] < 0)
      machine.fail({&thread, site}, fmt::format("TMA store: coordinate {} of dimension {} is negative", at.at[d], d),
                   Rule::out_of_bounds, {.global = true});
  if (range == kNoRange) return;
  const runtime::MemoryRange& memory = machine.context().launch.memory[range];
  if (!memory.writable)
    machine.fail({&thread, site}, fmt::format("TMA store to read-only operand {}", memory.name), Rule::out_of_bounds,
                 {.global = true});
  if (writes_twice(map, at))
    machine.fail({&thread, site}, "TMA store: rows of one box that share their memory are not emulated",
                 Rule::unsupported);
  const u64 end = map.base - reinterpret_cast<u64>(memory.base) + reach_of(as_stored(map), at);
  if (end > memory.bytes)
    machine.fail({&thread, site},
                 fmt::format("TMA store: {} bytes after operand {} are overwritten, because rows are clipped "
                             "at 16 bytes",
                             end - memory.bytes, memory.name),
                 Rule::out_of_bounds, {.global = true});
}

/// Calls visit(global, first, last, row) for each row of the box, in order. Bytes [first, last) of it are at `global`
/// in memory; the rest is outside the tensor (first == last when all of it is).
template <class Visit> void for_each_row(const TensorMapData& map, const arch::TmaCoordinates& at, Visit visit) {
  const Part inner = part_inside(map, at, 0);
  u32 rows = 1;
  for (int d = 1; d < map.rank; ++d) rows *= map.box[d];
  for (u32 row = 0; row < rows; ++row) {
    i64 address = static_cast<i64>(map.base) + (i64{at.at[0]} + inner.first) * map.element_bytes;
    bool inside = inner.first != inner.last;
    u32 rest = row;
    for (int d = 1; d < map.rank; ++d) {
      const i64 index = i64{at.at[d]} + rest % map.box[d];
      rest /= map.box[d];
      inside = inside && index >= 0 && index < static_cast<i64>(map.extent[d]);
      address += index * static_cast<i64>(map.stride[d - 1]);
    }
    if (inside)
      visit(reinterpret_cast<u8*>(address), inner.first * map.element_bytes, inner.last * map.element_bytes, row);
    else visit(static_cast<u8*>(nullptr), 0u, 0u, row);
  }
}

/// Visits one row of a box in shared memory, in 16-byte chunks at their swizzled places.
template <class Visit> void for_each_chunk(const TensorMapData& map, u32 offset, u32 bytes, Visit visit) {
  for (u32 at = 0; at < bytes; at += 16) visit(swizzled(map, offset + at), at);
}

u32 row_bytes(const TensorMapData& map) { return u32{map.box[0]} * map.element_bytes; }

/// Spreads a row of units to their places in shared memory. Nothing reads the bytes between them; they get bits that
/// change results if something does.
void spread(const TensorMapData& map, const u8* row, u8* padded) {
  std::memset(padded, 0xFF, u32{map.box[0]} * map.container);
  for (u32 unit = 0; unit < map.box[0]; ++unit)
    std::memcpy(padded + unit * map.container, row + unit * map.element_bytes, map.element_bytes);
}

/// A load that is being issued to one CTA or to each of a multicast.
struct LoadIssue {
  Thread& thread;
  const TmaLoadRequest& request;
  const arch::TmaCoordinates at;  // in units of the map
  const SeenMap& seen;
  u32 range;
  arch::Site site;
  Checker::LoadSource source = {};
  std::shared_ptr<SourceRows> rows = {};  // of a multicast from memory that may change
};

/// Returns the CTA at whose barrier the bytes for `cta` count.
Cta& counted_at(const LoadIssue& issue, Cta& cta) {
  if (!issue.request.pair) return cta;
  const u32 parity = issue.request.barrier >> arch::kSharedRankShift & 1;
  return *cta.cluster->ctas[(cta.rank & ~1u) | parity];
}

/// Issues one destination. With `of_map`, its landing tells that the map has been read.
void issue_load(LoadIssue& issue, bool of_map, Cta& cta) {
  Machine& machine = *issue.thread.machine;
  const Origin origin{&issue.thread, issue.site};
  Operation& operation = machine.new_operation(Operation::Kind::tma_load, origin);
  operation.cta = &cta;
  operation.shared = issue.request.destination & arch::kSharedOffsetMask;
  operation.barrier = issue.request.barrier & arch::kSharedOffsetMask;
  operation.counted_at = &counted_at(issue, cta);
  operation.map = issue.seen.data;
  operation.at = issue.at;
  operation.range = issue.range;
  operation.rows = issue.rows;
  if (Checker* checker = machine.checker()) {
    MBarrier& barrier = barrier_at(*operation.counted_at, operation.barrier, origin);
    operation.note = checker->tma_load(issue.thread, cta, operation.shared, operation.map.shared_bytes(), barrier,
                                       issue.source, issue.site);
    if (of_map)
      checker->tensor_map_used(issue.thread, reinterpret_cast<u64>(issue.request.map), operation.note, issue.site);
  }
  machine.submit(operation);
}

void issue_all(LoadIssue& issue, Cta& own_cta) {
  const u32 mask = issue.request.multicast, rank = issue.thread.cta->rank;
  if (mask == 0) return issue_load(issue, issue.seen.in_global, own_cta);
  const u32 first = (mask >> rank & 1) != 0 ? rank : static_cast<u32>(__builtin_ctz(mask));
  for (const auto& cta : issue.thread.cta->cluster->ctas)
    if (mask >> cta->rank & 1) issue_load(issue, issue.seen.in_global && cta->rank == first, *cta);
}

/// Calls visit(address, bytes) for the part of each row of the box that is in the tensor.
template <class Visit> void for_each_global_row(const TensorMapData& map, const arch::TmaCoordinates& at, Visit visit) {
  for_each_row(map, at, [&](const u8* global, u32 first, u32 last, u32) {
    if (first != last) visit(reinterpret_cast<u64>(global), last - first);
  });
}

/// Counts the sectors that a copy touches in global memory, for the traffic of its line.
void count_sectors(Checker& checker, const runtime::MemoryRange& memory, u32 range, const TensorMapData& map,
                   const arch::TmaCoordinates& at, bool write, arch::Site site) {
  for_each_row(map, at, [&](const u8* global, u32 first, u32 last, u32) {
    if (first != last)
      checker.traffic().global(write ? Access::tma_store : Access::tma_load, site, range,
                               static_cast<u64>(global - static_cast<const u8*>(memory.base)), last - first, write);
  });
}

/// Returns the rows of a multicast's source, which its first destination reads for all.
const std::vector<u8>& rows_of(const Operation& operation) {
  SourceRows& rows = *operation.rows;
  if (std::exchange(rows.read, true)) return rows.bytes;
  const u32 bytes = row_bytes(operation.map);
  rows.bytes.resize(operation.map.box_bytes());
  for_each_row(operation.map, operation.at, [&](const u8* global, u32 first, u32 last, u32 row) {
    if (global) std::memcpy(rows.bytes.data() + row * bytes + first, global, last - first);
  });
  return rows.bytes;
}

BulkGroup& open_group(Thread& thread) {
  if (thread.bulk_groups.empty()) thread.bulk_groups.emplace_back();
  return thread.bulk_groups.back();
}

BulkGroup& group_of(const Operation& operation) {
  auto& thread = const_cast<Thread&>(*operation.origin.thread);
  return thread.bulk_groups[operation.group - thread.bulk_first];
}

void wake_bulk_waiter(const Operation& operation) {
  auto& thread = const_cast<Thread&>(*operation.origin.thread);
  if (thread.wait != Wait::bulk) return;
  thread.wait = Wait::none;  // it must not be woken twice
  thread.machine->wake(thread);
}

/// Checks where a load's bytes go and where they are counted.
void check_targets(Thread& thread, const TmaLoadRequest& request, const Cta& destination, const Cta& counted,
                   arch::Site site) {
  Machine& machine = *thread.machine;
  const Origin origin{&thread, site};
  const std::size_t ctas = thread.cta->cluster->ctas.size();
  if (request.pair && ctas % 2 != 0)
    machine.fail(origin,
                 fmt::format("TMA load of a CTA pair in a cluster of {}; expected an even number of CTAs", ctas));
  if (request.pair && (destination.rank | 1) != (counted.rank | 1))
    machine.fail(origin,
                 fmt::format("TMA load of a CTA pair: destination in CTA {} of the cluster, mbarrier in CTA {}; "
                             "expected CTAs of one pair",
                             destination.rank, counted.rank));
  if (!request.pair && &destination != &counted)
    machine.fail(origin, "TMA load: destination and mbarrier are in different CTAs");
}

}  // namespace

u32 multicast_mask(Thread& thread, u32 multicast, const char* name, arch::Site site) {
  const std::size_t ctas = thread.cta->cluster->ctas.size();
  const u32 mask = multicast & ~arch::kMulticast;
  if (mask == 0 && multicast != 0)
    thread.machine->fail({&thread, site}, fmt::format("{}: multicast mask 0 names no CTA of the cluster", name));
  if (mask >> ctas != 0)
    thread.machine->fail({&thread, site}, fmt::format("{}: multicast mask 0x{:x} names CTAs outside the cluster of {}",
                                                      name, mask, ctas));
  return mask;
}

void tma_load(Thread& thread, const TmaLoadRequest& asked, arch::Site site) {
  Machine& machine = *thread.machine;
  TmaLoadRequest request = asked;
  request.multicast = multicast_mask(thread, asked.multicast, "TMA load", site);
  const SeenMap seen = see_tensor_map(thread, request.map, site);
  const TensorMapData& map = seen.data;
  const arch::TmaCoordinates at = in_units(thread, map, request.at, site);
  const u32 range = check_access(thread, map, request.rank, at, false, site);
  const SharedPlace place = shared_place(thread, request.destination, map.shared_bytes(), kDestinationAlignment, site);
  check_targets(thread, request, *place.cta, *shared_place(thread, request.barrier, 8, 8, site).cta, site);
  ++machine.counters().tma_loads;
  if (range != kNoRange) machine.counters().ranges[range].l2_read += bytes_inside(map, at);
  machine.progress();
  Checker* const checker = machine.checker();
  note_issue(thread, [&] {
    return fmt::format("TMA load of {}{}", name_of_range(machine, range), multicast_words(request.multicast));
  });
  LoadIssue issue{thread, request, at, seen, range, site};
  const bool may_change = range != kNoRange && machine.context().launch.memory[range].writable;
  if (may_change && request.multicast != 0) issue.rows = std::make_shared<SourceRows>();
  if (checker && range != kNoRange) {
    checker->tma_operand(thread, range, false, site);
    const u64 bytes = bytes_inside(map, at);
    const u32 copies = request.multicast == 0 ? 1 : static_cast<u32>(__builtin_popcount(request.multicast));
    checker->traffic().copy(Access::tma_load, site, u64{copies} * map.shared_bytes(), bytes, bytes * (copies - 1));
    const runtime::MemoryRange& memory = machine.context().launch.memory[range];
    if (machine.context().options.traffic) count_sectors(*checker, memory, range, map, at, false, site);
    issue.source.judged = may_change;
  }
  issue_all(issue, *place.cta);
  if (!issue.source.judged) return;
  const bool unwritten = machine.context().launch.memory[range].unwritten;
  for_each_global_row(map, at,
                      [&](u64 row, u32 bytes) { checker->tma_row_read(thread, row, bytes, issue.source, unwritten); });
}

void land_load(Operation& operation) {
  const TensorMapData& map = operation.map;
  Cta& cta = *operation.cta;
  if (cta.exited())
    cta.machine->fail(operation.origin,
                      fmt::format("TMA load into CTA {} (cluster rank {}), which has exited", cta.index, cta.rank),
                      Rule::exited_cta, {.cta = &cta});
  const u32 bytes = row_bytes(map), shared_row = u32{map.box[0]} * map.container;
  u8* shared = cta.shared.get();
  const u8* const kept = operation.rows ? rows_of(operation).data() : nullptr;
  alignas(16) u8 padded[256 * 16];
  alignas(16) u8 apart[128];  // of padded units
  for_each_row(map, operation.at, [&](const u8* global, u32 first, u32 last, u32 row) {
    if (kept && global) global = kept + row * bytes + first;
    const u8* source = global;
    if (last - first != bytes) {
      std::memset(padded, 0, bytes);
      if (global) std::memcpy(padded + first, global, last - first);
      source = padded;
    }
    if (map.padded()) {
      spread(map, source, apart);
      source = apart;
    }
    for_each_chunk(map, operation.shared + row * shared_row, shared_row,
                   [&](u32 offset, u32 at) { std::memcpy(shared + offset, source + at, 16); });
  });
  if (operation.range != kNoRange) cta.machine->counters().ranges[operation.range].shared_write += map.shared_bytes();
  note_effect(cta, "TMA", [&] {
    return fmt::format(
        "box of {} arrives{}", name_of_range(*cta.machine, operation.range),
        operation.counted_at == &cta ? "" : fmt::format(", counted in CTA {}", operation.counted_at->index));
  });
  signal_now(*operation.counted_at, operation.barrier, 0, 0, map.box_bytes(), operation.origin, operation.note);
}

void tma_store(Thread& thread, const void* map_bytes, int rank, u32 source, const arch::TmaCoordinates& elements,
               arch::Site site) {
  Machine& machine = *thread.machine;
  const SeenMap seen = see_tensor_map(thread, map_bytes, site);
  const TensorMapData& map = seen.data;
  if (map.padded())
    machine.fail({&thread, site},
                 map.element_bytes == 8 ? "TMA store: maps of padded 4-bit elements are for loads only"
                                        : "TMA store: maps of padded 6-bit elements are emulated for loads only",
                 map.element_bytes == 8 ? Rule::invalid_operation : Rule::unsupported);
  const arch::TmaCoordinates at = in_units(thread, map, elements, site);
  const u32 range = check_access(thread, map, rank, at, true, site);
  check_store(thread, map, range, at, site);
  const SharedPlace place = own_shared_place(thread, source, map.box_bytes(), kDestinationAlignment, "TMA store", site);
  BulkGroup& group = open_group(thread);
  ++group.unread;
  ++group.unwritten;
  ++thread.cta->unread_stores;
  ++machine.counters().tma_stores;
  note_issue(thread, [&] { return fmt::format("TMA store of {}", name_of_range(machine, range)); });
  for (std::size_t w = 0; w < thread.cta->warpgroups.size(); ++w)
    if (w != thread.index / kWarpgroupSize && thread.cta->warpgroups[w]->busy()) {
      ++machine.counters().stores_under_mma;
      break;
    }
  Operation& operation = machine.new_operation(Operation::Kind::store_read, {&thread, site});
  operation.cta = place.cta;
  operation.shared = place.offset;
  operation.map = map;
  operation.at = at;
  operation.range = range;
  operation.group = thread.bulk_first + static_cast<u32>(thread.bulk_groups.size()) - 1;
  if (Checker* checker = machine.checker()) {
    if (range != kNoRange) checker->tma_operand(thread, range, true, site);
    const u32 note = checker->tma_store(thread, place.offset, map.box_bytes(), site);
    if (seen.in_global) checker->tensor_map_used(thread, reinterpret_cast<u64>(map_bytes), note, site);
    for_each_global_row(as_stored(map), at,
                        [&](u64 row, u32 bytes) { checker->tma_row_written(thread, row, bytes, site); });
    checker->traffic().copy(Access::tma_store, site, map.box_bytes(), bytes_inside(map, at), 0);
    if (machine.context().options.traffic && range != kNoRange)
      count_sectors(*checker, machine.context().launch.memory[range], range, map, at, true, site);
  }
  machine.submit(operation);
}

void read_store(Operation& operation) {
  const TensorMapData& map = operation.map;
  const u8* shared = operation.cta->shared.get();
  operation.bytes.resize(map.box_bytes());
  const u32 bytes = row_bytes(map);
  for (u32 row = 0; row < map.box_bytes() / bytes; ++row)
    for_each_chunk(map, operation.shared + row * bytes, bytes, [&](u32 offset, u32 at) {
      std::memcpy(operation.bytes.data() + row * bytes + at, shared + offset, 16);
    });
  --operation.cta->unread_stores;
  --group_of(operation).unread;
  operation.kind = Operation::Kind::store_write;
  operation.cta->machine->submit(operation);
  wake_bulk_waiter(operation);
}

void write_store(Operation& operation) {
  const TensorMapData map = as_stored(operation.map);
  const u32 bytes = row_bytes(map);
  for_each_row(map, operation.at, [&](u8* global, u32 first, u32 last, u32 row) {
    if (global) std::memcpy(global, operation.bytes.data() + row * bytes + first, last - first);
  });
  if (operation.range != kNoRange)
    operation.cta->machine->counters().ranges[operation.range].l2_write += bytes_inside(map, operation.at);
  note_effect(*operation.cta, "TMA", [&] {
    return fmt::format("box of {} is written", name_of_range(*operation.cta->machine, operation.range));
  });
  --group_of(operation).unwritten;
  wake_bulk_waiter(operation);
}

void tma_prefetch_map(Thread& thread, const void* map, arch::Site site) { see_tensor_map(thread, map, site); }

void bulk_commit(Thread& thread) {
  open_group(thread);  // an empty group counts as a group
  thread.bulk_groups.emplace_back();
}

void bulk_wait(Thread& thread, int pending, bool read_only, arch::Site site) {
  if (pending < 0) thread.machine->fail({&thread, site}, fmt::format("bulk wait: {} groups", pending));
  const auto unfinished = [&] {
    const std::size_t committed = thread.bulk_groups.empty() ? 0 : thread.bulk_groups.size() - 1;
    for (std::size_t i = 0; i + static_cast<std::size_t>(pending) < committed; ++i) {
      const BulkGroup& group = thread.bulk_groups[i];
      if ((read_only ? group.unread : group.unwritten) != 0) return true;
    }
    return false;
  };
  while (unfinished()) thread.machine->park(thread, Wait::bulk, site, static_cast<u32>(pending), read_only);
  if (Checker* checker = thread.machine->checker(); checker && !thread.bulk_groups.empty()) {
    // Counted from the start of the kernel, because completed groups have left the list.
    const u32 committed = thread.bulk_first + static_cast<u32>(thread.bulk_groups.size()) - 1;
    if (committed > static_cast<u32>(pending))
      checker->bulk_waited(thread, committed - static_cast<u32>(pending), read_only);
  }
  while (thread.bulk_groups.size() > 1 && thread.bulk_groups.front().unwritten == 0) {
    thread.bulk_groups.erase(thread.bulk_groups.begin());
    ++thread.bulk_first;
  }
}

}  // namespace ww::emu
