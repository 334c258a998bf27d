// SPDX-License-Identifier: Apache-2.0
// The 64-bit shared-memory matrix descriptor of wgmma: where an operand block starts and the distance of its 8-row
// groups.
//   bits 0-13 address >> 4 | 16-29 leading byte offset >> 4 | 32-45 stride byte offset >> 4 | 62-63 swizzle
// Only address bits 0..17 are encoded, so a descriptor reaches the shared memory of this CTA alone. PTX ISA: matrix
// descriptor format.
#pragma once

#include "warpwright/arch/common/executor.hpp"

namespace ww::arch {

enum class MatrixSwizzle : u32 { none = 0, b128 = 1, b64 = 2, b32 = 3 };

struct MatrixDescriptor {
  u64 bits;
  /// Returns the same block `bytes` further on, inside the same swizzle pattern (the XOR works on absolute address
  /// bits).
  WW_HOST_DEVICE constexpr MatrixDescriptor operator+(u32 bytes) const { return {bits + (bytes >> 4)}; }
  /// Does the same in the low word alone, which suffices within a CTA's shared memory and takes one instruction.
  WW_HOST_DEVICE constexpr MatrixDescriptor advanced(u32 bytes) const {
    return {(bits >> 32) << 32 | (static_cast<u32>(bits) + (bytes >> 4))};
  }
};

// K-major, swizzled: a row is one span; the stride is the distance from 8 rows to the next 8.
// MN-major, swizzled: a row is one span of M or N for one k. The stride is the distance from 8 k to the next 8, the
// leading offset that from one span of M or N to the next.
/// Encodes a descriptor. For K-major swizzled operands the stride is that of 8-row groups (8 x span when packed), and
/// the leading offset is ignored.
WW_HOST_DEVICE constexpr MatrixDescriptor make_descriptor(SharedAddress start, MatrixSwizzle swizzle, u32 leading_bytes,
                                                          u32 stride_bytes) {
  return {static_cast<u64>((start.value & 0x3ffff) >> 4) | static_cast<u64>(leading_bytes >> 4) << 16 |
          static_cast<u64>(stride_bytes >> 4) << 32 | static_cast<u64>(swizzle) << 62};
}

}  // namespace ww::arch
