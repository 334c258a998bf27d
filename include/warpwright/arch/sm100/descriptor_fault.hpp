// SPDX-License-Identifier: Apache-2.0
// What is wrong with a descriptor of sm_100, and the texts for forms of tcgen05.mma that this library refuses by name.
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
inline constexpr const char* kNoSaturation = "0: only kind::i8 saturates, which is not supported";
inline constexpr const char* kNoAbsoluteLbo = "0: absolute leading addresses (lbo_mode 1) are of sm_103";
inline constexpr const char* kNoK96 = "0: K = 96 is of sm_103";

}  // namespace ww::arch::sm100
