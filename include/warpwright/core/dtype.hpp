// SPDX-License-Identifier: Apache-2.0
// Element types as values, for configs, kernels and file readers.
// Storage types of the same names hold the bits and nothing else; arithmetic on them is in arch/common/convert.hpp.
#pragma once

#include "warpwright/core/numbers.hpp"

namespace ww {

/// tf32 is an operand type: FP32 in memory, of which the tensor core reads the upper 19 bits.
/// e2m1 has 4 bits, two elements a byte, the first in the low nibble. e3m2 and e2m3 have 6 bits, four elements in three
/// bytes, the first in the lowest bits. Only sm_100 multiplies them. e8m0 is a type of scales: 2^(bits - 127).
enum class DType : u8 { e4m3, bf16, f16, f32, e5m2, tf32, e2m1, e3m2, e2m3, e8m0 };

// Spelled as in the public API: `.a = ww::e4m3`.
inline constexpr DType e4m3 = DType::e4m3;
inline constexpr DType bf16 = DType::bf16;
inline constexpr DType f16 = DType::f16;
inline constexpr DType f32 = DType::f32;
inline constexpr DType e5m2 = DType::e5m2;
inline constexpr DType tf32 = DType::tf32;
inline constexpr DType e2m1 = DType::e2m1;
inline constexpr DType e3m2 = DType::e3m2;
inline constexpr DType e2m3 = DType::e2m3;
inline constexpr DType e8m0 = DType::e8m0;

/// Returns the size of one element in bits.
WW_HOST_DEVICE constexpr int bits_of(DType type) {
  return type == DType::e4m3 || type == DType::e5m2 || type == DType::e8m0 ? 8
         : type == DType::f32 || type == DType::tf32                       ? 32
         : type == DType::bf16 || type == DType::f16                       ? 16
         : type == DType::e2m1                                             ? 4
                                                                           : 6;
}
/// Returns whether several elements share a byte: e2m1, e3m2 and e2m3.
WW_HOST_DEVICE constexpr bool is_packed(DType type) { return bits_of(type) < 8; }

/// Not constexpr, so that a constant expression that asks for the bytes of a packed type does not compile.
WW_HOST_DEVICE int bytes_of_packed_element() { return 1; }
/// Returns the size of one element in bytes, which packed types do not have: a constant expression that asks for it is
/// refused by the compiler, and host code gets 1, which is too much. Use bits_of() and bytes_in() where a type may be
/// packed.
WW_HOST_DEVICE constexpr int bytes_of(DType type) {
  return is_packed(type) ? bytes_of_packed_element() : bits_of(type) / 8;
}
/// Returns the bytes of `elements` consecutive elements, the first of which starts a byte.
WW_HOST_DEVICE constexpr i64 bytes_in(DType type, i64 elements) { return (elements * bits_of(type) + 7) / 8; }
/// Returns the least number of elements that fill whole bytes: 2 of e2m1, 4 of e3m2 and e2m3, else 1.
WW_HOST_DEVICE constexpr int elements_per_unit(DType type) {
  return bits_of(type) == 4 ? 2 : bits_of(type) == 6 ? 4 : 1;
}

/// Returns the elements of which K and the rows of an operand are multiples: 16 bytes of them, and 128 of e3m2 and
/// e2m3, which TMA widens by units of 128.
WW_HOST_DEVICE constexpr int row_multiple(DType type) { return bits_of(type) == 6 ? 128 : 16 * 8 / bits_of(type); }

/// Returns whether the type is e4m3 or e5m2; any mix of the two can be multiplied.
WW_HOST_DEVICE constexpr bool is_fp8(DType type) { return type == DType::e4m3 || type == DType::e5m2; }
/// Returns whether tcgen05.mma of kind f8f6f4 takes the type, in any mix: e4m3, e5m2, e3m2, e2m3 and e2m1.
WW_HOST_DEVICE constexpr bool is_f8f6f4(DType type) { return is_fp8(type) || is_packed(type); }

/// Returns the name used in configs, flags and reports.
WW_HOST_DEVICE constexpr const char* name_of(DType type) {
  return type == DType::e4m3   ? "e4m3"
         : type == DType::bf16 ? "bf16"
         : type == DType::f16  ? "f16"
         : type == DType::e5m2 ? "e5m2"
         : type == DType::tf32 ? "tf32"
         : type == DType::e2m1 ? "e2m1"
         : type == DType::e3m2 ? "e3m2"
         : type == DType::e2m3 ? "e2m3"
         : type == DType::e8m0 ? "e8m0"
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
struct e8m0_t {
  u8 bits;
};

/// Packed types have no storage of one element.
template <DType kType> struct storage;
template <> struct storage<DType::e4m3> { using type = e4m3_t; };
template <> struct storage<DType::e5m2> { using type = e5m2_t; };
template <> struct storage<DType::e8m0> { using type = e8m0_t; };
template <> struct storage<DType::tf32> { using type = float; };
template <> struct storage<DType::bf16> { using type = bf16_t; };
template <> struct storage<DType::f16> { using type = f16_t; };
template <> struct storage<DType::f32> { using type = float; };
template <DType kType> using storage_t = typename storage<kType>::type;

}  // namespace ww
