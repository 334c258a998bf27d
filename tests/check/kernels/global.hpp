// SPDX-License-Identifier: Apache-2.0
// CTAs that hand words to each other through global memory: flags, counters, turns, and neighbours that share
// nothing.
#pragma once

#include "params.hpp"

namespace ww::check_test {

/// CTA 0 writes 64 words and raises a flag, by a fence and an atomic or, with arg[0], by a releasing store; CTA 1
/// copies them. out[0] the flag, out[64 + t] = in[t] * 3, out[128 + t] = out[64 + t] + 1.
WW_KERNEL(check_flag, 64, Params, p) {
  const u32 t = arch::thread_index();
  if (arch::block_index() == 0) {
    arch::global::store(p.out + 64 + t, arch::global::load(p.in + t) * 3);  // @flag_write
    if (!p.is(Edit::flag_no_barrier_before)) arch::named_barrier::sync_cta();
    if (t != 0 || p.is(Edit::flag_never)) return;
    if (p.arg[0] != 0) return arch::global::store_release(p.out, 1);
    if (p.is(Edit::flag_plain)) return arch::global::store(p.out, 1);  // @flag_plain
    if (p.is(Edit::flag_scope_cta)) arch::fence::acq_rel_cta();
    else arch::fence::acq_rel_gpu();
    arch::global::atomic_add(p.out, 1);  // @flag_raise
  } else {
    if (t == 0) arch::global::wait_global(p.out, [](u32 flag) { return flag == 1; });  // @flag_wait
    if (!p.is(Edit::flag_no_barrier_after)) arch::named_barrier::sync_cta();
    arch::global::store(p.out + 128 + t, arch::global::load(p.out + 64 + t) + 1);  // @flag_read
  }
}

/// Each CTA writes a row of 64 words; the last to finish adds them up. out[0] a count, out[64 (1 + block) + t] = in *
/// 5, out[1024 + t] = the sum over the CTAs.
WW_KERNEL(check_last, 64, Params, p) {
  const u32 t = arch::thread_index(), block = arch::block_index();
  arch::global::store(p.out + 64 * (1 + block) + t, arch::global::load(p.in + 64 * block + t) * 5);  // @last_write
  arch::named_barrier::sync_cta();
  if (t == 0) {
    const u32 before =
        p.is(Edit::last_relaxed) ? arch::global::atomic_add(p.out, 1) : arch::global::atomic_add_acq_rel(p.out, 1);
    arch::shared::store(arch::dynamic_shared(), before);
  }
  arch::named_barrier::sync_cta();
  if (arch::shared::load(arch::dynamic_shared()) != arch::grid_size() - 1) return;
  u32 sum = 0;
  for (u32 row = 1; row <= arch::grid_size(); ++row) sum += arch::global::load(p.out + 64 * row + t);  // @last_read
  arch::global::store(p.out + 1024 + t, sum);
}

/// CTA i waits for turn i, changes all words, passes the turn on. out[0] the turn, words from out[16].
WW_KERNEL(check_chain, 64, Params, p) {
  const u32 t = arch::thread_index(), turn = arch::block_index();
  if (t == 0) arch::global::wait_global(p.out, [turn](u32 now) { return now == turn; });
  arch::named_barrier::sync_cta();
  const u32 neighbour = arch::global::load(p.out + 16 + (t + 1) % 64);
  arch::named_barrier::sync_cta();
  arch::global::store(p.out + 16 + t, neighbour * 3 + turn);
  arch::named_barrier::sync_cta();
  if (t == 0) arch::global::store_release(p.out, turn + 1);
}

enum SpinForm : i32 { kAcquireSpin, kAtomicSpin, kVoteSpin, kSharedSpin };

/// The last CTA writes 64 words and raises a flag; the others wait in a bare loop and copy the words. arg[0] says
/// by which loop. out[0] the flag, out[64 + t] = in[t] * 3, out[128 + 64 block + t] = out[64 + t] + block.
WW_KERNEL(check_spin, 64, Params, p) {
  const u32 t = arch::thread_index(), block = arch::block_index();
  const arch::SharedAddress word = arch::dynamic_shared();
  if (block + 1 == arch::grid_size()) {
    arch::global::store(p.out + 64 + t, arch::global::load(p.in + t) * 3);
    arch::named_barrier::sync_cta();
    if (t == 0 && !p.is(Edit::spin_never) && !p.is(Edit::spin_plain)) arch::global::store_release(p.out, 1);
    return;
  }
  if (t == 0) arch::shared::store(word, 0);
  arch::named_barrier::sync_cta();
  if (p.is(Edit::spin_plain)) {
    while (*static_cast<const volatile u32*>(p.out) == 0) continue;  // @spin_look
  } else if (p.arg[0] == kVoteSpin) {
    while (!arch::warp::all(arch::global::load_acquire(p.out) != 0)) continue;  // @spin_look
  } else if (p.arg[0] == kAtomicSpin) {
    while (t == 0 && arch::global::atomic_cas(p.out, 1, 1) == 0) continue;  // @spin_look
  } else if (p.arg[0] == kSharedSpin && t == 0) {
    while (arch::shared::atomic_or(word, 0) == 0) continue;  // @spin_look
  } else if (t == 0 || t == 32) {
    while (arch::global::load_acquire(p.out) == 0) continue;  // @spin_look
    arch::shared::atomic_or(word, 1);
  }
  arch::named_barrier::sync_cta();
  arch::global::store(p.out + 128 + 64 * block + t, arch::global::load(p.out + 64 + t) + block);
}

/// Thread 0 reads one word over and over, arg[0] times, while the other waits for what it makes of it.
/// out[0] a flag, out[1] the sum, out[2] the same as the other thread saw it.
WW_KERNEL(check_long_count, 64, Params, p) {
  const u32 t = arch::thread_index();
  if (t == 0) {
    u32 sum = 0;
    for (i32 i = 0; i < p.arg[0]; ++i) sum = sum * 3 + arch::global::load(p.in);
    for (i32 i = 0; i < p.arg[0]; ++i) sum = sum * 5 + *static_cast<const volatile u32*>(p.in);
    arch::global::store(p.out + 1, sum);
    arch::global::store_release(p.out, 1);
  } else if (t == 32) {
    while (arch::global::load_acquire(p.out) == 0) continue;
    arch::global::store(p.out + 2, arch::global::load(p.out + 1));
  }
}

/// All read all of the input; each CTA writes 64 words of its own, right next to its neighbours'.
WW_KERNEL(check_neighbour_tiles, 64, Params, p) {
  const u32 t = arch::thread_index(), stride = p.is(Edit::overlap) ? 63 : 64;
  u32 sum = 0;
  for (u32 i = 0; i < 64; ++i) sum += arch::global::load(p.in + i) * (i + t);
  if (p.is(Edit::read_only_written)) arch::global::store(const_cast<u32*>(p.in) + t, sum);   // @tiles_write
  arch::global::store(p.out + stride * arch::block_index() + t, sum + arch::block_index());  // @tiles_write
}

}  // namespace ww::check_test
