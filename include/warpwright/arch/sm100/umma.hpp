// SPDX-License-Identifier: Apache-2.0
// UMMA (tcgen05.mma): one thread multiplies A (M, 32 bytes of K), in shared or tensor memory, by B (N, 32 bytes) in
// shared memory, into an accumulator in tensor memory, for its CTA or for a pair of CTAs, asynchronously.
//   mma() ... -> commit(barrier): the barrier gets one arrival when all earlier MMAs and tensor::copy of this thread
//   are complete.
// The thread that issues is chosen by warp::elect: behind any other condition ptxas puts a loop around the instruction.
// A pair's MMAs and commits come from one thread of one of its CTAs; each CTA then holds half of A's rows and half of
// B's at the same offsets, and half of D's rows.
// Order between threads: completion -> fence_before -> arrive | wait -> fence_after -> tcgen05. A commit contains the
// first fence.
// PTX ISA: tcgen05.mma, tcgen05.commit, tcgen05.fence.
#pragma once

#include "warpwright/arch/common/mbarrier.hpp"
#include "warpwright/arch/sm100/installed.hpp"
#include "warpwright/arch/sm100/instruction_descriptor.hpp"
#include "warpwright/arch/sm100/matrix_descriptor.hpp"
#include "warpwright/arch/sm100/tensor_address.hpp"
#if defined(__CUDACC__)
#include "warpwright/arch/sm100/opcode_texts.hpp"
#endif

namespace ww::arch {

/// The lanes of D that an MMA leaves as they are: bit l of the words is lane l. A pair's second four words are those of
/// its second CTA.
template <CtaGroup kGroup> struct DisabledLanes { u32 w[4 * ctas_of(kGroup)]; };

namespace umma {

template <MmaKind kKind, int kScaleInputD>
inline constexpr bool kDenseExists = !is_block_scaled(kKind) && kScaleInputD >= 0 && kScaleInputD <= 15 &&
                                     (kScaleInputD == 0 || kKind != MmaKind::f8f6f4);
template <MmaKind kKind, int kScaleVector>
inline constexpr bool kScaledExists = kKind == MmaKind::mxf8f6f4 ? kScaleVector == 1
                                      : kKind == MmaKind::mxf4
                                          ? kScaleVector == 2
                                          : kKind == MmaKind::mxf4nvf4 && (kScaleVector == 2 || kScaleVector == 4);

#if defined(__CUDACC__)
inline namespace ptx {

WW_DEVICE u64 bits_of(sm100::MatrixDescriptor a) { return a.bits; }
WW_DEVICE u32 bits_of(TensorAddress a) { return a.value; }
template <class A> inline constexpr bool kInTensorMemory = false;
template <> inline constexpr bool kInTensorMemory<TensorAddress> = true;

// One tcgen05.mma: its qualifiers after the kind, its operands after the instruction descriptor, and the values that
// these name from %7 on.
#define WW_UMMA_OF(a_name, a_constraint, qualifiers, operands, ...)                                               \
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %4, 0;\ntcgen05.mma.cta_group::%5%6" qualifiers " [%0], " a_name \
               ", %2, %3, " operands ";\n}" ::"r"(d.value),                                                       \
               a_constraint(bits_of(a)), "l"(b.bits), "r"(i.bits), "r"(static_cast<u32>(accumulate)),             \
               "n"(ctas_of(kGroup)), "C"(opcode::Text<kKind>::text)__VA_OPT__(, ) __VA_ARGS__                     \
               : "memory")
#define WW_UMMA(qualifiers, operands, ...)                                                                    \
  if constexpr (kInTensorMemory<A>) WW_UMMA_OF("[%1]", "r", qualifiers, operands __VA_OPT__(, ) __VA_ARGS__); \
  else WW_UMMA_OF("%1", "l", qualifiers, operands __VA_OPT__(, ) __VA_ARGS__)
#define WW_LANES_4 "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3])
#define WW_LANES_8 WW_LANES_4, "r"(w[4]), "r"(w[5]), "r"(w[6]), "r"(w[7])

/// Computes D = A B^T + (accumulate ? D * 2^-kScaleInputD : 0). A is a matrix descriptor or a TensorAddress.
template <MmaKind kKind, CtaGroup kGroup, int kScaleInputD = 0, class A>
WW_DEVICE void mma(TensorAddress d, A a, sm100::MatrixDescriptor b, InstructionDescriptor i, bool accumulate) {
  static_assert(kDenseExists<kKind, kScaleInputD>,
                "tcgen05.mma: expected a kind without block scales, and scale-input-d 0 to 15 (of f8f6f4: 0)");
  if constexpr (kScaleInputD == 0) {
    WW_UMMA("", "p");
  } else {
    WW_UMMA("", "p, %7", "n"(kScaleInputD));
  }
}
/// Does the same, but leaves some lanes of D as they are.
template <MmaKind kKind, CtaGroup kGroup, int kScaleInputD = 0, class A>
WW_DEVICE void mma(TensorAddress d, A a, sm100::MatrixDescriptor b, InstructionDescriptor i, bool accumulate,
                   const DisabledLanes<kGroup>& disabled) {
  static_assert(kDenseExists<kKind, kScaleInputD>,
                "tcgen05.mma: expected a kind without block scales, and scale-input-d 0 to 15 (of f8f6f4: 0)");
  const auto& w = disabled.w;
  if constexpr (kGroup == CtaGroup::one && kScaleInputD == 0) {
    WW_UMMA("", "{%7, %8, %9, %10}, p", WW_LANES_4);
  } else if constexpr (kGroup == CtaGroup::one) {
    WW_UMMA("", "{%7, %8, %9, %10}, p, %11", WW_LANES_4, "n"(kScaleInputD));
  } else if constexpr (kScaleInputD == 0) {
    WW_UMMA("", "{%7, %8, %9, %10, %11, %12, %13, %14}, p", WW_LANES_8);
  } else {
    WW_UMMA("", "{%7, %8, %9, %10, %11, %12, %13, %14}, p, %15", WW_LANES_8, "n"(kScaleInputD));
  }
}
/// Multiplies with block scales, kScaleVector of each row. Their byte in a column is in the descriptor
/// (with_scale_ids).
template <MmaKind kKind, CtaGroup kGroup, int kScaleVector, class A>
WW_DEVICE void mma_scaled(TensorAddress d, A a, sm100::MatrixDescriptor b, InstructionDescriptor i,
                          TensorAddress scale_a, TensorAddress scale_b, bool accumulate) {
  static_assert(kScaledExists<kKind, kScaleVector>,
                "tcgen05.mma: expected scale_vec 1X for mxf8f6f4, 2X for mxf4, 2X or 4X for mxf4nvf4");
  WW_UMMA(".block_scale.scale_vec::%7X", "[%8], [%9], p", "n"(kScaleVector), "r"(scale_a.value), "r"(scale_b.value));
}
#undef WW_UMMA
#undef WW_UMMA_OF
#undef WW_LANES_8
#undef WW_LANES_4

/// Arrives once at `barrier` when the earlier MMAs and copies of this thread are complete.
template <CtaGroup kGroup> WW_DEVICE void commit(MBarrier barrier) {
  asm volatile(
      "tcgen05.commit.cta_group::%1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier.address.value),
      "n"(ctas_of(kGroup))
      : "memory");
}
/// Does the same at the barrier of the same offset in each CTA of `mask`, by cluster rank.
template <CtaGroup kGroup> WW_DEVICE void commit_multicast(MBarrier barrier, u16 mask) {
  asm volatile(
      "tcgen05.commit.cta_group::%2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
          barrier.address.value),
      "h"(mask), "n"(ctas_of(kGroup))
      : "memory");
}
/// Orders earlier tcgen05 instructions of this thread before a synchronisation with other threads.
WW_DEVICE void fence_before() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
/// Orders later tcgen05 instructions of this thread after a synchronisation with other threads.
WW_DEVICE void fence_after() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }

}  // namespace ptx
#else
inline namespace emu {

/// Returns a call with A where it lies.
WW_DEVICE UmmaCall call_of(MmaKind kind, CtaGroup group, TensorAddress d, sm100::MatrixDescriptor a,
                           sm100::MatrixDescriptor b, InstructionDescriptor i, bool accumulate) {
  return {.kind = kind,
          .group = group,
          .accumulate = accumulate,
          .instruction = i.bits,
          .d = d.value,
          .a = a.bits,
          .b = b.bits};
}
WW_DEVICE UmmaCall call_of(MmaKind kind, CtaGroup group, TensorAddress d, TensorAddress a, sm100::MatrixDescriptor b,
                           InstructionDescriptor i, bool accumulate) {
  return {.kind = kind,
          .group = group,
          .accumulate = accumulate,
          .a_in_tensor_memory = true,
          .instruction = i.bits,
          .d = d.value,
          .a = a.value,
          .b = b.bits};
}
template <MmaKind kKind, CtaGroup kGroup, int kScaleInputD = 0, class A>
WW_DEVICE void mma(TensorAddress d, A a, sm100::MatrixDescriptor b, InstructionDescriptor i, bool accumulate WW_SITE) {
  static_assert(kDenseExists<kKind, kScaleInputD>,
                "tcgen05.mma: expected a kind without block scales, and scale-input-d 0 to 15 (of f8f6f4: 0)");
  UmmaCall call = call_of(kKind, kGroup, d, a, b, i, accumulate);
  call.scale_input_d = kScaleInputD;
  sm100_table->mma(call, site);
}
template <MmaKind kKind, CtaGroup kGroup, int kScaleInputD = 0, class A>
WW_DEVICE void mma(TensorAddress d, A a, sm100::MatrixDescriptor b, InstructionDescriptor i, bool accumulate,
                   const DisabledLanes<kGroup>& disabled WW_SITE) {
  static_assert(kDenseExists<kKind, kScaleInputD>,
                "tcgen05.mma: expected a kind without block scales, and scale-input-d 0 to 15 (of f8f6f4: 0)");
  UmmaCall call = call_of(kKind, kGroup, d, a, b, i, accumulate);
  call.scale_input_d = kScaleInputD, call.disabled_lanes = disabled.w;
  sm100_table->mma(call, site);
}
template <MmaKind kKind, CtaGroup kGroup, int kScaleVector, class A>
WW_DEVICE void mma_scaled(TensorAddress d, A a, sm100::MatrixDescriptor b, InstructionDescriptor i,
                          TensorAddress scale_a, TensorAddress scale_b, bool accumulate WW_SITE) {
  static_assert(kScaledExists<kKind, kScaleVector>,
                "tcgen05.mma: expected scale_vec 1X for mxf8f6f4, 2X for mxf4, 2X or 4X for mxf4nvf4");
  UmmaCall call = call_of(kKind, kGroup, d, a, b, i, accumulate);
  call.scale_vector = kScaleVector, call.scale_a = scale_a.value, call.scale_b = scale_b.value;
  sm100_table->mma(call, site);
}
template <CtaGroup kGroup> WW_DEVICE void commit(MBarrier barrier WW_SITE) {
  sm100_table->commit(kGroup, barrier.address.value, 0, site);
}
template <CtaGroup kGroup> WW_DEVICE void commit_multicast(MBarrier barrier, u16 mask WW_SITE) {
  sm100_table->commit(kGroup, barrier.address.value, mask | kMulticast, site);
}
WW_DEVICE void fence_before(WW_SITE_ONLY) { sm100_table->fence(true, site); }
WW_DEVICE void fence_after(WW_SITE_ONLY) { sm100_table->fence(false, site); }

}  // namespace emu
#endif

}  // namespace umma
}  // namespace ww::arch
