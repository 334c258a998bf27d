// SPDX-License-Identifier: Apache-2.0
// Decodes matrix descriptors of sm_100, refuses those that the instruction does not take, and unpacks containers.
#include "emu/sm100/operands.hpp"

#include <fmt/format.h>

#include <cstring>

#include "emu/machine.hpp"
#include "emu/sm100/places.hpp"

namespace ww::emu::sm100 {
namespace {

using arch::MmaFormat;
using arch::MmaKind;

/// The layouts of a descriptor, bits 61 to 63.
enum Layout : u32 { kNone = 0, k128Units32 = 1, k128 = 2, k64 = 4, k32 = 6 };

const char* name_of(Layout layout) {
  switch (layout) {
    case kNone: return "none";
    case k128Units32: return "128B_BASE32B";
    case k128: return "128B";
    case k64: return "64B";
    default: return "32B";
  }
}

u32 bits(u64 descriptor, int first, int count) { return static_cast<u32>(descriptor >> first) & ((1u << count) - 1); }
Layout layout_of(u64 descriptor) { return static_cast<Layout>(bits(descriptor, 61, 3)); }

/// Returns what is wrong with the fields that do not depend on the operand.
std::string field_fault(u64 descriptor) {
  constexpr u64 kReserved = 3ull << 14 | 3ull << 30 | 0xFFull << 53;
  if (descriptor & kReserved)
    return fmt::format("expected bits 14, 15, 30, 31 and 53 to 60 to be 0, got descriptor 0x{:016x}", descriptor);
  if (bits(descriptor, 46, 3) != 1)
    return fmt::format("expected 1 in bits 46 to 48, got {} in descriptor 0x{:016x}", bits(descriptor, 46, 3),
                       descriptor);
  if (bits(descriptor, 52, 1) != 0)
    return fmt::format("the absolute LBO mode (bit 52) exists on sm_103 only, got descriptor 0x{:016x}", descriptor);
  const Layout layout = layout_of(descriptor);
  if (layout == 3 || layout == 5 || layout == 7)
    return fmt::format(
        "expected layout 0 (none), 1 (128B_BASE32B), 2 (128B), 4 (64B) or 6 (32B), got {} in descriptor 0x{:016x}",
        static_cast<u32>(layout), descriptor);
  if (layout == kNone && bits(descriptor, 49, 3) != 0)
    return fmt::format("expected base offset 0 without a swizzle, got {} in descriptor 0x{:016x}",
                       bits(descriptor, 49, 3), descriptor);
  return {};
}

}  // namespace

std::string operand_fault(u64 descriptor, const OperandRead& read) {
  if (const std::string fault = field_fault(descriptor); !fault.empty()) return fault;
  const Layout layout = layout_of(descriptor);
  const bool tf32 = read.kind == MmaKind::tf32;
  if (read.major == Major::mn) {
    if (arch::bits_of(read.format) < 8) return "elements of 4 and 6 bits must be K-major, got an MN-major operand";
    if (tf32 != (layout == k128Units32))
      return fmt::format("expected {} for an MN-major operand of this kind, got layout {} ({})",
                         tf32 ? "layout 1 (128B_BASE32B)" : "another layout than 128B_BASE32B, which is tf32's",
                         static_cast<u32>(layout), name_of(layout));
    const int rows = 128 / bits_in_shared(read.kind, read.format);
    if (read.rows % rows != 0)
      return fmt::format("expected a multiple of {} rows in each CTA for an MN-major operand of this type, got {}",
                         rows, read.rows);
  } else if (layout == k128Units32) {
    return "layout 1 (128B_BASE32B) is for MN-major tf32 only, got a K-major operand";
  }
  return {};
}

MatrixPlace matrix_place(u64 descriptor) {
  MatrixPlace place{bits(descriptor, 0, 14) << 4, bits(descriptor, 16, 14) << 4, bits(descriptor, 32, 14) << 4};
  place.pattern_start = bits(descriptor, 49, 3) << 7;
  switch (layout_of(descriptor)) {
    case k128Units32: place.swizzle_bits = 2, place.swizzle_shift = 2; break;
    case k128: place.swizzle_bits = 3; break;
    case k64: place.swizzle_bits = 2; break;
    case k32: place.swizzle_bits = 1; break;
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
  if (std::string fault = field_fault(descriptor); !fault.empty()) return fault;
  if (layout_of(descriptor) == k128Units32)
    return "layout 1 (128B_BASE32B) is for MN-major tf32 operands only, got it in the descriptor of a copy";
  return {};
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
