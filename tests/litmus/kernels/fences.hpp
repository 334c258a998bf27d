// SPDX-License-Identifier: Apache-2.0
// Fences: between a write and its publication, several of them, on the wrong side, of the wrong scope; fence.sc.
#pragma once

#include "threads.hpp"

namespace ww::litmus {

// litmus fence_mp: clean; ptx 8.8, 8.10.6; grid=2
//   P0 cta 0: st d 1; fence.acq_rel.gpu; st.relaxed.gpu f 1
//   P1 cta 1: await ld.relaxed.gpu f = 1; fence.acq_rel.gpu; ld d
LITMUS(fence_mp) {
  P(0, 0) st(p.d, 1), fence<gpu>(), st_relaxed<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_relaxed<gpu>(p.f) == 1), fence<gpu>(), ld(p.d);
}

// litmus fence_mp_sc: clean; ptx 8.8; grid=2
//   P0 cta 0: st d 1; fence.sc.gpu; st.relaxed.gpu f 1
//   P1 cta 1: await ld.relaxed.gpu f = 1; fence.sc.gpu; ld d
LITMUS(fence_mp_sc) {
  P(0, 0) st(p.d, 1), fence_sc<gpu>(), st_relaxed<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_relaxed<gpu>(p.f) == 1), fence_sc<gpu>(), ld(p.d);
}

// litmus fence_cta_both: scope; ptx 8.5, 8.7; grid=2
//   P0 cta 0: st d 1; fence.acq_rel.cta; st.relaxed.gpu f 1
//   P1 cta 1: await ld.relaxed.gpu f = 1; fence.acq_rel.cta; ld d
LITMUS(fence_cta_both) {
  P(0, 0) st(p.d, 1), fence<cta>(), st_relaxed<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_relaxed<gpu>(p.f) == 1), fence<cta>(), ld(p.d);
}

// litmus fence_cta_release: scope; ptx 8.5, 8.9.4; grid=2
//   P0 cta 0: st d 1; fence.acq_rel.cta; st.relaxed.gpu f 1
//   P1 cta 1: await ld.acquire.gpu f = 1; ld d
LITMUS(fence_cta_release) {
  P(0, 0) st(p.d, 1), fence<cta>(), st_relaxed<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 1), ld(p.d);
}

// litmus fence_cta_acquire: scope; ptx 8.5, 8.9.4; grid=2
//   P0 cta 0: st d 1; st.release.gpu f 1
//   P1 cta 1: await ld.relaxed.gpu f = 1; fence.acq_rel.cta; ld d
LITMUS(fence_cta_acquire) {
  P(0, 0) st(p.d, 1), st_release<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_relaxed<gpu>(p.f) == 1), fence<cta>(), ld(p.d);
}

// litmus fence_cluster: clean; ptx 8.5, 8.9.4; grid=2 cluster=2
//   P0 cta 0: st d 1; fence.acq_rel.cluster; st.relaxed.gpu f 1
//   P1 cta 1: await ld.relaxed.gpu f = 1; fence.acq_rel.cluster; ld d
LITMUS(fence_cluster) {
  P(0, 0) st(p.d, 1), fence<cluster>(), st_relaxed<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_relaxed<gpu>(p.f) == 1), fence<cluster>(), ld(p.d);
}

// litmus fence_wide_narrow_flag: scope; ptx 8.7, 8.9.2; grid=2
//   P0 cta 0: st d 1; fence.acq_rel.gpu; st.relaxed.cta f 1
//   P1 cta 1: await ld.relaxed.gpu f = 1; fence.acq_rel.gpu; ld d
LITMUS(fence_wide_narrow_flag) {
  P(0, 0) st(p.d, 1), fence<gpu>(), st_relaxed<cta>(p.f, 1);
  P(1, 0) AWAIT(ld_relaxed<gpu>(p.f) == 1), fence<gpu>(), ld(p.d);
}

// litmus fence_weak_flag: data-race; ptx 8.8; grid=2
//   P0 cta 0: st d 1; fence.acq_rel.gpu; st f 1
//   P1 cta 1: await ld.relaxed.gpu f = 1; fence.acq_rel.gpu; ld d
LITMUS(fence_weak_flag) {
  P(0, 0) st(p.d, 1), fence<gpu>(), st(p.f, 1);
  P(1, 0) AWAIT(ld_relaxed<gpu>(p.f) == 1), fence<gpu>(), ld(p.d);
}

// litmus fences_accumulate: clean; ptx 8.8; grid=2
//   P0 cta 0: st d 1; fence.acq_rel.gpu; fence.acq_rel.cta; st.relaxed.gpu f 1
//   P1 cta 1: await ld.acquire.gpu f = 1; ld d
LITMUS(fences_accumulate) {
  P(0, 0) st(p.d, 1), fence<gpu>(), fence<cta>(), st_relaxed<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 1), ld(p.d);
}

// litmus fences_accumulate_acquire: clean; ptx 8.8; grid=2
//   P0 cta 0: st d 1; st.release.gpu f 1
//   P1 cta 1: await ld.relaxed.gpu f = 1; fence.acq_rel.cta; fence.acq_rel.gpu; ld d
LITMUS(fences_accumulate_acquire) {
  P(0, 0) st(p.d, 1), st_release<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_relaxed<gpu>(p.f) == 1), fence<cta>(), fence<gpu>(), ld(p.d);
}

// litmus fence_then_narrow_later_data: scope; ptx 8.8; grid=2
//   P0 cta 0: fence.acq_rel.gpu; st d 1; fence.acq_rel.cta; st.relaxed.gpu f 1
//   P1 cta 1: await ld.acquire.gpu f = 1; ld d
LITMUS(fence_then_narrow_later_data) {
  P(0, 0) fence<gpu>(), st(p.d, 1), fence<cta>(), st_relaxed<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 1), ld(p.d);
}

// litmus fence_far_from_store: clean; ptx 8.8; grid=2
//   P0 cta 0: st d 1; fence.acq_rel.gpu; st.relaxed.gpu e 1; st.relaxed.gpu g 1; st.relaxed.gpu f 1
//   P1 cta 1: await ld.acquire.gpu f = 1; ld d
LITMUS(fence_far_from_store) {
  P(0, 0) st(p.d, 1), fence<gpu>(), st_relaxed<gpu>(p.e, 1), st_relaxed<gpu>(p.g, 1), st_relaxed<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 1), ld(p.d);
}

// litmus fence_after_publication: data-race; ptx 8.8; grid=2
//   P0 cta 0: st d 1; st.relaxed.gpu f 1; fence.acq_rel.gpu
//   P1 cta 1: await ld.acquire.gpu f = 1; ld d
LITMUS(fence_after_publication) {
  P(0, 0) st(p.d, 1), st_relaxed<gpu>(p.f, 1), fence<gpu>();
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 1), ld(p.d);
}

// litmus fence_before_data: data-race; ptx 8.8; grid=2
//   P0 cta 0: fence.acq_rel.gpu; st d 1; st.relaxed.gpu f 1
//   P1 cta 1: await ld.acquire.gpu f = 1; ld d
LITMUS(fence_before_data) {
  P(0, 0) fence<gpu>(), st(p.d, 1), st_relaxed<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 1), ld(p.d);
}

// litmus fence_before_flag_read: data-race; ptx 8.8; grid=2
//   P0 cta 0: st d 1; st.release.gpu f 1
//   P1 cta 1: fence.acq_rel.gpu; await ld.relaxed.gpu f = 1; ld d
LITMUS(fence_before_flag_read) {
  P(0, 0) st(p.d, 1), st_release<gpu>(p.f, 1);
  P(1, 0) fence<gpu>(), AWAIT(ld_relaxed<gpu>(p.f) == 1), ld(p.d);
}

// litmus fence_data_changed_after: data-race; ptx 8.8; grid=2
//   P0 cta 0: st d 1; fence.acq_rel.gpu; st d 2; st.relaxed.gpu f 1
//   P1 cta 1: await ld.acquire.gpu f = 1; ld d
LITMUS(fence_data_changed_after) {
  P(0, 0) st(p.d, 1), fence<gpu>(), st(p.d, 2), st_relaxed<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 1), ld(p.d);
}

// litmus fence_by_other_thread: clean; ptx 8.9.5; grid=2
//   P0 cta 0: st d 1; bar.sync 0
//   P1 cta 0: bar.sync 0; fence.acq_rel.gpu; st.relaxed.gpu f 1
//   P2 cta 1: await ld.acquire.gpu f = 1; ld d
LITMUS(fence_by_other_thread) {
  P(0, 32) st(p.d, 1);
  bar();
  P(0, 0) fence<gpu>(), st_relaxed<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 1), ld(p.d);
}

// litmus fence_before_barrier: data-race; ptx 8.8; grid=2
//   P0 cta 0: st d 1; fence.acq_rel.gpu; bar.sync 0
//   P1 cta 0: bar.sync 0; st.relaxed.gpu f 1
//   P2 cta 1: await ld.acquire.gpu f = 1; ld d
//   note: __threadfence() in the writers, then a barrier, then a flag without a fence of its own
LITMUS(fence_before_barrier) {
  P(0, 32) st(p.d, 1), fence<gpu>();
  bar();
  P(0, 0) st_relaxed<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 1), ld(p.d);
}

// litmus fence_by_stranger: data-race; ptx 8.9.5; grid=2
//   P0 cta 0: st d 1
//   P1 cta 0: fence.acq_rel.gpu; st.relaxed.gpu f 1
//   P2 cta 1: await ld.acquire.gpu f = 1; ld d
LITMUS(fence_by_stranger) {
  P(0, 32) st(p.d, 1);
  P(0, 0) fence<gpu>(), st_relaxed<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 1), ld(p.d);
}

// litmus fence_sc_order: clean; ptx 8.9.3, 8.9.4; grid=2
//   P0 cta 0: st d 1; fence.sc.gpu; if ld.relaxed.gpu e = 0; st.relaxed.gpu g 2
//   P1 cta 1: st.relaxed.gpu e 1; fence.sc.gpu; if ld.relaxed.gpu g = 2; ld d
//   note: no acquire follows the load of g; whoever reads 2 knows that the fence of P0 came first
LITMUS(fence_sc_order) {
  P(0, 0) {
    st(p.d, 1), fence_sc<gpu>();
    if (ld_relaxed<gpu>(p.e) == 0) st_relaxed<gpu>(p.g, 2);
  }
  P(1, 0) {
    st_relaxed<gpu>(p.e, 1), fence_sc<gpu>();
    if (ld_relaxed<gpu>(p.g) == 2) ld(p.d);
  }
}

// litmus last_block: clean; ptx 8.8, 8.9.2; grid=2
//   P0 cta 0: st d 1; fence.acq_rel.gpu; if atom.add.relaxed.gpu c 1 = 1; fence.acq_rel.gpu; ld e
//   P1 cta 1: st e 1; fence.acq_rel.gpu; if atom.add.relaxed.gpu c 1 = 1; fence.acq_rel.gpu; ld d
LITMUS(last_block) {
  u32* const own = arch::block_index() == 0 ? p.d : p.e;
  u32* const other = arch::block_index() == 0 ? p.e : p.d;
  if (arch::thread_index() == 0) {
    st(own, 1), fence<gpu>();
    if (add<relaxed, gpu>(p.c, 1) == 1) fence<gpu>(), ld(other);
  }
}

// litmus last_block_no_acquire: data-race; ptx 8.8; grid=2
//   P0 cta 0: st d 1; fence.acq_rel.gpu; if atom.add.relaxed.gpu c 1 = 1; ld e
//   P1 cta 1: st e 1; fence.acq_rel.gpu; if atom.add.relaxed.gpu c 1 = 1; ld d
LITMUS(last_block_no_acquire) {
  u32* const own = arch::block_index() == 0 ? p.d : p.e;
  u32* const other = arch::block_index() == 0 ? p.e : p.d;
  if (arch::thread_index() == 0) {
    st(own, 1), fence<gpu>();
    if (add<relaxed, gpu>(p.c, 1) == 1) ld(other);
  }
}

// litmus last_block_cta_fences: scope; ptx 8.5, 8.8; grid=2
//   P0 cta 0: st d 1; fence.acq_rel.cta; if atom.add.relaxed.gpu c 1 = 1; fence.acq_rel.cta; ld e
//   P1 cta 1: st e 1; fence.acq_rel.cta; if atom.add.relaxed.gpu c 1 = 1; fence.acq_rel.cta; ld d
LITMUS(last_block_cta_fences) {
  u32* const own = arch::block_index() == 0 ? p.d : p.e;
  u32* const other = arch::block_index() == 0 ? p.e : p.d;
  if (arch::thread_index() == 0) {
    st(own, 1), fence<cta>();
    if (add<relaxed, gpu>(p.c, 1) == 1) fence<cta>(), ld(other);
  }
}

}  // namespace ww::litmus
