// SPDX-License-Identifier: Apache-2.0
// FP64 values of FP32 operations, each with a bound on the error of FP32: the operations of an epilogue tree, and one
// function for each line of WW_EPILOGUE_FUNCTIONS and WW_EPILOGUE_FUNCTIONS_OF_TWO, by its name.
// Every FP32 operation adds half a unit of its result; a function adds its error in units from arch/common/math.hpp and
// passes its operand's error on by its steepest slope.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace ww::ref {

/// A number and the largest error of the computed one; an infinite `error` accepts anything.
struct Bounded {
  double value = 0, error = 0;
};

namespace bounded {

inline constexpr double kHalfUnit = 0x1p-24, kUnit = 0x1p-23, kTiny = 0x1p-149;
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Adds `relative` of the result's size for one or several roundings; accepts anything if FP32 may overflow.
inline Bounded rounded(double value, double error, double relative = kHalfUnit) {
  const double size = std::fabs(value) + error;
  if (!(size < 0x1.fffffep127)) return {value, kInfinity};
  return {value, error + relative * size + kTiny};
}

inline Bounded add(Bounded x, Bounded y) { return rounded(x.value + y.value, x.error + y.error); }
inline double product_error(Bounded x, Bounded y) {
  return std::fabs(x.value) * y.error + std::fabs(y.value) * x.error + x.error * y.error;
}
inline Bounded multiply(Bounded x, Bounded y) { return rounded(x.value * y.value, product_error(x, y)); }
inline Bounded fma(Bounded x, Bounded y, Bounded z) {
  return rounded(x.value * y.value + z.value, product_error(x, y) + z.error);
}
inline Bounded divide(Bounded x, Bounded y) {
  const double size = std::fabs(y.value), least = size - y.error;
  if (!(least > 0)) return {x.value / y.value, kInfinity};  // the computed divisor may be zero
  return rounded(x.value / y.value, (size * x.error + std::fabs(x.value) * y.error) / (size * least));
}
inline Bounded max(Bounded x, Bounded y) {
  return {x.value > y.value || std::isnan(x.value) ? x.value : y.value, std::max(x.error, y.error)};
}
inline Bounded min(Bounded x, Bounded y) {
  return {x.value < y.value || std::isnan(x.value) ? x.value : y.value, std::max(x.error, y.error)};
}
inline Bounded clamp(Bounded x, Bounded low, Bounded high) {
  const double value = x.value < low.value ? low.value : x.value > high.value ? high.value : x.value;
  // Bounds that cross make a step at x = low, and FP32 may be on its other side.
  const bool at_step = std::fabs(x.value - low.value) <= x.error + low.error;
  const double step = at_step ? std::max(low.value - high.value, 0.0) : 0;
  return {value, std::max({x.error, low.error, high.error}) + step};
}

inline double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

inline Bounded relu(Bounded x) { return {std::max(x.value, 0.0), x.error}; }
inline Bounded relu2(Bounded x) { return multiply(relu(x), relu(x)); }
inline Bounded gelu_erf(Bounded x) {  // slope at most 1.13; subnormal results within 3.5 units
  return rounded(x.value * 0.5 * std::erfc(-x.value * 0.70710678118654752), 1.13 * x.error + 3.5 * kTiny, 7 * kUnit);
}
inline Bounded gelu(Bounded x) {
  const double inner = 1.5957691216057308 * (x.value + 0.044715 * x.value * x.value * x.value);
  // The slope is at most 1.13; |z sigmoid'(z)| <= 0.224, and z has six roundings and two constants behind it.
  const double of_inner = std::fabs(x.value) * 0.224 * 8 * kHalfUnit;
  return rounded(x.value * sigmoid_of(inner), 1.13 * x.error + of_inner + 0x1p-149 * std::fabs(x.value), 3.5 * kUnit);
}
inline Bounded silu(Bounded x) {  // slope at most 1.1; 3 units of sigmoid, half a unit of the product
  return rounded(x.value * sigmoid_of(x.value), 1.1 * x.error + 0x1p-149 * std::fabs(x.value), 3.5 * kUnit);
}
inline Bounded quick_gelu(Bounded x) {
  // As silu; and |z sigmoid'(z)| <= 0.224 for z = 1.702 x, which has two roundings, of the product and of its constant.
  const double of_inner = std::fabs(x.value) * 0.224 * 2 * kHalfUnit;
  return rounded(x.value * sigmoid_of(1.702 * x.value), 1.1 * x.error + of_inner + 0x1p-149 * std::fabs(x.value),
                 3.5 * kUnit);
}
inline Bounded sigmoid(Bounded x) { return rounded(sigmoid_of(x.value), x.error / 4, 3 * kUnit); }
inline Bounded tanh(Bounded x) { return rounded(std::tanh(x.value), x.error, 2 * kUnit); }
inline Bounded exp(Bounded x) {
  const double value = std::exp(x.value);
  return rounded(value, value * std::expm1(x.error), kUnit);
}
inline Bounded softcap(Bounded x, Bounded cap) { return multiply(tanh(divide(x, cap)), cap); }

}  // namespace bounded
}  // namespace ww::ref
