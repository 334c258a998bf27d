// SPDX-License-Identifier: Apache-2.0
// Decodes matrix descriptors of sm_100, refuses those that the instruction does not take, and unpacks containers.
#include "emu/sm100/operands.hpp"

#include <fmt/format.h>

#include <cstring>

#include "emu/machine.hpp"
#include "emu/sm100/places.hpp"
#include "warpwright/arch/sm100/matrix_descriptor.hpp"

namespace ww::emu::sm100 {
namespace {

using arch::MmaFormat;
using arch::MmaKind;

using arch::sm100::DescriptorFault;
using arch::sm100::MatrixDescriptor;
using arch::sm100::MatrixSwizzle;

/// Returns the descriptor for a pattern that begins at a multiple of its size, as kernels of the library have it. Base
/// offsets are legal with a swizzle.
MatrixDescriptor without_base(u64 descriptor) {
  const MatrixDescriptor all{descriptor};
  return all.swizzle() == MatrixSwizzle::none ? all : MatrixDescriptor{descriptor & ~(7ull << 49)};
}

std::string text_of(const DescriptorFault& fault, u64 descriptor) {
  if (!fault) return {};
  return fmt::format("{}: expected {}, got {} in descriptor 0x{:016x}", fault.argument, fault.expected, fault.actual,
                     descriptor);
}

}  // namespace

std::string operand_fault(u64 descriptor, const OperandRead& read) {
  if (const DescriptorFault fault = arch::sm100::fault(without_base(descriptor), read.kind, read.major))
    return text_of(fault, descriptor);
  if (read.major == Major::k) return {};
  if (arch::bits_of(read.format) < 8)
    return "major: expected K-major elements of 4 and 6 bits, got an MN-major operand";
  const int rows = 128 / bits_in_shared(read.kind, read.format);
  if (read.rows % rows == 0) return {};
  return fmt::format("rows: expected a multiple of {} in each CTA for an MN-major operand of this type, got {}", rows,
                     read.rows);
}

MatrixPlace matrix_place(u64 descriptor) {
  const MatrixDescriptor d{descriptor};
  MatrixPlace place{d.start(), d.leading_bytes(), d.stride_bytes()};
  place.pattern_start = d.base_offset() << 7;
  switch (d.swizzle()) {
    case MatrixSwizzle::b128_base32: place.swizzle_bits = 2, place.swizzle_shift = 2; break;
    case MatrixSwizzle::b128: place.swizzle_bits = 3; break;
    case MatrixSwizzle::b64: place.swizzle_bits = 2; break;
    case MatrixSwizzle::b32: place.swizzle_bits = 1; break;
    default: break;
  }
  return place;
}

namespace {

MatrixRead matrix_read(const OperandRead& read) {
  const int element_bytes = max(bits_in_shared(read.kind, read.format), 8) / 8;
  return {read.major, read.rows, element_bytes};
}
MatrixRead matrix_read(arch::CopyShape shape) { return {Major::k, rows_of(shape), 1, columns_of(shape) / 4}; }

std::string name_of(const OperandRead& read) { return fmt::format("tcgen05.mma operand {}", read.name); }
std::string name_of(arch::CopyShape) { return "tcgen05.cp"; }

template <class Read> void find(Cta& cta, u64 descriptor, const Read& of, u32* offsets, Origin origin) {
  const MatrixRead read = matrix_read(of);
  const int found = find_chunks(matrix_place(descriptor), read, kSharedBase, cta.shared_end, offsets);
  if (found == read.chunks()) return;
  cta.machine->fail(origin,
                    fmt::format("{}: row {} is at offset 0x{:x}, outside shared memory [0x{:x}, 0x{:x})", name_of(of),
                                read.row_of(found), offsets[found], kSharedBase, cta.shared_end),
                    Rule::out_of_bounds);
}

}  // namespace

void operand_chunks(Cta& cta, u64 descriptor, const OperandRead& read, u32* offsets, Origin origin) {
  if (const std::string fault = operand_fault(descriptor, read); !fault.empty())
    cta.machine->fail(origin, name_of(read) + ": " + fault);
  find(cta, descriptor, read, offsets, origin);
}

void gather(const u8* shared, const OperandRead& read, const u32* offsets, u8* out) {
  gather_chunks(shared, matrix_read(read), offsets, out);
  if (arch::bits_of(read.format) < bits_in_shared(read.kind, read.format))
    for (int i = 0; i < read.chunks(); ++i) unpack_container(read.format, out + 16 * i, out + 16 * i);
}

void gather(Cta& cta, u64 descriptor, const OperandRead& read, u8* out, Origin origin) {
  u32 offsets[2 * 256];
  operand_chunks(cta, descriptor, read, offsets, origin);
  gather(cta.shared.get(), read, offsets, out);
}

void unpack_container(MmaFormat format, const u8 container[16], u8 out[16]) {
  u8 packed[16];
  std::memcpy(packed, container, 16);
  const int bits = arch::bits_of(format);
  for (int i = 0; i < 16; ++i) {
    const int bit = i * bits;
    const u32 two = packed[bit / 8] | (bit / 8 < 15 ? u32{packed[bit / 8 + 1]} << 8 : 0);
    out[i] = static_cast<u8>(two >> bit % 8 & ((1u << bits) - 1));
  }
}

std::string copy_fault(u64 descriptor) {
  // A copy reads rows, as K-major operands of a type without a layout of its own are read.
  return text_of(arch::sm100::fault(without_base(descriptor), MmaKind::f16, Major::k), descriptor);
}

void copy_chunks(Cta& cta, u64 descriptor, arch::CopyShape shape, u32* offsets, Origin origin) {
  if (const std::string fault = copy_fault(descriptor); !fault.empty())
    cta.machine->fail(origin, name_of(shape) + ": " + fault);
  find(cta, descriptor, shape, offsets, origin);
}

void gather_copy(const u8* shared, arch::CopyShape shape, arch::CopyUnpack unpack, const u32* offsets, u8* out) {
  const MatrixRead read = matrix_read(shape);
  gather_chunks(shared, read, offsets, out);
  if (unpack == arch::CopyUnpack::none) return;
  const bool four = unpack == arch::CopyUnpack::from4_padded64;
  for (int i = 0; i < read.chunks(); ++i) {
    u8* chunk = out + 16 * i;
    unpack_container(four ? MmaFormat::e2m1 : MmaFormat::e2m3, chunk, chunk);
    if (four)
      for (int element = 0; element < 16; ++element) chunk[element] = static_cast<u8>(chunk[element] << 2);
  }
}

}  // namespace ww::emu::sm100
