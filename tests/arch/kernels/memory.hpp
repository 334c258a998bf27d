// SPDX-License-Identifier: Apache-2.0
// Ordinary memory: global and shared accesses of every width, atomics, and one CTA waiting for another.
#pragma once

#include "params.hpp"
#include "warpwright/arch/convert.hpp"

namespace ww::arch_test {

/// 128 words, 128 floats, 128 quadruples that come out reversed.
WW_KERNEL(arch_global, 128, Params, p) {
  const u32 t = arch::thread_index();
  const arch::Words<4> q = arch::global::load4(p.in + 256 + 4 * t);
  arch::global::store(p.out + t, arch::global::load(p.in + t));
  arch::global::store(p.out + 128 + t,
                      arch::bits_of(arch::global::load_constant(reinterpret_cast<const float*>(p.in) + 128 + t)));
  arch::global::store4(p.out + 256 + 4 * t, {{q.w[3], q.w[2], q.w[1], q.w[0]}});
}

/// Words cross widths: written by 16, 8 and 4 bytes, read by 4, 16 and 8. Input 4 words a thread, output 12.
WW_KERNEL(arch_shared, 32, Params, p) {
  const u32 t = arch::thread_index();
  const arch::Words<4> v = arch::global::load4(p.in + 4 * t);
  const arch::SharedAddress a = arch::dynamic_shared() + 16 * t, b = a + 512, c = b + 512;
  arch::shared::store4(a, v);
  arch::shared::store2(b + 8, {{v.w[0], v.w[1]}});
  arch::shared::store2(b, {{v.w[2], v.w[3]}});
  for (u32 i = 0; i < 4; ++i) arch::shared::store(c + 4 * i, v.w[3 - i]);
  arch::named_barrier::sync_cta();
  const u32 from = 16 * (31 - 2 * t);  // the mirrored thread's places; wraps with the address
  const arch::Words<4> wide = arch::shared::load4(b + from);
  const arch::Words<2> low = arch::shared::load2(c + from), high = arch::shared::load2(c + from + 8);
  u32* out = p.out + 12 * t;
  for (u32 i = 0; i < 4; ++i) arch::global::store(out + i, arch::shared::load(a + from + 4 * i));
  arch::global::store4(out + 4, wide);
  arch::global::store4(out + 8, {{low.w[0], low.w[1], high.w[0], high.w[1]}});
}

/// out[0] a count, out[1] a sum, out[2] and out[3] the one winner of a compare-and-swap, then a mark for each count.
WW_KERNEL(arch_atomics, 64, Params, p) {
  const u32 id = arch::block_index() * 64 + arch::thread_index() + 1;
  const u32 old = arch::global::atomic_add(p.out, 1);
  arch::global::store(p.out + 4 + old, 1);
  arch::global::atomic_add_acq_rel(p.out + 1, arch::global::load(p.in + id - 1));
  if (arch::global::atomic_cas(p.out + 2, 0, id) == 0) {
    arch::global::atomic_add(p.out + 3, 1);
    arch::global::atomic_cas(p.out + 2, id, 0xffffffffu);
  }
}

/// CTA i waits for turn i, changes all words, passes the turn on. out[0] is the turn, words start at out[16].
WW_KERNEL(arch_turns, 64, Params, p) {
  const u32 t = arch::thread_index(), turn = arch::block_index();
  if (t == 0) arch::global::wait_global(p.out, [turn](u32 now) { return now == turn; });
  arch::named_barrier::sync_cta();
  const u32 neighbour = arch::global::load(p.out + 16 + (t + 1) % 64);
  arch::named_barrier::sync_cta();
  arch::global::store(p.out + 16 + t, neighbour * 3 + turn);
  arch::named_barrier::sync_cta();
  if (t == 0) arch::global::store_release(p.out, arch::global::load_acquire(p.out) + 1);
}

}  // namespace ww::arch_test
