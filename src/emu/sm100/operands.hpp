// SPDX-License-Identifier: Apache-2.0
// The 64-bit matrix descriptor of tcgen05.mma and tcgen05.cp: where the rows of an operand are in shared memory.
//   bits 0-13 start >> 4, 16-29 LBO >> 4, 32-45 SBO >> 4, 46-48 0b001, 49-51 base offset, 52 LBO mode, 61-63 layout
//   (0 none, 1 128 B with units of 32 bytes, 2 128 B, 4 64 B, 6 32 B)
// src/emu/matrix_place.hpp has the addresses. The base offset is that of the swizzle's pattern: bits 7 to 9 of the
// address where it begins.
// Operands of 4 and 6 bits in kinds f8f6f4 and mxf8f6f4 lie in containers: 16 elements in 16 bytes, packed to the
// first 8 or 12 of them. gather() returns a byte for each, with the value in its low bits. Kinds mxf4 and mxf4nvf4 have
// dense nibbles in shared memory and in what gather() returns; the low one comes first.
// A descriptor of the LBO mode of sm_103 and the layouts that a kind does not take are refused.
#pragma once

#include <string>

#include "emu/cta.hpp"
#include "emu/matrix_place.hpp"
#include "warpwright/arch/sm100/formats.hpp"

namespace ww::emu::sm100 {

/// How an instruction reads one operand from the shared memory of one CTA.
struct OperandRead {
  arch::MmaKind kind{};
  arch::MmaFormat format{};
  Major major = Major::k;
  int rows = 0;            // in this CTA
  const char* name = "A";  // in messages

  int chunks() const { return 2 * rows; }
};

/// Returns the bits that an element takes in shared memory: its own or, of 4 and 6 bits in containers, 8.
constexpr int bits_in_shared(arch::MmaKind kind, arch::MmaFormat format) {
  const bool mixed = kind == arch::MmaKind::f8f6f4 || kind == arch::MmaKind::mxf8f6f4;
  return mixed ? 8 : arch::bits_of(format);
}

/// Returns what is wrong with a descriptor for this operand, and nothing if it is fine.
std::string operand_fault(u64 descriptor, const OperandRead& read);
/// Returns the place that a descriptor without fault names.
MatrixPlace matrix_place(u64 descriptor);

/// Writes the offsets of the 2 `rows` 16-byte chunks that the instruction reads, as find_chunks() orders them. Reports
/// descriptors with a fault and addresses outside the CTA's memory.
void operand_chunks(Cta& cta, u64 descriptor, const OperandRead& read, u32* offsets, Origin origin);
/// Copies an operand, whose chunks operand_chunks() found, to `out` (rows, 32 bytes).
void gather(const u8* shared, const OperandRead& read, const u32* offsets, u8* out);
/// Does both.
void gather(Cta& cta, u64 descriptor, const OperandRead& read, u8* out, Origin origin);

/// Brings the elements of a container to a byte each, with the value in its low bits. `out` may be `container`.
void unpack_container(arch::MmaFormat format, const u8 container[16], u8 out[16]);
/// Returns the value of an element of kinds f8f6f4 and mxf8f6f4 that tensor memory holds in one byte. 4 bits are in the
/// middle of it.
constexpr u8 value_in_tensor_memory(arch::MmaFormat format, u8 byte) {
  const int bits = arch::bits_of(format);
  return bits == 4 ? byte >> 2 & 0xF : bits == 6 ? byte & 0x3F : byte;
}

// --- tcgen05.cp ------------------------------------------------------------------------------------------------------
std::string copy_fault(u64 descriptor);
/// Writes the offsets of the 16-byte chunks that the copy reads, row by row. Reports as operand_chunks() does.
void copy_chunks(Cta& cta, u64 descriptor, arch::CopyShape shape, u32* offsets, Origin origin);
/// Copies the rows, whose chunks copy_chunks() found, as tensor memory gets them: `out` (rows, 4 bytes a column).
/// Widened elements have their values where value_in_tensor_memory() finds them, and zeros beside them.
void gather_copy(const u8* shared, arch::CopyShape shape, arch::CopyUnpack unpack, const u32* offsets, u8* out);
/// The most chunks of any copy.
inline constexpr int kCopyChunks = 256;

}  // namespace ww::emu::sm100
