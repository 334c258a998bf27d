// SPDX-License-Identifier: Apache-2.0
// Checks extents, types, strides, then sizes in bytes.
#include "ops/gemm_validation.hpp"

#include <fmt/format.h>

#include <array>

#include "config/config_text.hpp"
#include "ops/epilogue_validation.hpp"
#include "ops/operand_checks.hpp"
#include "select/fault_text.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/config/sizes.hpp"

namespace ww::ops {
namespace {

/// Sets strides of 0 of scales that are matrices, that is for every recipe except none and tensor.
void fill_scale_strides(GemmProblem& p) {
  const bool block = is_block(p.scale);
  // The row stride of row_column scales is 1, because they are vectors.
  const std::int64_t row = block ? ceil_div(p.k, kScaleSpan) : 1, column = block ? 1 : 0;
  if (p.scale_a_row == 0 && p.scale_a_k == 0) p.scale_a_row = row, p.scale_a_k = column;
  if (p.scale_b_n == 0 && p.scale_b_k == 0) p.scale_b_n = row, p.scale_b_k = column;
}

/// The layout of D in memory.
struct StoredOutput {
  std::int64_t rows, width;
};
StoredOutput stored_output(const GemmProblem& p) {
  const std::int64_t columns = config::output_columns(p.epilogue, p.n);
  return p.d_layout == OutputLayout::row ? StoredOutput{p.m, columns} : StoredOutput{columns, p.m};
}

void fill_strides(GemmProblem& p) {
  if (p.lda == 0) p.lda = p.a_major == Major::k ? p.k : p.m;
  if (p.ldb == 0) p.ldb = p.b_major == Major::k ? p.k : p.n;
  if (p.ldd == 0) p.ldd = stored_output(p).width;
  if (p.scale == Scale::row_column || is_block(p.scale)) fill_scale_strides(p);
}

Result<void> check_scales(const GemmProblem& p) {
  if (p.scale == Scale::row_column) {
    WW_CHECK(check_scale_strides("scale_a", std::array{ScaleAxis{p.m, p.scale_a_row}}));
    WW_CHECK(check_scale_strides("scale_b", std::array{ScaleAxis{p.n, p.scale_b_n}}));
  }
  if (is_microscaled(p.scale)) return check_chunked_scales(p);
  if (is_block(p.scale)) {
    const std::int64_t blocks = ceil_div(p.k, kScaleSpan), columns = ceil_div(p.n, columns_of_scale(p.scale));
    WW_CHECK(check_scale_strides("scale_a", std::array{ScaleAxis{p.m, p.scale_a_row}, ScaleAxis{blocks, p.scale_a_k}}));
    WW_CHECK(
        check_scale_strides("scale_b", std::array{ScaleAxis{columns, p.scale_b_n}, ScaleAxis{blocks, p.scale_b_k}}));
  }
  return {};
}

/// Checks a batch: strides that TMA can follow, and matrices of D that do not overlap.
Result<void> check_batch(const GemmProblem& p) {
  WW_CHECK(check_extent("batch", p.batch));
  WW_CHECK(check_groups("batch_a", p.batch, p.batch_a, p.a_major == Major::k ? p.m : p.k, p.lda, p.a));
  WW_CHECK(check_groups("batch_b", p.batch, p.batch_b, p.b_major == Major::k ? p.n : p.k, p.ldb, p.b));
  const auto [rows, width] = stored_output(p);
  WW_CHECK(check_groups("batch_d", p.batch, p.batch_d, rows, p.ldd, p.d));
  WW_CHECK(check_scale_strides("batch_scale_a", std::array{ScaleAxis{p.batch, p.batch_scale_a}}));
  WW_CHECK(check_scale_strides("batch_scale_b", std::array{ScaleAxis{p.batch, p.batch_scale_b}}));
  if (p.batch <= 1 || p.m == 0 || p.n == 0 || p.pointer_array) return {};
  const bool behind = p.batch_d >= (rows - 1) * p.ldd + width;
  const bool beside =
      p.batch_d >= width && (p.batch_d <= p.ldd / p.batch || (p.batch - 1) * p.batch_d + width <= p.ldd);
  if (behind || beside) return {};
  return failure(
      ErrorCode::invalid, "batch_d",
      fmt::format("matrices of D that do not overlap: at least {} elements apart, or side by side in rows of "
                  "ldd elements",
                  (rows - 1) * p.ldd + width),
      fmt::format("{}", p.batch_d));
}

/// Returns the first field that only configs of groups set, or null.
const char* group_field(const GemmConfig& c) {
  return c.grouping != Grouping::dense                       ? "grouping"
         : c.row_groups.variant != GroupedVariant::automatic ? "variant"
         : c.row_groups.capacity != 0                        ? "groups"
         : c.k_groups.capacity != 0                          ? "k_groups"
         : c.k_groups.packing != KPacking::joint             ? "k_packing"
                                                             : nullptr;
}

}  // namespace

Result<GemmProblem> validate(const GemmProblem& problem) {
  GemmProblem p = problem;
  WW_CHECK(check_extent("m", p.m));
  WW_CHECK(check_extent("n", p.n));
  WW_CHECK(check_extent("k", p.k));
  WW_CHECK(check_dense_types(p, plain_output(p)));
  WW_TRY(p.scale_type, check_scale_type(p.scale, p.scale_type));
  WW_CHECK(check_epilogue(p));
  if (p.d_layout == OutputLayout::column && bits_of(p.d) <= 8)
    return failure(ErrorCode::unsupported, "d (layout)", fmt::format("rows contiguous for {}", name_of(p.d)),
                   "columns");
  // TMA stores whole units of 16 bytes, so that a partial one would overwrite what follows a stored row.
  if (const std::int64_t step = 16 * 8 / bits_of(p.d); p.d_layout == OutputLayout::column && p.m % step != 0)
    return failure(ErrorCode::unsupported, "m",
                   fmt::format("a multiple of {} for columns of D in {}", step, name_of(p.d)), fmt::format("{}", p.m));
  fill_strides(p);
  WW_CHECK(check_multiples(p.n, p.k, p.a,
                           problem.lda == 0 && problem.ldb == 0 && p.a_major == Major::k && p.b_major == Major::k));
  if (p.a_major == Major::k) WW_CHECK(check_rows("lda", "k", p.m, p.k, p.lda, p.a));
  else WW_CHECK(check_rows("lda", "m", p.k, p.m, p.lda, p.a));
  if (p.b_major == Major::k) WW_CHECK(check_rows("ldb", "k", p.n, p.k, p.ldb, p.b));
  else WW_CHECK(check_rows("ldb", "n", p.k, p.n, p.ldb, p.b));
  const StoredOutput d = stored_output(p);
  const int step = row_multiple(p.d);
  if (problem.ldd == 0 && p.d_layout == OutputLayout::row && d.rows > 0 && d.width % step != 0)
    return failure(ErrorCode::unsupported, "n",
                   fmt::format("a multiple of {} columns of packed D in {}", step, name_of(p.d)),
                   fmt::format("{}", d.width));
  WW_CHECK(check_rows("ldd", p.d_layout == OutputLayout::row ? "n" : "m", d.rows, d.width, p.ldd, p.d));
  WW_CHECK(check_padded_rows(p));
  WW_CHECK(check_scales(p));
  if (p.pointer_array) p.batch_a = p.batch_b = p.batch_d = 0;  // ignored
  WW_CHECK(check_batch(p));
  return p;
}

Result<void> validate(const GemmConfig& resolved) {
  if (const char* field = group_field(resolved))
    return config_failure(resolved, field, "what a product without groups has: dense, auto, joint or 0");
  if (const config::ConfigFault fault = config::fault_of(resolved))
    return config_failure(resolved, fault.field, select::expected_text(fault));
  return {};
}

}  // namespace ww::ops
