// SPDX-License-Identifier: Apache-2.0
// First launch of the variant `descriptors`: gives every group that has rows its own tensor maps, and lists these
// groups.
//   all CTAs:  sizes on the device -> {start, count} of every group
//   a warp:    template (a parameter) -> shared memory -> for its groups: replace address and rows -> release to global
//              even warps make maps of A, odd ones of D, spread over the grid
//   last CTA:  exclusive sum of token tiles over the groups -> the list that the tile scheduler reads
// A map of A clips loads at the end of its group, and one of D clips stores. So there is no padding, and no row of a
// neighbour is touched.
#pragma once

#include "warpwright/arch/common/pdl.hpp"
#include "warpwright/arch/common/role.hpp"
#include "warpwright/arch/common/tensor_map_update.hpp"
#include "warpwright/scheduler/group_table.hpp"

namespace ww::kernel {

struct DescriptorUpdateArguments {
  arch::TensorMap a, d;  // templates: the whole matrix
  const void* a_rows;    // row 0; null: nothing is loaded, A has no maps
  void* d_rows;
  i64 a_stride_bytes, d_stride_bytes;  // from row to row
  i32 tile_m;                          // rows of a token tile
  config::GroupSizes groups;
  config::GroupDescriptors descriptors;
};

struct DescriptorUpdate {
  static constexpr int kThreads = 256;
  static constexpr u32 kWarps = kThreads / arch::kWarpSize;
  static constexpr u32 kGroupsAtOnce = kWarps / 2;  // of a CTA

  WW_HOST_DEVICE static constexpr int shared_bytes(int groups) {
    return static_cast<int>(kWarps * arch::tensor_map::kBytes) + 8 * groups +
           static_cast<int>(arch::cta::scan_bytes(kThreads));
  }

  WW_DEVICE static void run(const DescriptorUpdateArguments& arguments) {
    arch::role("descriptor update");
    const arch::SharedAddress shared = arch::dynamic_shared();
    const u32 warp = arch::warp::uniform(arch::warp_index());
    const bool is_d = warp % 2 == 1;
    const arch::SharedAddress copy = shared + warp * arch::tensor_map::kBytes;
    arch::tensor_map::copy_to_shared(is_d ? arguments.d : arguments.a, copy);
    arch::warp::sync();

    arch::pdl::launch_dependents();
    arch::pdl::wait();  // nothing an earlier kernel wrote is read, and nothing it reads is written before this line
    const int groups = arguments.groups.groups;
    const arch::SharedAddress table = shared + kWarps * arch::tensor_map::kBytes, scratch = table + 8 * groups;
    const Table ranges(table, groups);
    ranges.build(arguments.groups, scratch);
    if (is_d || arguments.a_rows != nullptr) change_maps(arguments, ranges, copy, warp / 2, is_d);
    if (arch::block_index() == arch::grid_size() - 1) list_groups(arguments, ranges, scratch);
  }

 private:
  using Table = scheduler::GroupTable<kThreads>;

  /// Makes the maps of A or of D of a warp's groups, one after the other through one copy.
  WW_DEVICE static void change_maps(const DescriptorUpdateArguments& arguments, const Table& ranges,
                                    arch::SharedAddress copy, u32 slot, bool is_d) {
    const char* rows = is_d ? static_cast<const char*>(arguments.d_rows) : static_cast<const char*>(arguments.a_rows);
    const i64 stride = is_d ? arguments.d_stride_bytes : arguments.a_stride_bytes;
    const int step = static_cast<int>(arch::grid_size() * kGroupsAtOnce);
    for (int g = static_cast<int>(arch::block_index() * kGroupsAtOnce + slot); g < arguments.groups.groups; g += step) {
      const scheduler::GroupRange range = ranges[g];
      if (range.count == 0) continue;  // a map cannot have an empty extent, and nobody uses this one
      if (arch::lane_index() == 0) {
        arch::tensor_map::replace_address(copy, rows + range.start * stride);
        arch::tensor_map::replace_extent<1>(copy, static_cast<u32>(range.count));
      }
      arch::warp::sync();
      arch::tensor_map::release(arguments.descriptors.maps + (is_d ? config::map_of_d(g) : config::map_of_a(g)), copy);
      arch::warp::sync();  // the next change must follow every lane's read of the copy
    }
  }

  /// Lists the groups that have rows, with the number of token tiles before each. All threads of one CTA call it.
  WW_DEVICE static void list_groups(const DescriptorUpdateArguments& arguments, const Table& ranges,
                                    arch::SharedAddress scratch) {
    const int thread = static_cast<int>(arch::thread_index()), groups = arguments.groups.groups;
    const int each = ceil_div(groups, kThreads);  // consecutive groups of one thread
    const int first = thread * each, last = min(first + each, groups);
    u32 listed = 0, tiles = 0;
    for (int g = first; g < last; ++g) {
      const i32 count = ranges[g].count;
      listed += count > 0 ? 1 : 0;
      tiles += static_cast<u32>(ceil_div(count, arguments.tile_m));
    }
    const arch::cta::Scan positions = arch::cta::exclusive_sum<kThreads>(listed, thread, scratch);
    const arch::cta::Scan tiles_before = arch::cta::exclusive_sum<kThreads>(tiles, thread, scratch);
    u32* to = arguments.descriptors.list + config::kListedWords * (1 + positions.before);
    u32 tile = tiles_before.before;
    for (int g = first; g < last; ++g) {
      const scheduler::GroupRange range = ranges[g];
      if (range.count == 0) continue;
      arch::global::store4(to,
                           {{static_cast<u32>(g), static_cast<u32>(range.start), static_cast<u32>(range.count), tile}});
      to += config::kListedWords;
      tile += static_cast<u32>(ceil_div(range.count, arguments.tile_m));
    }
    if (thread == 0) arch::global::store4(arguments.descriptors.list, {{positions.total, tiles_before.total, 0, 0}});
  }
};

}  // namespace ww::kernel
