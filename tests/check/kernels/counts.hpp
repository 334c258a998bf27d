// SPDX-License-Identifier: Apache-2.0
// Counts by shared atomics and the scans that make offsets of them.
#pragma once

#include "params.hpp"
#include "warpwright/arch/common/block_scan.hpp"

namespace ww::check_test {

/// Threads count their words' last 7 bits, offsets follow, twice through one scratch: out[t] = words smaller than t,
/// out[128 + t] = the sum of out[0 .. t).
WW_KERNEL(check_counts, 128, Params, p) {
  const u32 t = arch::thread_index();
  const arch::SharedAddress counts = arch::dynamic_shared(), scratch = counts + 512;
  if (!p.is(Edit::counts_no_init)) arch::shared::store(counts + 4 * t, 0);
  if (!p.is(Edit::counts_init_no_barrier)) arch::named_barrier::sync_cta();
  for (u32 i = 0; i < 4; ++i)
    arch::shared::atomic_add(counts + 4 * (arch::global::load(p.in + 128 * i + t) % 128), 1);  // @counts_add
  if (!p.is(Edit::counts_no_barrier)) arch::named_barrier::sync_cta();
  const u32 mine = arch::shared::load(counts + 4 * t);  // @counts_read
  const u32 below = arch::cta::exclusive_sum<128>(mine, t, scratch).before;
  arch::global::store(p.out + t, below);
  arch::global::store(p.out + 128 + t, arch::cta::exclusive_sum<128>(below, t, scratch).before);
}

}  // namespace ww::check_test
