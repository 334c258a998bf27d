// SPDX-License-Identifier: Apache-2.0
// The 64-bit matrix descriptor of wgmma (sm_90): where the rows of an operand are in shared memory.
//   bits 0-13 start >> 4, 16-29 LBO >> 4, 32-45 SBO >> 4, 49-51 base offset, 62-63 layout (0 none, 1 128 B, 2 64 B, 3
//   32 B)
// src/emu/matrix_place.hpp has the addresses. Base offsets other than 0 are refused.
#pragma once

#include "emu/cta.hpp"

namespace ww::emu::sm90 {

/// Returns the offsets of the 2 `rows` 16-byte chunks of one instruction's operand: the two of each row or, MN-major,
/// the 16 k of each 8 rows. Reports addresses outside the CTA's memory.
void operand_chunks(Cta& cta, u64 descriptor, Major major, int rows, u32* offsets, const char* operand, Origin origin);

/// Copies `rows` rows of 32 bytes, one instruction's K, to `out` (rows, 32). Reports addresses outside the CTA's
/// memory.
void gather_rows(Cta& cta, u64 descriptor, Major major, int rows, u8* out, const char* operand, Origin origin);

}  // namespace ww::emu::sm90
