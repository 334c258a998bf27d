// SPDX-License-Identifier: Apache-2.0
// A warp's collectives: 14 words for each thread, in the order of the array below.
#pragma once

#include "params.hpp"
#include "warpwright/arch/common/warp.hpp"

namespace ww::arch_test {

WW_DEVICE u32 bits_set(u32 v) {
  u32 count = 0;
  for (; v != 0; v &= v - 1) ++count;
  return count;
}

WW_KERNEL(arch_warp, 64, Params, p) {
  const u32 t = arch::thread_index(), lane = arch::lane_index();
  const u32 v = arch::global::load(p.in + t);
  // Each half of the warp synchronises on its own and exchanges through shared memory.
  const arch::SharedAddress words = arch::dynamic_shared();
  arch::shared::store(words + 4 * t, v);
  if (lane < 16) arch::warp::sync(0x0000ffffu);
  else arch::warp::sync(0xffff0000u);
  const u32 neighbour = arch::shared::load(words + 4 * (t ^ 1));
  arch::warp::sync();
  const u32 values[] = {
      bits_set(arch::warp::ballot(arch::warp::elect())),  // exactly one lane, whichever
      arch::warp::shuffle(v, (5 * lane + 1) % 32),
      arch::warp::shuffle_up(v, 3),
      arch::warp::shuffle_down(v, 5),
      arch::warp::shuffle_xor(v, 9),
      arch::warp::ballot((v & 1) != 0),
      arch::warp::any(lane == 31) ? 1u : 0u,
      arch::warp::any(lane == 32) ? 1u : 0u,
      arch::warp::all(lane < 32) ? 1u : 0u,
      arch::warp::all(lane < 31) ? 1u : 0u,
      arch::warp::reduce_add(v),
      arch::warp::scan_add(v),
      arch::warp::uniform(v),
      neighbour,
  };
  WW_UNROLL
  for (int i = 0; i < 14; ++i) arch::global::store(p.out + 14 * t + i, values[i]);
}

}  // namespace ww::arch_test
