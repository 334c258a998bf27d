// SPDX-License-Identifier: Apache-2.0
// {start, count} of every group in shared memory, from any of the five encodings; built by all threads of a CTA.
//   raw [start, end) of the encoding -> cut to the matrix -> cut behind the largest end of the groups before
// A group never reaches rows that do not exist or that an earlier group owns, whatever the sizes say; what was cut is
// reported once, by CTA 0, in the status word. Sizes may not change during the kernel. No loop over groups is unrolled:
// most threads have one group at most, and all of this runs before the first load.
#pragma once

#include "warpwright/arch/block_scan.hpp"
#include "warpwright/arch/global.hpp"
#include "warpwright/arch/named_barrier.hpp"
#include "warpwright/collective/grouped_arguments.hpp"

namespace ww::scheduler {

using collective::GroupRange;
using collective::GroupSizes;

template <int kThreads> class GroupTable {
 public:
  /// `table`: two words for each of `capacity` >= G groups.
  WW_DEVICE GroupTable(arch::SharedAddress table, int capacity) : starts_(table), counts_(table + 4 * capacity) {}

  WW_DEVICE GroupRange operator[](int group) const {
    return {static_cast<i32>(arch::shared::load(starts_ + 4 * group)),
            static_cast<i32>(arch::shared::load(counts_ + 4 * group))};
  }

  /// All threads of the CTA; ends with a barrier. `scratch`: arch::cta::scan_bytes(kThreads).
  WW_DEVICE void build(const GroupSizes& sizes, arch::SharedAddress scratch) const {
    const int thread = static_cast<int>(arch::thread_index());
    u32 status = 0;
    if (sizes.encoding == GroupEncoding::row_ids) status |= find_runs(sizes, thread);

    const int each = ceil_div(sizes.groups, kThreads);  // consecutive groups of one thread
    const int first = thread * each, last = min(first + each, sizes.groups);
    u32 end_here = 0;
    WW_NO_UNROLL
    for (int g = first; g < last; ++g) {
      const Span span = whole(cut(raw(sizes, g, status), sizes, g, status), sizes.grain, status);
      put(g, span);  // {start, end} for now
      if (span.end > span.start) end_here = max(end_here, static_cast<u32>(span.end));
    }
    i32 taken = static_cast<i32>(arch::cta::exclusive_max<kThreads>(end_here, thread, scratch).before);
    WW_NO_UNROLL
    for (int g = first; g < last; ++g) {
      Span span = {static_cast<i32>(arch::shared::load(starts_ + 4 * g)),
                   static_cast<i32>(arch::shared::load(counts_ + 4 * g))};
      if (may_overlap(sizes.encoding) && span.end > span.start && span.start < taken) {
        status |= GroupStatus::overlap;
        span.start = min(taken, span.end);
      }
      if (span.end > span.start) taken = max(taken, span.end);
      put(g, {span.start, max(span.end - span.start, 0)});
    }
    if (status != 0 && sizes.status != nullptr && arch::block_index() == 0)
      arch::global::atomic_or(sizes.status, status);
    arch::named_barrier::sync_cta();
  }

 private:
  // why not the others: a row has one id, and masked blocks are apart; their groups may come in any order
  WW_DEVICE static bool may_overlap(GroupEncoding encoding) {
    return encoding != GroupEncoding::row_ids && encoding != GroupEncoding::masked;
  }

  struct Span {
    i32 start, end;
  };
  static constexpr u32 kNoRow = 0x7fffffff;

  WW_DEVICE void put(int group, Span span) const {
    arch::shared::store(starts_ + 4 * group, static_cast<u32>(span.start));
    arch::shared::store(counts_ + 4 * group, static_cast<u32>(span.end));
  }

  WW_DEVICE static i32 load(const i32* p) { return static_cast<i32>(arch::global::load(p)); }

  /// What the encoding says about group g, complaints that only it can make included.
  WW_DEVICE Span raw(const GroupSizes& sizes, int g, u32& status) const {
    if (sizes.encoding == GroupEncoding::offsets) {
      const i32 before = g == 0 ? 0 : load(sizes.sizes + g - 1), end = load(sizes.sizes + g);
      if (end < before) status |= GroupStatus::overlap;
      // why 32 bits unsigned, which hold the sum of both: a division of 64 is a call, and every tile waits for it
      const u32 step = static_cast<u32>(sizes.alignment);
      const u32 start = (static_cast<u32>(max(before, 0)) + step - 1) / step * step;
      return {static_cast<i32>(min(start, static_cast<u32>(max(end, sizes.rows)))), end};
    }
    if (sizes.encoding == GroupEncoding::indptr) {
      const i32 start = load(sizes.sizes + g), end = load(sizes.sizes + g + 1);
      if (end < start) status |= GroupStatus::overlap;
      return {start, end};
    }
    if (sizes.encoding == GroupEncoding::row_ids) {
      const u32 start = arch::shared::load(starts_ + 4 * g), end = arch::shared::load(counts_ + 4 * g);
      return start == kNoRow ? Span{0, 0} : Span{static_cast<i32>(start), static_cast<i32>(end)};
    }
    const i32 start = sizes.encoding == GroupEncoding::masked ? g * sizes.alignment : load(sizes.sizes + g);
    const i32 count = load((sizes.encoding == GroupEncoding::masked ? sizes.sizes : sizes.sizes2) + g);
    if (count < 0) status |= GroupStatus::overlap;
    return {start, static_cast<i32>(min<i64>(i64{start} + max(count, 0), 0x7fffffff))};
  }

  WW_DEVICE static Span cut(Span span, const GroupSizes& sizes, int g, u32& status) {
    const bool masked = sizes.encoding == GroupEncoding::masked;
    const i32 limit = masked ? (g + 1) * sizes.alignment : sizes.rows;
    if (span.end > span.start && (span.start < 0 || span.end > limit)) status |= GroupStatus::overrun;
    return {min(max(span.start, 0), limit), min(max(span.end, 0), limit)};
  }

  /// The whole grains of a span.
  WW_DEVICE static Span whole(Span span, i32 grain, u32& status) {
    if (grain == 1 || span.end <= span.start) return span;
    if (span.start % grain != 0 || span.end % grain != 0) status |= GroupStatus::misaligned;
    return {ceil_div(span.start, grain) * grain, span.end / grain * grain};
  }

  /// Row ids: where the first run of every group starts and ends, into the table.
  WW_DEVICE u32 find_runs(const GroupSizes& sizes, int thread) const {
    for (int g = thread; g < sizes.groups; g += kThreads) put(g, {kNoRow, kNoRow});
    arch::named_barrier::sync_cta();
    constexpr int kBatch = 8;  // loads under way together
    u32 status = 0;
    WW_NO_UNROLL
    for (i64 first = thread; first <= sizes.rows; first += kBatch * kThreads) {
      i32 before[kBatch], here[kBatch];
      WW_UNROLL
      for (int i = 0; i < kBatch; ++i) {
        const i64 row = first + i * kThreads;
        before[i] = row >= 1 && row <= sizes.rows ? load(sizes.sizes + row - 1) : -1;
        here[i] = row < sizes.rows ? load(sizes.sizes + row) : -1;
      }
      WW_UNROLL
      for (int i = 0; i < kBatch; ++i) {
        const i64 row = first + i * kThreads;
        if (here[i] < -1 || here[i] >= sizes.groups) status |= GroupStatus::bad_id;
        if (row > sizes.rows || before[i] == here[i]) continue;
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
