// SPDX-License-Identifier: Apache-2.0
// Launches that may start before their predecessors have ended: which threads wait for those, and how others learn of
// it.
#pragma once

#include "params.hpp"
#include "warpwright/arch/common/pdl.hpp"
#include "warpwright/arch/common/tensor_map_update.hpp"

namespace ww::check_test {

enum EarlyForm : i32 { kAllWait, kNamedBarrier, kMBarrier, kClusterBarrier, kBytesLanded, kNobodyWaits };

/// One thread, warp 0, or CTA 0 of a cluster waits; the others learn of it at a barrier, which arg[0] names.
/// out[64 block + t] = in[t] + in[64 + t]; the second half comes by TMA. out[1024] counts the threads.
WW_KERNEL(check_early, 64, Params, p) {
  const u32 t = arch::thread_index(), rank = arch::cluster_rank();
  const i32 form = p.arg[0];
  const arch::SharedAddress box = arch::dynamic_shared();
  const arch::MBarrier full{box + 256}, ready{box + 264};
  u32 sum = 0;
  arch::tma::prefetch(p.map[0]);
  if (t == 0) {
    arch::mbarrier::init(full, 1);
    arch::mbarrier::init(ready, 1);
    arch::fence::mbarrier_init();
    if (p.is(Edit::early_tma_load)) {
      arch::mbarrier::arrive_expect_tx(full, 256);
      arch::tma::load_2d(p.map[0], full, box, 0, 1);  // @early_tma_load
    }
  }
  arch::named_barrier::sync_cta();
  arch::pdl::launch_dependents();
  if (p.is(Edit::early_load)) sum = arch::global::load(p.in + t);                             // @early_load
  if (p.is(Edit::early_plain_load)) sum = *static_cast<const volatile u32*>(p.in);            // @early_plain
  if (p.is(Edit::early_store)) arch::global::store(p.out + 64 * arch::block_index() + t, 0);  // @early_store
  if (p.is(Edit::early_atomic)) arch::global::atomic_add(p.out + 1024, 0);                    // @early_atomic

  if (form == kBytesLanded && t == 0) arch::mbarrier::arrive_expect_tx(full, 256);
  const bool waits = form == kAllWait || (form == kNamedBarrier && t < 32) ||
                     ((form == kMBarrier || form == kBytesLanded) && t == 0) || (form == kClusterBarrier && rank == 0);
  if (p.is(Edit::early_arrive) && t == 0) arch::mbarrier::arrive(ready);
  if (waits && !p.is(Edit::early_never)) arch::pdl::wait();  // @early_wait
  if (form == kNamedBarrier && !p.is(Edit::early_no_barrier)) arch::named_barrier::sync_cta();
  if (form == kMBarrier && t == 0 && !p.is(Edit::early_arrive)) arch::mbarrier::arrive(ready);
  if (form == kMBarrier) arch::mbarrier::wait(ready, 0);
  if (form == kClusterBarrier) arch::cluster::sync();
  if (t == 0 && !p.is(Edit::early_tma_load)) {
    if (form != kBytesLanded) arch::mbarrier::arrive_expect_tx(full, 256);
    arch::tma::load_2d(p.map[0], full, box, 0, 1);
  }
  if (form == kBytesLanded) arch::mbarrier::wait(full, 0);
  sum += arch::global::load(p.in + t);  // @early_read
  if (form != kBytesLanded) arch::mbarrier::wait(full, 0);
  arch::global::store(p.out + 64 * arch::block_index() + t, sum + arch::shared::load(box + 4 * t));
  arch::global::atomic_add(p.out + 1024, 1);
}

/// Words stored by TMA, through a map at the start of the output that an earlier kernel or the host wrote.
/// out[32 + w] = 3 w.
WW_KERNEL(check_early_store, 32, Params, p) {
  const u32 t = arch::thread_index();
  const arch::SharedAddress box = arch::dynamic_shared();
  const arch::TensorMap& map = *reinterpret_cast<const arch::TensorMap*>(p.out);
  arch::pdl::launch_dependents();
  if (p.is(Edit::early_acquire)) arch::tensor_map::acquire(map);  // @early_acquire
  if (!p.is(Edit::early_tma_store)) arch::pdl::wait();            // @early_store_wait
  for (u32 w = t; w < 256; w += 32) arch::shared::store(box + 4 * w, 3 * w);
  arch::fence::proxy_async_shared();
  if (!p.is(Edit::early_acquire)) arch::tensor_map::acquire(map);
  arch::warp::sync();
  if (t == 0) {
    arch::tma::store_2d(map, box, 0, 1);  // @early_tma_store
    arch::tma::commit();
    arch::tma::wait<0>();
  }
}

}  // namespace ww::check_test
