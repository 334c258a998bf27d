// SPDX-License-Identifier: Apache-2.0
// Atomics: of one scope and of several, of different sizes, beside plain accesses; volatile; locks.
#pragma once

#include "threads.hpp"

namespace ww::litmus {

// litmus atomics_count: clean; ptx 8.7, 8.10.3; grid=3
//   P0 cta 0: atom.add.relaxed.gpu c 1
//   P1 cta 1: atom.add.relaxed.gpu c 1
//   P2 cta 2: ld.relaxed.gpu c
LITMUS(atomics_count) {
  P(0, 0) add<relaxed, gpu>(p.c, 1);
  P(1, 0) add<relaxed, gpu>(p.c, 1);
  P(2, 0) ld_relaxed<gpu>(p.c);
}

// litmus atomics_mixed_scope: scope; ptx 8.7, 8.10.3; grid=2
//   P0 cta 0: atom.add.relaxed.cta c 1
//   P1 cta 1: atom.add.relaxed.gpu c 1
LITMUS(atomics_mixed_scope) {
  P(0, 0) add<relaxed, cta>(p.c, 1);
  P(1, 0) add<relaxed, gpu>(p.c, 1);
}

// litmus atomics_cta_in_two_ctas: scope; ptx 8.7, 8.10.3; grid=2
//   P0 cta 0: atom.add.relaxed.cta c 1
//   P1 cta 1: atom.add.relaxed.cta c 1
LITMUS(atomics_cta_in_two_ctas) {
  P(0, 0) add<relaxed, cta>(p.c, 1);
  P(1, 0) add<relaxed, cta>(p.c, 1);
}

// litmus atomics_cta_in_one_cta: clean; ptx 8.7
//   P0 cta 0: atom.add.relaxed.cta c 1
//   P1 cta 0: atom.add.relaxed.gpu c 1
LITMUS(atomics_cta_in_one_cta) {
  P(0, 0) add<relaxed, cta>(p.c, 1);
  P(0, 32) add<relaxed, gpu>(p.c, 1);
}

// litmus atomics_cluster_scope: clean; ptx 8.5, 8.7; grid=2 cluster=2
//   P0 cta 0: atom.add.relaxed.cluster c 1
//   P1 cta 1: atom.add.relaxed.gpu c 1
LITMUS(atomics_cluster_scope) {
  P(0, 0) add<relaxed, cluster>(p.c, 1);
  P(1, 0) add<relaxed, gpu>(p.c, 1);
}

// litmus atomics_cluster_scope_in_two: scope; ptx 8.5, 8.7; grid=2
//   P0 cta 0: atom.add.relaxed.cluster c 1
//   P1 cta 1: atom.add.relaxed.gpu c 1
LITMUS(atomics_cluster_scope_in_two) {
  P(0, 0) add<relaxed, cluster>(p.c, 1);
  P(1, 0) add<relaxed, gpu>(p.c, 1);
}

// litmus atomics_mixed_scope_ordered: clean; ptx 8.9.5; grid=2
//   P0 cta 0: atom.add.relaxed.cta c 1; st.release.gpu f 1
//   P1 cta 1: await ld.acquire.gpu f = 1; atom.add.relaxed.cta c 1
LITMUS(atomics_mixed_scope_ordered) {
  P(0, 0) add<relaxed, cta>(p.c, 1), st_release<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 1), add<relaxed, cta>(p.c, 1);
}

// litmus atomic_and_store: data-race; ptx 8.7.1; grid=2
//   P0 cta 0: atom.add.relaxed.gpu c 1
//   P1 cta 1: st c 7
LITMUS(atomic_and_store) {
  P(0, 0) add<relaxed, gpu>(p.c, 1);
  P(1, 0) st(p.c, 7);
}

// litmus atomic_and_load: data-race; ptx 8.7.1; grid=2
//   P0 cta 0: ld c
//   P1 cta 1: atom.add.relaxed.gpu c 1
LITMUS(atomic_and_load) {
  P(0, 0) ld(p.c);
  P(1, 0) add<relaxed, gpu>(p.c, 1);
}

// litmus store_then_atomic: clean; ptx 8.9.5; grid=2
//   P0 cta 0: st c 4; st.release.gpu f 1
//   P1 cta 1: await ld.acquire.gpu f = 1; atom.add.relaxed.gpu c 1
LITMUS(store_then_atomic) {
  P(0, 0) st(p.c, 4), st_release<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 1), add<relaxed, gpu>(p.c, 1);
}

// litmus last_stores_plainly: data-race; deviation plain-after-observed; ptx 8.9.2, 8.9.5; grid=3
//   P0 cta 0: if atom.add.relaxed.gpu c 1 = 2; st c 0
//   P1 cta 1: if atom.add.relaxed.gpu c 1 = 2; st c 0
//   P2 cta 2: if atom.add.relaxed.gpu c 1 = 2; st c 0
LITMUS(last_stores_plainly) {
  if (arch::thread_index() == 0 && add<relaxed, gpu>(p.c, 1) == 2) st(p.c, 0);
}

// litmus last_stores_after_release: clean; ptx 8.9.4; grid=3
//   P0 cta 0: if atom.add.acq_rel.gpu c 1 = 2; st c 0
//   P1 cta 1: if atom.add.acq_rel.gpu c 1 = 2; st c 0
//   P2 cta 2: if atom.add.acq_rel.gpu c 1 = 2; st c 0
LITMUS(last_stores_after_release) {
  if (arch::thread_index() == 0 && add<acq_rel, gpu>(p.c, 1) == 2) st(p.c, 0);
}

// litmus first_stores_plainly: data-race; ptx 8.7.1; grid=3
//   P0 cta 0: if atom.add.acq_rel.gpu c 1 = 1; st c 0
//   P1 cta 1: if atom.add.acq_rel.gpu c 1 = 1; st c 0
//   P2 cta 2: if atom.add.acq_rel.gpu c 1 = 1; st c 0
LITMUS(first_stores_plainly) {
  if (arch::thread_index() == 0 && add<acq_rel, gpu>(p.c, 1) == 1) st(p.c, 0);
}

// litmus read_erased_by_atomic: data-race; ptx 8.7.1, 8.9.2; grid=2
//   P0 cta 0: ld.relaxed.gpu c
//   P1 cta 1: atom.add.relaxed.gpu c 1; st c 7
//   note: the store conflicts with the load, whatever stands between them in memory
LITMUS(read_erased_by_atomic) {
  P(0, 0) ld_relaxed<gpu>(p.c);
  P(1, 0) add<relaxed, gpu>(p.c, 1), st(p.c, 7);
}

// litmus atomic_erased_by_store: data-race; ptx 8.7.1, 8.9.2; grid=2
//   P0 cta 0: atom.add.relaxed.gpu c 1
//   P1 cta 1: st.relaxed.gpu c 5; st c 6
LITMUS(atomic_erased_by_store) {
  P(0, 0) add<relaxed, gpu>(p.c, 1);
  P(1, 0) st_relaxed<gpu>(p.c, 5), st(p.c, 6);
}

// litmus atomic_erased_shared: data-race; ptx 8.7.1; threads=96
//   P0 cta 0: atom.add.relaxed.cta s0.c 1
//   P1 cta 0: atom.add.relaxed.cta s0.c 1; bar.sync 1
//   P2 cta 0: bar.sync 1; ld s0.c
LITMUS(atomic_erased_shared) {
  start();
  P(0, 0) add<relaxed, cta>(S(0), 1);
  P(0, 32) add<relaxed, cta>(S(0), 1);
  if (arch::warp_index() >= 1) arch::named_barrier::sync<1>(64);
  P(0, 64) ld(S(0));
}

// litmus atomics_shared_count: clean; ptx 8.7
//   P0 cta 0: atom.add.relaxed.cta s0.c 1; bar.sync 0
//   P1 cta 0: atom.add.relaxed.cta s0.c 1; bar.sync 0; ld s0.c
LITMUS(atomics_shared_count) {
  start();
  P(0, 0) add<relaxed, cta>(S(0), 1);
  P(0, 32) add<relaxed, cta>(S(0), 1);
  bar();
  P(0, 32) ld(S(0));
}

// litmus atomic_and_store_shared: data-race; ptx 8.7.1
//   P0 cta 0: atom.add.relaxed.cta s0.c 1
//   P1 cta 0: st s0.c 7
LITMUS(atomic_and_store_shared) {
  start();
  P(0, 0) add<relaxed, cta>(S(0), 1);
  P(0, 32) st(S(0), 7);
}

// litmus atomics_partial: scope; ptx 8.7, 8.7.2; grid=2
//   P0 cta 0: atom.add.relaxed.gpu c 1
//   P1 cta 1: st.volatile c[0..1] 7
LITMUS(atomics_partial) {
  P(0, 0) add<relaxed, gpu>(p.c, 1);
  P(1, 0) * reinterpret_cast<volatile u16*>(p.c) = 7;
}

// litmus volatile_and_atomic: clean; ptx 8.4.2, 8.7; grid=2
//   P0 cta 0: st.volatile c 3
//   P1 cta 1: atom.add.relaxed.gpu c 1
LITMUS(volatile_and_atomic) {
  P(0, 0) st_volatile(p.c, 3);
  P(1, 0) add<relaxed, gpu>(p.c, 1);
}

// litmus volatile_and_weak: data-race; ptx 8.4.2, 8.7.1; grid=2
//   P0 cta 0: st.volatile c 3
//   P1 cta 1: ld c
LITMUS(volatile_and_weak) {
  P(0, 0) st_volatile(p.c, 3);
  P(1, 0) ld(p.c);
}

// litmus volatile_and_cta_atomic: scope; ptx 8.4.2, 8.7; grid=2
//   P0 cta 0: st.volatile c 3
//   P1 cta 1: atom.add.relaxed.cta c 1
LITMUS(volatile_and_cta_atomic) {
  P(0, 0) st_volatile(p.c, 3);
  P(1, 0) add<relaxed, cta>(p.c, 1);
}

// litmus lock: clean; ptx 8.9.4, 8.10.3; grid=2
//   P0 cta 0: if atom.cas.acquire.gpu l 1 = 0; st d 1; st.release.gpu l 0
//   P1 cta 1: if atom.cas.acquire.gpu l 1 = 0; st d 2; st.release.gpu l 0
//   note: atom.cas l 1 = 0 writes 1 if it reads 0
LITMUS(lock) {
  if (arch::thread_index() == 0 && cas<acquire, gpu>(p.l, 0, 1) == 0)
    st(p.d, arch::block_index() + 1), st_release<gpu>(p.l, 0);
}

// litmus lock_relaxed: data-race; ptx 8.8; grid=2
//   P0 cta 0: if atom.cas.relaxed.gpu l 1 = 0; st d 1; st.release.gpu l 0
//   P1 cta 1: if atom.cas.relaxed.gpu l 1 = 0; st d 2; st.release.gpu l 0
LITMUS(lock_relaxed) {
  if (arch::thread_index() == 0 && cas<relaxed, gpu>(p.l, 0, 1) == 0)
    st(p.d, arch::block_index() + 1), st_release<gpu>(p.l, 0);
}

// litmus lock_relaxed_unlock: data-race; ptx 8.8; grid=2
//   P0 cta 0: if atom.cas.acquire.gpu l 1 = 0; st d 1; st.relaxed.gpu l 0
//   P1 cta 1: if atom.cas.acquire.gpu l 1 = 0; st d 2; st.relaxed.gpu l 0
LITMUS(lock_relaxed_unlock) {
  if (arch::thread_index() == 0 && cas<acquire, gpu>(p.l, 0, 1) == 0)
    st(p.d, arch::block_index() + 1), st_relaxed<gpu>(p.l, 0);
}

}  // namespace ww::litmus
