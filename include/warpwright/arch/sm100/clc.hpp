// SPDX-License-Identifier: Apache-2.0
// Cluster launch control: a running cluster takes over the work of one that has not started.
//   expect 16 bytes on the barrier -> try_cancel -> wait -> load -> is_canceled ? first_cta : no more work ->
//   fence::proxy_async_shared -> barrier -> the next try_cancel into the same 16 bytes
// An answer names the first CTA of the cluster whose launch was cancelled; a CTA adds its own place in the cluster.
// After an answer without work, another try_cancel is undefined, and so is first_cta of that answer.
// PTX ISA: clusterlaunchcontrol.try_cancel, clusterlaunchcontrol.query_cancel.
#pragma once

#include "warpwright/arch/common/mbarrier.hpp"
#include "warpwright/arch/common/shared.hpp"
#include "warpwright/arch/sm100/installed.hpp"

namespace ww::arch::clc {

inline constexpr u32 kAnswerBytes = 16;

/// What try_cancel writes, in registers. Its bits are for is_canceled and first_cta alone.
struct Answer {
  Words<4> words;
};
/// The index of a CTA in its grid.
struct CtaIndex {
  u32 x, y, z;
};

#if defined(__CUDACC__)
inline namespace ptx {

/// Asks for another cluster's work. The answer goes to 16 bytes at `answer`, 16-byte aligned, which count on `full`.
WW_DEVICE void try_cancel(SharedAddress answer, MBarrier full) {
  asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];" ::"r"(
                   answer.value),
               "r"(full.address.value)
               : "memory");
}
/// Does the same for every CTA of the cluster, at the same offsets. One thread of CTA 0 calls it.
WW_DEVICE void try_cancel_multicast(SharedAddress answer, MBarrier full) {
  asm volatile(
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 "
      "[%0], [%1];" ::"r"(answer.value),
      "r"(full.address.value)
      : "memory");
}
/// Loads an answer from shared memory, after the wait for its mbarrier.
WW_DEVICE Answer load(SharedAddress answer) { return {shared::load4(answer)}; }
/// Returns whether a launch was cancelled, so that there is work.
WW_DEVICE bool is_canceled(const Answer& answer) {
  u32 canceled;
  asm volatile(
      "{\n.reg .pred p;\n.reg .b64 low, high;\n.reg .b128 answer;\n"
      "mov.b64 low, {%1, %2};\nmov.b64 high, {%3, %4};\nmov.b128 answer, {low, high};\n"
      "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, answer;\n"
      "selp.u32 %0, 1, 0, p;\n}"
      : "=r"(canceled)
      : "r"(answer.words.w[0]), "r"(answer.words.w[1]), "r"(answer.words.w[2]), "r"(answer.words.w[3]));
  return canceled != 0;
}
/// Returns the first CTA of the cluster whose launch was cancelled.
WW_DEVICE CtaIndex first_cta(const Answer& answer) {
  CtaIndex first;
  asm volatile(
      "{\n.reg .b32 none;\n.reg .b64 low, high;\n.reg .b128 answer;\n"
      "mov.b64 low, {%3, %4};\nmov.b64 high, {%5, %6};\nmov.b128 answer, {low, high};\n"
      "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%0, %1, %2, none}, answer;\n}"
      : "=r"(first.x), "=r"(first.y), "=r"(first.z)
      : "r"(answer.words.w[0]), "r"(answer.words.w[1]), "r"(answer.words.w[2]), "r"(answer.words.w[3]));
  return first;
}

}  // namespace ptx
#else
inline namespace emu {

WW_DEVICE void try_cancel(SharedAddress answer, MBarrier full WW_SITE) {
  sm100_table->try_cancel(answer.value, full.address.value, false, site);
}
WW_DEVICE void try_cancel_multicast(SharedAddress answer, MBarrier full WW_SITE) {
  sm100_table->try_cancel(answer.value, full.address.value, true, site);
}
WW_DEVICE Answer load(SharedAddress answer WW_SITE) { return {shared::load4(answer, site)}; }
WW_DEVICE bool is_canceled(const Answer& answer WW_SITE) { return sm100_table->is_canceled(answer.words.w, site); }
WW_DEVICE CtaIndex first_cta(const Answer& answer WW_SITE) {
  u32 first[3] = {};
  sm100_table->first_cta(answer.words.w, first, site);
  return {first[0], first[1], first[2]};
}

}  // namespace emu
#endif

}  // namespace ww::arch::clc
