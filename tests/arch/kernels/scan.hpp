// SPDX-License-Identifier: Apache-2.0
// Exclusive scans of a CTA and of groups of its warps.
#pragma once

#include "params.hpp"
#include "warpwright/arch/common/block_scan.hpp"

namespace ww::arch_test {

/// The later one, unless it is 0: associative, and does not commute.
struct LastSet {
  WW_DEVICE u32 operator()(u32 a, u32 b) const { return b != 0 ? b : a; }
};

WW_DEVICE void put(const Params& p, u32 which, arch::cta::Scan scan) {
  u32* out = p.out + 2 * (which * arch::block_size() + arch::thread_index());
  arch::global::store(out, scan.before);
  arch::global::store(out + 1, scan.total);
}

/// Four scans of the whole CTA through one scratch, one after another: sum, maximum, last one set, and the sum again of
/// the first scan's results. Two words a thread and scan.
WW_KERNEL(arch_scan, 384, Params, p) {
  const u32 t = arch::thread_index();
  const arch::SharedAddress scratch = arch::dynamic_shared();
  const u32 v = arch::global::load(p.in + t), sparse = v % 8 == 0 ? v : 0;
  const arch::cta::Scan sum = arch::cta::exclusive_sum<384>(v, t, scratch);
  put(p, 0, sum);
  put(p, 1, arch::cta::exclusive_max<384>(v, t, scratch));
  put(p, 2, arch::cta::exclusive_scan<384, 0>(sparse, t, 0, scratch, LastSet{}));
  put(p, 3, arch::cta::exclusive_sum<384>(sum.before, t, scratch));
}

/// Threads 0 to 127 and 128 to 223 scan at the same time, warp 7 by itself.
WW_KERNEL(arch_scan_groups, 256, Params, p) {
  const u32 t = arch::thread_index(), v = arch::global::load(p.in + t);
  const arch::SharedAddress scratch = arch::dynamic_shared();
  if (t < 128) put(p, 0, arch::cta::exclusive_sum<128, 1>(v, t, scratch));
  else if (t < 224) put(p, 0, arch::cta::exclusive_max<96, 2>(v, t - 128, scratch + 16));
  else put(p, 0, arch::cta::exclusive_sum<32, 3>(v, t - 224, scratch + 28));
}

/// All 1024 threads that a CTA may have.
WW_KERNEL(arch_scan_1024, 1024, Params, p) {
  const u32 t = arch::thread_index();
  put(p, 0, arch::cta::exclusive_sum<1024>(arch::global::load(p.in + t), t, arch::dynamic_shared()));
}

}  // namespace ww::arch_test
