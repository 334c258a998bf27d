// SPDX-License-Identifier: Apache-2.0
// One value that says everything about a GEMM kernel: template argument, JIT key, CLI line, row of a bench result.
// A field of 0 is `auto`; collective/builder.hpp resolves it. Text form and parser: src/select/config_text.cpp.
#pragma once

#include "warpwright/core/dtype.hpp"

namespace ww {

enum class Arch : u8 { sm90 };

/// How raw products become D.
enum class Scale : u8 {
  none,                 // D = A B^T
  tensor,               // D = scale_a[0] * scale_b[0] * A B^T
  block_1x128_128x128,  // A scaled by row and 128 of K, B by 128 x 128; partial sums promoted to FP32 every 128 of K
};

WW_HOST_DEVICE constexpr const char* name_of(Arch) { return "sm90"; }
WW_HOST_DEVICE constexpr const char* name_of(Scale scale) {
  return scale == Scale::none ? "none" : scale == Scale::tensor ? "tensor" : "block";
}

struct GemmConfig {
  Arch arch = Arch::sm90;
  DType a = DType::e4m3;
  DType b = DType::e4m3;
  DType d = DType::bf16;
  Scale scale = Scale::none;
  int tile_m = 0, tile_n = 0, tile_k = 0;  // CTA tile in elements; tile_k is 128 bytes of K
  int cluster_m = 0, cluster_n = 0;        // CTAs of a cluster along M (they share B) and along N (they share A)
  int stages = 0;                          // depth of the operand ring
  int math_warpgroups = 0;                 // 1 or 2; each owns tile_m / math_warpgroups rows
  int raster = 0;                          // cluster tiles along M that are walked together before N advances

  bool operator==(const GemmConfig&) const = default;
};

}  // namespace ww
