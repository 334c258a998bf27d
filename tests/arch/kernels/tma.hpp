// SPDX-License-Identifier: Apache-2.0
// TMA: loads of rank 1 to 3 with each swizzle and cache policy, multicast, stores and their groups.
//   arg[0..2] x, y, z   arg[3] rank   arg[4] bytes of a box   arg[5] cache policy, 0 to 2
// Shared memory comes out as it lies there, so swizzles show.
#pragma once

#include "params.hpp"
#include "warpwright/arch/common/cluster.hpp"
#include "warpwright/arch/common/fence.hpp"
#include "warpwright/arch/common/tma.hpp"
#include "warpwright/arch/common/warp.hpp"

namespace ww::arch_test {

WW_DEVICE arch::CachePolicy policy_of(i32 which) {
  return which == 1   ? arch::CachePolicy::evict_first
         : which == 2 ? arch::CachePolicy::evict_last
                      : arch::CachePolicy::evict_normal;
}

WW_KERNEL(arch_tma_load, 128, Params, p) {
  const u32 bytes = static_cast<u32>(p.arg[4]);
  const arch::SharedAddress box = arch::dynamic_shared();
  const arch::MBarrier full{box + bytes};
  if (arch::thread_index() == 0) {
    arch::tma::prefetch(p.map[0]);
    arch::mbarrier::init(full, 1);
    arch::fence::mbarrier_init();
  }
  arch::named_barrier::sync_cta();
  if (arch::thread_index() == 0) {
    arch::mbarrier::expect_tx(full, 16);  // in two parts: the arrival alone must not end the phase
    arch::mbarrier::arrive_expect_tx(full, bytes - 16);
    const arch::CachePolicy policy = policy_of(p.arg[5]);
    if (p.arg[3] == 1) arch::tma::load_1d(p.map[0], full, box, p.arg[0], policy);
    if (p.arg[3] == 2) arch::tma::load_2d(p.map[0], full, box, p.arg[0], p.arg[1], policy);
    if (p.arg[3] == 3) arch::tma::prefetch_3d(p.map[0], p.arg[0], p.arg[1], p.arg[2]);
    if (p.arg[3] == 3) arch::tma::load_3d(p.map[0], full, box, p.arg[0], p.arg[1], p.arg[2], policy);
  }
  arch::mbarrier::wait(full, 0);
  copy_out(p, box, bytes / 4);
}

/// CTA r of the cluster loads the box that is r * arg[6] further along the outermost dimension and sends it to place r
/// of every CTA in arg[8 + r]. A place that nobody sends to stays zero.
WW_KERNEL(arch_tma_multicast, 128, Params, p) {
  const u32 bytes = static_cast<u32>(p.arg[4]), ctas = arch::cluster_size(), rank = arch::cluster_rank();
  const arch::SharedAddress boxes = arch::dynamic_shared();
  const arch::MBarrier full{boxes + ctas * bytes};
  for (u32 w = arch::thread_index(); w < ctas * bytes / 4; w += 128) arch::shared::store(boxes + 4 * w, 0);
  if (arch::thread_index() == 0) arch::mbarrier::init(full, 1);
  arch::fence::mbarrier_init();
  arch::fence::proxy_async();
  arch::cluster::sync();
  if (arch::thread_index() == 0) {
    u32 senders = 0;
    for (u32 r = 0; r < ctas; ++r) senders += static_cast<u32>(p.arg[8 + r]) >> rank & 1;
    arch::mbarrier::arrive_expect_tx(full, senders * bytes);
    const u16 mask = static_cast<u16>(p.arg[8 + rank]);
    const arch::CachePolicy policy = policy_of(p.arg[5]);
    const arch::SharedAddress place = boxes + rank * bytes;
    const int step = static_cast<int>(rank) * p.arg[6];
    if (p.arg[3] == 1) arch::tma::load_multicast_1d(p.map[0], full, place, mask, p.arg[0] + step, policy);
    if (p.arg[3] == 2) arch::tma::load_multicast_2d(p.map[0], full, place, mask, p.arg[0], p.arg[1] + step, policy);
    if (p.arg[3] == 3)
      arch::tma::load_multicast_3d(p.map[0], full, place, mask, p.arg[0], p.arg[1], p.arg[2] + step, policy);
  }
  arch::warp::sync();
  arch::mbarrier::wait(full, 0);
  copy_out(p, boxes, ctas * bytes / 4);
  arch::cluster::sync();  // no CTA may exit while a peer's shared memory is still written
}

WW_KERNEL(arch_tma_store, 128, Params, p) {
  const u32 bytes = static_cast<u32>(p.arg[4]);
  const arch::SharedAddress box = arch::dynamic_shared();
  copy_in(p.in, box, bytes / 4);
  arch::fence::proxy_async_shared();
  arch::named_barrier::sync_cta();
  if (arch::thread_index() != 0) return;
  if (p.arg[3] == 1) arch::tma::store_1d(p.map[0], box, p.arg[0]);
  if (p.arg[3] == 2) arch::tma::store_2d(p.map[0], box, p.arg[0], p.arg[1]);
  if (p.arg[3] == 3) arch::tma::store_3d(p.map[0], box, p.arg[0], p.arg[1], p.arg[2]);
  arch::tma::commit();
  arch::tma::wait<0>();
}

/// Three boxes along y through two places: the first place is written again once its group has been read.
WW_KERNEL(arch_tma_store_groups, 32, Params, p) {
  const u32 bytes = static_cast<u32>(p.arg[4]), words = bytes / 4;
  const arch::SharedAddress first = arch::dynamic_shared(), second = first + bytes;
  copy_in(p.in, first, 2 * words);
  arch::fence::proxy_async_shared();
  arch::named_barrier::sync_cta();
  if (arch::thread_index() != 0) return;
  arch::tma::store_2d(p.map[0], first, p.arg[0], p.arg[1]);
  arch::tma::commit();
  arch::tma::store_2d(p.map[0], second, p.arg[0], p.arg[1] + p.arg[6]);
  arch::tma::commit();
  arch::tma::wait_read<1>();
  for (u32 w = 0; w < words; ++w) arch::shared::store(first + 4 * w, arch::global::load(p.in + 2 * words + w));
  arch::fence::proxy_async_shared();
  arch::tma::store_2d(p.map[0], first, p.arg[0], p.arg[1] + 2 * p.arg[6]);
  arch::tma::commit();
  arch::tma::wait_read<0>();
  arch::tma::wait<0>();
}

}  // namespace ww::arch_test
