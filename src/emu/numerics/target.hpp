// SPDX-License-Identifier: Apache-2.0
// The two arithmetics of the emulated tensor cores, and the instruction sets of this CPU that can execute them.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ww::emu {

/// `exact` is the hardware's fused sum; `fp32_chain` is d = fma(a[k], b[k], d) in FP32 for k = 0, 1, ...
enum class MmaMath { exact, fp32_chain };

/// The instruction set that executes the arithmetic. It changes the time, never a bit.
enum class MmaTarget { portable, avx2, avx512 };

/// Returns the widest target that this CPU supports, and whether it supports a given one.
MmaTarget mma_best_target();
bool mma_supports(MmaTarget target);

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

}  // namespace ww::emu
