// SPDX-License-Identifier: Apache-2.0
// The FP32 form of each operation of an epilogue tree: one function for each line of WW_EPILOGUE_FUNCTIONS and
// WW_EPILOGUE_FUNCTIONS_OF_TWO, with its name. They use the operations of arch/common/math.hpp, so that both executors
// produce the same bits.
#pragma once

#include "warpwright/arch/common/math.hpp"
#include "warpwright/config/epilogue_nodes.hpp"

namespace ww::epilogue::functions {

WW_DEVICE float relu(float x) { return x <= 0.0f ? 0.0f : x; }
WW_DEVICE float relu2(float x) { return arch::mul(relu(x), relu(x)); }
WW_DEVICE float gelu_erf(float x) { return arch::gelu_erf(x); }
/// Returns x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, computed as x sigmoid(2 ...), which does not cancel for
/// negative x.
WW_DEVICE float gelu(float x) {
  const float inner = arch::fma(arch::mul(x, x), 0x1.2444f2p-4f, 0x1.988454p0f);  // 2 sqrt(2 / pi) {0.044715, 1}
  return arch::mul(x, arch::sigmoid(arch::mul(x, inner)));
}
WW_DEVICE float silu(float x) { return arch::mul(x, arch::sigmoid(x)); }
WW_DEVICE float sigmoid(float x) { return arch::sigmoid(x); }
WW_DEVICE float tanh(float x) { return arch::tanh(x); }
WW_DEVICE float exp(float x) { return arch::exp(x); }
WW_DEVICE float quick_gelu(float x) { return arch::mul(x, arch::sigmoid(arch::mul(x, 1.702f))); }

// Equal operands have equal bits unless they are zeros, whose sign `&` and `|` select.
WW_DEVICE float max(float x, float y) {
  if (x != x || y != y) return arch::float_of(arch::kNanBits);
  return x > y ? x : y > x ? y : arch::float_of(arch::bits_of(x) & arch::bits_of(y));
}
WW_DEVICE float min(float x, float y) {
  if (x != x || y != y) return arch::float_of(arch::kNanBits);
  return x < y ? x : y < x ? y : arch::float_of(arch::bits_of(x) | arch::bits_of(y));
}
WW_DEVICE float softcap(float x, float cap) { return arch::mul(tanh(arch::div(x, cap)), cap); }

WW_DEVICE float clamp(float x, float low, float high) { return x < low ? low : x > high ? high : x; }

/// Applies node `kOp` to one operand; returns x if the node is not a function.
template <EpilogueOp kOp> WW_DEVICE float function(float x) {
  // clang-format off
#define WW_EPILOGUE_CASE(name, formula) if constexpr (kOp == EpilogueOp::name) return name(x); else
  WW_EPILOGUE_FUNCTIONS(WW_EPILOGUE_CASE)
#undef WW_EPILOGUE_CASE
  return x;
  // clang-format on
}
/// Applies node `kOp` to two operands.
template <EpilogueOp kOp> WW_DEVICE float function(float x, float y) {
  // clang-format off
#define WW_EPILOGUE_CASE(name, formula) if constexpr (kOp == EpilogueOp::name) return name(x, y); else
  WW_EPILOGUE_FUNCTIONS_OF_TWO(WW_EPILOGUE_CASE)
#undef WW_EPILOGUE_CASE
  if constexpr (kOp == EpilogueOp::add) return arch::add(x, y);
  else if constexpr (kOp == EpilogueOp::multiply) return arch::mul(x, y);
  else return arch::div(x, y);
  // clang-format on
}

}  // namespace ww::epilogue::functions
