// SPDX-License-Identifier: Apache-2.0
// Indices, clusters and DSMEM, register budgets, named barriers, fences, clocks, dependent launch.
#pragma once

#include "params.hpp"
#include "warpwright/arch/common/clock.hpp"
#include "warpwright/arch/common/cluster.hpp"
#include "warpwright/arch/common/fence.hpp"
#include "warpwright/arch/common/pdl.hpp"
#include "warpwright/arch/common/registers.hpp"

namespace ww::arch_test {

WW_KERNEL(arch_special, 160, Params, p) {
  const u32 values[] = {arch::thread_index(), arch::block_size(),   arch::block_index(),
                        arch::grid_size(),    arch::cluster_rank(), arch::cluster_size(),
                        arch::warp_index(),   arch::lane_index(),   arch::warpgroup_index()};
  u32* out = p.out + (arch::block_index() * arch::block_size() + arch::thread_index()) * 9;
  WW_UNROLL
  for (int i = 0; i < 9; ++i) arch::global::store(out + i, values[i]);
}

/// Each thread reads its word in the next CTA and writes it, changed, into the CTA after that.
WW_KERNEL(arch_cluster_exchange, 64, Params, p) {
  const u32 t = arch::thread_index(), rank = arch::cluster_rank(), size = arch::cluster_size();
  const arch::SharedAddress mine = arch::dynamic_shared() + 4 * t, received = mine + 256;
  arch::shared::store(mine, arch::global::load(p.in + arch::block_index() * 64 + t));
  arch::cluster::sync();
  const u32 read = arch::cluster::load(arch::cluster::map(mine, (rank + 1) % size));
  arch::cluster::store(arch::cluster::map(received, (rank + 2) % size), read * 5 + rank);
  arch::cluster::arrive();
  const u32 unrelated = arch::shared::load(mine);  // work between arrival and wait
  arch::cluster::wait();
  arch::global::store(p.out + arch::block_index() * 64 + t, arch::shared::load(received) ^ unrelated);
  arch::cluster::arrive_relaxed();
  arch::cluster::wait();
}

/// Twice, each thread writes its four values, reversed, into the next CTA, and two of three threads write one value
/// into the CTA after that.
WW_KERNEL(arch_cluster_store_async, 64, Params, p) {
  const u32 t = arch::thread_index(), rank = arch::cluster_rank(), size = arch::cluster_size();
  const u32 next = (rank + 1) % size, after = (rank + 2) % size;
  const arch::SharedAddress base = arch::dynamic_shared(), mine = base + 16 * t, word = base + 1024 + 4 * t;
  const arch::MBarrier barrier{base + 1280};
  if (t == 0) {
    arch::mbarrier::init(barrier, 1);
    arch::fence::mbarrier_init();
  }
  arch::shared::store(word, 0);
  arch::cluster::sync();
  arch::Words<4> v = arch::global::load4(p.in + 4 * (arch::block_index() * 64 + t));
  for (u32 round = 0; round < 2; ++round) {
    if (t == 0) arch::mbarrier::arrive_expect_tx(barrier, 64 * 16 + 43 * 4);  // a third of 64 threads is 21
    arch::cluster::store_async4(arch::cluster::map(mine, next), {{v.w[3], v.w[2], v.w[1], v.w[0]}},
                                {arch::cluster::map(barrier.address, next)});
    arch::cluster::store_async_if(t % 3 != 1, arch::cluster::map(word, after), v.w[round],
                                  {arch::cluster::map(barrier.address, after)});
    arch::mbarrier::wait(barrier, round);
    u32* out = p.out + 5 * ((2 * arch::block_index() + round) * 64 + t);
    const arch::Words<4> got = arch::shared::load4(mine);
    for (u32 w = 0; w < 4; ++w) arch::global::store(out + w, got.w[w]);
    arch::global::store(out + 4, arch::shared::load(word));
    for (u32 w = 0; w < 4; ++w) v.w[w] = v.w[w] * 3 + rank;
    arch::cluster::sync();
  }
}

/// One producer and two consumer warpgroups exchange registers. Output: a sum over arg[0] values that each thread
/// reads.
WW_KERNEL(arch_registers, 384, Params, p) {
  const u32 t = arch::thread_index();
  u32 sum = t;
  if (arch::warpgroup_index() == 0) {
    arch::warpgroup::release_registers<40>();
    sum += arch::global::load(p.in + t);
  } else {
    arch::warpgroup::claim_registers<232>();
    for (i32 i = 0; i < p.arg[0]; ++i) sum = sum * 3 + arch::global::load(p.in + (t + static_cast<u32>(i)) % 384);
  }
  arch::global::store(p.out + t, sum);
}

/// Barrier 2: warpgroup 0 arrives and continues, warpgroup 1 waits. Barrier 15: warpgroup 1 alone. Then all.
WW_KERNEL(arch_named_barriers, 256, Params, p) {
  const u32 t = arch::thread_index();
  const arch::SharedAddress words = arch::dynamic_shared();
  if (arch::warpgroup_index() == 0) {
    arch::shared::store(words + 4 * t, arch::global::load(p.in + t));
    arch::named_barrier::arrive<2>(256);
  } else {
    arch::named_barrier::sync<2>(256);
    arch::shared::store(words + 4 * t, arch::shared::load(words + 4 * (255 - t)) * 3);
    arch::named_barrier::sync<15>(128);
    const u32 other = arch::shared::load(words + 4 * (128 + (t + 45) % 128));
    arch::named_barrier::sync<15>(128);
    arch::shared::store(words + 4 * t, other + 1);
  }
  arch::named_barrier::sync_cta();
  arch::global::store(p.out + t, arch::shared::load(words + 4 * ((t + 64) % 256)));
}

/// Fences change no value; the TMA kernels show what they order.
WW_KERNEL(arch_fences, 128, Params, p) {
  const u32 t = arch::thread_index();
  const arch::SharedAddress word = arch::dynamic_shared() + 4 * t;
  arch::shared::store(word, arch::global::load(p.in + t));
  arch::fence::mbarrier_init();
  arch::fence::proxy_async_shared();
  arch::fence::proxy_async();
  arch::fence::acq_rel_cta();
  arch::fence::acq_rel_cluster();
  arch::fence::acq_rel_gpu();
  arch::fence::acq_rel_system();
  arch::fence::proxy_async_global();
  arch::fence::sc_cta();
  arch::fence::sc_cluster();
  arch::fence::sc_gpu();
  arch::fence::sc_system();
  arch::global::store(p.out + t, arch::shared::load(word));
}

/// Both clocks go forward: out is 3.
WW_KERNEL(arch_clocks, 32, Params, p) {
  const u64 cycles = arch::clock(), nanoseconds = arch::global_timer();
  const u32 word = arch::global::load(p.in + arch::thread_index());
  arch::named_barrier::sync_cta();
  const u32 forward = (arch::clock() >= cycles ? 1u : 0u) | (arch::global_timer() >= nanoseconds ? 2u : 0u);
  arch::global::store(p.out + arch::thread_index(), word == 0 ? forward : 0);
}

WW_KERNEL(arch_pdl, 64, Params, p) {
  arch::pdl::launch_dependents();
  arch::pdl::wait();
  const u32 i = arch::block_index() * 64 + arch::thread_index();
  arch::global::store(p.out + i, arch::global::load(p.in + i) + 1);
}

}  // namespace ww::arch_test
