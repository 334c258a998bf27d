// SPDX-License-Identifier: Apache-2.0
// Where a matrix descriptor says that an operand of an MMA lies in shared memory, in 16-byte chunks. The canonical
// layouts are those of every architecture; each decodes its own descriptor to a MatrixPlace.
//   K-major, swizzled:  start + (row % 8) * span + (row / 8) * stride + byte, then the swizzle
//   K-major, none:      start + (row % 8) * 16 + (row / 8) * stride + chunk * leading
//   MN-major, swizzled: start + (k % p) * span + (k / p) * stride + byte % span + byte / span * leading, then the
//                       swizzle; byte counts along MN, and p is the period of the swizzle in rows: 8, or 4 with units
//                       of 32 bytes
//   MN-major, none:     start + (k % 8) * 16 + (k / 8) * leading + byte / 16 * stride + byte % 16
// The swizzle acts on the bits of absolute addresses, less the place where the pattern begins.
#pragma once

#include "warpwright/core/dtype.hpp"

namespace ww::emu {

struct MatrixPlace {
  u32 start = 0, leading = 0, stride = 0;  // bytes
  u32 swizzle_bits = 0;                    // 0: no swizzle
  u32 swizzle_shift = 3;                   // 3 exchanges units of 16 bytes, 2 of 32
  u32 pattern_start = 0;                   // of the swizzle, modulo 1024

  u32 span() const { return (128u >> swizzle_shift) << swizzle_bits; }
  u32 swizzled(u32 address) const {
    return address ^ (((address - pattern_start) & (((1u << swizzle_bits) - 1) << 7)) >> swizzle_shift);
  }
};

/// What one instruction reads of an operand. K-major: `chunks` of each row. MN-major: chunks of 16 bytes along MN for
/// each of its k, of which there are 32 bytes' worth.
struct MatrixRead {
  Major major = Major::k;
  int rows = 0;
  int element_bytes = 2;  // MN-major only
  int chunks_of_row = 2;  // K-major only

  int chunks() const { return major == Major::k ? rows * chunks_of_row : 2 * rows; }
  int rows_of_chunk() const { return 16 / element_bytes; }  // MN-major
  int k() const { return 32 / element_bytes; }              // MN-major
  /// Returns the first row of chunk `index`.
  int row_of(int index) const { return major == Major::k ? index / chunks_of_row : index / k() * rows_of_chunk(); }
};

/// Writes the offsets of all chunks: row by row or, MN-major, all k of the first rows, then of the next ones. Returns
/// the number of chunks before the first that does not lie in [begin, end).
int find_chunks(const MatrixPlace& place, const MatrixRead& read, u32 begin, u32 end, u32* offsets);

/// Copies the chunks to rows of 16 `chunks_of_row` or, MN-major, 32 bytes.
void gather_chunks(const u8* shared, const MatrixRead& read, const u32* offsets, u8* rows);

}  // namespace ww::emu
