// SPDX-License-Identifier: Apache-2.0
// Selects the engine of one tensor-core multiply for this CPU, and sets the floating-point environment in which its
// results are defined. No arithmetic here.
#include "emu/sm90/numerics/mma.hpp"

#include "emu/sm90/numerics/mma_term.hpp"

namespace ww::emu {

void mma_m64_on(MmaTarget target, MmaTypes types, int n, const u8* a, const u8* b, float* d, bool accumulate,
                int scale_a, int scale_b, MmaMath math) {
  [[maybe_unused]] const DefaultFloatingPoint environment;
  const MmaCall call{types.a, types.b, n, a, b, d, accumulate, scale_a < 0, scale_b < 0};
  if (math == MmaMath::fp32_chain) return mma_chain(target, call);
  switch (target) {
    // tf32 uses AVX2, because eight products per 32-bit lane gain too little to justify a third version.
    case MmaTarget::avx512: return types.a == DType::tf32 ? mma_exact_avx2(call) : mma_exact_avx512(call);
    case MmaTarget::avx2: return mma_exact_avx2(call);
    case MmaTarget::portable: return mma_exact_portable(call);
  }
}

void mma_m64(MmaTypes types, int n, const u8* a, const u8* b, float* d, bool accumulate, int scale_a, int scale_b,
             MmaMath math) {
  mma_m64_on(mma_best_target(), types, n, a, b, d, accumulate, scale_a, scale_b, math);
}

}  // namespace ww::emu
