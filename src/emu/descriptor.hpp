// SPDX-License-Identifier: Apache-2.0
// The 64-bit matrix descriptor of wgmma (sm_90), K-major: where the rows of an operand are in shared memory.
//   bits 0-13 start >> 4, 16-29 LBO >> 4, 32-45 SBO >> 4, 49-51 base offset, 62-63 layout (0 none, 1 128 B, 2 64 B,
//   3 32 B)
//   swizzled: start + (row % 8) * span + (row / 8) * SBO + byte, then XOR
//   none:     start + (row % 8) * 16 + (row / 8) * SBO + chunk * LBO
// Not here: MN-major operands and base offsets other than 0, which are refused.
#pragma once

#include "emu/cta.hpp"

namespace ww::emu {

/// Offsets of the 16-byte chunks of `rows` rows of 32 bytes, two a row. Reports addresses outside the CTA's memory.
void operand_chunks(Cta& cta, u64 descriptor, int rows, u32* offsets, const char* operand, Origin origin);

/// Copies `rows` rows of 32 bytes, one instruction's worth of K, to `out` (rows, 32). Reports addresses outside the
/// CTA's memory.
void gather_rows(Cta& cta, u64 descriptor, int rows, u8* out, const char* operand, Origin origin);

}  // namespace ww::emu
