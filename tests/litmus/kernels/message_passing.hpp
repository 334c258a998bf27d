// SPDX-License-Identifier: Apache-2.0
// Message passing: one thread writes data and raises a flag, another sees the flag and reads the data. Store buffering,
// load buffering, IRIW and 2+2W, whose weak outcomes are legal where every access is strong.
#pragma once

#include "threads.hpp"

namespace ww::litmus {

// --- message passing through global memory -------------------------------------------------------------------------

// litmus mp_weak: data-race; ptx 8.7.1; grid=2
//   P0 cta 0: st d 1; st f 1
//   P1 cta 1: if ld f = 1; ld d
LITMUS(mp_weak) {
  P(0, 0) st(p.d, 1), st(p.f, 1);
  P(1, 0) if (ld(p.f) == 1) ld(p.d);
}

// litmus mp_relaxed: data-race; ptx 8.7.1, 8.8; grid=2
//   P0 cta 0: st d 1; st.relaxed.gpu f 1
//   P1 cta 1: await ld.relaxed.gpu f = 1; ld d
LITMUS(mp_relaxed) {
  P(0, 0) st(p.d, 1), st_relaxed<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_relaxed<gpu>(p.f) == 1), ld(p.d);
}

// litmus mp_release_acquire: clean; ptx 8.8, 8.9.4; grid=2
//   P0 cta 0: st d 1; st.release.gpu f 1
//   P1 cta 1: await ld.acquire.gpu f = 1; ld d
LITMUS(mp_release_acquire) {
  P(0, 0) st(p.d, 1), st_release<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 1), ld(p.d);
}

// litmus mp_no_acquire: data-race; ptx 8.8; grid=2
//   P0 cta 0: st d 1; st.release.gpu f 1
//   P1 cta 1: await ld.relaxed.gpu f = 1; ld d
LITMUS(mp_no_acquire) {
  P(0, 0) st(p.d, 1), st_release<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_relaxed<gpu>(p.f) == 1), ld(p.d);
}

// litmus mp_no_release: data-race; ptx 8.8; grid=2
//   P0 cta 0: st d 1; st.relaxed.gpu f 1
//   P1 cta 1: await ld.acquire.gpu f = 1; ld d
LITMUS(mp_no_release) {
  P(0, 0) st(p.d, 1), st_relaxed<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 1), ld(p.d);
}

// litmus mp_release_cta: scope; ptx 8.5, 8.7; grid=2
//   P0 cta 0: st d 1; st.release.cta f 1
//   P1 cta 1: await ld.acquire.gpu f = 1; ld d
LITMUS(mp_release_cta) {
  P(0, 0) st(p.d, 1), st_release<cta>(p.f, 1);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 1), ld(p.d);
}

// litmus mp_acquire_cta: scope; ptx 8.5, 8.7; grid=2
//   P0 cta 0: st d 1; st.release.gpu f 1
//   P1 cta 1: await ld.acquire.cta f = 1; ld d
LITMUS(mp_acquire_cta) {
  P(0, 0) st(p.d, 1), st_release<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_acquire<cta>(p.f) == 1), ld(p.d);
}

// litmus mp_cta_in_one_cta: clean; ptx 8.5, 8.9.4
//   P0 cta 0: st d 1; st.release.cta f 1
//   P1 cta 0: await ld.acquire.cta f = 1; ld d
LITMUS(mp_cta_in_one_cta) {
  P(0, 0) st(p.d, 1), st_release<cta>(p.f, 1);
  P(0, 32) AWAIT(ld_acquire<cta>(p.f) == 1), ld(p.d);
}

// litmus mp_cluster_in_one_cluster: clean; ptx 8.5, 8.9.4; grid=2 cluster=2
//   P0 cta 0: st d 1; st.release.cluster f 1
//   P1 cta 1: await ld.acquire.cluster f = 1; ld d
LITMUS(mp_cluster_in_one_cluster) {
  P(0, 0) st(p.d, 1), st_release<cluster>(p.f, 1);
  P(1, 0) AWAIT(ld_acquire<cluster>(p.f) == 1), ld(p.d);
}

// litmus mp_cluster_in_two_clusters: scope; ptx 8.5, 8.7; grid=2
//   P0 cta 0: st d 1; st.release.cluster f 1
//   P1 cta 1: await ld.acquire.cluster f = 1; ld d
LITMUS(mp_cluster_in_two_clusters) {
  P(0, 0) st(p.d, 1), st_release<cluster>(p.f, 1);
  P(1, 0) AWAIT(ld_acquire<cluster>(p.f) == 1), ld(p.d);
}

// litmus mp_system: clean; ptx 8.5, 8.9.4; grid=2
//   P0 cta 0: st d 1; st.release.sys f 1
//   P1 cta 1: await ld.acquire.sys f = 1; ld d
LITMUS(mp_system) {
  P(0, 0) st(p.d, 1), st_release<sys>(p.f, 1);
  P(1, 0) AWAIT(ld_acquire<sys>(p.f) == 1), ld(p.d);
}

// litmus mp_late_data: data-race; ptx 8.8; grid=2
//   P0 cta 0: st.release.gpu f 1; st d 1
//   P1 cta 1: await ld.acquire.gpu f = 1; ld d
LITMUS(mp_late_data) {
  P(0, 0) st_release<gpu>(p.f, 1), st(p.d, 1);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 1), ld(p.d);
}

// litmus mp_early_read: data-race; ptx 8.8; grid=2
//   P0 cta 0: st d 1; st.release.gpu f 1
//   P1 cta 1: ld d; await ld.acquire.gpu f = 1
LITMUS(mp_early_read) {
  P(0, 0) st(p.d, 1), st_release<gpu>(p.f, 1);
  P(1, 0) ld(p.d), AWAIT(ld_acquire<gpu>(p.f) == 1);
}

// litmus mp_read_then_write: clean; ptx 8.8, 8.9.5; grid=2
//   P0 cta 0: ld d; st.release.gpu f 1
//   P1 cta 1: await ld.acquire.gpu f = 1; st d 1
LITMUS(mp_read_then_write) {
  P(0, 0) ld(p.d), st_release<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 1), st(p.d, 1);
}

// litmus mp_volatile: data-race; ptx 8.4.2; grid=2
//   P0 cta 0: st d 1; st.volatile f 1
//   P1 cta 1: await ld.volatile f = 1; ld d
LITMUS(mp_volatile) {
  P(0, 0) st(p.d, 1), st_volatile(p.f, 1);
  P(1, 0) AWAIT(ld_volatile(p.f) == 1), ld(p.d);
}

// litmus mp_volatile_fences: clean; ptx 8.4.2, 8.8; grid=2
//   P0 cta 0: st d 1; fence.acq_rel.gpu; st.volatile f 1
//   P1 cta 1: await ld.volatile f = 1; fence.acq_rel.gpu; ld d
LITMUS(mp_volatile_fences) {
  P(0, 0) st(p.d, 1), fence<gpu>(), st_volatile(p.f, 1);
  P(1, 0) AWAIT(ld_volatile(p.f) == 1), fence<gpu>(), ld(p.d);
}

// --- message passing through shared memory -------------------------------------------------------------------------

// litmus mp_shared_weak: data-race; ptx 8.7.1
//   P0 cta 0: st s0.d 1; st s0.f 1
//   P1 cta 0: if ld s0.f = 1; ld s0.d
LITMUS(mp_shared_weak) {
  start();
  P(0, 0) st(S(0), 1), st(S(1), 1);
  P(0, 32) if (ld(S(1)) == 1) ld(S(0));
}

// litmus mp_shared_relaxed: data-race; ptx 8.8
//   P0 cta 0: st s0.d 1; atom.add.relaxed.cta s0.f 1
//   P1 cta 0: await atom.add.relaxed.cta s0.f 0 = 1; ld s0.d
LITMUS(mp_shared_relaxed) {
  start();
  P(0, 0) st(S(0), 1), add<relaxed, cta>(S(1), 1);
  P(0, 32) AWAIT(add<relaxed, cta>(S(1), 0) == 1), ld(S(0));
}

// litmus mp_shared_fences: clean; ptx 8.8, 8.9.4
//   P0 cta 0: st s0.d 1; fence.acq_rel.cta; atom.add.relaxed.cta s0.f 1
//   P1 cta 0: await atom.add.relaxed.cta s0.f 0 = 1; fence.acq_rel.cta; ld s0.d
LITMUS(mp_shared_fences) {
  start();
  P(0, 0) st(S(0), 1), fence<cta>(), add<relaxed, cta>(S(1), 1);
  P(0, 32) AWAIT(add<relaxed, cta>(S(1), 0) == 1), fence<cta>(), ld(S(0));
}

// litmus mp_shared_atomics: clean; ptx 8.8, 8.9.4
//   P0 cta 0: st s0.d 1; atom.add.release.cta s0.f 1
//   P1 cta 0: await atom.add.acquire.cta s0.f 0 = 1; ld s0.d
LITMUS(mp_shared_atomics) {
  start();
  P(0, 0) st(S(0), 1), add<release, cta>(S(1), 1);
  P(0, 32) AWAIT(add<acquire, cta>(S(1), 0) == 1), ld(S(0));
}

// litmus mp_shared_flag_global_data: clean; ptx 8.3, 8.9.4
//   P0 cta 0: st d 1; atom.add.release.cta s0.f 1
//   P1 cta 0: await atom.add.acquire.cta s0.f 0 = 1; ld d
LITMUS(mp_shared_flag_global_data) {
  start();
  P(0, 0) st(p.d, 1), add<release, cta>(S(1), 1);
  P(0, 32) AWAIT(add<acquire, cta>(S(1), 0) == 1), ld(p.d);
}

// --- outcomes that relaxed accesses may have: legal, so not reported; the emulated device does not show them -------

// litmus sb_weak: data-race; ptx 8.7.1; grid=2
//   P0 cta 0: st d 1; ld e
//   P1 cta 1: st e 1; ld d
LITMUS(sb_weak) {
  P(0, 0) st(p.d, 1), ld(p.e);
  P(1, 0) st(p.e, 1), ld(p.d);
}

// litmus sb_relaxed: clean; ptx 8.7.1, 8.10.6; grid=2
//   P0 cta 0: st.relaxed.gpu d 1; ld.relaxed.gpu e
//   P1 cta 1: st.relaxed.gpu e 1; ld.relaxed.gpu d
//   outcome: both loads may return 0; allowed, not shown
LITMUS(sb_relaxed) {
  P(0, 0) st_relaxed<gpu>(p.d, 1), ld_relaxed<gpu>(p.e);
  P(1, 0) st_relaxed<gpu>(p.e, 1), ld_relaxed<gpu>(p.d);
}

// litmus sb_fence_sc: clean; ptx 8.9.3, 8.10.6; grid=2
//   P0 cta 0: st.relaxed.gpu d 1; fence.sc.gpu; ld.relaxed.gpu e
//   P1 cta 1: st.relaxed.gpu e 1; fence.sc.gpu; ld.relaxed.gpu d
//   outcome: one of the loads returns 1
LITMUS(sb_fence_sc) {
  P(0, 0) st_relaxed<gpu>(p.d, 1), fence_sc<gpu>(), ld_relaxed<gpu>(p.e);
  P(1, 0) st_relaxed<gpu>(p.e, 1), fence_sc<gpu>(), ld_relaxed<gpu>(p.d);
}

// litmus lb_weak: data-race; ptx 8.7.1; grid=2
//   P0 cta 0: ld d; st e 1
//   P1 cta 1: ld e; st d 1
LITMUS(lb_weak) {
  P(0, 0) ld(p.d), st(p.e, 1);
  P(1, 0) ld(p.e), st(p.d, 1);
}

// litmus lb_relaxed: clean; ptx 8.10.4; grid=2
//   P0 cta 0: ld.relaxed.gpu d; st.relaxed.gpu e 1
//   P1 cta 1: ld.relaxed.gpu e; st.relaxed.gpu d 1
//   outcome: both loads may return 1; allowed, not shown
LITMUS(lb_relaxed) {
  P(0, 0) ld_relaxed<gpu>(p.d), st_relaxed<gpu>(p.e, 1);
  P(1, 0) ld_relaxed<gpu>(p.e), st_relaxed<gpu>(p.d, 1);
}

// litmus iriw_relaxed: clean; ptx 8.7.1, 8.9.7; grid=4
//   P0 cta 0: st.relaxed.gpu d 1
//   P1 cta 1: st.relaxed.gpu e 1
//   P2 cta 2: ld.relaxed.gpu d; ld.relaxed.gpu e
//   P3 cta 3: ld.relaxed.gpu e; ld.relaxed.gpu d
//   outcome: the two readers may disagree about the order of the writes; allowed, not shown
LITMUS(iriw_relaxed) {
  P(0, 0) st_relaxed<gpu>(p.d, 1);
  P(1, 0) st_relaxed<gpu>(p.e, 1);
  P(2, 0) ld_relaxed<gpu>(p.d), ld_relaxed<gpu>(p.e);
  P(3, 0) ld_relaxed<gpu>(p.e), ld_relaxed<gpu>(p.d);
}

// litmus iriw_weak: data-race; ptx 8.7.1; grid=4
//   P0 cta 0: st d 1
//   P1 cta 1: st e 1
//   P2 cta 2: ld.acquire.gpu d; ld.acquire.gpu e
//   P3 cta 3: ld.acquire.gpu e; ld.acquire.gpu d
LITMUS(iriw_weak) {
  P(0, 0) st(p.d, 1);
  P(1, 0) st(p.e, 1);
  P(2, 0) ld_acquire<gpu>(p.d), ld_acquire<gpu>(p.e);
  P(3, 0) ld_acquire<gpu>(p.e), ld_acquire<gpu>(p.d);
}

// litmus two_writes_relaxed: clean; ptx 8.9.6; grid=2
//   P0 cta 0: st.relaxed.gpu d 1; st.relaxed.gpu e 2
//   P1 cta 1: st.relaxed.gpu e 1; st.relaxed.gpu d 2
//   outcome: 2+2W, the last values may be d = 1 and e = 1; allowed, not shown
LITMUS(two_writes_relaxed) {
  P(0, 0) st_relaxed<gpu>(p.d, 1), st_relaxed<gpu>(p.e, 2);
  P(1, 0) st_relaxed<gpu>(p.e, 1), st_relaxed<gpu>(p.d, 2);
}

// litmus two_writes_weak: data-race; ptx 8.7.1; grid=2
//   P0 cta 0: st d 1; st e 2
//   P1 cta 1: st e 1; st d 2
LITMUS(two_writes_weak) {
  P(0, 0) st(p.d, 1), st(p.e, 2);
  P(1, 0) st(p.e, 1), st(p.d, 2);
}

// litmus coherence_relaxed: clean; ptx 8.10.5; grid=2
//   P0 cta 0: st.relaxed.gpu d 1
//   P1 cta 1: ld.relaxed.gpu d; ld.relaxed.gpu d
//   outcome: CoRR, the second load does not return less than the first
LITMUS(coherence_relaxed) {
  P(0, 0) st_relaxed<gpu>(p.d, 1);
  P(1, 0) ld_relaxed<gpu>(p.d), ld_relaxed<gpu>(p.d);
}

// litmus dekker_fence_sc: clean; ptx 8.9.3, 8.10.6; grid=2
//   P0 cta 0: st.relaxed.gpu f 1; fence.sc.gpu; if ld.relaxed.gpu g = 0; st d 1
//   P1 cta 1: st.relaxed.gpu g 1; fence.sc.gpu; if ld.relaxed.gpu f = 0; st d 2
LITMUS(dekker_fence_sc) {
  P(0, 0) {
    st_relaxed<gpu>(p.f, 1), fence_sc<gpu>();
    if (ld_relaxed<gpu>(p.g) == 0) st(p.d, 1);
  }
  P(1, 0) {
    st_relaxed<gpu>(p.g, 1), fence_sc<gpu>();
    if (ld_relaxed<gpu>(p.f) == 0) st(p.d, 2);
  }
}

// litmus dekker_acq_rel: clean; ptx 8.9.3, 8.10.6; grid=2
//   P0 cta 0: st.relaxed.gpu f 1; fence.acq_rel.gpu; if ld.relaxed.gpu g = 0; st d 1
//   P1 cta 1: st.relaxed.gpu g 1; fence.acq_rel.gpu; if ld.relaxed.gpu f = 0; st d 2
//   weak: data-race
LITMUS(dekker_acq_rel) {
  P(0, 0) {
    st_relaxed<gpu>(p.f, 1), fence<gpu>();
    if (ld_relaxed<gpu>(p.g) == 0) st(p.d, 1);
  }
  P(1, 0) {
    st_relaxed<gpu>(p.g, 1), fence<gpu>();
    if (ld_relaxed<gpu>(p.f) == 0) st(p.d, 2);
  }
}

}  // namespace ww::litmus
