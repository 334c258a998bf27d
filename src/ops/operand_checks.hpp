// SPDX-License-Identifier: Apache-2.0
// Checks that dense and grouped products share: extents, types, rows of matrices, strides of scales, SMs.
// Each refusal names the argument, what was expected and what came.
#pragma once

#include <span>

#include "warpwright/core/meta.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww::ops {

inline constexpr int kTypicalSms = 132;           // for answers that come before any device
inline constexpr std::int64_t kScaleSpan = 128;   // block recipe: K (and N for B) that one scale covers
inline constexpr double kLargestTileCount = 1e9;  // schedulers count tiles in 32 bits

// why: TMA coordinates are 32 bits and a tile may reach past the edge
inline constexpr std::int64_t kLargestExtent = 0x7fffffff - 1024;

Result<void> check_extent(const char* name, std::int64_t value);

/// Operands of one type, an output, and a recipe that the operands allow.
Result<void> check_types(DType a, DType b, DType d, Scale scale);

/// The same of a dense product with outputs `d`, which takes more: e5m2 beside e4m3, tf32, and 16-bit operands that are
/// not K-major.
Result<void> check_dense_types(const GemmProblem& problem, DType d);

/// Scales of a type that kernels read.
Result<void> check_scale_type(Scale scale, ScaleType type);

/// N is a multiple of 8, K of 16 bytes when `packed` rows depend on it.
Result<void> check_multiples(std::int64_t n, std::int64_t k, DType type, bool packed);

/// Rows of a matrix: long enough, 16-byte multiples, and within 64-bit addressing.
Result<void> check_rows(const char* stride_name, const char* width_name, std::int64_t rows, std::int64_t width,
                        std::int64_t stride, DType type);

/// B[group, N, K]: strides that TMA can follow, within 64-bit addressing.
Result<void> check_groups(const char* stride_name, std::int64_t groups, std::int64_t stride, std::int64_t rows,
                          std::int64_t row_stride, DType type);

/// One coordinate of a scale tensor.
struct ScaleAxis {
  std::int64_t count, stride;
};
Result<void> check_scale_strides(const char* name, std::span<const ScaleAxis> axes);

/// `sms` is 0 or holds a cluster.
Result<void> check_sms(int sms, int cluster);

}  // namespace ww::ops
