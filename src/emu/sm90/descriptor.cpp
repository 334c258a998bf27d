// SPDX-License-Identifier: Apache-2.0
// Decodes matrix descriptors of wgmma and reports operands that do not lie in shared memory.
#include "emu/sm90/descriptor.hpp"

#include <fmt/format.h>

#include "emu/machine.hpp"
#include "emu/matrix_place.hpp"

namespace ww::emu::sm90 {
namespace {

MatrixPlace decode(Cta& cta, u64 descriptor, const char* operand, Origin origin) {
  constexpr u64 kFields = 0x3FFFull | 0x3FFFull << 16 | 0x3FFFull << 32 | 3ull << 62;
  if (descriptor & ~kFields)
    cta.machine->fail(origin, fmt::format("wgmma operand {}: descriptor 0x{:016x} sets a base offset or a reserved bit",
                                          operand, descriptor));
  const u32 mode = static_cast<u32>(descriptor >> 62);  // 1: 128 B, 3 bits; 3: 32 B, 1 bit
  return {static_cast<u32>(descriptor & 0x3FFF) << 4, static_cast<u32>(descriptor >> 16 & 0x3FFF) << 4,
          static_cast<u32>(descriptor >> 32 & 0x3FFF) << 4, mode == 0 ? 0 : 4 - mode};
}

}  // namespace

void operand_chunks(Cta& cta, u64 descriptor, Major major, int rows, u32* offsets, const char* operand, Origin origin) {
  const MatrixRead read{major, rows};
  const int found = find_chunks(decode(cta, descriptor, operand, origin), read, kSharedBase, cta.shared_end, offsets);
  if (found == read.chunks()) return;
  cta.machine->fail(origin,
                    fmt::format("wgmma operand {}: row {} is at offset 0x{:x}, outside shared memory [0x{:x}, 0x{:x})",
                                operand, read.row_of(found), offsets[found], kSharedBase, cta.shared_end),
                    Rule::out_of_bounds);
}

void gather_rows(Cta& cta, u64 descriptor, Major major, int rows, u8* out, const char* operand, Origin origin) {
  u32 offsets[2 * 256];
  operand_chunks(cta, descriptor, major, rows, offsets, operand, origin);
  gather_chunks(cta.shared.get(), {major, rows}, offsets, out);
}

}  // namespace ww::emu::sm90
