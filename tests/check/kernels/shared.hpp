// SPDX-License-Identifier: Apache-2.0
// Ordinary shared memory: named barriers, warps that hand words to each other, barriers whose memory is used again.
#pragma once

#include "params.hpp"

namespace ww::check_test {

/// Four warps exchange words; a fifth leaves at once. out[t] = in[127 - t] * 3.
WW_KERNEL(check_handover, 160, Params, p) {
  const u32 t = arch::thread_index();
  const arch::SharedAddress words = arch::dynamic_shared();
  if (t >= 128) return;
  const u32 value = arch::global::load(p.in + t);  // @handover_in
  if (p.is(Edit::misaligned_store))
    arch::shared::store4(words + 16 * (t / 4) + 8, {{0, 0, 0, 0}});                     // @handover_misaligned
  if (p.is(Edit::shared_bounds)) arch::shared::store(words + 4096 + 4 * t, value);      // @handover_outside
  if (!p.is(Edit::uninitialised) || t != 5) arch::shared::store(words + 4 * t, value);  // @handover_write
  const u32 threads = p.is(Edit::named_count) && t / 32 == 3 ? 96 : p.is(Edit::named_too_many) ? 160 : 128;
  if (p.is(Edit::crossed_barriers) && t >= 64) arch::named_barrier::sync<2>(threads);  // @handover_sync
  if (!p.is(Edit::no_named_barrier)) arch::named_barrier::sync<1>(threads);            // @handover_sync
  if (p.is(Edit::crossed_barriers) && t < 64) arch::named_barrier::sync<2>(threads);   // @handover_sync
  const u32 other = arch::shared::load(words + 4 * (127 - t));                         // @handover_read
  arch::global::store(p.out + t + (p.is(Edit::global_bounds) ? 4096 : 0), other * 3);  // @handover_out
}

/// Warp 0 sends arg[0] messages of 32 words to warp 1 through one mailbox. out[lane] = sum of 5^(left) * word.
WW_KERNEL(check_mailbox, 64, Params, p) {
  const arch::SharedAddress box = arch::dynamic_shared();
  const arch::MBarrier full{box + 128}, ack{box + 136};
  const u32 lane = arch::lane_index(), rounds = static_cast<u32>(p.arg[0]);
  if (arch::thread_index() == 0) {
    arch::mbarrier::init(full, 1);
    arch::mbarrier::init(ack, 1);
  }
  arch::named_barrier::sync_cta();
  u32 sum = 0;
  for (u32 round = 0; round < rounds; ++round) {
    if (arch::warp_index() == 0) {
      if (!p.is(Edit::mailbox_no_ack)) arch::mbarrier::wait(ack, (round & 1) ^ 1);
      arch::shared::store(box + 4 * lane, arch::global::load(p.in + 32 * round + lane));  // @mailbox_write
      if (!p.is(Edit::mailbox_no_syncwarp)) arch::warp::sync();
      if (arch::warp::elect()) arch::mbarrier::arrive(full);
    } else {
      arch::mbarrier::wait(full, round & 1);
      sum = sum * 5 + arch::shared::load(box + 4 * (31 - lane));  // @mailbox_read
      arch::warp::sync();
      if (arch::warp::elect()) arch::mbarrier::arrive(ack);
    }
  }
  if (arch::warp_index() == 1) arch::global::store(p.out + lane, sum);
}

/// Warp 0 completes two phases, each seen by warp 1 before the next. The edit leaves warp 1's first look out until
/// later.
WW_KERNEL(check_phases, 64, Params, p) {
  const arch::MBarrier go{arch::dynamic_shared()}, seen{arch::dynamic_shared() + 8};
  if (arch::thread_index() == 0) {
    arch::mbarrier::init(go, 1);
    arch::mbarrier::init(seen, 1);
  }
  arch::named_barrier::sync_cta();
  if (arch::thread_index() == 0) {
    arch::mbarrier::arrive(go);
    if (!p.is(Edit::waits_too_late)) arch::mbarrier::wait(seen, 0);
    arch::mbarrier::arrive(go);
  }
  if (p.is(Edit::waits_too_late)) arch::named_barrier::sync_cta();
  if (arch::thread_index() == 32) {
    arch::mbarrier::wait(go, 0);  // @phases_wait
    arch::mbarrier::arrive(seen);
    arch::mbarrier::wait(go, 1);  // @phases_wait
    arch::global::store(p.out, 1);
  }
}

/// Barriers become data: all are done with one, it is invalidated, its bytes are written. out[t] = in[t ^ 1].
WW_KERNEL(check_barrier_memory, 64, Params, p) {
  const arch::SharedAddress memory = arch::dynamic_shared();
  const arch::MBarrier all{memory};
  const u32 t = arch::thread_index();
  if (t == 0) arch::mbarrier::init(all, 64);
  arch::named_barrier::sync_cta();
  arch::mbarrier::arrive(all);   // @reuse_barrier
  arch::mbarrier::wait(all, 0);  // @reuse_barrier
  arch::named_barrier::sync_cta();
  if (t == 0 && !p.is(Edit::barrier_memory_reused)) arch::mbarrier::invalidate(all);
  arch::named_barrier::sync_cta();
  arch::shared::store(memory + 4 * t, arch::global::load(p.in + t));  // @reuse_barrier
  arch::named_barrier::sync_cta();
  arch::global::store(p.out + t, arch::shared::load(memory + 4 * (t ^ 1)));
  if (p.is(Edit::barrier_memory_reused) && t == 0) arch::mbarrier::arrive(all);  // @reuse_barrier
}

/// Two warps take turns on one buffer (ordered barriers): warp 0 first, arg[0] rounds. out[lane] = the buffer at
/// last.
WW_KERNEL(check_turns, 64, Params, p) {
  const arch::SharedAddress words = arch::dynamic_shared();
  const u32 warp = arch::warp_index(), lane = arch::lane_index();
  const arch::MBarrier mine{words + (128 + 8 * warp)}, theirs{words + (128 + 8 * (1 - warp))};
  if (lane == 0) arch::mbarrier::init(mine, 1);
  if (warp == 0) arch::shared::store(words + 4 * lane, arch::global::load(p.in + lane));
  arch::named_barrier::sync_cta();
  for (u32 round = 0; round < static_cast<u32>(p.arg[0]); ++round) {
    if (!p.is(Edit::order_skipped) || round != 1) arch::mbarrier::wait(mine, (warp == 0 ? 1 : 0) ^ (round & 1));
    arch::shared::store(words + 4 * lane, arch::shared::load(words + 4 * lane) * 7 + warp);  // @turns_access
    arch::warp::sync();
    if (lane == 0) arch::mbarrier::arrive(theirs);
  }
  if (warp == 0) {
    arch::mbarrier::wait(mine, 1 ^ (static_cast<u32>(p.arg[0]) & 1));
    arch::global::store(p.out + lane, arch::shared::load(words + 4 * lane));
  }
}

// --- only legal -----------------------------------------------------------------------------------

/// Four threads write the words of one 16-byte granule and each reads its own back, no barrier between; then all read
/// all.
WW_KERNEL(check_neighbours, 128, Params, p) {
  const u32 t = arch::thread_index();
  const arch::SharedAddress words = arch::dynamic_shared();
  arch::shared::store(words + 4 * (t * 37 % 128), arch::global::load(p.in + t));
  const u32 own = arch::shared::load(words + 4 * (t * 37 % 128));
  arch::named_barrier::sync_cta();
  u32 sum = own;
  for (u32 i = 0; i < 128; i += 4) sum += arch::shared::load4(words + 4 * i).w[t % 4];  // everybody reads everything
  arch::global::store(p.out + t, sum);
}

/// Named barriers of several ids, used again and again, with arrivals that do not wait. out[t] = in[t] + rounds.
WW_KERNEL(check_named_ids, 128, Params, p) {
  const u32 t = arch::thread_index();
  const arch::SharedAddress words = arch::dynamic_shared();
  if (t < 64) arch::shared::store(words + 4 * t, arch::global::load(p.in + t));
  for (i32 round = 0; round < p.arg[0]; ++round) {
    if (t < 64) {
      arch::named_barrier::arrive<3>(128);
      arch::named_barrier::sync<4>(128);
      arch::shared::store(words + 4 * t, arch::shared::load(words + 4 * t));
    } else {
      arch::named_barrier::sync<3>(128);
      arch::shared::store(words + 4 * (t - 64), arch::shared::load(words + 4 * (t - 64)) + 1);
      arch::named_barrier::sync<5>(64);
      arch::named_barrier::arrive<4>(128);
    }
  }
  if (t < 64) arch::global::store(p.out + t, arch::shared::load(words + 4 * t));
}

/// Values travel in registers; a warp's words through shared memory and syncwarp. The second warp leaves after one.
WW_KERNEL(check_warp_values, 96, Params, p) {
  const u32 lane = arch::lane_index(), warp = arch::warp_index();
  if (warp == 1) return;
  const arch::SharedAddress words = arch::dynamic_shared() + 128 * warp;
  u32 ticket = 0;
  if (arch::warp::elect()) ticket = arch::global::load(p.in + warp) + 1;
  ticket = arch::warp::reduce_add(ticket);  // only the elected lane's is not zero
  arch::shared::store(words + 4 * lane, ticket + lane);
  arch::warp::sync();
  const u32 first = arch::shared::load(words + 4 * (31 - lane));
  arch::warp::sync();
  arch::shared::store(words + 4 * (lane ^ 1), first);
  arch::warp::sync(lane < 16 ? 0x0000ffffu : 0xffff0000u);
  arch::global::store(p.out + 32 * warp + lane, arch::shared::load(words + 4 * (lane ^ 8)));
}

}  // namespace ww::check_test
