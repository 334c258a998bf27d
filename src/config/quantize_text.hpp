// SPDX-License-Identifier: Apache-2.0
// Kernels of casts and transposes as text and back, beside the texts of configs: what lists of kernels name them by.
//   quantize=1x128,x=bf16,q=e4m3,rows=1,transposed=0        transpose=e4m3        pack=ue8m0
//   cast=mx,x=bf16,q=e4m3                                   cast=nv,x=bf16,q=e2m1
// Missing keys have the values above.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "warpwright/config/microscale_arguments.hpp"
#include "warpwright/config/quantize_arguments.hpp"
#include "warpwright/host/microscale.hpp"
#include "warpwright/host/pack_scales.hpp"
#include "warpwright/host/quantize.hpp"
#include "warpwright/host/result.hpp"

namespace ww {

std::string to_text(const config::QuantizeKind& kind);
std::string to_text(const config::MicroscaleKind& kind);

/// Returns the text of a cast, also where no kernel has those types.
std::string text_of_cast(const config::QuantizeKind& kind);

/// The text of the one kernel that packs exponents of scales.
inline constexpr std::string_view kPackScales = "pack=ue8m0";

/// Whether `text` means a cast, to FP8 or by mx and nv, a transpose or the packing of scales rather than a config.
bool names_quantize(std::string_view text);

/// Returns a problem of one tile that has the kernel of `text`. Errors name the key.
Result<std::variant<QuantizeProblem, TransposeProblem, PackScalesProblem, MicroscaleProblem>> parse_quantize(
    std::string_view text);

}  // namespace ww
