// SPDX-License-Identifier: Apache-2.0
// Ordinary memory: global and shared accesses of every width, predicated stores, atomics, one CTA waiting for another.
#pragma once

#include "params.hpp"
#include "warpwright/arch/common/convert.hpp"
#include "warpwright/arch/common/global_bytes.hpp"

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

/// Words 0 to 255 read by 8 bytes, in both ways, and by 2; then stores that happen in threads whose bit of in[512 ..]
/// is set: of words, of four, and of half a word from out[640 ..] on.
/// The address of a store that does not happen is nonsense.
WW_KERNEL(arch_global_predicated, 128, Params, p) {
  const u32 t = arch::thread_index();
  const arch::Words<2> pair = arch::global::load2(p.in + 2 * t);
  const u64 both = arch::global::load_u64(p.in + 256 + 2 * t);
  const bool on = (arch::global::load(p.in + 512 + t / 32) >> t % 32 & 1) != 0;
  u32* const nowhere = reinterpret_cast<u32*>(static_cast<u64>(4 * t + 1));
  arch::global::store_if(on, on ? p.out + t : nowhere, pair.w[0] ^ pair.w[1]);
  const arch::Words<4> v{{pair.w[1], pair.w[0], static_cast<u32>(both >> 32), static_cast<u32>(both)}};
  arch::global::store4_if(on, on ? p.out + 128 + 4 * t : nowhere, v);
  const u16 half = arch::global::load_u16(reinterpret_cast<const u16*>(p.in) + 3 * t);
  u16* const halves = reinterpret_cast<u16*>(p.out + 640);
  arch::global::store_u16_if(on, on ? halves + t : reinterpret_cast<u16*>(nowhere), half);
}

/// Thread t: byte 3 t of the input to byte t of the output, words 128 + 2 t and the next, exchanged, to out[32 + 2 t].
WW_KERNEL(arch_global_bytes, 128, Params, p) {
  const u32 t = arch::thread_index();
  arch::global::store_u8(reinterpret_cast<u8*>(p.out) + t,
                         arch::global::load_u8(reinterpret_cast<const u8*>(p.in) + 3 * t));
  const arch::Words<2> pair = arch::global::load2(p.in + 128 + 2 * t);
  arch::global::store2(p.out + 32 + 2 * t, {{pair.w[1], pair.w[0]}});
}

/// Eight words start from in[128 ..]: the first four take the sum, smallest, largest and union of all threads' inputs,
/// the fifth numbers the threads, the others are changed by one thread each, whose value before comes out. Output: 128
/// numbers, 3 values before, the 8 words.
WW_KERNEL(arch_shared_atomics, 128, Params, p) {
  const u32 t = arch::thread_index();
  const arch::SharedAddress words = arch::dynamic_shared();
  if (t < 8) arch::shared::store(words + 4 * t, arch::global::load(p.in + 128 + t));
  arch::named_barrier::sync_cta();
  const u32 v = arch::global::load(p.in + t);
  arch::shared::atomic_add(words, v);
  arch::shared::atomic_min(words + 4, v);
  arch::shared::atomic_max(words + 8, v);
  arch::shared::atomic_or(words + 12, v & 0x01010101u << t % 8);
  // the value before: a count gives each thread a number of its own, the others are met by one thread each
  const u32 number = arch::shared::atomic_add(words + 16, 1);
  arch::global::store(p.out + number, number);
  if (t == 0) arch::global::store(p.out + 128, arch::shared::atomic_min(words + 20, v));
  if (t == 1) arch::global::store(p.out + 129, arch::shared::atomic_max(words + 24, v));
  if (t == 2) arch::global::store(p.out + 130, arch::shared::atomic_or(words + 28, v));
  arch::named_barrier::sync_cta();
  if (t < 8) arch::global::store(p.out + 131 + t, arch::shared::load(words + 4 * t));
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
  // each bit is set by two of the threads, and one of the two finds it set
  const u32 bit = 1u << (id - 1) % 32, place = (id - 1) / 64;
  if ((arch::global::atomic_or(p.out + 260 + place, bit) & bit) != 0) arch::global::atomic_add(p.out + 264 + place, 1);
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
