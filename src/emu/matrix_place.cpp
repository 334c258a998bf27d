// SPDX-License-Identifier: Apache-2.0
// Computes the offsets of an operand's chunks and undoes the swizzle, 16 bytes at a time.
#include "emu/matrix_place.hpp"

#include <cstring>

#include "warpwright/core/meta.hpp"

namespace ww::emu {
namespace {

u32 k_major_chunk(const MatrixPlace& p, u32 row, u32 chunk) {
  return row % 8 * p.span() + row / 8 * p.stride + chunk * (p.swizzle_bits == 0 ? p.leading : 16);
}

/// Returns the offset of chunk `chunk` along MN for one k.
u32 mn_major_chunk(const MatrixPlace& p, u32 chunk, u32 k) {
  if (p.swizzle_bits == 0) return k % 8 * 16 + k / 8 * p.leading + chunk * p.stride;
  const u32 byte = 16 * chunk, period = p.swizzle_shift == 2 ? 4 : 8;
  return k % period * p.span() + k / period * p.stride + byte % p.span() + byte / p.span() * p.leading;
}

/// Repeats the offsets of the first eight rows, `stride` bytes apart; returns true if all chunks lie in [begin, end).
/// This special case covers every K-major operand of the library's kernels, in a tenth of the time.
bool repeated_chunks(const MatrixPlace& p, u32 rows, u32 begin, u32 end, u32* offsets) {
  constexpr u32 kEight = 16;  // chunks of eight rows
  u32 least = ~0u, most = 0;
  for (u32 i = 0; i < kEight; ++i) {
    offsets[i] = p.swizzled(p.start + k_major_chunk(p, i / 2, i % 2));
    least = min(least, offsets[i]);
    most = max(most, offsets[i]);
  }
  if (least < begin || most + (rows / 8 - 1) * p.stride + 16 > end) return false;
  for (u32 first = kEight; first < 2 * rows; first += kEight)
    for (u32 i = 0; i < kEight; ++i) offsets[first + i] = offsets[first - kEight + i] + p.stride;
  return true;
}

/// Copies MN-major chunks, each of which holds one k of a few rows.
template <int kBytes> void gather_columns(const u8* shared, int count, const u32* offsets, u8* rows) {
  constexpr int kRows = 16 / kBytes, kCount = 32 / kBytes;
  for (int i = 0; i < count; ++i)
    for (int row = 0; row < kRows; ++row)
      std::memcpy(rows + (i / kCount * kRows + row) * 32 + i % kCount * kBytes, shared + offsets[i] + kBytes * row,
                  kBytes);
}

}  // namespace

int find_chunks(const MatrixPlace& place, const MatrixRead& read, u32 begin, u32 end, u32* offsets) {
  const int count = read.chunks();
  // The swizzle depends on an address modulo 1024.
  if (read.major == Major::k && read.chunks_of_row == 2 && place.stride % 1024 == 0 && read.rows % 8 == 0 &&
      repeated_chunks(place, static_cast<u32>(read.rows), begin, end, offsets))
    return count;
  const u32 k_count = static_cast<u32>(read.k()), of_row = static_cast<u32>(read.chunks_of_row);
  for (int index = 0; index < count; ++index) {
    const u32 i = static_cast<u32>(index);
    const u32 from_start = read.major == Major::k ? k_major_chunk(place, i / of_row, i % of_row)
                                                  : mn_major_chunk(place, i / k_count, i % k_count);
    offsets[i] = place.swizzled(place.start + from_start);
    if (offsets[i] < begin || offsets[i] + 16 > end) return index;
  }
  return count;
}

void gather_chunks(const u8* shared, const MatrixRead& read, const u32* offsets, u8* rows) {
  const int count = read.chunks();
  if (read.major == Major::k) {
    for (int i = 0; i < count; ++i) std::memcpy(rows + i * 16, shared + offsets[i], 16);
    return;
  }
  if (read.element_bytes == 1) gather_columns<1>(shared, count, offsets, rows);
  else if (read.element_bytes == 2) gather_columns<2>(shared, count, offsets, rows);
  else gather_columns<4>(shared, count, offsets, rows);
}

}  // namespace ww::emu
