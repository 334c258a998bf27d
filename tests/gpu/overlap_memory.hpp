// SPDX-License-Identifier: Apache-2.0
// Numbers for chains of launches, and the buffers that go from launch to launch.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>

#include "overlap_chain.hpp"
#include "warpwright/core/meta.hpp"

namespace ww::gpu_test {

/// The buffers of one matrix or vector: what link i reads is of(i), what it writes of(i + 1).
class Ring {
 public:
  Ring(Chain& chain, const Setting& setting, const std::string& name, const Bytes& first, std::optional<DType> type) {
    const int count = setting.slots == Slots::every ? setting.links + 1 : 2;
    for (int i = 0; i < count; ++i)
      slots_.push_back(
          chain.watched(fmt::format("{} {}", name, i), i == 0 ? first : Bytes(first.size(), 0xff), type));  // NaN
  }
  void* of(int link) const { return slots_[static_cast<std::size_t>(link) % slots_.size()]; }
  std::size_t size() const { return slots_.size(); }
  void* const* data() const { return slots_.data(); }

 private:
  std::vector<void*> slots_;
};

inline constexpr std::int64_t kDrawn = 1'000'003;  // a prime, so that rows of a matrix start at different positions

/// `count` numbers of size 1 to 2, times 2^exponent, of both signs and every mantissa; after kDrawn they come again.
inline Bytes numbers(DType type, std::int64_t count, int exponent, std::uint64_t seed) {
  const int size = bytes_of(type), mantissa = type == f32 ? 23 : type == bf16 ? 7 : 3, bias = type == e4m3 ? 7 : 127;
  std::mt19937_64 rng(seed);
  Bytes bytes(static_cast<std::size_t>(count * size));
  for (std::int64_t i = 0; i < std::min(count, kDrawn); ++i) {
    const auto random = static_cast<std::uint32_t>(rng() >> 32);
    const std::uint32_t bits = random >> 31 << (8 * size - 1) |
                               static_cast<std::uint32_t>(bias + exponent) << mantissa |
                               (random & ((1u << mantissa) - 1));
    std::memcpy(&bytes[static_cast<std::size_t>(i * size)], &bits, static_cast<std::size_t>(size));
  }
  const auto drawn = static_cast<std::size_t>(kDrawn * size);
  for (std::size_t at = drawn; at < bytes.size(); at += drawn)
    std::memcpy(&bytes[at], bytes.data(), std::min(drawn, bytes.size() - at));
  return bytes;
}

/// The exponent with which a sum of K products by such numbers stays of the size of the other factor.
inline int shrinking(std::int64_t k) { return -(std::bit_width(static_cast<std::uint64_t>(k))) / 2; }

/// Positive FP32 scales near 2^exponent.
inline std::vector<float> scales(std::int64_t count, int exponent, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::vector<float> made(static_cast<std::size_t>(count));
  for (float& scale : made) scale = std::ldexp(0.75f + static_cast<float>(rng() % 1024) / 2048.0f, exponent);
  return made;
}

}  // namespace ww::gpu_test
