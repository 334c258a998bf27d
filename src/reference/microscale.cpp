// SPDX-License-Identifier: Apache-2.0
// One block at a time: amax, scale, elements. Powers of two are exact in FP64; NVFP4 follows the FP32 operations of the
// kernel, because their roundings decide bits.
#include "reference/microscale.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "reference/element.hpp"
#include "warpwright/core/scale_chunks.hpp"

namespace ww::ref {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Scaling {
  std::uint8_t byte = 0;
  double factor = 0;
};

/// Returns the least power of two that brings amax to the range of the type.
Scaling power_of_two(DType type, double amax) {
  if (std::isnan(amax)) return {255, kNan};
  int exponent = -127;
  const double largest = format_of(type).largest;
  const double bounded = std::min(amax, std::ldexp(1.0, 128) * 1.0);  // Inf counts as 2^128
  while (exponent < 127 && bounded > std::ldexp(largest, exponent)) ++exponent;
  return {static_cast<std::uint8_t>(exponent + 127), std::ldexp(1.0, -exponent)};
}

Scaling e4m3_scale(float amax, float inverse) {
  const float wanted = amax / 6.0f * inverse;
  if (std::isnan(wanted)) return {0x7f, kNan};
  const auto byte = static_cast<std::uint8_t>(encode(DType::e4m3, std::min(double{wanted}, 1e9)));
  return {byte, byte == 0 ? 0.0 : double{inverse / static_cast<float>(decode_e4m3(byte))}};
}

/// Returns the code of x times the factor, which FP32 rounds under nv.
std::uint8_t element(DType type, double x, double factor) {
  const double value = static_cast<float>(x * factor);
  const int top = (1 << (bits_of(type) - 1)) - 1;  // NaN of FP8; the largest number of packed types, which have no NaN
  if (std::isnan(value)) return static_cast<std::uint8_t>(top);
  return static_cast<std::uint8_t>(encode(type, std::clamp(value, -1e30, 1e30)));
}

}  // namespace

void microscale(const MicroscaleProblem& p, const MicroscaleOperands& o) {
  const std::int64_t vector = scale_vector(p.scale), scales = ceil_div(p.k, vector);
  const std::int64_t chunks = scale_chunks(p.k, scale_vector(p.scale));
  const float inverse = o.tensor_scale != nullptr ? 1.0f / *o.tensor_scale : 1.0f;
  for (std::int64_t l = 0; l < p.batch; ++l) {
    const auto* const x = static_cast<const std::byte*>(o.x) + bytes_in(p.x, l * p.batch_x);
    auto* const q = static_cast<std::byte*>(o.q) + bytes_in(p.q, l * p.batch_q);
    std::uint8_t* const to = o.scales + l * p.batch_scales;
    if (p.chunked) std::memset(to, 0, static_cast<std::size_t>(scale_bytes(p.m, p.k, scale_vector(p.scale))));
    for (std::int64_t row = 0; row < p.m; ++row) {
      const std::byte* const from = x + bytes_in(p.x, row * p.ldx);
      std::byte* const made = q + bytes_in(p.q, row * p.ldq);
      for (std::int64_t block = 0; block < scales; ++block) {
        const std::int64_t first = block * vector, end = std::min(p.k, first + vector);
        double amax = 0;
        for (std::int64_t k = first; k < end; ++k) {
          const double magnitude = std::fabs(decode_at(p.x, from, k));
          if (std::isnan(magnitude) || magnitude > amax) amax = magnitude;
          if (std::isnan(amax)) break;
        }
        const Scaling scaling =
            p.scale == Scale::mx ? power_of_two(p.q, amax) : e4m3_scale(static_cast<float>(amax), inverse);
        to[p.chunked ? scale_place(row, block, chunks) : row * scales + block] = scaling.byte;
        for (std::int64_t k = first; k < end; ++k) {
          const std::uint8_t code = element(p.q, decode_at(p.x, from, k), scaling.factor);
          if (is_packed(p.q)) set_packed_code(p.q, made, k, code);
          else made[k] = static_cast<std::byte>(code);
        }
      }
    }
  }
}

}  // namespace ww::ref
