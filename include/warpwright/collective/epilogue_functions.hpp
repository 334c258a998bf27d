// SPDX-License-Identifier: Apache-2.0
// The FP32 form of each function of an epilogue tree: one function for each line of WW_EPILOGUE_FUNCTIONS, by its name,
// from the operations of arch/math.hpp, so that both executors give the same bits.
#pragma once

#include "warpwright/arch/math.hpp"
#include "warpwright/collective/epilogue_nodes.hpp"

namespace ww::collective::epilogue {

WW_DEVICE float relu(float x) { return x <= 0.0f ? 0.0f : x; }
WW_DEVICE float relu2(float x) { return arch::mul(relu(x), relu(x)); }
/// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, as x sigmoid(2 ...), which does not cancel for negative x.
WW_DEVICE float gelu(float x) {
  const float inner = arch::fma(arch::mul(x, x), 0x1.2444f2p-4f, 0x1.988454p0f);  // 2 sqrt(2 / pi) {0.044715, 1}
  return arch::mul(x, arch::sigmoid(arch::mul(x, inner)));
}
WW_DEVICE float silu(float x) { return arch::mul(x, arch::sigmoid(x)); }
WW_DEVICE float sigmoid(float x) { return arch::sigmoid(x); }
WW_DEVICE float tanh(float x) { return arch::tanh(x); }

WW_DEVICE float clamp(float x, float low, float high) { return x < low ? low : x > high ? high : x; }

/// The function of node `kOp`; x itself where the node is none of them.
template <EpilogueOp kOp> WW_DEVICE float function(float x) {
#define WW_EPILOGUE_CASE(name, formula) \
  if constexpr (kOp == EpilogueOp::name) return name(x);
  WW_EPILOGUE_FUNCTIONS(WW_EPILOGUE_CASE)
#undef WW_EPILOGUE_CASE
  return x;
}

}  // namespace ww::collective::epilogue
