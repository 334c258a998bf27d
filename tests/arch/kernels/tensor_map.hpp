// SPDX-License-Identifier: Apache-2.0
// Tensor maps in global memory, changed by the kernel that uses them. Each group has a row of 8 words in the input:
// byte offset of its tensor, extents x, y, z, strides of y and z in bytes, 0, 0. map[0] is the template.
//   arg[0..2] x, y, z   arg[3] rank, 2 or 3   arg[4] bytes of a box   arg[5] groups   arg[6] 1: no acquire but
// the first, which is wrong
// The output starts with 32 words for each map; kernels clear them at the end, since what a map holds is the device's.
#pragma once

#include "params.hpp"
#include "warpwright/arch/common/cluster.hpp"
#include "warpwright/arch/common/fence.hpp"
#include "warpwright/arch/common/tensor_map_update.hpp"
#include "warpwright/arch/common/tma.hpp"
#include "warpwright/arch/common/warp.hpp"

namespace ww::arch_test {

inline constexpr u32 kMapWords = 32;

WW_DEVICE arch::TensorMap* slot_of(const Params& p, u32 slot) {
  return reinterpret_cast<arch::TensorMap*>(p.out + kMapWords * slot);
}

/// Makes the copy in shared memory the map of `group` in the tensor at `base`. One thread.
WW_DEVICE void describe(const Params& p, arch::SharedAddress copy, u32 group, const void* base) {
  const u32* row = p.in + 8 * group;
  arch::tensor_map::replace_address(copy, static_cast<const u8*>(base) + arch::global::load(row));
  arch::tensor_map::replace_extent<0>(copy, arch::global::load(row + 1));
  arch::tensor_map::replace_extent<1>(copy, arch::global::load(row + 2));
  arch::tensor_map::replace_stride<1>(copy, arch::global::load(row + 4));
  if (p.arg[3] != 3) return;
  arch::tensor_map::replace_extent<2>(copy, arch::global::load(row + 3));
  arch::tensor_map::replace_stride<2>(copy, arch::global::load(row + 5));
}

WW_DEVICE void load_box(const Params& p, const arch::TensorMap& map, arch::MBarrier full, arch::SharedAddress box) {
  arch::mbarrier::arrive_expect_tx(full, static_cast<u32>(p.arg[4]));
  if (p.arg[3] == 3) arch::tma::load_3d(map, full, box, p.arg[0], p.arg[1], p.arg[2]);
  else arch::tma::load_2d(map, full, box, p.arg[0], p.arg[1]);
}

/// Group after group through one map: warp 0 changes it, warp 1 loads with it. Output: a box for each group.
WW_KERNEL(arch_tensor_map_groups, 64, Params, p) {
  const u32 t = arch::thread_index(), bytes = static_cast<u32>(p.arg[4]);
  const arch::SharedAddress copy = arch::dynamic_shared(), box = copy + 1024;
  const arch::MBarrier full{copy + 512};
  if (t == 0) arch::mbarrier::init(full, 1);
  if (t == 0) arch::fence::mbarrier_init();
  if (t < 32) arch::tensor_map::copy_to_shared(p.map[0], copy);
  arch::named_barrier::sync_cta();
  for (u32 g = 0; g < static_cast<u32>(p.arg[5]); ++g) {
    if (t < 32) {
      if (t == 0) describe(p, copy, g, p.in);
      arch::warp::sync();
      arch::tensor_map::release(slot_of(p, 0), copy);
    }
    arch::named_barrier::sync_cta();
    if (t >= 32) {
      if (g == 0 || p.arg[6] == 0) arch::tensor_map::acquire(*slot_of(p, 0));
      if (t == 32) arch::tma::prefetch(*slot_of(p, 0));
      if (t == 32) load_box(p, *slot_of(p, 0), full, box);
      arch::warp::sync();
    }
    arch::mbarrier::wait(full, g & 1);
    for (u32 w = t; w < bytes / 4; w += 64)
      arch::global::store(p.out + kMapWords + g * (bytes / 4) + w, arch::shared::load(box + 4 * w));
    arch::named_barrier::sync_cta();
  }
  if (t < kMapWords) arch::global::store(p.out + t, 0);
}

/// CTA 0 makes a map for each CTA and raises a flag; each CTA loads its box. Output: maps, 32 words of which the first
/// is the flag, boxes.
WW_KERNEL(arch_tensor_map_across, 32, Params, p) {
  const u32 t = arch::thread_index(), ctas = arch::grid_size(), block = arch::block_index();
  const u32 words = static_cast<u32>(p.arg[4]) / 4;
  const arch::SharedAddress copy = arch::dynamic_shared(), box = copy + 1024;
  const arch::MBarrier full{copy + 512};
  u32* const flag = p.out + kMapWords * ctas;
  if (t == 0) arch::mbarrier::init(full, 1);
  if (t == 0) arch::fence::mbarrier_init();
  if (block == 0) {
    arch::tensor_map::copy_to_shared(p.map[0], copy);
    for (u32 g = 0; g < ctas; ++g) {
      arch::warp::sync();
      if (t == 0) describe(p, copy, g, p.in);
      arch::warp::sync();
      arch::tensor_map::release(slot_of(p, g), copy);
    }
    arch::warp::sync();
    if (t == 0) arch::global::store_release(flag, 1);
  }
  if (t == 0) {
    arch::global::wait_global(flag, [](u32 now) { return now != 0; });
    arch::tensor_map::acquire(*slot_of(p, block));
    load_box(p, *slot_of(p, block), full, box);
  }
  arch::warp::sync();
  arch::mbarrier::wait(full, 0);
  for (u32 w = t; w < words; w += 32)
    arch::global::store(flag + kMapWords + block * words + w, arch::shared::load(box + 4 * w));
  arch::global::store(p.out + kMapWords * block + t, 0);
}

/// One box stored through a map for each group, two maps in turn: the tensor's edge cuts it. The boxes follow the table
/// of groups in the input; tensors are in the output, at offsets from its start.
WW_KERNEL(arch_tensor_map_store, 32, Params, p) {
  const u32 t = arch::thread_index(), bytes = static_cast<u32>(p.arg[4]), groups = static_cast<u32>(p.arg[5]);
  const arch::SharedAddress copy = arch::dynamic_shared(), boxes = copy + 1024;
  arch::tensor_map::copy_to_shared(p.map[0], copy);
  for (u32 g = 0; g < groups; ++g) {
    const arch::SharedAddress box = boxes + g % 2 * 1024;
    if (t == 0) arch::tma::wait_read<1>();  // the map and the box of two groups ago are free
    arch::warp::sync();
    copy_in(p.in + 8 * groups + g * (bytes / 4), box, bytes / 4);
    if (t == 0) describe(p, copy, g, p.out);
    arch::fence::proxy_async_shared();
    arch::warp::sync();
    arch::tensor_map::release(slot_of(p, g % 2), copy);
    arch::tensor_map::acquire(*slot_of(p, g % 2));
    if (t == 0) {
      if (p.arg[3] == 3) arch::tma::store_3d(*slot_of(p, g % 2), box, p.arg[0], p.arg[1], p.arg[2]);
      else arch::tma::store_2d(*slot_of(p, g % 2), box, p.arg[0], p.arg[1]);
      arch::tma::commit();
    }
  }
  if (t == 0) arch::tma::wait<0>();
  arch::warp::sync();
  for (u32 w = t; w < 2 * kMapWords; w += 32) arch::global::store(p.out + w, 0);
}

}  // namespace ww::arch_test
