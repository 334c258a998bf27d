// SPDX-License-Identifier: Apache-2.0
// The 64-bit shared-memory matrix descriptor of tcgen05.mma and tcgen05.cp: where an operand block starts and the
// distances of its parts.
//   bits 0-13 address >> 4 | 16-29 leading byte offset >> 4 | 32-45 stride byte offset >> 4 | 46-48 always 0b001 |
//   49-51 base offset | 52 mode of the leading offset | 61-63 swizzle
// The offsets mean what they mean to wgmma (arch/sm90/matrix_descriptor.hpp). Of a pair's MMA, both CTAs hold their
// part of the operand at the descriptor's offset.
// PTX ISA: tcgen05 shared memory descriptor.
#pragma once

#include "warpwright/arch/common/executor.hpp"
#include "warpwright/arch/sm100/descriptor_fault.hpp"
#include "warpwright/arch/sm100/formats.hpp"

namespace ww::arch::sm100 {

/// The swizzle of an operand. b128_base32 moves units of 32 bytes; TF32 operands that are MN-major have it, and nothing
/// else.
enum class MatrixSwizzle : u32 { none = 0, b128_base32 = 1, b128 = 2, b64 = 4, b32 = 6 };

/// Returns the bytes of a row within which the swizzle moves chunks; 16 without one.
WW_HOST_DEVICE constexpr int span_of(MatrixSwizzle swizzle) {
  switch (swizzle) {
    case MatrixSwizzle::none: return 16;
    case MatrixSwizzle::b32: return 32;
    case MatrixSwizzle::b64: return 64;
    default: return 128;
  }
}

struct MatrixDescriptor {
  u64 bits;
  /// Returns the same block `bytes` further on, inside the same swizzle pattern (the XOR works on absolute address
  /// bits). The address wraps within its field.
  WW_HOST_DEVICE constexpr MatrixDescriptor operator+(u32 bytes) const {
    return {(bits & ~u64{0x3fff}) | ((bits + (bytes >> 4)) & 0x3fff)};
  }

  WW_HOST_DEVICE constexpr u32 start() const { return (static_cast<u32>(bits) & 0x3fff) << 4; }
  WW_HOST_DEVICE constexpr u32 leading_bytes() const { return (static_cast<u32>(bits >> 16) & 0x3fff) << 4; }
  WW_HOST_DEVICE constexpr u32 stride_bytes() const { return (static_cast<u32>(bits >> 32) & 0x3fff) << 4; }
  WW_HOST_DEVICE constexpr u32 constant() const { return static_cast<u32>(bits >> 46) & 7; }
  WW_HOST_DEVICE constexpr u32 base_offset() const { return static_cast<u32>(bits >> 49) & 7; }
  WW_HOST_DEVICE constexpr u32 leading_mode() const { return static_cast<u32>(bits >> 52) & 1; }
  WW_HOST_DEVICE constexpr MatrixSwizzle swizzle() const { return static_cast<MatrixSwizzle>(bits >> 61); }
};

/// Encodes a descriptor. Only address bits 0..17 are encoded, so it reaches the shared memory of the CTA that the
/// instruction reads. K-major swizzled operands ignore the leading offset. The start and the offsets are multiples of
/// 16 bytes below 2^18; other bits are dropped.
WW_HOST_DEVICE constexpr MatrixDescriptor make_descriptor(SharedAddress start, MatrixSwizzle swizzle, u32 leading_bytes,
                                                          u32 stride_bytes) {
  return {static_cast<u64>((start.value & 0x3ffff) >> 4) | static_cast<u64>(leading_bytes >> 4 & 0x3fff) << 16 |
          static_cast<u64>(stride_bytes >> 4 & 0x3fff) << 32 | u64{1} << 46 | static_cast<u64>(swizzle) << 61};
}

/// Returns the fault of a descriptor by itself, as tcgen05.cp takes it.
WW_HOST_DEVICE constexpr DescriptorFault fault(MatrixDescriptor d) {
  if (d.constant() != 1) return {"matrix descriptor: bits 46-48", "1, the format of tcgen05", d.constant()};
  if (d.leading_mode() != 0) return {"matrix descriptor: lbo_mode", kNoAbsoluteLbo, d.leading_mode()};
  if (d.base_offset() != 0)
    return {"matrix descriptor: base_offset", "0: swizzle patterns start at multiples of their size", d.base_offset()};
  const u32 swizzle = static_cast<u32>(d.swizzle());
  if (swizzle == 3 || swizzle == 5 || swizzle == 7)
    return {"matrix descriptor: swizzle", "0 (none), 1 (128B_BASE32B), 2 (128B), 4 (64B) or 6 (32B)", swizzle};
  constexpr u64 kReserved = u64{3} << 14 | u64{3} << 30 | u64{0xff} << 53;
  if (d.bits & kReserved)
    return {"matrix descriptor: bits 14-15, 30-31, 53-60", "0: they are reserved", d.bits & kReserved};
  return {};
}

/// Returns the fault of a descriptor as an operand of an MMA of that kind.
WW_HOST_DEVICE constexpr DescriptorFault fault(MatrixDescriptor d, MmaKind kind, Major major) {
  if (const DescriptorFault alone = fault(d)) return alone;
  const bool base32 = d.swizzle() == MatrixSwizzle::b128_base32, needs = kind == MmaKind::tf32 && major == Major::mn;
  if (needs && !base32)
    return {"matrix descriptor: swizzle", "1 (128B_BASE32B) for an MN-major TF32 operand",
            static_cast<u64>(d.swizzle())};
  if (base32 && !needs)
    return {"matrix descriptor: swizzle",
            "0 (none), 2 (128B), 4 (64B) or 6 (32B): 1 (128B_BASE32B) is for MN-major TF32 operands", 1};
  return {};
}

}  // namespace ww::arch::sm100
