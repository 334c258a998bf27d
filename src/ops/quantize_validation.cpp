// SPDX-License-Identifier: Apache-2.0
// Checks of quantisations and of transposes. Each refusal names the argument, what was expected and what it got.
#include "ops/quantize_validation.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "launch/quantize_adapter.hpp"
#include "ops/grouped_validation.hpp"
#include "ops/operand_checks.hpp"

namespace ww::ops {
namespace {

constexpr std::int64_t kMostPadding = 65536;

/// Multiplies, or returns -1 where the product does not fit; checks of strides refuse that.
std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t made = 0;
  return __builtin_mul_overflow(a, b, &made) ? -1 : made;
}

/// Names of the arguments, which differ between the two problems.
struct Names {
  const char *m, *x, *ldx, *batch_x;
};
constexpr Names kQuantizeNames{"m", "x (type)", "ldx", "batch_x"};
constexpr Names kTransposeNames{"n", "type", "ld", "batch_w"};

std::int64_t rows_of_scales(const QuantizeProblem& p) {
  return p.block == QuantizeBlock::b128x128 ? ceil_div(p.m, kScaleSpan) : p.m;
}
std::int64_t rows_of_transposed_scales(const QuantizeProblem& p) {
  return p.block == QuantizeBlock::b128x128 ? ceil_div(p.k, kScaleSpan) : p.k;
}

void fill_strides(QuantizeProblem& p) {
  const std::int64_t columns = transposed_columns(p);
  const std::int64_t blocks_k = ceil_div(p.k, kScaleSpan), blocks_m = ceil_div(columns, kScaleSpan);
  if (p.ldx == 0) p.ldx = p.k;
  if (p.ldq == 0) p.ldq = p.k;
  if (p.ld_transposed == 0) p.ld_transposed = columns;
  if (p.scale_m == 0 && p.scale_k == 0) p.scale_m = blocks_k, p.scale_k = 1;
  if (p.transposed_scale_k == 0 && p.transposed_scale_m == 0) p.transposed_scale_k = blocks_m, p.transposed_scale_m = 1;
  const auto packed = [](std::int64_t rows, std::int64_t row, std::int64_t width, std::int64_t column) {
    return max(product(rows, row), product(width, column));  // whichever stride is the outer one
  };
  if (p.batch_x == 0) p.batch_x = product(p.m, p.ldx);
  if (p.batch_q == 0) p.batch_q = product(p.m, p.ldq);
  if (p.batch_transposed == 0) p.batch_transposed = product(p.k, p.ld_transposed);
  if (p.batch_scales == 0) p.batch_scales = packed(rows_of_scales(p), p.scale_m, blocks_k, p.scale_k);
  if (p.batch_transposed_scales == 0)
    p.batch_transposed_scales =
        packed(rows_of_transposed_scales(p), p.transposed_scale_k, blocks_m, p.transposed_scale_m);
}

Result<void> check_matrix(const char* ld_name, const char* width_name, const char* batch_name, const QuantizeProblem& p,
                          std::int64_t rows, std::int64_t width, std::int64_t ld, std::int64_t stride, bool written) {
  if (ld < width)
    return failure(ErrorCode::invalid, ld_name, fmt::format("at least {} = {}", width_name, width),
                   fmt::format("{}", ld));
  const std::int64_t size = product(product(max<std::int64_t>(rows, 1), ld), 4);
  if (size < 0 || product(max<std::int64_t>(p.batch, 1), stride) < 0 || stride < 0 ||
      product(p.batch, stride) > (std::int64_t{1} << 60))
    return failure(ErrorCode::invalid, size < 0 ? ld_name : batch_name, "matrices of fewer than 2^60 elements in all",
                   fmt::format("{} of {} rows, {} and {} elements apart", p.batch, rows, stride, ld));
  if (written && p.batch > 1 && stride < (rows - 1) * ld + width)
    return failure(ErrorCode::invalid, batch_name, fmt::format("at least the {} of a matrix", (rows - 1) * ld + width),
                   fmt::format("{}", stride));
  return {};
}

/// Checks strides of scales; those that are written must not share a float.
Result<void> check_scales(const char* name, std::int64_t batch, std::int64_t stride, ScaleAxis rows, ScaleAxis columns,
                          bool written) {
  if (batch == 0 || rows.count == 0 || columns.count == 0) return {};
  WW_CHECK(check_scale_strides(name, std::array{ScaleAxis{batch, stride}, rows, columns}));
  if (!written) return {};
  const auto nested = [](ScaleAxis inner, ScaleAxis outer) {
    return (inner.count == 1 || inner.stride >= 1) &&
           (outer.count == 1 || outer.stride > (inner.count - 1) * inner.stride);
  };
  const std::int64_t size = (rows.count - 1) * rows.stride + (columns.count - 1) * columns.stride + 1;
  if ((nested(rows, columns) || nested(columns, rows)) && (batch == 1 || stride >= size)) return {};
  return failure(ErrorCode::invalid, fmt::format("{} (strides)", name),
                 fmt::format("a float of its own for each of ({}, {}, {})", batch, rows.count, columns.count),
                 fmt::format("({}, {}, {})", stride, rows.stride, columns.stride));
}

Result<void> check_groups_of(const QuantizeProblem& p) {
  WW_CHECK(check_group_count(p.groups));
  if (p.groups == 0) {
    if (p.one_by_one) return failure(ErrorCode::invalid, "one_by_one", "false without groups", "true");
    return {};
  }
  if (p.block != QuantizeBlock::b1x128)
    return failure(ErrorCode::unsupported, "groups", fmt::format("none with {}", name_of(p.block)),
                   fmt::format("{}", p.groups));
  if (!p.transposed)
    return failure(ErrorCode::invalid, "groups", "none without `transposed`: rows are quantised alike in every group",
                   fmt::format("{}", p.groups));
  if (p.batch != 1) return failure(ErrorCode::unsupported, "batch", "1 with groups", fmt::format("{}", p.batch));
  WW_CHECK(check_encoding(p.encoding, p.alignment));
  if (p.encoding == GroupEncoding::masked)
    return failure(ErrorCode::unsupported, "encoding", "offsets, indptr, starts+counts or row-ids", "masked");
  if (p.padding < 1 || p.padding % kScaleSpan != 0 || p.padding > kMostPadding)
    return failure(ErrorCode::invalid, "padding", fmt::format("a multiple of 128, at most {}", kMostPadding),
                   fmt::format("{}", p.padding));
  if (transposed_columns(p) > kLargestExtent)
    return failure(ErrorCode::unsupported, "padding", fmt::format("at most {} padded rows", kLargestExtent),
                   fmt::format("{} rows in {} groups padded to {}", p.m, p.groups, p.padding));
  return {};
}

Result<void> check_kind(const QuantizeProblem& p, const Names& names) {
  const bool copies = is_fp8(p.x);
  WW_CHECK(check_extent(names.m, p.m));
  WW_CHECK(check_extent("k", p.k));
  WW_CHECK(check_extent("batch", p.batch));
  if (copies) return {};
  if (p.x != bf16 && p.x != f16 && p.x != f32)
    return failure(ErrorCode::unsupported, names.x, "bf16, f16 or f32", name_of(p.x));
  if (!is_fp8(p.q)) return failure(ErrorCode::unsupported, "q (type)", "e4m3 or e5m2", name_of(p.q));
  if (p.block != QuantizeBlock::b1x128 && p.block != QuantizeBlock::b128x128)
    return failure(ErrorCode::invalid, "block", "1x128 or 128x128", fmt::format("{}", static_cast<int>(p.block)));
  if (!p.rows && !p.transposed)
    return failure(ErrorCode::invalid, "rows", "an output: `rows`, `transposed` or both", "none");
  if (!(p.min_amax >= 0) || !std::isfinite(p.min_amax))
    return failure(ErrorCode::invalid, "min_amax", "a finite number of at least 0", fmt::format("{}", p.min_amax));
  return {};
}

/// Returns `problem` with explicit strides, or the reason why no kernel runs it. An FP8 x is not refused.
Result<QuantizeProblem> check(const QuantizeProblem& problem, const QuantizeOptions& options, const Names& names) {
  WW_CHECK(check_kind(problem, names));
  WW_CHECK(check_groups_of(problem));
  WW_CHECK(check_sms(options.sms, 0));
  QuantizeProblem p = problem;
  fill_strides(p);
  const std::int64_t columns = transposed_columns(p);
  const std::int64_t blocks_k = ceil_div(p.k, kScaleSpan), blocks_m = ceil_div(columns, kScaleSpan);
  const bool copies = is_fp8(p.x);
  WW_CHECK(check_matrix(names.ldx, "k", names.batch_x, p, p.m, p.k, p.ldx, p.batch_x, false));
  if (p.rows) WW_CHECK(check_matrix("ldq", "k", "batch_q", p, p.m, p.k, p.ldq, p.batch_q, true));
  if (p.rows || copies)
    WW_CHECK(
        check_scales("scales", p.batch, p.batch_scales, {rows_of_scales(p), p.scale_m}, {blocks_k, p.scale_k}, p.rows));
  if (p.transposed) {
    WW_CHECK(check_matrix("ld_transposed", p.groups > 0 ? "transposed_columns()" : names.m, "batch_transposed", p, p.k,
                          columns, p.ld_transposed, p.batch_transposed, true));
    WW_CHECK(check_scales("transposed_scales", p.batch, p.batch_transposed_scales,
                          {rows_of_transposed_scales(p), p.transposed_scale_k}, {blocks_m, p.transposed_scale_m},
                          true));
  }
  if (static_cast<double>(adapters::quantize_tiles(p)) > kLargestTileCount)
    return failure(ErrorCode::unsupported, names.m, fmt::format("at most {} tiles", kLargestTileCount),
                   fmt::format("{} matrices of {} x {}", p.batch, p.m, p.k));
  return p;
}

QuantizeProblem as_quantize(const TransposeProblem& t) {
  QuantizeProblem p;
  p.block = QuantizeBlock::b128x128;
  p.m = t.n, p.k = t.k, p.batch = t.batch;
  p.x = p.q = t.type;
  p.rows = false, p.transposed = true;
  p.ldx = t.ld, p.ld_transposed = t.ld_transposed;
  p.scale_m = t.scale_n, p.scale_k = t.scale_k;
  p.transposed_scale_k = t.transposed_scale_k, p.transposed_scale_m = t.transposed_scale_n;
  p.batch_x = t.batch_w, p.batch_transposed = t.batch_transposed;
  p.batch_scales = t.batch_scales, p.batch_transposed_scales = t.batch_transposed_scales;
  return p;
}

}  // namespace

TransposeProblem as_transpose(const QuantizeProblem& p) {
  TransposeProblem t;
  t.n = p.m, t.k = p.k, t.batch = p.batch, t.type = p.x;
  t.ld = p.ldx, t.ld_transposed = p.ld_transposed;
  t.scale_n = p.scale_m, t.scale_k = p.scale_k;
  t.transposed_scale_k = p.transposed_scale_k, t.transposed_scale_n = p.transposed_scale_m;
  t.batch_w = p.batch_x, t.batch_transposed = p.batch_transposed;
  t.batch_scales = p.batch_scales, t.batch_transposed_scales = p.batch_transposed_scales;
  return t;
}

Result<QuantizeProblem> validate(const QuantizeProblem& problem, const QuantizeOptions& options) {
  if (is_fp8(problem.x))
    return failure(ErrorCode::unsupported, kQuantizeNames.x, "bf16, f16 or f32", name_of(problem.x));
  return check(problem, options, kQuantizeNames);
}

Result<QuantizeProblem> validate(const TransposeProblem& problem, const QuantizeOptions& options) {
  if (!is_fp8(problem.type))
    return failure(ErrorCode::unsupported, kTransposeNames.x, "e4m3 or e5m2", name_of(problem.type));
  return check(as_quantize(problem), options, kTransposeNames);
}

}  // namespace ww::ops
