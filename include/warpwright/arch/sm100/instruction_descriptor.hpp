// SPDX-License-Identifier: Apache-2.0
// The 32-bit instruction descriptor of tcgen05.mma: types, majors and shape of one MMA.
//   dense kinds:         0-2 sparsity | 3 saturate | 4-5 type of D | 7-9 of A | 10-12 of B | 13, 14 negate A, B |
//                        15, 16 major of A, B | 17-22 N >> 3 | 24-28 M >> 4 | 30-31 shift of .ws
//   block-scaled kinds:  4-5 scale id of B | 7-17 as above, without a type of D | 17-22 N >> 3 | 23 type of scales |
//                        24-28 M >> 4 | 29-30 scale id of A | 31 K = 96
// M is that of the whole MMA, which for a pair is the rows of both CTAs. The scale id is the byte of each 32-bit column
// of scales at which the instruction's scales start.
// PTX ISA: tcgen05 instruction descriptor.
#pragma once

#include "warpwright/arch/sm100/descriptor_fault.hpp"
#include "warpwright/arch/sm100/formats.hpp"
#include "warpwright/core/meta.hpp"

namespace ww::arch {

/// The descriptor as the instruction takes it. It does not name the MMA's kind, which is part of the opcode.
struct InstructionDescriptor {
  u32 bits;
  /// Returns the value of `count` bits from `first` on.
  WW_HOST_DEVICE constexpr u32 field(int first, int count) const { return bits >> first & ((1u << count) - 1); }
  /// Returns the same for other scales of the columns that the instruction names.
  WW_HOST_DEVICE constexpr InstructionDescriptor with_scale_ids(u32 a, u32 b) const {
    return {(bits & ~(3u << 29 | 3u << 4)) | (a & 3) << 29 | (b & 3) << 4};
  }
  WW_HOST_DEVICE constexpr int m() const { return static_cast<int>(field(24, 5)) * 16; }
  WW_HOST_DEVICE constexpr int n() const { return static_cast<int>(field(17, 6)) * 8; }
  WW_HOST_DEVICE constexpr Major major_a() const { return static_cast<Major>(field(15, 1)); }
  WW_HOST_DEVICE constexpr Major major_b() const { return static_cast<Major>(field(16, 1)); }
};

namespace sm100 {

/// What an instruction descriptor says, for one kind of MMA.
struct MmaInstruction {
  MmaKind kind = MmaKind::f16;
  MmaFormat a = MmaFormat::f16, b = MmaFormat::f16;
  MmaResult d = MmaResult::f32;  // f32 for block-scaled kinds
  int m = 128, n = 256;
  Major major_a = Major::k, major_b = Major::k;
  bool negate_a = false, negate_b = false;
  ScaleFormat scale = ScaleFormat::ue8m0;  // of block-scaled kinds, as are the ids
  u32 scale_id_a = 0, scale_id_b = 0;
  bool operator==(const MmaInstruction&) const = default;
};

/// What the opcode and the operands say beside the descriptor.
struct MmaForm {
  CtaGroup group = CtaGroup::one;
  int scale_vector = 0;  // .scale_vec::<n>X; 0 for kinds without block scales
  bool a_in_tensor_memory = false;
};

inline constexpr u32 kNoFormat = 7;

/// Returns the number of a type in descriptors of that kind; kNoFormat for a type that the kind does not take.
WW_HOST_DEVICE constexpr u32 code_of(MmaKind kind, MmaFormat format) {
  switch (kind) {
    case MmaKind::f16: return format == MmaFormat::f16 ? 0 : format == MmaFormat::bf16 ? 1 : kNoFormat;
    case MmaKind::tf32: return format == MmaFormat::tf32 ? 2 : kNoFormat;
    case MmaKind::mxf4:
    case MmaKind::mxf4nvf4: return format == MmaFormat::e2m1 ? 1 : kNoFormat;
    default: break;
  }
  switch (format) {
    case MmaFormat::e4m3: return 0;
    case MmaFormat::e5m2: return 1;
    case MmaFormat::e2m3: return 3;
    case MmaFormat::e3m2: return 4;
    case MmaFormat::e2m1: return 5;
    default: return kNoFormat;
  }
}

/// Finds the type that a descriptor of that kind calls `code`; false when there is none.
WW_HOST_DEVICE constexpr bool find_format(MmaKind kind, u32 code, MmaFormat& format) {
  for (int f = 0; f <= static_cast<int>(MmaFormat::e2m1); ++f)
    if (code != kNoFormat && code_of(kind, static_cast<MmaFormat>(f)) == code)
      return format = static_cast<MmaFormat>(f), true;
  return false;
}

/// Returns the elements of K that one instruction multiplies.
WW_HOST_DEVICE constexpr int mma_k(MmaKind kind) {
  switch (kind) {
    case MmaKind::tf32: return 8;
    case MmaKind::f16: return 16;
    case MmaKind::f8f6f4:
    case MmaKind::mxf8f6f4: return 32;
    default: return 64;
  }
}

/// Encodes a descriptor; fault() says whether the result is one.
WW_HOST_DEVICE constexpr InstructionDescriptor encode(const MmaInstruction& i) {
  u32 bits = code_of(i.kind, i.a) << 7 | code_of(i.kind, i.b) << 10 | static_cast<u32>(i.negate_a) << 13 |
             static_cast<u32>(i.negate_b) << 14 | static_cast<u32>(i.major_a) << 15 |
             static_cast<u32>(i.major_b) << 16 | static_cast<u32>(i.n / 8 & 0x3f) << 17 |
             static_cast<u32>(i.m / 16 & 0x1f) << 24;
  if (!is_block_scaled(i.kind)) return {bits | static_cast<u32>(i.d) << 4};
  return InstructionDescriptor{bits | static_cast<u32>(i.scale) << 23}.with_scale_ids(i.scale_id_a, i.scale_id_b);
}

/// Decodes a descriptor without a fault.
WW_HOST_DEVICE constexpr MmaInstruction decode(MmaKind kind, InstructionDescriptor d) {
  MmaInstruction i{kind};
  find_format(kind, d.field(7, 3), i.a), find_format(kind, d.field(10, 3), i.b);
  i.m = d.m(), i.n = d.n(), i.major_a = d.major_a(), i.major_b = d.major_b();
  i.negate_a = d.field(13, 1) != 0, i.negate_b = d.field(14, 1) != 0;
  if (is_block_scaled(kind)) {
    i.scale = static_cast<ScaleFormat>(d.field(23, 1));
    i.scale_id_a = d.field(29, 2), i.scale_id_b = d.field(4, 2);
  } else {
    i.d = static_cast<MmaResult>(d.field(4, 2));
  }
  return i;
}

/// The part of fault() about the bits that only other kinds of MMA have.
WW_HOST_DEVICE constexpr DescriptorFault fault_of_bits(MmaKind kind, InstructionDescriptor d) {
  if (d.field(0, 3) != 0) return {"instruction descriptor: sparsity (bits 0-2)", kNoSparse, d.field(0, 3)};
  if (d.field(3, 1) != 0) return {"instruction descriptor: saturate (bit 3)", kNoSaturation, 1};
  if (d.field(6, 1) != 0) return {"instruction descriptor: bit 6", "0: it is reserved", 1};
  if (is_block_scaled(kind))
    return d.field(31, 1) != 0 ? DescriptorFault{"instruction descriptor: size of K (bit 31)", kNoK96, 1}
                               : DescriptorFault{};
  if (d.field(30, 2) != 0)
    return {"instruction descriptor: max_shift (bits 30-31)", kNoWeightStationary, d.field(30, 2)};
  if (d.field(4, 2) > 1) return {"instruction descriptor: type of D (bits 4-5)", kNoInteger, d.field(4, 2)};
  if (d.field(23, 1) != 0) return {"instruction descriptor: bit 23", "0: only block-scaled kinds have scales", 1};
  if (d.field(29, 1) != 0) return {"instruction descriptor: bit 29", "0: it is reserved", 1};
  return {};
}

/// The part of fault() about the types and majors of A, B and D.
WW_HOST_DEVICE constexpr DescriptorFault fault_of_types(MmaKind kind, InstructionDescriptor d, const MmaForm& form) {
  constexpr const char* kType[] = {"0 (F16) or 1 (BF16)", "2 (TF32)",
                                   "0 (E4M3), 1 (E5M2), 3 (E2M3), 4 (E3M2) or 5 (E2M1)", "1 (E2M1)"};
  const int types = kind == MmaKind::f16 ? 0 : kind == MmaKind::tf32 ? 1 : kind >= MmaKind::mxf4 ? 3 : 2;
  MmaFormat a{}, b{};
  if (!find_format(kind, d.field(7, 3), a))
    return {"instruction descriptor: type of A (bits 7-9)", kType[types], d.field(7, 3)};
  if (!find_format(kind, d.field(10, 3), b))
    return {"instruction descriptor: type of B (bits 10-12)", kType[types], d.field(10, 3)};
  if (kind == MmaKind::f16 && a != b)
    return {"instruction descriptor: type of B (bits 10-12)", "that of A for kind::f16", d.field(10, 3)};
  const bool half = !is_block_scaled(kind) && d.field(4, 2) == 0;
  if (half && (kind == MmaKind::tf32 || a == MmaFormat::bf16))
    return {"instruction descriptor: type of D (bits 4-5)", "1 (F32) with TF32 and BF16 operands", 0};
  if (d.major_a() == Major::mn && form.a_in_tensor_memory)
    return {"instruction descriptor: major of A (bit 15)", "0 (K) for A in tensor memory", 1};
  if (d.major_a() == Major::mn && bits_of(a) < 8)
    return {"instruction descriptor: major of A (bit 15)", "0 (K) for types of 4 and 6 bits", 1};
  if (d.major_b() == Major::mn && bits_of(b) < 8)
    return {"instruction descriptor: major of B (bit 16)", "0 (K) for types of 4 and 6 bits", 1};
  return {};
}

/// The part of fault() about scales.
WW_HOST_DEVICE constexpr DescriptorFault fault_of_scales(MmaKind kind, InstructionDescriptor d, const MmaForm& form) {
  const u64 vector = static_cast<u64>(form.scale_vector);
  if (!is_block_scaled(kind))
    return vector != 0 ? DescriptorFault{"scale_vector", "0 for a kind without block scales", vector}
                       : DescriptorFault{};
  if (kind == MmaKind::mxf8f6f4 && vector != 1) return {"scale_vector", "1 (.scale_vec::1X) for mxf8f6f4", vector};
  if (kind == MmaKind::mxf4 && vector != 2) return {"scale_vector", "2 (.scale_vec::2X) for mxf4", vector};
  if (kind == MmaKind::mxf4nvf4 && vector != 2 && vector != 4)
    return {"scale_vector", "2 or 4 (.scale_vec::2X or 4X) for mxf4nvf4", vector};
  if (static_cast<ScaleFormat>(d.field(23, 1)) == ScaleFormat::ue4m3 && vector != 4)
    return {"instruction descriptor: type of scales (bit 23)", "1 (UE8M0): UE4M3 is for mxf4nvf4 with 4X", 0};
  constexpr const char *kTwo = "0 or 2 with .scale_vec::2X", *kFour = "0 with .scale_vec::4X";
  const u32 step = static_cast<u32>(vector), ids[] = {d.field(29, 2), d.field(4, 2)};
  for (int operand = 0; operand < 2; ++operand)
    if (ids[operand] % step != 0)
      return {operand == 0 ? "instruction descriptor: scale id of A (bits 29-30)"
                           : "instruction descriptor: scale id of B (bits 4-5)",
              step == 2 ? kTwo : kFour, ids[operand]};
  return {};
}

/// The part of fault() about M and N.
WW_HOST_DEVICE constexpr DescriptorFault fault_of_shape(MmaKind kind, InstructionDescriptor d, const MmaForm& form) {
  const bool pair = form.group == CtaGroup::pair;
  const int m = d.m(), n = d.n();
  constexpr const char* kM = "instruction descriptor: M (bits 24-28, times 16)";
  if (pair && m != 128 && m != 256) return {kM, "128 or 256 for a pair of CTAs", static_cast<u64>(m)};
  if (!pair && m == 32) return {kM, "64 or 128 for one CTA: 32 is of .ws, which is not supported", 32};
  if (!pair && is_block_scaled(kind) && m != 128) return {kM, "128 for one CTA with block scales", static_cast<u64>(m)};
  if (!pair && m != 64 && m != 128) return {kM, "64 or 128 for one CTA", static_cast<u64>(m)};

  constexpr const char* kN = "instruction descriptor: N (bits 17-22, times 8)";
  const u64 columns = static_cast<u64>(n);
  if (n > 256 || n < (pair ? 16 : 8))
    return {kN, pair ? "16 to 256 for a pair of CTAs" : "8 to 256 for one CTA", columns};
  if (pair && n % 16 != 0) return {kN, "a multiple of 16 for a pair of CTAs", columns};
  if (form.a_in_tensor_memory && pair && n % 32 != 0)
    return {kN, "a multiple of 32 for a pair of CTAs with A in tensor memory", columns};
  if (form.a_in_tensor_memory && m == 128 && n % 16 != 0)
    return {kN, "a multiple of 16 for M = 128 with A in tensor memory", columns};
  const bool bytes = kind == MmaKind::f8f6f4 || kind == MmaKind::mxf8f6f4;
  if (bytes && d.major_b() == Major::mn && n % (pair ? 32 : 16) != 0)
    return {kN,
            pair ? "a multiple of 32 for a pair of CTAs with an MN-major B of 8 bits"
                 : "a multiple of 16 with an MN-major B of 8 bits",
            columns};
  return {};
}

/// Returns the fault of a descriptor for one form of the instruction.
WW_HOST_DEVICE constexpr DescriptorFault fault(MmaKind kind, InstructionDescriptor d, const MmaForm& form) {
  if (const DescriptorFault bits = fault_of_bits(kind, d)) return bits;
  if (const DescriptorFault types = fault_of_types(kind, d, form)) return types;
  if (const DescriptorFault scales = fault_of_scales(kind, d, form)) return scales;
  return fault_of_shape(kind, d, form);
}

}  // namespace sm100
}  // namespace ww::arch
