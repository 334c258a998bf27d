// SPDX-License-Identifier: Apache-2.0
// Decodes matrix descriptors and undoes the swizzle, 16 bytes at a time.
#include "emu/descriptor.hpp"

#include <fmt/format.h>

#include <cstring>

#include "emu/machine.hpp"
#include "emu/tensor_map.hpp"

namespace ww::emu {
namespace {

struct Layout {
  u32 start, row_pitch, group_pitch, chunk_pitch, swizzle_bits;
};

Layout decode(Cta& cta, u64 descriptor, const char* operand, Origin origin) {
  constexpr u64 kFields = 0x3FFFull | 0x3FFFull << 16 | 0x3FFFull << 32 | 3ull << 62;
  if (descriptor & ~kFields)
    cta.machine->fail(origin, fmt::format("wgmma operand {}: descriptor 0x{:016x} sets a base offset or a reserved bit",
                                          operand, descriptor));
  const u32 start = static_cast<u32>(descriptor & 0x3FFF) << 4;
  const u32 leading = static_cast<u32>(descriptor >> 16 & 0x3FFF) << 4;
  const u32 stride = static_cast<u32>(descriptor >> 32 & 0x3FFF) << 4;
  const u32 mode = static_cast<u32>(descriptor >> 62);
  if (mode == 0) return {start, 16, stride, leading, 0};
  const u32 bits = 4 - mode;  // 1: 128 B, 3 bits; 3: 32 B, 1 bit
  return {start, 16u << bits, stride, 16, bits};
}

}  // namespace

void operand_chunks(Cta& cta, u64 descriptor, int rows, u32* offsets, const char* operand, Origin origin) {
  const Layout layout = decode(cta, descriptor, operand, origin);
  for (int row = 0; row < rows; ++row) {
    const u32 line =
        layout.start + static_cast<u32>(row % 8) * layout.row_pitch + static_cast<u32>(row / 8) * layout.group_pitch;
    for (u32 chunk = 0; chunk < 2; ++chunk) {
      const u32 offset = swizzle(line + chunk * layout.chunk_pitch, layout.swizzle_bits);
      if (offset < kSharedBase || offset + 16 > cta.shared_end)
        cta.machine->fail(
            origin,
            fmt::format("wgmma operand {}: row {} is at offset 0x{:x}, outside shared memory [0x{:x}, 0x{:x})", operand,
                        row, offset, kSharedBase, cta.shared_end),
            Rule::out_of_bounds);
      *offsets++ = offset;
    }
  }
}

void gather_rows(Cta& cta, u64 descriptor, int rows, u8* out, const char* operand, Origin origin) {
  u32 offsets[2 * 256];
  operand_chunks(cta, descriptor, rows, offsets, operand, origin);
  const u8* shared = cta.shared.get();
  for (int chunk = 0; chunk < 2 * rows; ++chunk) std::memcpy(out + chunk * 16, shared + offsets[chunk], 16);
}

}  // namespace ww::emu
