// SPDX-License-Identifier: Apache-2.0
// Tensor maps in global memory: changed on the device, handed to another warp or CTA, used for loads and stores.
// Tensors are rows of 32 words; group g has the 8 rows from row 8 g of the input or, for stores, of the output. The
// output starts with 32 words for each map; where a kernel changes them it clears them at the end.
#pragma once

#include "params.hpp"
#include "warpwright/arch/common/tensor_map_update.hpp"

namespace ww::check_test {

inline constexpr u32 kGroupBytes = 8 * 128;

WW_DEVICE arch::TensorMap* map_slot(const Params& p, u32 slot) {
  return reinterpret_cast<arch::TensorMap*>(p.out + 32 * slot);
}

/// Lane 0 makes the copy group g's map, the warp releases it.
WW_DEVICE void change_map(const Params& p, arch::SharedAddress copy, u32 g, const u32* rows, u32 slot) {
  if (arch::lane_index() == 0) {
    arch::tensor_map::replace_address(copy, rows + 256 * g);  // @map_replace
    arch::tensor_map::replace_extent<1>(copy, 8);             // @map_replace
  }
  if (!p.is(Edit::map_no_syncwarp)) arch::warp::sync();
  if (p.is(Edit::map_plain_copy))
    arch::global::store(p.out + 32 * slot + arch::lane_index(),
                        arch::shared::load(copy + 4 * arch::lane_index()));  // @map_plain
  else arch::tensor_map::release(map_slot(p, slot), copy);                   // @map_release
}

/// arg[0] groups through one map: warp 0 changes it, warp 1 loads with it. arg[1]: warp 0 also acquires, for warp 1.
/// out[32 + 256 g + w] = in[256 g + w].
WW_KERNEL(check_tensor_map, 64, Params, p) {
  const u32 t = arch::thread_index(), groups = static_cast<u32>(p.arg[0]);
  const arch::SharedAddress copy = arch::dynamic_shared(), box = copy + 1024;
  const arch::MBarrier full{copy + 512};
  const arch::TensorMap& map = *map_slot(p, 0);
  if (t == 0) arch::mbarrier::init(full, 1);
  arch::fence::mbarrier_init();
  if (t < 32) arch::tensor_map::copy_to_shared(p.map[0], copy);
  arch::named_barrier::sync_cta();
  for (u32 g = 0; g < groups; ++g) {
    const bool acquires = !p.is(Edit::map_no_acquire) && (g == 0 || !p.is(Edit::map_acquired_once));
    if (t < 32 && !(p.is(Edit::map_in_flight) && g != 0)) change_map(p, copy, g, p.in, 0);
    if (t < 32 && p.arg[1] != 0) arch::tensor_map::acquire(map);
    if (g == 0 || !p.is(Edit::map_no_barrier)) arch::named_barrier::sync_cta();
    if (t == 32) {
      if (p.arg[1] == 0 && acquires) arch::tensor_map::acquire(map);
      arch::mbarrier::arrive_expect_tx(full, kGroupBytes);
      arch::tma::load_2d(map, full, box, 0, 0);  // @map_load
    }
    if (t < 32 && p.is(Edit::map_in_flight) && g + 1 < groups) change_map(p, copy, g + 1, p.in, 0);
    arch::mbarrier::wait(full, g & 1);
    for (u32 w = t; w < 256; w += 64) arch::global::store(p.out + 32 + 256 * g + w, arch::shared::load(box + 4 * w));
    arch::fence::proxy_async_shared();  // after the reads, before a load overwrites them
    arch::named_barrier::sync_cta();
  }
  if (t < 32) arch::global::store(p.out + t, 0);
}

/// The map at the start of the output was made before the launch. out[32 + w] = in[w].
WW_KERNEL(check_resident_map, 32, Params, p) {
  const u32 t = arch::thread_index();
  const arch::SharedAddress box = arch::dynamic_shared();
  const arch::MBarrier full{box + kGroupBytes};
  const arch::TensorMap& map = p.arg[0] != 0 ? p.map[0] : *map_slot(p, 0);
  if (t == 0) {
    arch::mbarrier::init(full, 1);
    arch::fence::mbarrier_init();
    arch::tma::prefetch(map);
    if (p.arg[0] == 0 && !p.is(Edit::resident_no_acquire)) arch::tensor_map::acquire(map);
    arch::mbarrier::arrive_expect_tx(full, kGroupBytes);
    arch::tma::load_2d(map, full, box, 0, 0);  // @resident_load
  }
  arch::warp::sync();
  arch::mbarrier::wait(full, 0);
  for (u32 w = t; w < 256; w += 32) arch::global::store(p.out + 32 + w, arch::shared::load(box + 4 * w));
}

/// CTA 0 makes a map for CTA 1 and raises a flag. out[32] the flag, out[64 + w] = in[256 + w].
WW_KERNEL(check_map_across, 32, Params, p) {
  const u32 t = arch::thread_index();
  const arch::SharedAddress copy = arch::dynamic_shared(), box = copy + 1024;
  const arch::MBarrier full{copy + 512};
  if (arch::block_index() == 0) {
    arch::tensor_map::copy_to_shared(p.map[0], copy);
    arch::warp::sync();
    change_map(p, copy, 1, p.in, 0);
    arch::warp::sync();
    if (t == 0) arch::global::store_release(p.out + 32, 1);
    return;
  }
  if (t == 0) {
    arch::mbarrier::init(full, 1);
    arch::fence::mbarrier_init();
    if (p.is(Edit::map_acquired_early)) arch::tensor_map::acquire(*map_slot(p, 0));
    arch::global::wait_global(p.out + 32, [](u32 flag) { return flag == 1; });
    if (!p.is(Edit::map_acquired_early)) arch::tensor_map::acquire(*map_slot(p, 0));
    arch::mbarrier::arrive_expect_tx(full, kGroupBytes);
    arch::tma::load_2d(*map_slot(p, 0), full, box, 0, 0);  // @across_load
  }
  arch::warp::sync();
  arch::mbarrier::wait(full, 0);
  for (u32 w = t; w < 256; w += 32) arch::global::store(p.out + 64 + w, arch::shared::load(box + 4 * w));
  arch::global::store(p.out + t, 0);
}

/// arg[0] groups stored through one map. out[32 + 256 g + w] = in[w] + g.
WW_KERNEL(check_map_store, 32, Params, p) {
  const u32 t = arch::thread_index(), groups = static_cast<u32>(p.arg[0]);
  const arch::SharedAddress copy = arch::dynamic_shared(), boxes = copy + 1024;
  arch::tensor_map::copy_to_shared(p.map[0], copy);
  for (u32 g = 0; g < groups; ++g) {
    const arch::SharedAddress box = boxes + g % 2 * kGroupBytes;
    if (t == 0) {  // the box of two groups ago, and the map of the last one
      if (p.is(Edit::map_store_in_flight)) arch::tma::wait_read<1>();
      else arch::tma::wait_read<0>();
    }
    arch::warp::sync();
    for (u32 w = t; w < 256; w += 32) arch::shared::store(box + 4 * w, arch::global::load(p.in + w) + g);
    arch::fence::proxy_async_shared();
    change_map(p, copy, g, p.out + 32, 0);
    arch::tensor_map::acquire(*map_slot(p, 0));
    if (t == 0) arch::tma::store_2d(*map_slot(p, 0), box, 0, 0);  // @map_store
    if (t == 0) arch::tma::commit();
  }
  if (t == 0) arch::tma::wait<0>();
  arch::warp::sync();
  arch::global::store(p.out + t, 0);
}

}  // namespace ww::check_test
