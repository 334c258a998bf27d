// SPDX-License-Identifier: Apache-2.0
// TMA loads of CTA pairs and cluster launch control.
#pragma once

#include "params.hpp"
#include "warpwright/arch/common/cluster.hpp"
#include "warpwright/arch/common/fence.hpp"
#include "warpwright/arch/common/tma.hpp"
#include "warpwright/arch/common/warp.hpp"
#include "warpwright/arch/sm100/clc.hpp"
#include "warpwright/arch/sm100/tma_pair.hpp"

namespace ww::arch_test {

/// CTA r of a cluster loads the box at x = arg[0], y = arg[1] + r * arg[3], z = arg[2] of a tensor of rank arg[4] and
/// of arg[5] bytes; with a mask arg[8 + r] to the CTAs of it, to place r of each. Its pair's even CTA waits for arg[6]
/// bytes. Output: all places of each CTA.
WW_KERNEL(arch_sm100_pair_load, 64, Params, p) {
  const arch::MBarrier full{arch::dynamic_shared()};
  const u32 rank = arch::cluster_rank(), ctas = arch::cluster_size(), bytes = static_cast<u32>(p.arg[5]);
  const arch::SharedAddress places = arch::dynamic_shared() + 1024;
  for (u32 w = arch::thread_index(); w < ctas * bytes / 4; w += arch::block_size())
    arch::shared::store(places + 4 * w, 0);
  if (arch::thread_index() == 0) arch::mbarrier::init(full, 1);
  arch::fence::mbarrier_init();
  arch::fence::proxy_async_shared();
  arch::cluster::sync();
  const int x = p.arg[0], y = p.arg[1] + static_cast<int>(rank) * p.arg[3], z = p.arg[2];
  const u16 mask = static_cast<u16>(p.arg[8 + rank]);
  const arch::SharedAddress to = places + rank * bytes;
  if (arch::warp_index() == 0 && arch::warp::elect()) {
    if (rank % 2 == 0) arch::mbarrier::arrive_expect_tx(full, static_cast<u32>(p.arg[6]));
    if (p.arg[4] == 2 && mask == 0) arch::tma::load_pair_2d(p.map[0], leader(full), to, x, y);
    if (p.arg[4] == 3 && mask == 0) arch::tma::load_pair_3d(p.map[0], leader(full), to, x, y, z);
    if (p.arg[4] == 2 && mask != 0) arch::tma::load_pair_multicast_2d(p.map[0], leader(full), to, mask, x, y);
    if (p.arg[4] == 3 && mask != 0) arch::tma::load_pair_multicast_3d(p.map[0], leader(full), to, mask, x, y, z);
  }
  if (rank % 2 == 0) arch::mbarrier::wait(full, 0);
  arch::cluster::sync();
  copy_out(p, places, ctas * bytes / 4);
}

/// Each cluster works on its own tile, then on those of clusters that it takes over. Output: how often each CTA's tile
/// was worked on, by the CTA of the same rank.
template <bool kMulticast> WW_DEVICE void take_over(const Params& p) {
  const arch::SharedAddress answer = arch::dynamic_shared(), barriers = answer + 64;
  const arch::MBarrier full{barriers}, empty{barriers + 8};
  const u32 rank = arch::cluster_rank(), ctas = arch::cluster_size();
  if (arch::thread_index() == 0) {
    arch::mbarrier::init(full, 1);
    arch::mbarrier::init(empty, ctas * arch::block_size());
  }
  arch::fence::mbarrier_init();
  arch::cluster::sync();
  u32 tile = arch::block_index();
  for (u32 turn = 0;; ++turn) {
    if (arch::warp_index() == 0 && arch::warp::elect()) {
      arch::mbarrier::arrive_expect_tx(full, arch::clc::kAnswerBytes);
      if (rank == 0) {
        if (turn > 0) arch::mbarrier::wait(empty, (turn - 1) % 2);
        if constexpr (kMulticast) arch::clc::try_cancel_multicast(answer, full);
        else arch::clc::try_cancel(answer, full);
      }
    }
    if (arch::thread_index() == 0) arch::global::atomic_add(p.out + tile, 1);
    arch::mbarrier::wait(full, turn % 2);
    const arch::clc::Answer got = arch::clc::load(answer);
    const bool more = arch::clc::is_canceled(got);
    if (more) tile = arch::clc::first_cta(got).x + rank;
    arch::fence::proxy_async_shared();
    arch::mbarrier::arrive_remote(empty, 0);
    if (!more) break;
  }
  arch::cluster::sync();  // CTA 0 stays until all have arrived at its barrier
}
WW_KERNEL(arch_sm100_clc, 64, Params, p) { take_over<false>(p); }
WW_KERNEL(arch_sm100_clc_multicast, 64, Params, p) { take_over<true>(p); }

}  // namespace ww::arch_test
