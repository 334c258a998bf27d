// SPDX-License-Identifier: Apache-2.0
// Checks in the order a reader would: extents, types, strides, sizes in bytes.
#include "ops/gemm_validation.hpp"

#include <fmt/format.h>

#include <limits>

#include "select/config_text.hpp"
#include "warpwright/collective/builder.hpp"

namespace ww::ops {
namespace {

// why: TMA coordinates are 32 bits and a tile may reach past the edge
constexpr std::int64_t kLargestExtent = std::numeric_limits<std::int32_t>::max() - 1024;
constexpr int kRowAlignment = 16;  // bytes; TMA strides and bases
constexpr std::int64_t kScaleSpan = 128;

Result<void> check_extent(const char* name, std::int64_t value) {
  if (value < 0) return failure(ErrorCode::invalid, name, "at least 0", fmt::format("{}", value));
  if (value > kLargestExtent)
    return failure(ErrorCode::unsupported, name, fmt::format("at most {}", kLargestExtent), fmt::format("{}", value));
  return {};
}

Result<void> check_types(const GemmProblem& p) {
  const auto is_operand = [](DType t) { return t == e4m3 || t == bf16 || t == f16; };
  if (!is_operand(p.a)) return failure(ErrorCode::unsupported, "a (type)", "e4m3, bf16 or f16", name_of(p.a));
  if (p.b != p.a)
    return failure(ErrorCode::unsupported, "b (type)", fmt::format("{}, as a", name_of(p.a)), name_of(p.b));
  if (p.d == e4m3) return failure(ErrorCode::unsupported, "d (type)", "bf16, f16 or f32", name_of(p.d));
  if (p.scale == Scale::block_1x128_128x128 && p.a != e4m3)
    return failure(ErrorCode::unsupported, "scale", fmt::format("none or tensor for {}", name_of(p.a)), "block");
  return {};
}

/// Rows of a matrix: long enough, 16-byte multiples, and within 64-bit addressing.
Result<void> check_rows(const char* stride_name, const char* width_name, std::int64_t rows, std::int64_t width,
                        std::int64_t stride, DType type) {
  const int element = bytes_of(type);
  const int multiple = kRowAlignment / element;
  if (stride < width)
    return failure(ErrorCode::invalid, stride_name, fmt::format("at least {} = {}", width_name, width),
                   fmt::format("{}", stride));
  if (rows > 0 && width > 0 && stride % multiple != 0)
    return failure(
        ErrorCode::unsupported, stride_name,
        fmt::format("a multiple of {} elements (rows of {} bytes of {})", multiple, kRowAlignment, name_of(type)),
        fmt::format("{}", stride));
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(max<std::int64_t>(rows, 1), stride, &bytes) ||
      __builtin_mul_overflow(bytes, std::int64_t{element}, &bytes) || stride * element >= (std::int64_t{1} << 40))
    return failure(ErrorCode::invalid, stride_name, "a matrix of fewer than 2^63 bytes and rows of fewer than 2^40",
                   fmt::format("{} rows of {} elements", rows, stride));
  return {};
}

Result<void> check_scale_strides(const char* name, std::int64_t rows, std::int64_t blocks, std::int64_t row,
                                 std::int64_t column) {
  std::int64_t last = 0, part = 0;
  const bool overflows = __builtin_mul_overflow(max<std::int64_t>(rows - 1, 0), row, &last) ||
                         __builtin_mul_overflow(max<std::int64_t>(blocks - 1, 0), column, &part) ||
                         __builtin_add_overflow(last, part, &last) || last >= (std::int64_t{1} << 60);
  if (row < 0 || column < 0 || overflows)
    return failure(ErrorCode::invalid, fmt::format("{} (strides)", name),
                   fmt::format("strides of at least 0 that address ({}, {}) floats", rows, blocks),
                   fmt::format("({}, {})", row, column));
  return {};
}

void fill_strides(GemmProblem& p) {
  if (p.lda == 0) p.lda = p.k;
  if (p.ldb == 0) p.ldb = p.k;
  if (p.ldd == 0) p.ldd = p.n;
  const std::int64_t blocks = ceil_div(p.k, kScaleSpan);
  if (p.scale_a_row == 0 && p.scale_a_k == 0) p.scale_a_row = blocks, p.scale_a_k = 1;
  if (p.scale_b_n == 0 && p.scale_b_k == 0) p.scale_b_n = blocks, p.scale_b_k = 1;
}

}  // namespace

Result<GemmProblem> validate(const GemmProblem& problem) {
  GemmProblem p = problem;
  WW_CHECK(check_extent("m", p.m));
  WW_CHECK(check_extent("n", p.n));
  WW_CHECK(check_extent("k", p.k));
  WW_CHECK(check_types(p));
  if (p.n % 8 != 0) return failure(ErrorCode::unsupported, "n", "a multiple of 8", fmt::format("{}", p.n));
  const int k_multiple = kRowAlignment / bytes_of(p.a);
  fill_strides(p);
  if (problem.lda == 0 && problem.ldb == 0 && p.k % k_multiple != 0)
    return failure(ErrorCode::unsupported, "k",
                   fmt::format("a multiple of {} for packed {} rows", k_multiple, name_of(p.a)),
                   fmt::format("{}", p.k));
  WW_CHECK(check_rows("lda", "k", p.m, p.k, p.lda, p.a));
  WW_CHECK(check_rows("ldb", "k", p.n, p.k, p.ldb, p.b));
  WW_CHECK(check_rows("ldd", "n", p.m, p.n, p.ldd, p.d));
  if (p.scale == Scale::block_1x128_128x128) {
    const std::int64_t blocks = ceil_div(p.k, kScaleSpan);
    WW_CHECK(check_scale_strides("scale_a", p.m, blocks, p.scale_a_row, p.scale_a_k));
    WW_CHECK(check_scale_strides("scale_b", ceil_div(p.n, kScaleSpan), blocks, p.scale_b_n, p.scale_b_k));
  }
  return p;
}

Result<void> validate(const GemmConfig& resolved) {
  if (const collective::ConfigFault fault = collective::fault_of(resolved))
    return failure(ErrorCode::unsupported, fmt::format("config, {}", fault.field), fault.expected, to_text(resolved));
  return {};
}

}  // namespace ww::ops
