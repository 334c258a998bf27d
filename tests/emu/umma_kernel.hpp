// SPDX-License-Identifier: Apache-2.0
// Provides the kernels of the tests of the checker's rules for tcgen05 with a CTA's barriers and operands in shared
// memory, and with MMAs of zeros onto columns of tensor memory.
#pragma once

#include "sm100_harness.hpp"

namespace ww::emu::test {

using arch::sm100::MatrixSwizzle;
using arch::sm100::MmaInstruction;

inline constexpr u32 kFull = 16, kEmpty = 24, kOther = 32, kA = 1024, kB = 1024 + 4096, kScales = kB + 8192;
inline constexpr Shape kCta{.threads = 160, .shared_bytes = 16384};
inline constexpr Shape kPair{.threads = 160, .grid = 2, .cluster = 2, .shared_bytes = 16384};
inline constexpr u32 kColumns = 64;

inline u64 descriptor(u32 address) {
  return arch::sm100::make_descriptor({address}, MatrixSwizzle::none, 2048, 128).bits;
}
inline u64 descriptor_b(u32 address) {
  return arch::sm100::make_descriptor({address}, MatrixSwizzle::none, 1024, 128).bits;
}
/// Returns an MMA of the operands at kA and kB in bf16 onto the `n` columns from `d` on.
inline arch::UmmaCall mma_of(u32 d, int n, bool accumulate, CtaGroup group = CtaGroup::one) {
  MmaInstruction i{.a = MmaFormat::bf16, .b = MmaFormat::bf16, .m = group == CtaGroup::pair ? 256 : 128, .n = n};
  return {.kind = MmaKind::f16,
          .group = group,
          .accumulate = accumulate,
          .instruction = arch::sm100::encode(i).bits,
          .d = d,
          .a = descriptor(shared_base() + kA),
          .b = descriptor_b(shared_base() + kB)};
}
/// Returns an MMA of FP8 operands onto D with the shape of mma_of().
inline arch::UmmaCall other_kind(u32 d, int n) {
  arch::UmmaCall call = mma_of(d, n, true);
  const MmaInstruction i{.kind = MmaKind::f8f6f4, .a = MmaFormat::e4m3, .b = MmaFormat::e4m3, .m = 128, .n = n};
  call.kind = i.kind, call.instruction = arch::sm100::encode(i).bits;
  return call;
}

/// Initialises the barriers at kFull, kEmpty and kOther; kEmpty counts `releases` arrivals.
inline void init_barriers(u32 releases) {
  if (thread_index() != 0) return;
  t().mbarrier_init(shared_base() + kFull, 1, here());
  t().mbarrier_init(shared_base() + kEmpty, releases, here());
  t().mbarrier_init(shared_base() + kOther, 1, here());
  t().fence(arch::Fence::mbarrier_init, here());
}
/// Writes zeros to the operands and scales by ordinary stores, and makes them visible to the tensor core if `fence`.
inline void write_operands(bool fence) {
  for (u32 at = kA + 16 * thread_index(); at < kScales + 512; at += 160 * 16)
    std::memset(t().shared_access(shared_base() + at, 16, arch::Access::write, arch::kWeak, here()), 0, 16);
  if (fence) t().fence(arch::Fence::proxy_async_shared, here());
}
inline void wait_for(u32 barrier, u32 parity, Site site = here()) {
  t().mbarrier_wait(shared_base() + barrier, parity, arch::kAcquireCta, site);
}

}  // namespace ww::emu::test
