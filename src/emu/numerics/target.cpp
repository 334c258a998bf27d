// SPDX-License-Identifier: Apache-2.0
// Asks this CPU for the instruction sets of target.hpp.
#include "emu/numerics/target.hpp"

namespace ww::emu {

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

}  // namespace ww::emu
