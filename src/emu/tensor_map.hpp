// SPDX-License-Identifier: Apache-2.0
// The emulator's own tensor map: the description of a global tensor and its box for TMA, in the 128 opaque bytes that
// kernels pass around. Encoding (emulator.hpp) refuses what cuTensorMapEncodeTiled refuses, so that a map that works
// here works there.
#pragma once

#include "host/kernel_launch.hpp"

namespace ww::emu {

/// Innermost extents, boxes and strides are in units: elements, or as many narrow ones as have whole bytes.
struct TensorMapData {
  u64 magic;
  u64 base;
  u64 extent[5];
  u64 stride[4];  // bytes, of dimensions 1..
  u16 box[5];
  u8 element_bytes;  // of a unit
  u8 rank;
  u8 swizzle_bits;  // how many bits of an address the swizzle changes: 0 to 3
  u8 elements;      // of a unit
  u8 container;     // bytes of a unit in shared memory; more than element_bytes if it is padded there
  u8 swizzle_unit;  // bytes that the swizzle moves together: 16 or 32

  bool padded() const { return container != element_bytes; }
  /// Returns the bytes of a box in shared memory.
  u32 shared_bytes() const { return box_bytes() / element_bytes * container; }
  /// Returns the bytes of a box in global memory, which a load's mbarrier counts.
  u32 box_bytes() const {
    u32 bytes = element_bytes;
    for (int d = 0; d < rank; ++d) bytes *= box[d];
    return bytes;
  }
  /// Returns the bytes from the base to the end of the last element.
  u64 span_bytes() const {
    u64 bytes = extent[0] * element_bytes;
    for (int d = 1; d < rank; ++d) bytes += (extent[d] - 1) * stride[d - 1];
    return bytes;
  }
  /// True when two modes have one stride, so that their coordinates add up to one row. The extents of such a map do
  /// not bound what it reads; its boxes do. This holds even if the inner mode has extent 1, because the outer mode's
  /// coordinate then steps past it.
  bool adds_coordinates() const {
    for (int d = 2; d < rank; ++d)
      if (extent[d] > 1 && stride[d - 1] == stride[d - 2]) return true;
    return false;
  }
};
static_assert(sizeof(TensorMapData) <= sizeof(arch::TensorMap));

inline constexpr u64 kTensorMapMagic = 0x70614D7277577577ull;

/// Returns where a map's swizzle moves a shared byte address. It XORs bits 4.. with bits 7.., with units of 32 bytes
/// bits 5.., as many as the mode has. It acts on absolute address bits.
constexpr u32 swizzled(const TensorMapData& map, u32 address) {
  return address ^ ((address & (((1u << map.swizzle_bits) - 1) << 7)) >> (map.swizzle_unit == 32 ? 2 : 3));
}

}  // namespace ww::emu
