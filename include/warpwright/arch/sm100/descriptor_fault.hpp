// SPDX-License-Identifier: Apache-2.0
// Says what is wrong with a descriptor of sm_100, and which forms of tcgen05.mma this library refuses by name.
#pragma once

#include "warpwright/core/numbers.hpp"

namespace ww::arch::sm100 {

/// The field of a descriptor that is at fault, the values that it accepts, and its value. `argument` is null if nothing
/// is.
struct DescriptorFault {
  const char* argument = nullptr;
  const char* expected = nullptr;
  u64 actual = 0;
  WW_HOST_DEVICE constexpr explicit operator bool() const { return argument != nullptr; }
};

// One text for each form that PTX has and this library has not.
inline constexpr const char* kNoSparse = "0: sparse MMAs (.sp) are not supported";
inline constexpr const char* kNoWeightStationary = "0: weight-stationary MMAs (.ws) are not supported";
inline constexpr const char* kNoInteger = "0 (F16) or 1 (F32): S32 is of kind::i8, which is not supported";
inline constexpr const char* kNoIntegerOperands = "a format of the MMA's kind: U8 and S8 (kind::i8) are not supported";
inline constexpr const char* kNoSaturation = "0: only kind::i8 saturates, which is not supported";
inline constexpr const char* kNoShift = "no shift of A: .ashift and tcgen05.shift are not supported";
inline constexpr const char* kNoAbsoluteLbo = "0: absolute leading addresses (lbo_mode 1) are of sm_103";
inline constexpr const char* kNoK96 = "0: K = 96 is of sm_103";

WW_HOST_DEVICE constexpr bool holds(const char* text, const char* part) {
  for (; *text; ++text) {
    int at = 0;
    while (part[at] && text[at] == part[at]) ++at;
    if (!part[at]) return true;
  }
  return false;
}

/// Returns the fault of an instruction that PTX names and this library does not have: "tcgen05.mma.ws.cta_group::1...".
/// It looks at the names of qualifiers only; what a descriptor asks for is judged with the descriptor.
WW_HOST_DEVICE constexpr DescriptorFault fault_of_opcode(const char* opcode) {
  if (holds(opcode, ".ws")) return {"tcgen05.mma.ws", kNoWeightStationary};
  if (holds(opcode, ".sp")) return {"tcgen05.mma.sp", kNoSparse};
  if (holds(opcode, "kind::i8")) return {"kind::i8", kNoIntegerOperands};
  if (holds(opcode, "shift")) return {"tcgen05.shift", kNoShift};
  return {};
}

}  // namespace ww::arch::sm100
