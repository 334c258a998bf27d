// SPDX-License-Identifier: Apache-2.0
// tcgen05.mma of one CTA and of a pair: every kind, A from shared and from tensor memory, lanes that are left as they
// are, D that is scaled, block scales; commit to one and to several CTAs.
#pragma once

#include "sm100_tensor.hpp"

namespace ww::arch_test {

using arch::MmaKind;
using arch::TensorAddress;
using arch::sm100::MatrixDescriptor;

inline constexpr u32 kAColumn = 256, kScaleColumn = 384;  // of 512: D, A in tensor memory, scales

/// Input, one part after the other: D (lane, column) for each CTA; then for each CTA the image of A, the image of B,
/// and 512 bytes of scales of A and as many of B. arg:
///   [0] instruction descriptor  [1] columns of D         [2] accumulate at the first instruction
///   [3] instructions            [4], [5] bytes of A, B   [6], [7] step of A, B; of A in tensor memory in columns
///   [8..10] swizzle, leading offset and stride of A      [11..13] of B
///   [14], [15] two words of lanes that are left as they are: the first two of each CTA
struct MmaInput {
  const u32 *d, *a, *b, *scales;
};
WW_DEVICE MmaInput input_of(const Params& p, u32 ctas) {
  const u32 rank = ctas == 1 ? 0 : arch::cluster_rank(), columns = static_cast<u32>(p.arg[1]);
  const u32 a = static_cast<u32>(p.arg[4]) / 4, b = static_cast<u32>(p.arg[5]) / 4;
  const u32* const own = p.in + ctas * 128 * columns + rank * (a + b + 256);
  return {p.in + rank * 128 * columns, own, own + a, own + a + b};
}
WW_DEVICE MatrixDescriptor descriptor_of(const Params& p, arch::SharedAddress image, int first) {
  return arch::sm100::make_descriptor(image, static_cast<arch::sm100::MatrixSwizzle>(p.arg[first]),
                                      static_cast<u32>(p.arg[first + 1]), static_cast<u32>(p.arg[first + 2]));
}

/// Multiplies arg[3] times and writes D of each CTA (lane, column).
// `issue` gets what an instruction takes: D, number, descriptor of A, address of A, descriptor of B, accumulate.
template <CtaGroup kGroup, bool kScales, class Issue> WW_DEVICE void multiply(const Params& p, Issue issue) {
  constexpr u32 kCtas = arch::ctas_of(kGroup);
  const MmaInput in = input_of(p, kCtas);
  const u32 columns = static_cast<u32>(p.arg[1]);
  const arch::SharedAddress head = arch::dynamic_shared(), a = head + kHead, b = a + static_cast<u32>(p.arg[4]),
                            scales = b + static_cast<u32>(p.arg[5]);
  const arch::MBarrier done{head};
  const TensorAddress d = allocate<kGroup>(512);
  copy_in(in.a, a, static_cast<u32>(p.arg[4] + p.arg[5]) / 4 + 256);
  fill(d, columns, in.d);
  if (p.arg[4] >= 128 * 32 * 4) fill(d + kAColumn, 32, in.a);  // A as tensor memory has it: (lane, column)
  arch::fence::proxy_async_shared();
  sync_tensor<kGroup>();
  if ((kCtas == 1 || arch::cluster_rank() == 0) && arch::warp_index() == 0 && arch::warp::elect()) {
    if constexpr (kScales)
      for (u32 operand = 0; operand < 2; ++operand)
        arch::tensor::copy<kGroup, arch::CopyShape::rows32_bits128_all>(
            d + kScaleColumn + 4 * operand,
            arch::sm100::make_descriptor(scales + 512 * operand, arch::sm100::MatrixSwizzle::none, 0, 128));
    for (u32 i = 0; i < static_cast<u32>(p.arg[3]); ++i)
      issue(d, i, descriptor_of(p, a, 8) + i * static_cast<u32>(p.arg[6]),
            d + kAColumn + i * static_cast<u32>(p.arg[6]), descriptor_of(p, b, 11) + i * static_cast<u32>(p.arg[7]),
            i > 0 || p.arg[2] != 0);
    if constexpr (kCtas == 1) arch::umma::commit<kGroup>(done);
    else arch::umma::commit_multicast<kGroup>(done, 3);
  }
  arch::mbarrier::wait(done, 0);
  arch::umma::fence_after();
  read_back(p.out + (kCtas == 1 ? 0 : arch::cluster_rank()) * 128 * columns, d, columns);
  release<kGroup>(d, 512);
}

template <MmaKind kKind, CtaGroup kGroup, int kScaleInputD = 0> WW_DEVICE void mma_shared(const Params& p) {
  const arch::InstructionDescriptor i{static_cast<u32>(p.arg[0])};
  multiply<kGroup, false>(
      p, [&](TensorAddress d, u32, MatrixDescriptor a, TensorAddress, MatrixDescriptor b, bool accumulate) {
        arch::umma::mma<kKind, kGroup, kScaleInputD>(d, a, b, i, accumulate);
      });
}
template <MmaKind kKind, CtaGroup kGroup> WW_DEVICE void mma_tensor(const Params& p) {
  const arch::InstructionDescriptor i{static_cast<u32>(p.arg[0])};
  multiply<kGroup, false>(p, [&](TensorAddress d, u32, MatrixDescriptor, TensorAddress a, MatrixDescriptor b,
                                 bool accumulate) { arch::umma::mma<kKind, kGroup>(d, a, b, i, accumulate); });
}
template <MmaKind kKind, CtaGroup kGroup, int kScaleInputD> WW_DEVICE void mma_lanes(const Params& p) {
  const arch::InstructionDescriptor i{static_cast<u32>(p.arg[0])};
  arch::DisabledLanes<kGroup> lanes{};
  for (int cta = 0; cta < arch::ctas_of(kGroup); ++cta)
    lanes.w[4 * cta] = static_cast<u32>(p.arg[14]), lanes.w[4 * cta + 1] = static_cast<u32>(p.arg[15]);
  multiply<kGroup, false>(
      p, [&](TensorAddress d, u32, MatrixDescriptor a, TensorAddress, MatrixDescriptor b, bool accumulate) {
        arch::umma::mma<kKind, kGroup, kScaleInputD>(d, a, b, i, accumulate, lanes);
      });
}
/// Instruction i reads the scales from byte i kScaleVector of the columns on.
template <MmaKind kKind, CtaGroup kGroup, int kScaleVector> WW_DEVICE void mma_scaled(const Params& p) {
  const arch::InstructionDescriptor first{static_cast<u32>(p.arg[0])};
  multiply<kGroup, true>(
      p, [&](TensorAddress d, u32 number, MatrixDescriptor a, TensorAddress, MatrixDescriptor b, bool accumulate) {
        const arch::InstructionDescriptor i = first.with_scale_ids(number * kScaleVector, number * kScaleVector);
        arch::umma::mma_scaled<kKind, kGroup, kScaleVector>(d, a, b, i, d + kScaleColumn, d + (kScaleColumn + 4),
                                                            accumulate);
      });
}

#define WW_TEST_UMMA(name, ...)                                                                              \
  WW_KERNEL(arch_sm100_mma_##name, 128, Params, p) { mma_shared<MmaKind::name, CtaGroup::one>(p); }          \
  WW_KERNEL(arch_sm100_mma_##name##_tensor, 128, Params, p) { mma_tensor<MmaKind::name, CtaGroup::one>(p); } \
  WW_KERNEL(arch_sm100_pair_mma_##name, 128, Params, p) { mma_shared<MmaKind::name, CtaGroup::pair>(p); }    \
  WW_KERNEL(arch_sm100_pair_mma_##name##_tensor, 128, Params, p) { mma_tensor<MmaKind::name, CtaGroup::pair>(p); }
WW_TEST_UMMA(f16)
WW_TEST_UMMA(tf32)
WW_TEST_UMMA(f8f6f4)
WW_KERNEL(arch_sm100_mma_scaled_d, 128, Params, p) { mma_shared<MmaKind::f16, CtaGroup::one, 3>(p); }
WW_KERNEL(arch_sm100_mma_lanes, 128, Params, p) { mma_lanes<MmaKind::f16, CtaGroup::one, 0>(p); }
WW_KERNEL(arch_sm100_mma_lanes_scaled_d, 128, Params, p) { mma_lanes<MmaKind::tf32, CtaGroup::one, 2>(p); }
WW_KERNEL(arch_sm100_pair_mma_lanes, 128, Params, p) { mma_lanes<MmaKind::f8f6f4, CtaGroup::pair, 0>(p); }
#define WW_TEST_SCALED_UMMA(name, kind, vector)                                                             \
  WW_KERNEL(arch_sm100_mma_##name, 128, Params, p) { mma_scaled<MmaKind::kind, CtaGroup::one, vector>(p); } \
  WW_KERNEL(arch_sm100_pair_mma_##name, 128, Params, p) { mma_scaled<MmaKind::kind, CtaGroup::pair, vector>(p); }
WW_TEST_SCALED_UMMA(mxf8f6f4, mxf8f6f4, 1)
WW_TEST_SCALED_UMMA(mxf4, mxf4, 2)
WW_TEST_SCALED_UMMA(mxf4nvf4_2x, mxf4nvf4, 2)
WW_TEST_SCALED_UMMA(mxf4nvf4_4x, mxf4nvf4, 4)

}  // namespace ww::arch_test
