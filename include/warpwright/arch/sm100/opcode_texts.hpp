// SPDX-License-Identifier: Apache-2.0
// The qualifiers of tcgen05 instructions as text, which asm statements take with the constraint "C": each is an array
// of characters with an address, one for each value of an enumeration.
// WW_TENSOR_SIZES(F) calls F for each number of registers that tcgen05.ld and st take: F(n, the registers as operands
// of the statement, the next four operands, the registers under a constraint c).
#pragma once

#include "warpwright/arch/sm100/formats.hpp"

namespace ww::arch::opcode {

template <auto kValue> struct Text;
#define WW_OPCODE_TEXT(value, letters) \
  template <> struct Text<value> { static constexpr char text[] = letters; };
WW_OPCODE_TEXT(MmaKind::f16, ".kind::f16")
WW_OPCODE_TEXT(MmaKind::tf32, ".kind::tf32")
WW_OPCODE_TEXT(MmaKind::f8f6f4, ".kind::f8f6f4")
WW_OPCODE_TEXT(MmaKind::mxf8f6f4, ".kind::mxf8f6f4")
WW_OPCODE_TEXT(MmaKind::mxf4, ".kind::mxf4")
WW_OPCODE_TEXT(MmaKind::mxf4nvf4, ".kind::mxf4nvf4")
WW_OPCODE_TEXT(TensorShape::lanes32_bits32, ".32x32b")
WW_OPCODE_TEXT(TensorShape::lanes16_bits64, ".16x64b")
WW_OPCODE_TEXT(TensorShape::lanes16_bits128, ".16x128b")
WW_OPCODE_TEXT(TensorShape::lanes16_bits256, ".16x256b")
WW_OPCODE_TEXT(TensorShape::lanes16_bits32_split, ".16x32bx2")
WW_OPCODE_TEXT(CopyShape::rows128_bits256, ".128x256b")
WW_OPCODE_TEXT(CopyShape::rows4_bits256, ".4x256b")
WW_OPCODE_TEXT(CopyShape::rows128_bits128, ".128x128b")
WW_OPCODE_TEXT(CopyShape::rows64_bits128_02_13, ".64x128b.warpx2::02_13")
WW_OPCODE_TEXT(CopyShape::rows64_bits128_01_23, ".64x128b.warpx2::01_23")
WW_OPCODE_TEXT(CopyShape::rows32_bits128_all, ".32x128b.warpx4")
WW_OPCODE_TEXT(CopyUnpack::none, "")
WW_OPCODE_TEXT(CopyUnpack::from4_padded64, ".b8x16.b4x16_p64")
WW_OPCODE_TEXT(CopyUnpack::from6_padded32, ".b8x16.b6x16_p32")
#undef WW_OPCODE_TEXT

template <bool kPacked> struct Pack { static constexpr char load[] = "", store[] = ""; };
template <> struct Pack<true> { static constexpr char load[] = ".pack::16b", store[] = ".unpack::16b"; };

}  // namespace ww::arch::opcode

#define WW_NAMES_4 "%0, %1, %2, %3"
#define WW_NAMES_8 WW_NAMES_4 ", %4, %5, %6, %7"
#define WW_NAMES_16 WW_NAMES_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define WW_NAMES_32 WW_NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define WW_NAMES_64                                                                  \
  WW_NAMES_32                                                                        \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47" \
  ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define WW_NAMES_128                                                                             \
  WW_NAMES_64                                                                                    \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"             \
  ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"             \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111" \
  ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

#define WW_VALUES_1(c, i) c(r[i])
#define WW_VALUES_2(c, i) c(r[i]), c(r[(i) + 1])
#define WW_VALUES_4(c, i) WW_VALUES_2(c, i), WW_VALUES_2(c, (i) + 2)
#define WW_VALUES_8(c, i) WW_VALUES_4(c, i), WW_VALUES_4(c, (i) + 4)
#define WW_VALUES_16(c, i) WW_VALUES_8(c, i), WW_VALUES_8(c, (i) + 8)
#define WW_VALUES_32(c, i) WW_VALUES_16(c, i), WW_VALUES_16(c, (i) + 16)
#define WW_VALUES_64(c, i) WW_VALUES_32(c, i), WW_VALUES_32(c, (i) + 32)
#define WW_VALUES_128(c, i) WW_VALUES_64(c, i), WW_VALUES_64(c, (i) + 64)

#define WW_TENSOR_SIZES(F)                              \
  F(1, "%0", "%1", "%2", "%3", "%4", "%5")              \
  F(2, "%0, %1", "%2", "%3", "%4", "%5", "%6")          \
  F(4, WW_NAMES_4, "%4", "%5", "%6", "%7", "%8")        \
  F(8, WW_NAMES_8, "%8", "%9", "%10", "%11", "%12")     \
  F(16, WW_NAMES_16, "%16", "%17", "%18", "%19", "%20") \
  F(32, WW_NAMES_32, "%32", "%33", "%34", "%35", "%36") \
  F(64, WW_NAMES_64, "%64", "%65", "%66", "%67", "%68") \
  F(128, WW_NAMES_128, "%128", "%129", "%130", "%131", "%132")
