// SPDX-License-Identifier: Apache-2.0
// Selects the engine of one tcgen05.mma for this CPU, and sets the floating-point environment in which its results are
// defined. No arithmetic here.
#include "emu/sm100/numerics/umma.hpp"

#include "emu/sm100/numerics/umma_term.hpp"

namespace ww::emu::sm100 {

void multiply_on(MmaTarget target, const UmmaArithmetic& how, int m, int n, const u8* a, const u8* b, const u8* scale_a,
                 const u8* scale_b, u32* d, int stride, bool accumulate, MmaMath math) {
  [[maybe_unused]] const DefaultFloatingPoint environment;
  const Call call{how, m, n, a, b, scale_a, scale_b, d, stride, accumulate};
  if (math == MmaMath::fp32_chain) return chain(target, call);
  const bool groups = arch::sm100::mma_k(how.kind) == kGroups * kGroup;
  switch (target) {
    case MmaTarget::avx512: return groups ? groups_avx512(call) : products_avx512(call);
    case MmaTarget::avx2: return groups ? groups_avx2(call) : products_avx2(call);
    case MmaTarget::portable: return groups ? groups_portable(call) : products_portable(call);
  }
}

void multiply(const UmmaArithmetic& how, int m, int n, const u8* a, const u8* b, const u8* scale_a, const u8* scale_b,
              u32* d, int stride, bool accumulate, MmaMath math) {
  multiply_on(mma_best_target(), how, m, n, a, b, scale_a, scale_b, d, stride, accumulate, math);
}

}  // namespace ww::emu::sm100
