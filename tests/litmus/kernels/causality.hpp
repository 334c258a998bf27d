// SPDX-License-Identifier: Apache-2.0
// Causality over three threads, release and acquire patterns, and release sequences (observation order).
#pragma once

#include "threads.hpp"

namespace ww::litmus {

// --- chains of three threads ---------------------------------------------------------------------------------------

// litmus wrc: clean; ptx 8.9.5; grid=3
//   P0 cta 0: st d 1; st.release.gpu f 1
//   P1 cta 1: await ld.acquire.gpu f = 1; st.release.gpu g 1
//   P2 cta 2: await ld.acquire.gpu g = 1; ld d
LITMUS(wrc) {
  P(0, 0) st(p.d, 1), st_release<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 1), st_release<gpu>(p.g, 1);
  P(2, 0) AWAIT(ld_acquire<gpu>(p.g) == 1), ld(p.d);
}

// litmus wrc_scopes: clean; ptx 8.5, 8.9.5; grid=2
//   P0 cta 0: st d 1; st.release.cta f 1
//   P1 cta 0: await ld.acquire.cta f = 1; st.release.gpu g 1
//   P2 cta 1: await ld.acquire.gpu g = 1; ld d
LITMUS(wrc_scopes) {
  P(0, 0) st(p.d, 1), st_release<cta>(p.f, 1);
  P(0, 32) AWAIT(ld_acquire<cta>(p.f) == 1), st_release<gpu>(p.g, 1);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.g) == 1), ld(p.d);
}

// litmus wrc_scopes_back: clean; ptx 8.5, 8.9.5; grid=2
//   P0 cta 0: st d 1; st.release.gpu f 1
//   P1 cta 1: await ld.acquire.gpu f = 1; st.release.cta g 1
//   P2 cta 1: await ld.acquire.cta g = 1; ld d
LITMUS(wrc_scopes_back) {
  P(0, 0) st(p.d, 1), st_release<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 1), st_release<cta>(p.g, 1);
  P(1, 32) AWAIT(ld_acquire<cta>(p.g) == 1), ld(p.d);
}

// litmus wrc_scope_short: scope; ptx 8.5, 8.9.5; grid=3
//   P0 cta 0: st d 1; st.release.gpu f 1
//   P1 cta 1: await ld.acquire.gpu f = 1; st.release.cta g 1
//   P2 cta 2: await ld.acquire.gpu g = 1; ld d
LITMUS(wrc_scope_short) {
  P(0, 0) st(p.d, 1), st_release<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 1), st_release<cta>(p.g, 1);
  P(2, 0) AWAIT(ld_acquire<gpu>(p.g) == 1), ld(p.d);
}

// litmus relaxed_pass_along: data-race; ptx 8.8, 8.9.4; grid=3
//   P0 cta 0: st d 1; st.release.gpu f 1
//   P1 cta 1: await ld.relaxed.gpu f = 1; st.release.gpu f 2
//   P2 cta 2: await ld.acquire.gpu f = 2; ld d
LITMUS(relaxed_pass_along) {
  P(0, 0) st(p.d, 1), st_release<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_relaxed<gpu>(p.f) == 1), st_release<gpu>(p.f, 2);
  P(2, 0) AWAIT(ld_acquire<gpu>(p.f) == 2), ld(p.d);
}

// litmus relaxed_pass_along_two_flags: data-race; ptx 8.8, 8.9.4; grid=3
//   P0 cta 0: st d 1; st.release.gpu f 1
//   P1 cta 1: await ld.relaxed.gpu f = 1; st.release.gpu g 1
//   P2 cta 2: await ld.acquire.gpu g = 1; ld d
LITMUS(relaxed_pass_along_two_flags) {
  P(0, 0) st(p.d, 1), st_release<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_relaxed<gpu>(p.f) == 1), st_release<gpu>(p.g, 1);
  P(2, 0) AWAIT(ld_acquire<gpu>(p.g) == 1), ld(p.d);
}

// litmus pass_along_fence: clean; ptx 8.8, 8.9.5; grid=3
//   P0 cta 0: st d 1; st.release.gpu f 1
//   P1 cta 1: await ld.relaxed.gpu f = 1; fence.acq_rel.gpu; st.relaxed.gpu g 1
//   P2 cta 2: await ld.acquire.gpu g = 1; ld d
LITMUS(pass_along_fence) {
  P(0, 0) st(p.d, 1), st_release<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_relaxed<gpu>(p.f) == 1), fence<gpu>(), st_relaxed<gpu>(p.g, 1);
  P(2, 0) AWAIT(ld_acquire<gpu>(p.g) == 1), ld(p.d);
}

// litmus barrier_then_release: clean; ptx 8.9.4, 8.9.5; grid=2
//   P0 cta 0: st d 1; bar.sync 0
//   P1 cta 0: bar.sync 0; st.release.gpu f 1
//   P2 cta 1: await ld.acquire.gpu f = 1; ld d
LITMUS(barrier_then_release) {
  P(0, 32) st(p.d, 1);
  bar();
  P(0, 0) st_release<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 1), ld(p.d);
}

// litmus acquire_then_barrier: clean; ptx 8.9.4, 8.9.5; grid=2
//   P0 cta 0: st d 1; st.release.gpu f 1
//   P1 cta 1: await ld.acquire.gpu f = 1; bar.sync 0
//   P2 cta 1: bar.sync 0; ld d
LITMUS(acquire_then_barrier) {
  P(0, 0) st(p.d, 1), st_release<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 1);
  bar();
  P(1, 32) ld(p.d);
}

// litmus acquire_without_barrier: data-race; ptx 8.9.5; grid=2
//   P0 cta 0: st d 1; st.release.gpu f 1
//   P1 cta 1: await ld.acquire.gpu f = 1
//   P2 cta 1: ld d
LITMUS(acquire_without_barrier) {
  P(0, 0) st(p.d, 1), st_release<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 1);
  P(1, 32) ld(p.d);
}

// --- patterns ------------------------------------------------------------------------------------------------------

// litmus acquire_pattern_second_read: clean; ptx 8.8; grid=3
//   P0 cta 0: st d 1; st.release.gpu f 1
//   P1 cta 1: await ld.relaxed.gpu f = 1; st.relaxed.gpu g 1; await ld.relaxed.gpu f = 5; ld.acquire.gpu f; ld d
//   P2 cta 2: await ld.relaxed.gpu g = 1; st.relaxed.gpu f 5
//   note: the acquire reads 5, which releases nothing; the relaxed read of 1 before it makes the pattern
LITMUS(acquire_pattern_second_read) {
  P(0, 0) st(p.d, 1), st_release<gpu>(p.f, 1);
  P(1, 0) {
    AWAIT(ld_relaxed<gpu>(p.f) == 1), st_relaxed<gpu>(p.g, 1);
    AWAIT(ld_relaxed<gpu>(p.f) == 5), ld_acquire<gpu>(p.f), ld(p.d);
  }
  P(2, 0) AWAIT(ld_relaxed<gpu>(p.g) == 1), st_relaxed<gpu>(p.f, 5);
}

// litmus acquire_pattern_other_word: data-race; ptx 8.8; grid=2
//   P0 cta 0: st d 1; st.release.gpu f 1
//   P1 cta 1: await ld.relaxed.gpu f = 1; ld.acquire.gpu g; ld d
//   note: the acquire is of another word
LITMUS(acquire_pattern_other_word) {
  P(0, 0) st(p.d, 1), st_release<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_relaxed<gpu>(p.f) == 1), ld_acquire<gpu>(p.g), ld(p.d);
}

// litmus fence_between_reads: clean; ptx 8.8; grid=2
//   P0 cta 0: st d 1; st.release.gpu f 1
//   P1 cta 1: await ld.relaxed.gpu f = 1; ld.relaxed.gpu e; fence.acq_rel.gpu; ld d
LITMUS(fence_between_reads) {
  P(0, 0) st(p.d, 1), st_release<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_relaxed<gpu>(p.f) == 1), ld_relaxed<gpu>(p.e), fence<gpu>(), ld(p.d);
}

// --- release sequences ---------------------------------------------------------------------------------------------

// litmus sequence_rmw: clean; ptx 8.9.2, 8.9.4; grid=3
//   P0 cta 0: st d 1; st.release.gpu f 1
//   P1 cta 1: await ld.relaxed.gpu f = 1; atom.add.relaxed.gpu f 1
//   P2 cta 2: await ld.acquire.gpu f = 2; ld d
LITMUS(sequence_rmw) {
  P(0, 0) st(p.d, 1), st_release<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_relaxed<gpu>(p.f) == 1), add<relaxed, gpu>(p.f, 1);
  P(2, 0) AWAIT(ld_acquire<gpu>(p.f) == 2), ld(p.d);
}

// litmus sequence_rmw_narrow: scope; ptx 8.7, 8.9.2; grid=3
//   P0 cta 0: st d 1; st.release.gpu f 1
//   P1 cta 1: await ld.relaxed.gpu f = 1; atom.add.relaxed.cta f 1
//   P2 cta 2: await ld.acquire.gpu f = 2; ld d
LITMUS(sequence_rmw_narrow) {
  P(0, 0) st(p.d, 1), st_release<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_relaxed<gpu>(p.f) == 1), add<relaxed, cta>(p.f, 1);
  P(2, 0) AWAIT(ld_acquire<gpu>(p.f) == 2), ld(p.d);
}

// litmus sequence_store_breaks: data-race; ptx 8.9.2; grid=3
//   P0 cta 0: st d 1; st.release.gpu f 1
//   P1 cta 1: await ld.relaxed.gpu f = 1; st.relaxed.gpu f 2
//   P2 cta 2: await ld.acquire.gpu f = 2; ld d
LITMUS(sequence_store_breaks) {
  P(0, 0) st(p.d, 1), st_release<gpu>(p.f, 1);
  P(1, 0) AWAIT(ld_relaxed<gpu>(p.f) == 1), st_relaxed<gpu>(p.f, 2);
  P(2, 0) AWAIT(ld_acquire<gpu>(p.f) == 2), ld(p.d);
}

// litmus sequence_own_store: clean; ptx 8.8; grid=2
//   P0 cta 0: st d 1; st.release.gpu f 1; st.relaxed.gpu f 2
//   P1 cta 1: await ld.acquire.gpu f = 2; ld d
LITMUS(sequence_own_store) {
  P(0, 0) st(p.d, 1), st_release<gpu>(p.f, 1), st_relaxed<gpu>(p.f, 2);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 2), ld(p.d);
}

// litmus sequence_own_store_late_data: data-race; ptx 8.8; grid=2
//   P0 cta 0: st.release.gpu f 1; st d 1; st.relaxed.gpu f 2
//   P1 cta 1: await ld.acquire.gpu f = 2; ld d
LITMUS(sequence_own_store_late_data) {
  P(0, 0) st_release<gpu>(p.f, 1), st(p.d, 1), st_relaxed<gpu>(p.f, 2);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.f) == 2), ld(p.d);
}

// litmus sequence_own_store_other_flag: data-race; ptx 8.8; grid=2
//   P0 cta 0: st d 1; st.release.gpu f 1; st.relaxed.gpu g 2
//   P1 cta 1: await ld.acquire.gpu g = 2; ld d
LITMUS(sequence_own_store_other_flag) {
  P(0, 0) st(p.d, 1), st_release<gpu>(p.f, 1), st_relaxed<gpu>(p.g, 2);
  P(1, 0) AWAIT(ld_acquire<gpu>(p.g) == 2), ld(p.d);
}

// litmus sequence_two_releases: clean; ptx 8.9.2, 8.9.4; grid=3
//   P0 cta 0: st d 1; atom.add.release.gpu c 1
//   P1 cta 1: st e 1; atom.add.release.gpu c 1
//   P2 cta 2: await ld.acquire.gpu c = 2; ld d; ld e
LITMUS(sequence_two_releases) {
  P(0, 0) st(p.d, 1), add<release, gpu>(p.c, 1);
  P(1, 0) st(p.e, 1), add<release, gpu>(p.c, 1);
  P(2, 0) AWAIT(ld_acquire<gpu>(p.c) == 2), ld(p.d), ld(p.e);
}

// litmus sequence_two_stores: data-race; ptx 8.9.2; grid=3
//   P0 cta 0: st d 1; st.release.gpu f 1
//   P1 cta 1: st e 1; await ld.relaxed.gpu f = 1; st.release.gpu f 2
//   P2 cta 2: await ld.acquire.gpu f = 2; ld e; ld d
LITMUS(sequence_two_stores) {
  P(0, 0) st(p.d, 1), st_release<gpu>(p.f, 1);
  P(1, 0) st(p.e, 1), AWAIT(ld_relaxed<gpu>(p.f) == 1), st_release<gpu>(p.f, 2);
  P(2, 0) AWAIT(ld_acquire<gpu>(p.f) == 2), ld(p.e), ld(p.d);
}

// litmus sequence_shared: clean; ptx 8.9.2, 8.9.4; threads=96
//   P0 cta 0: st s0.d 1; atom.add.release.cta s0.f 1
//   P1 cta 0: await atom.add.relaxed.cta s0.f 0 = 1; atom.add.relaxed.cta s0.f 1
//   P2 cta 0: await atom.add.acquire.cta s0.f 0 = 2; ld s0.d
LITMUS(sequence_shared) {
  start();
  P(0, 0) st(S(0), 1), add<release, cta>(S(1), 1);
  P(0, 32) AWAIT(add<relaxed, cta>(S(1), 0) == 1), add<relaxed, cta>(S(1), 1);
  P(0, 64) AWAIT(add<acquire, cta>(S(1), 0) == 2), ld(S(0));
}

}  // namespace ww::litmus
