// SPDX-License-Identifier: Apache-2.0
// Checks that dense and grouped products share: extents, types, rows of matrices, strides of scales, SMs. Each refusal
// names the argument, what was expected and what it got.
#pragma once

#include <cstdint>
#include <span>

#include "select/machine_rates.hpp"
#include "warpwright/core/meta.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww::ops {

inline constexpr int kTypicalSms = select::kH200.sms;  // assumed when the question precedes the choice of a device
inline constexpr std::int64_t kScaleSpan = 128;   // block recipe: elements of K (and of N for B) that one scale covers
inline constexpr double kLargestTileCount = 1e9;  // schedulers count tiles in 32 bits

// TMA coordinates are 32 bits wide, and a tile may reach past the edge.
inline constexpr std::int64_t kLargestExtent = 0x7fffffff - 1024;

Result<void> check_extent(const char* name, std::int64_t value);

/// Checks the types of groups of rows: operands of one type or, with scales of mx, of any of 4, 6 and 8 bits, and an
/// output and a recipe that suit them.
Result<void> check_types(DType a, DType b, DType d, Scale scale);

/// The counterpart for dense products with outputs `d`, which also support e5m2 beside e4m3, and tf32.
Result<void> check_dense_types(const GemmProblem& problem, DType d);

/// Checks that the tensor core of `arch` reads operands of these types and majors from shared memory.
Result<void> check_majors(DType a, Major a_major, DType b, Major b_major, Arch arch);

/// Returns the type of the recipe's scales, or the reason why `type` is none that kernels read. f32 leaves it open.
Result<ScaleType> check_scale_type(Scale scale, ScaleType type);

/// Strides of mx and nv scales, all 0, because scales lie in chunks.
struct ChunkedStrides {
  Scale scale;
  std::int64_t a_row, a_k, b_n, b_k;
};
Result<void> check_chunked_strides(const ChunkedStrides& strides);
/// Checks the bytes from one matrix of `rows` x `k` elements' scales to the next; 0 is always right.
Result<void> check_chunked_step(const char* name, Scale scale, std::int64_t rows, std::int64_t k, std::int64_t step);
/// Checks what mx and nv require beside types: scales in chunks, whose strides are 0.
Result<void> check_chunked_scales(const GemmProblem& problem);

/// Checks K and row strides where a type of 4 or 6 bits has another beside it, as which it is padded to bytes.
Result<void> check_padded_rows(const GemmProblem& problem);

/// Checks that N is a multiple of 8 and, if rows are `packed`, that K is a multiple of 16 bytes.
Result<void> check_multiples(std::int64_t n, std::int64_t k, DType type, bool packed);

/// Checks the rows of a matrix: long enough, multiples of 16 bytes, and addressable in 64 bits.
Result<void> check_rows(const char* stride_name, const char* width_name, std::int64_t rows, std::int64_t width,
                        std::int64_t stride, DType type);

/// Checks B[group, N, K]: strides that TMA can follow, addressable in 64 bits.
Result<void> check_groups(const char* stride_name, std::int64_t groups, std::int64_t stride, std::int64_t rows,
                          std::int64_t row_stride, DType type);

/// One axis of a scale tensor.
struct ScaleAxis {
  std::int64_t count, stride;
};
Result<void> check_scale_strides(const char* name, std::span<const ScaleAxis> axes);

/// Returns `unsupported` for a field of a resolved config: its name, what it accepts, its value and the whole config.
tl::unexpected<Error> config_failure(const GemmConfig& config, const char* field, std::string expected);

/// Returns the options for a device of `arch`: an open config takes it, and one that names another is refused.
Result<GemmOptions> for_arch(const GemmOptions& options, Arch arch);

/// Checks that `sms` is 0 or at least one cluster.
Result<void> check_sms(int sms, int cluster);

}  // namespace ww::ops
