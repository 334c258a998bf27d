// SPDX-License-Identifier: Apache-2.0
// Decodes matrix descriptors and undoes the swizzle, 16 bytes at a time.
#include "emu/sm90/descriptor.hpp"

#include <fmt/format.h>

#include <cstring>

#include "emu/machine.hpp"
#include "emu/tensor_map.hpp"

namespace ww::emu::sm90 {
namespace {

struct Fields {
  u32 start, leading, stride, swizzle_bits;
  u32 span() const { return 16u << swizzle_bits; }
};

Fields decode(Cta& cta, u64 descriptor, const char* operand, Origin origin) {
  constexpr u64 kFields = 0x3FFFull | 0x3FFFull << 16 | 0x3FFFull << 32 | 3ull << 62;
  if (descriptor & ~kFields)
    cta.machine->fail(origin, fmt::format("wgmma operand {}: descriptor 0x{:016x} sets a base offset or a reserved bit",
                                          operand, descriptor));
  const u32 mode = static_cast<u32>(descriptor >> 62);  // 1: 128 B, 3 bits; 3: 32 B, 1 bit
  return {static_cast<u32>(descriptor & 0x3FFF) << 4, static_cast<u32>(descriptor >> 16 & 0x3FFF) << 4,
          static_cast<u32>(descriptor >> 32 & 0x3FFF) << 4, mode == 0 ? 0 : 4 - mode};
}

/// Returns the bytes from the start to chunk `chunk` of row `row`, before the swizzle.
u32 k_major_chunk(const Fields& f, u32 row, u32 chunk) {
  return row % 8 * f.span() + row / 8 * f.stride + chunk * (f.swizzle_bits == 0 ? f.leading : 16);
}

/// Returns the same for 8 rows from 8 `eight` on, for one k.
u32 mn_major_chunk(const Fields& f, u32 eight, u32 k) {
  if (f.swizzle_bits == 0) return k % 8 * 16 + k / 8 * f.leading + eight * f.stride;
  const u32 byte = 16 * eight;
  return k % 8 * f.span() + k / 8 * f.stride + byte % f.span() + byte / f.span() * f.leading;
}

/// Repeats the offsets of the first eight rows, `stride` bytes apart; returns true if all chunks lie in shared memory.
/// This special case covers every operand of our kernels, in a tenth of the time.
bool repeated_chunks(const Cta& cta, const Fields& f, u32 rows, u32* offsets) {
  constexpr u32 kEight = 16;  // chunks of eight rows
  u32 least = ~0u, most = 0;
  for (u32 i = 0; i < kEight; ++i) {
    offsets[i] = swizzle(f.start + k_major_chunk(f, i / 2, i % 2), f.swizzle_bits);
    least = min(least, offsets[i]);
    most = max(most, offsets[i]);
  }
  if (least < kSharedBase || most + (rows / 8 - 1) * f.stride + 16 > cta.shared_end) return false;
  for (u32 first = kEight; first < 2 * rows; first += kEight)
    for (u32 i = 0; i < kEight; ++i) offsets[first + i] = offsets[first - kEight + i] + f.stride;
  return true;
}

}  // namespace

void operand_chunks(Cta& cta, u64 descriptor, Major major, int rows, u32* offsets, const char* operand, Origin origin) {
  const Fields fields = decode(cta, descriptor, operand, origin);
  const u32 chunks = 2 * static_cast<u32>(rows);
  // The swizzle depends on an address modulo 1024.
  if (major == Major::k && fields.stride % 1024 == 0 && repeated_chunks(cta, fields, static_cast<u32>(rows), offsets))
    return;
  for (u32 i = 0; i < chunks; ++i) {
    const u32 place = major == Major::k ? k_major_chunk(fields, i / 2, i % 2) : mn_major_chunk(fields, i / 16, i % 16);
    const u32 offset = swizzle(fields.start + place, fields.swizzle_bits);
    if (offset < kSharedBase || offset + 16 > cta.shared_end)
      cta.machine->fail(
          origin,
          fmt::format("wgmma operand {}: row {} is at offset 0x{:x}, outside shared memory [0x{:x}, 0x{:x})", operand,
                      major == Major::k ? i / 2 : i / 16 * 8, offset, kSharedBase, cta.shared_end),
          Rule::out_of_bounds);
    offsets[i] = offset;
  }
}

void gather_rows(Cta& cta, u64 descriptor, Major major, int rows, u8* out, const char* operand, Origin origin) {
  u32 offsets[2 * 256];
  operand_chunks(cta, descriptor, major, rows, offsets, operand, origin);
  const u8* shared = cta.shared.get();
  for (int chunk = 0; chunk < 2 * rows; ++chunk) {
    const u8* from = shared + offsets[chunk];
    if (major == Major::k) std::memcpy(out + chunk * 16, from, 16);
    else  // eight rows of one k, two bytes each
      for (int row = 0; row < 8; ++row)
        std::memcpy(out + (chunk / 16 * 8 + row) * 32 + chunk % 16 * 2, from + 2 * row, 2);
  }
}

}  // namespace ww::emu::sm90
