// SPDX-License-Identifier: Apache-2.0
// First launch of a product with groups of K that are packed one by one: makes the tensor maps of A and B of every
// group that has rows of K.
//   all CTAs:  sizes on the device -> {start, count} of every group
//   a warp:    template (a parameter) -> shared memory -> for its groups: replace address, K and, of a K-major operand,
//              the length of a row -> release to global memory
//              even warps make maps of A, odd ones of B, spread over the grid
// The product reports contradicting sizes; this launch does not.
#pragma once

#include "warpwright/arch/common/pdl.hpp"
#include "warpwright/arch/common/role.hpp"
#include "warpwright/arch/common/tensor_map_update.hpp"
#include "warpwright/config/gemm_arguments.hpp"
#include "warpwright/scheduler/group_table.hpp"

namespace ww::kernel {

struct KGroupMapsArguments {
  arch::TensorMap map[config::kMapsOfGroup];  // templates: A and B with all of K
  const void* operand[config::kMapsOfGroup];  // its first element
  i64 step_bytes[config::kMapsOfGroup];       // a group that starts at row k of K begins k steps further on
  i32 k_bytes[config::kMapsOfGroup];          // K-major: of one element; 0: MN-major, whose rows do not change
  arch::TensorMap* maps;                      // (G, {A, B})
  config::GroupSizes groups;
};

struct KGroupMaps {
  static constexpr int kThreads = 256;
  static constexpr u32 kWarps = kThreads / arch::kWarpSize;
  static constexpr u32 kGroupsAtOnce = kWarps / config::kMapsOfGroup;  // of a CTA

  WW_HOST_DEVICE static constexpr int shared_bytes(int groups) {
    return static_cast<int>(kWarps * arch::tensor_map::kBytes) + 8 * groups +
           static_cast<int>(arch::cta::scan_bytes(kThreads));
  }

  WW_DEVICE static void run(const KGroupMapsArguments& arguments) {
    arch::role("group maps");
    const arch::SharedAddress shared = arch::dynamic_shared();
    const u32 warp = arch::warp::uniform(arch::warp_index());
    const u32 operand = warp % config::kMapsOfGroup;
    const arch::SharedAddress copy = shared + warp * arch::tensor_map::kBytes;
    arch::tensor_map::copy_to_shared(arguments.map[operand], copy);
    arch::warp::sync();
    arch::pdl::launch_dependents();
    arch::pdl::wait();  // nothing an earlier kernel wrote is read, and nothing it reads is written before this line
    const int groups = arguments.groups.groups;
    const arch::SharedAddress table = shared + kWarps * arch::tensor_map::kBytes;
    const scheduler::GroupTable<kThreads> ranges(table, groups);
    ranges.build(arguments.groups, table + 8 * groups);

    const auto* const base = static_cast<const char*>(arguments.operand[operand]);
    const i64 step_bytes = arguments.step_bytes[operand];
    const i32 k_bytes = arguments.k_bytes[operand];
    const int step = static_cast<int>(arch::grid_size() * kGroupsAtOnce);
    for (int g = static_cast<int>(arch::block_index() * kGroupsAtOnce + warp / config::kMapsOfGroup); g < groups;
         g += step) {
      const scheduler::GroupRange range = ranges[g];
      if (range.count == 0) continue;  // a map cannot have an empty extent, and nobody uses this one
      if (arch::lane_index() == 0) {
        arch::tensor_map::replace_address(copy, base + range.start * step_bytes);
        if (k_bytes > 0) {
          arch::tensor_map::replace_extent<0>(copy, static_cast<u32>(range.count));
          arch::tensor_map::replace_stride<1>(copy, static_cast<u64>(range.count) * static_cast<u64>(k_bytes));
        } else {
          arch::tensor_map::replace_extent<1>(copy, static_cast<u32>(range.count));
        }
      }
      arch::warp::sync();
      arch::tensor_map::release(arguments.maps + config::kMapsOfGroup * g + static_cast<int>(operand), copy);
      arch::warp::sync();  // the next change must follow every lane's read of the copy
    }
  }
};

}  // namespace ww::kernel
