// SPDX-License-Identifier: Apache-2.0
// Zeros the rows of D that belong to no group; the rows of groups are not touched. Any grid.
//   every warp: gap before group g = [largest end of the groups before, start of g), 32 groups at a time, one a lane
//   row r of a gap: warp r mod (warps of the grid), 16 bytes a lane
// It relies on a guarantee of GroupTable: ranges of groups that are not empty ascend and do not overlap. Row ids are
// the exception, whose groups may come in any order: there each row looks for itself in the range of its own group.
#pragma once

#include "warpwright/arch/common/pdl.hpp"
#include "warpwright/arch/common/role.hpp"
#include "warpwright/scheduler/group_table.hpp"

namespace ww::kernel {

struct ZeroRowsArguments {
  void* d;
  i64 stride_bytes;  // from row to row
  i64 row_bytes;     // a multiple of 16
  config::GroupSizes groups;
};

struct ZeroRows {
  static constexpr int kThreads = 256;
  static constexpr u32 kWarps = kThreads / arch::kWarpSize;

  WW_HOST_DEVICE static constexpr int shared_bytes(int groups) {
    return 8 * groups + static_cast<int>(arch::cta::scan_bytes(kThreads));
  }

  WW_DEVICE static void run(const ZeroRowsArguments& arguments) {
    arch::role("zeros");
    arch::pdl::launch_dependents();
    arch::pdl::wait();  // global memory is left alone before this line
    const arch::SharedAddress shared = arch::dynamic_shared();
    const int groups = arguments.groups.groups;
    const scheduler::GroupTable<kThreads> table(shared, groups);
    table.build(arguments.groups, shared + 8 * groups);
    if (arguments.groups.encoding == GroupEncoding::row_ids) return clear_by_id(arguments, table);

    u32 end = 0;  // of all groups so far
    for (int first = 0; first < groups; first += static_cast<int>(arch::kWarpSize)) {
      const int group = first + static_cast<int>(arch::lane_index());
      const scheduler::GroupRange range = group < groups ? table[group] : scheduler::GroupRange{0, 0};
      const u32 ends = arch::cta::warp_scan(range.count > 0 ? static_cast<u32>(range.start + range.count) : 0u,
                                            arch::cta::Maximum{});
      const u32 left = arch::warp::shuffle_up(ends, 1);
      const u32 gap = arch::lane_index() == 0 ? end : max(left, end);
      const u32 gaps = arch::warp::ballot(range.count > 0 && static_cast<u32>(range.start) > gap);
      for (u32 lane = 0; lane < arch::kWarpSize && (gaps >> lane) != 0; ++lane) {
        if ((gaps >> lane) % 2 == 0) continue;
        clear(arguments, arch::warp::shuffle(gap, lane), arch::warp::shuffle(static_cast<u32>(range.start), lane));
      }
      end = max(end, arch::warp::shuffle(ends, arch::kWarpSize - 1));
    }
    clear(arguments, end, static_cast<u32>(arguments.groups.rows));
  }

 private:
  WW_DEVICE static u32 all_warps() { return kWarps * arch::grid_size(); }
  WW_DEVICE static u32 this_warp() { return arch::block_index() * kWarps + arch::warp_index(); }

  WW_DEVICE static void clear_row(const ZeroRowsArguments& arguments, u32 row) {
    char* const bytes = static_cast<char*>(arguments.d) + row * arguments.stride_bytes;
    for (i64 at = 16 * arch::lane_index(); at < arguments.row_bytes; at += 16 * arch::kWarpSize)
      arch::global::store4(bytes + at, {{0, 0, 0, 0}});
  }

  /// Clears this warp's rows of [from, to).
  WW_DEVICE static void clear(const ZeroRowsArguments& arguments, u32 from, u32 to) {
    const u32 warps = all_warps();
    for (u32 row = from + (this_warp() + warps - from % warps) % warps; row < to; row += warps)
      clear_row(arguments, row);
  }

  /// Clears those of this warp's rows that are not in the range of the group that their id names.
  WW_DEVICE static void clear_by_id(const ZeroRowsArguments& arguments, const scheduler::GroupTable<kThreads>& table) {
    const config::GroupSizes& sizes = arguments.groups;
    const u32 step = static_cast<u32>(sizes.alignment);
    for (u32 row = this_warp(); row < static_cast<u32>(sizes.rows); row += all_warps()) {
      const i32 group = static_cast<i32>(arch::global::load(sizes.sizes + row / step * step));
      const bool named = group >= 0 && group < sizes.groups;
      const scheduler::GroupRange range = named ? table[group] : scheduler::GroupRange{0, 0};
      const i32 inside = static_cast<i32>(row) - range.start;
      if (inside < 0 || inside >= range.count) clear_row(arguments, row);
    }
  }
};

}  // namespace ww::kernel
