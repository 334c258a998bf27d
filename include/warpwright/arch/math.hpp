// SPDX-License-Identifier: Apache-2.0
// FP32 arithmetic that means the same on both executors. A multiply-add is written as fma; nothing else is ever fused
// (-fmad=false for PTX, -ffp-contract=off on the host). PTX ISA: fma.rn, mul.rn, add.rn.
#pragma once

#include "warpwright/arch/executor.hpp"

namespace ww::arch {

#if defined(__CUDACC__)
inline namespace ptx {
WW_DEVICE float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
WW_DEVICE float mul(float a, float b) { return __fmul_rn(a, b); }
WW_DEVICE float add(float a, float b) { return __fadd_rn(a, b); }
}  // namespace ptx
#else
inline namespace emu {
WW_DEVICE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
WW_DEVICE float mul(float a, float b) { return a * b; }
WW_DEVICE float add(float a, float b) { return a + b; }
}  // namespace emu
#endif

}  // namespace ww::arch
