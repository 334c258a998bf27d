// SPDX-License-Identifier: Apache-2.0
// Selects the engine of one tensor-core multiply for this CPU, and sets the floating-point environment in which its
// results are defined. No arithmetic here.
#include "emu/sm90/numerics/mma.hpp"

#include "emu/sm90/numerics/mma_term.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ww::emu {
namespace {

#if defined(__x86_64__)
/// Sets round to nearest, subnormals kept, no traps, for its lifetime.
// A host program may run its threads with flush-to-zero, because any library linked with -ffast-math sets it.
class DefaultFloatingPoint {
 public:
  DefaultFloatingPoint() : saved_(_mm_getcsr()) { _mm_setcsr(0x1F80); }
  ~DefaultFloatingPoint() { _mm_setcsr(saved_); }
  DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
  DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;

 private:
  unsigned saved_;
};
#else
struct DefaultFloatingPoint {};
#endif

}  // namespace

bool mma_supports(MmaTarget target) {
#if defined(__x86_64__)
  if (target == MmaTarget::avx512) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vpopcntdq");
  }
  if (target == MmaTarget::avx2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
  return target == MmaTarget::portable;
}

MmaTarget mma_best_target() {
  // A constant of the machine, determined once; the initialisation of a local static is thread-safe.
  static const MmaTarget best = mma_supports(MmaTarget::avx512) ? MmaTarget::avx512
                                : mma_supports(MmaTarget::avx2) ? MmaTarget::avx2
                                                                : MmaTarget::portable;
  return best;
}

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
