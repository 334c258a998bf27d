// SPDX-License-Identifier: Apache-2.0
// {start, count} of every group in shared memory, from any of the five encodings. All threads of a CTA build it or, if
// groups are few, one warp alone.
//   raw [start, end) of the encoding -> cut to the matrix -> cut behind the largest end of the preceding groups
// A group never reaches rows that do not exist or that an earlier group owns, whatever the sizes say. CTA 0 reports
// cuts once, in the status word; under cluster launch control it may never start, and every CTA reports. Sizes must not
// change during the kernel.
// All of this runs before the first load of a launch. So a thread issues the loads of its groups' sizes together. A
// warp that builds the table alone keeps those sizes in registers, for which its loops are unrolled; the others are
// not, because this code is not in the instruction cache.
#pragma once

#include "warpwright/arch/common/block_scan.hpp"
#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/named_barrier.hpp"
#include "warpwright/config/grouped_arguments.hpp"
#include "warpwright/core/meta.hpp"

namespace ww::scheduler {

using config::GroupRange;
using config::GroupSizes;

template <int kThreads, bool kEveryCtaReports = false> class GroupTable {
 public:
  /// `table` has 8 bytes for each of `capacity` >= G groups.
  WW_DEVICE GroupTable(arch::SharedAddress table, int capacity) : starts_(table), counts_(table + 4 * capacity) {}

  WW_DEVICE GroupRange operator[](int group) const {
    const Words words = at(group);
    return {words.first, words.second};
  }

  /// The values in memory about one group; their meaning depends on the encoding.
  struct Words {
    i32 first, second;
  };
  /// The values about consecutive groups of a thread.
  static constexpr int kBatch = 4;
  struct Batch {
    Words words[kBatch];
  };
  /// Up to so many groups, one warp builds tables faster than all warps: it needs no barrier, and each lane loads the
  /// sizes of its groups together.
  static constexpr int kWarpGroups = kBatch * static_cast<int>(arch::kWarpSize);

  /// Builds the table. All threads of the CTA call it; it ends with a barrier. `scratch` has
  /// arch::cta::scan_bytes(kThreads).
  WW_DEVICE void build(const GroupSizes& sizes, arch::SharedAddress scratch) const {
    const u32 thread = arch::thread_index();
    prepare(sizes);
    build_by<kThreads>(sizes, thread, load_first<kThreads>(sizes, thread), scratch);
    arch::named_barrier::sync_cta();
  }

  /// Finds the runs of row ids, which no other encoding needs. All threads of the CTA call it, before build_in_warp().
  WW_DEVICE void prepare(const GroupSizes& sizes) const {
    if (sizes.encoding == GroupEncoding::row_ids)
      report(sizes, find_runs(sizes, static_cast<int>(arch::thread_index())));
  }
  /// Issues the first loads. All lanes of the building warp call it beforehand; it does not access shared memory.
  WW_DEVICE static Batch load_in_warp(const GroupSizes& sizes) {
    return load_first<arch::kWarpSize>(sizes, arch::lane_index());
  }
  /// Builds the table in one warp, without the others; the caller's warp::sync() makes it visible. A lane owns the
  /// groups from its first_group<kWarpSize>() on.
  WW_DEVICE void build_in_warp(const GroupSizes& sizes, const Batch& loaded) const {
    const u32 lane = arch::lane_index();
    const int each = ceil_div(sizes.groups, static_cast<int>(arch::kWarpSize));
    const int first = first_group<arch::kWarpSize>(sizes, lane), last = first_group<arch::kWarpSize>(sizes, lane + 1);
    u32 status = 0, end = 0;
    Span spans[kBatch];
    WW_UNROLL
    for (int i = 0; i < kBatch; ++i) {
      if (i >= each) break;  // in all lanes
      const int g = first + i;
      if (g >= last) continue;
      const Words words = sizes.encoding == GroupEncoding::row_ids ? at(g) : loaded.words[i];
      spans[i] = cut(raw(sizes, g, words, status), sizes, g, status);
      end = max(end, end_of(spans[i]));
    }
    u32 taken = arch::cta::exclusive_max<arch::kWarpSize>(end, lane, {}).before;
    WW_UNROLL
    for (int i = 0; i < kBatch; ++i) {
      if (i >= each) break;
      if (first + i < last) put_rest(sizes, first + i, spans[i], taken, status);
    }
    report(sizes, status);
  }

  /// Returns the first of the consecutive groups of participant `rank` of kCount; they end where the next participant's
  /// begin.
  template <u32 kCount> WW_DEVICE static int first_group(const GroupSizes& sizes, u32 rank) {
    return min(static_cast<int>(rank) * ceil_div(sizes.groups, static_cast<int>(kCount)), sizes.groups);
  }

 private:
  // The other encodings cannot overlap: a row has one id, and masked blocks are disjoint. Their groups may come in any
  // order.
  WW_DEVICE static bool may_overlap(GroupEncoding encoding) {
    return encoding != GroupEncoding::row_ids && encoding != GroupEncoding::masked;
  }

  struct Span {
    i32 start, end;
  };
  static constexpr u32 kNoRow = 0x7fffffff;

  template <u32 kCount> WW_DEVICE static Batch load_first(const GroupSizes& sizes, u32 rank) {
    return load_batch(sizes, first_group<kCount>(sizes, rank), ceil_div(sizes.groups, static_cast<int>(kCount)));
  }
  /// Loads the values about `count` groups from `from` on. Addresses depend on the encoding, not on the group, and a
  /// thread without a group loads what is there of the last one: no branch stands between the loads.
  WW_DEVICE static Batch load_batch(const GroupSizes& sizes, int from, int count) {
    Batch batch{};
    if (sizes.encoding == GroupEncoding::row_ids) return batch;  // the table has them
    const bool offsets = sizes.encoding == GroupEncoding::offsets;
    const i32* const second = (sizes.encoding == GroupEncoding::starts_counts ? sizes.sizes2 : sizes.sizes) +
                              (sizes.encoding == GroupEncoding::indptr ? 1 : 0);
    const i32* const first = sizes.sizes - (offsets ? 1 : 0);
    WW_UNROLL
    for (int i = 0; i < kBatch; ++i) {
      if (i >= count) break;
      const int g = min(from + i, sizes.groups - 1);
      batch.words[i] = {load(first + max(g, offsets ? 1 : 0)), load(second + g)};
    }
    return batch;
  }

  /// Builds the table from load_first()'s values with kCount threads, of which this one is `rank`.
  template <u32 kCount>
  WW_DEVICE void build_by(const GroupSizes& sizes, u32 rank, Batch batch, arch::SharedAddress scratch) const {
    const int first = first_group<kCount>(sizes, rank), last = first_group<kCount>(sizes, rank + 1);
    WW_NO_UNROLL
    for (int from = first; from < last && sizes.encoding != GroupEncoding::row_ids; from += kBatch) {
      if (from != first) batch = load_batch(sizes, from, last - from);
      WW_UNROLL
      for (int i = 0; i < kBatch; ++i)
        if (from + i < last) put(from + i, {batch.words[i].first, batch.words[i].second});  // raw values, for now
    }
    u32 status = 0, end_here = 0;
    WW_NO_UNROLL
    for (int g = first; g < last; ++g) {
      const Span span = whole(cut(raw(sizes, g, at(g), status), sizes, g, status), sizes.granularity, status);
      put(g, span);  // {start, end} for now
      end_here = max(end_here, end_of(span));
    }
    u32 taken = arch::cta::exclusive_max<kCount>(end_here, rank, scratch).before;
    WW_NO_UNROLL
    for (int g = first; g < last; ++g) {
      const Words found = at(g);
      put_rest(sizes, g, {found.first, found.second}, taken, status);
    }
    report(sizes, status);
  }

  /// Returns the end of a span, or 0 if it is empty.
  WW_DEVICE static u32 end_of(Span span) { return span.end > span.start ? static_cast<u32>(span.end) : 0; }
  /// Puts what is left of a group's span behind `taken`, the largest end of the groups before it, and advances `taken`.
  WW_DEVICE void put_rest(const GroupSizes& sizes, int g, Span span, u32& taken, u32& status) const {
    const i32 free = static_cast<i32>(taken);
    if (may_overlap(sizes.encoding) && span.end > span.start && span.start < free) {
      status |= GroupStatus::overlap;
      span.start = min(free, span.end);
    }
    taken = max(taken, end_of(span));
    put(g, {span.start, max(span.end - span.start, 0)});
  }

  WW_DEVICE static void report(const GroupSizes& sizes, u32 status) {
    if (status != 0 && sizes.status != nullptr && (kEveryCtaReports || arch::block_index() == 0))
      arch::global::atomic_or(sizes.status, status);
  }

  WW_DEVICE void put(int group, Span span) const {
    arch::shared::store(starts_ + 4 * group, static_cast<u32>(span.start));
    arch::shared::store(counts_ + 4 * group, static_cast<u32>(span.end));
  }

  WW_DEVICE Words at(int group) const {
    return {static_cast<i32>(arch::shared::load(starts_ + 4 * group)),
            static_cast<i32>(arch::shared::load(counts_ + 4 * group))};
  }

  WW_DEVICE static i32 load(const i32* p) { return static_cast<i32>(arch::global::load(p)); }

  /// Returns what the encoding says about a group, and reports the faults that only the raw values show.
  WW_DEVICE static Span raw(const GroupSizes& sizes, int g, Words words, u32& status) {
    if (sizes.encoding == GroupEncoding::offsets) {
      const i32 end = words.second, begin = g == 0 ? 0 : words.first;
      if (end < begin) status |= GroupStatus::overlap;
      // 32-bit unsigned arithmetic suffices for the sum of both; a 64-bit division would be a function call on every
      // tile's critical path.
      const u32 step = static_cast<u32>(sizes.alignment);
      u32 start = static_cast<u32>(max(begin, 0));
      if (step != 1) start = (start + step - 1) / step * step;
      return {static_cast<i32>(min(start, static_cast<u32>(max(end, sizes.rows)))), end};
    }
    if (sizes.encoding == GroupEncoding::indptr) {
      if (words.second < words.first) status |= GroupStatus::overlap;
      return {words.first, words.second};
    }
    if (sizes.encoding == GroupEncoding::row_ids) {
      return static_cast<u32>(words.first) == kNoRow ? Span{0, 0} : Span{words.first, words.second};
    }
    if (words.second < 0) status |= GroupStatus::overlap;
    const i32 start = sizes.encoding == GroupEncoding::masked ? g * sizes.alignment : words.first;
    return {start, static_cast<i32>(min<i64>(i64{start} + max(words.second, 0), 0x7fffffff))};
  }

  WW_DEVICE static Span cut(Span span, const GroupSizes& sizes, int g, u32& status) {
    const bool masked = sizes.encoding == GroupEncoding::masked;
    const i32 limit = masked ? (g + 1) * sizes.alignment : sizes.rows;
    if (span.end > span.start && (span.start < 0 || span.end > limit)) status |= GroupStatus::overrun;
    return {min(max(span.start, 0), limit), min(max(span.end, 0), limit)};
  }

  /// Cuts a span to whole multiples of the granularity.
  WW_DEVICE static Span whole(Span span, i32 granularity, u32& status) {
    if (granularity == 1 || span.end <= span.start) return span;
    if (span.start % granularity != 0 || span.end % granularity != 0) status |= GroupStatus::misaligned;
    return {ceil_div(span.start, granularity) * granularity, span.end / granularity * granularity};
  }

  /// Row ids: writes start and end of the first run of every group into the table. Rows are taken `alignment` at a
  /// time; the id of the first counts for all.
  WW_DEVICE u32 find_runs(const GroupSizes& sizes, int thread) const {
    for (int g = thread; g < sizes.groups; g += kThreads) put(g, {kNoRow, kNoRow});
    arch::named_barrier::sync_cta();
    constexpr int kLoads = 8;  // in flight together
    const i64 step = sizes.alignment, units = ceil_div(sizes.rows, sizes.alignment);
    u32 status = 0;
    WW_NO_UNROLL
    for (i64 first = thread; first <= units; first += kLoads * kThreads) {
      i32 before[kLoads], here[kLoads];
      WW_UNROLL
      for (int i = 0; i < kLoads; ++i) {
        const i64 unit = first + i * kThreads;
        before[i] = unit >= 1 && unit <= units ? load(sizes.sizes + (unit - 1) * step) : -1;
        here[i] = unit < units ? load(sizes.sizes + unit * step) : -1;
      }
      WW_UNROLL
      for (int i = 0; i < kLoads; ++i) {
        const i64 unit = first + i * kThreads;
        if (here[i] < -1 || here[i] >= sizes.groups) status |= GroupStatus::bad_id;
        if (unit > units || before[i] == here[i]) continue;
        const i64 row = min<i64>(unit * step, sizes.rows);
        if (here[i] >= 0 && here[i] < sizes.groups &&
            arch::shared::atomic_min(starts_ + 4 * here[i], static_cast<u32>(row)) != kNoRow)
          status |= GroupStatus::scattered;
        if (before[i] >= 0 && before[i] < sizes.groups)
          arch::shared::atomic_min(counts_ + 4 * before[i], static_cast<u32>(row));
      }
    }
    arch::named_barrier::sync_cta();
    return status;
  }

  arch::SharedAddress starts_, counts_;
};

}  // namespace ww::scheduler
