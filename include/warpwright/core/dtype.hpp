// SPDX-License-Identifier: Apache-2.0
// Element types as values, for configs, kernels and file readers.
// Storage types of the same names hold the bits and nothing else; arithmetic on them is in arch/common/convert.hpp.
#pragma once

#include "warpwright/core/numbers.hpp"

namespace ww {

/// tf32 is an operand type: FP32 in memory, of which the tensor core reads the upper 19 bits.
enum class DType : u8 { e4m3, bf16, f16, f32, e5m2, tf32 };

// Spelled as in the public API: `.a = ww::e4m3`.
inline constexpr DType e4m3 = DType::e4m3;
inline constexpr DType bf16 = DType::bf16;
inline constexpr DType f16 = DType::f16;
inline constexpr DType f32 = DType::f32;
inline constexpr DType e5m2 = DType::e5m2;
inline constexpr DType tf32 = DType::tf32;

/// Returns the size of one element in bytes.
WW_HOST_DEVICE constexpr int bytes_of(DType type) {
  return type == DType::e4m3 || type == DType::e5m2 ? 1 : type == DType::f32 || type == DType::tf32 ? 4 : 2;
}

/// Returns whether the type has one byte; any mix of the two such types can be multiplied.
WW_HOST_DEVICE constexpr bool is_fp8(DType type) { return bytes_of(type) == 1; }

/// Returns the name used in configs, flags and reports.
WW_HOST_DEVICE constexpr const char* name_of(DType type) {
  return type == DType::e4m3   ? "e4m3"
         : type == DType::bf16 ? "bf16"
         : type == DType::f16  ? "f16"
         : type == DType::e5m2 ? "e5m2"
         : type == DType::tf32 ? "tf32"
                               : "f32";
}

/// The extent of an operand that is contiguous in memory: K, or the other one (M of A, N of B).
enum class Major : u8 { k, mn };
WW_HOST_DEVICE constexpr const char* name_of(Major major) { return major == Major::k ? "k" : "mn"; }

/// The bits of one element.
struct e4m3_t {
  u8 bits;
};
struct e5m2_t {
  u8 bits;
};
struct bf16_t {
  u16 bits;
};
struct f16_t {
  u16 bits;
};

template <DType kType> struct storage;
template <> struct storage<DType::e4m3> { using type = e4m3_t; };
template <> struct storage<DType::e5m2> { using type = e5m2_t; };
template <> struct storage<DType::tf32> { using type = float; };
template <> struct storage<DType::bf16> { using type = bf16_t; };
template <> struct storage<DType::f16> { using type = f16_t; };
template <> struct storage<DType::f32> { using type = float; };
template <DType kType> using storage_t = typename storage<kType>::type;

}  // namespace ww
