// SPDX-License-Identifier: Apache-2.0
// Checks groups and extents, types, encoding, strides and scales, then the config.
#include "ops/grouped_validation.hpp"

#include <fmt/format.h>

#include <array>

#include "config/config_text.hpp"
#include "host/messages.hpp"
#include "ops/epilogue_validation.hpp"
#include "ops/operand_checks.hpp"
#include "select/fault_text.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/config/group_encoding.hpp"
#include "warpwright/config/shared_memory.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/core/scale_chunks.hpp"

namespace ww::ops {
namespace {

Result<void> check_extents(const GroupedProblem& p) {
  WW_CHECK(check_group_count(p.groups));
  WW_CHECK(check_extent("rows", p.rows));
  WW_CHECK(check_extent("n", p.n));
  WW_CHECK(check_extent("k", p.k));
  if (p.total_rows() > kLargestExtent)
    return failure(ErrorCode::unsupported, "rows", fmt::format("at most {} in all groups", kLargestExtent),
                   fmt::format("{} groups of {}", p.groups, p.rows));
  return {};
}

void fill_tensor_scales(GroupedProblem& p) {
  p.scale_a_row = p.scale_a_k = 0;
  p.scale_b_n = p.scale_b_k = 0;
}

void fill_row_column_scales(GroupedProblem& p) {
  p.scale_a_k = p.scale_b_k = 0;
  if (p.encoding != GroupEncoding::masked) p.scale_a_group = 0;
  if (p.scale_a_row == 0) p.scale_a_row = 1;
  if (p.scale_b_group == 0 && p.scale_b_n == 0) p.scale_b_group = p.n, p.scale_b_n = 1;
}

void fill_block_scales(GroupedProblem& p) {
  const std::int64_t blocks = ceil_div(p.k, kScaleSpan), columns = ceil_div(p.n, kScaleSpan);
  if (p.encoding != GroupEncoding::masked) p.scale_a_group = 0;
  if (p.scale_a_row == 0 && p.scale_a_k == 0) p.scale_a_row = blocks, p.scale_a_k = 1;
  if (p.scale_b_group == 0 && p.scale_b_n == 0 && p.scale_b_k == 0)
    p.scale_b_group = columns * blocks, p.scale_b_n = blocks, p.scale_b_k = 1;
}

void fill_chunked_scales(GroupedProblem& p) {
  const int vector = scale_vector(p.scale);
  if (p.encoding != GroupEncoding::masked) p.scale_a_group = 0;
  else if (p.scale_a_group == 0) p.scale_a_group = scale_bytes(p.rows, p.k, vector);
  if (p.scale_b_group == 0) p.scale_b_group = scale_bytes(p.n, p.k, vector);
}

void fill_strides(GroupedProblem& p) {
  if (p.lda == 0) p.lda = p.k;
  if (p.ldb == 0) p.ldb = p.b_major == Major::k ? p.k : p.n;
  if (p.ldd == 0) p.ldd = config::output_columns(p.epilogue, p.n);
  if (p.scale == Scale::none) p.scale_a_group = p.scale_b_group = 0;
  if (p.scale == Scale::none || p.scale == Scale::tensor) fill_tensor_scales(p);
  if (p.scale == Scale::row_column) fill_row_column_scales(p);
  if (p.scale == Scale::block_1x128_128x128) fill_block_scales(p);
  if (is_microscaled(p.scale)) fill_chunked_scales(p);
}

Result<void> check_scales(const GroupedProblem& p) {
  if (is_microscaled(p.scale)) {
    WW_CHECK(check_chunked_strides({p.scale, p.scale_a_row, p.scale_a_k, p.scale_b_n, p.scale_b_k}));
    if (p.k == 0) return {};  // no scale is read
    WW_CHECK(check_chunked_step("scale_a_group", p.scale, p.rows, p.k, p.scale_a_group));
    WW_CHECK(check_chunked_step("scale_b_group", p.scale, p.n, p.k, p.scale_b_group));
    WW_CHECK(check_scale_strides("scale_a", std::array{ScaleAxis{p.groups, p.scale_a_group}}));
    return check_scale_strides("scale_b", std::array{ScaleAxis{p.groups, p.scale_b_group}});
  }
  if (p.scale == Scale::tensor) {
    WW_CHECK(check_scale_strides("scale_a", std::array{ScaleAxis{p.groups, p.scale_a_group}}));
    WW_CHECK(check_scale_strides("scale_b", std::array{ScaleAxis{p.groups, p.scale_b_group}}));
  }
  if (p.scale == Scale::row_column) {
    WW_CHECK(check_scale_strides(
        "scale_a", std::array{ScaleAxis{p.groups, p.scale_a_group}, ScaleAxis{p.total_rows(), p.scale_a_row}}));
    WW_CHECK(
        check_scale_strides("scale_b", std::array{ScaleAxis{p.groups, p.scale_b_group}, ScaleAxis{p.n, p.scale_b_n}}));
  }
  if (p.scale == Scale::block_1x128_128x128) {
    const std::int64_t blocks = ceil_div(p.k, kScaleSpan), columns = ceil_div(p.n, kScaleSpan);
    WW_CHECK(check_scale_strides(
        "scale_a", std::array{ScaleAxis{p.groups, p.scale_a_group}, ScaleAxis{p.total_rows(), p.scale_a_row},
                              ScaleAxis{blocks, p.scale_a_k}}));
    WW_CHECK(
        check_scale_strides("scale_b", std::array{ScaleAxis{p.groups, p.scale_b_group}, ScaleAxis{columns, p.scale_b_n},
                                                  ScaleAxis{blocks, p.scale_b_k}}));
  }
  return {};
}

Result<void> check_b_major(const GroupedProblem& p) {
  if (p.b_major == Major::k || !is_packed(p.b)) return {};
  return failure(
      ErrorCode::unsupported, "b (layout)",
      fmt::format("K-major: the tensor core reads {}, as all types of 4 and 6 bits, no other way", name_of(p.b)),
      "N-major");
}

/// Checks that the variant accepts the problem's encoding.
Result<void> check_variant(const GemmConfig& c, const GroupedProblem& p) {
  const bool masked = p.encoding == GroupEncoding::masked, hopper = c.arch == Arch::sm90;
  const auto refused = [&](const char* expected) { return config_failure(c, "variant", expected); };
  if (c.row_groups.variant == GroupedVariant::automatic)
    return refused(hopper ? "contiguous, masked, descriptors or ragged for a product with groups"
                          : "contiguous or masked for a product with groups");
  if (c.row_groups.variant == GroupedVariant::masked && !masked)
    return refused(hopper ? "contiguous, descriptors or ragged for groups that are not masked"
                          : "contiguous for groups that are not masked");
  if (c.row_groups.variant == GroupedVariant::contiguous && masked)
    return refused(hopper ? "masked, descriptors or ragged for masked groups" : "masked for masked groups");
  return {};
}

/// The sizes only guide the choice, but sizes that no run can have are an error of the caller's. One number alone may
/// be a bound of every group, so that it is held against all rows and not against the rows of each.
Result<void> check_expected_sizes(const GroupedProblem& p) {
  const std::vector<std::int64_t>& sizes = p.expected_sizes;
  if (sizes.empty()) return {};
  const auto count = static_cast<std::int64_t>(sizes.size());
  if (count != 1 && count != p.groups)
    return failure(ErrorCode::invalid, "expected_sizes", fmt::format("1 or {} numbers, one for each group", p.groups),
                   fmt::format("{}", count));
  std::int64_t left = p.rows;
  for (std::size_t g = 0; g < sizes.size(); ++g) {
    if (sizes[g] < 0 || sizes[g] > left)
      return failure(ErrorCode::invalid, fmt::format("expected_sizes[{}]", g),
                     p.encoding == GroupEncoding::masked
                         ? fmt::format("0 to {}, the rows of a group", p.rows)
                         : fmt::format("0 to {}, the rows that are left of {}", left, p.rows),
                     fmt::format("{}", sizes[g]));
    if (p.encoding != GroupEncoding::masked) left -= sizes[g];
  }
  return {};
}

}  // namespace

Result<void> check_group_count(std::int64_t groups) {
  if (groups < 0) return failure(ErrorCode::invalid, "groups", "at least 0", fmt::format("{}", groups));
  if (groups <= config::kGroupLimit) return {};
  return failure(ErrorCode::unsupported, "groups", fmt::format("at most {}", config::kGroupLimit),
                 fmt::format("{}", groups));
}

Result<void> check_encoding(GroupEncoding encoding, std::int64_t alignment) {
  if (encoding > GroupEncoding::masked)
    return failure(ErrorCode::invalid, "encoding", "offsets, indptr, starts-counts, row-ids or masked",
                   fmt::format("{}", static_cast<int>(encoding)));
  if (alignment < 1) return failure(ErrorCode::invalid, "alignment", "at least 1", fmt::format("{}", alignment));
  if (alignment > kLargestExtent)
    return failure(ErrorCode::unsupported, "alignment", fmt::format("at most {}", kLargestExtent),
                   fmt::format("{}", alignment));
  if (alignment != 1 && encoding != GroupEncoding::offsets && encoding != GroupEncoding::row_ids)
    return failure(ErrorCode::invalid, "alignment",
                   fmt::format("1 with {}, which says where every group starts", name_of(encoding)),
                   fmt::format("{}", alignment));
  return {};
}

std::int64_t k_granularity(const KGroupedProblem& p) {
  if (p.a_major == Major::mn && p.b_major == Major::mn && !is_microscaled(p.scale) && !is_block(p.scale)) return 1;
  return is_microscaled(p.scale) && p.a == e2m1 && p.b == e2m1 ? 2 * kScaleSpan : kScaleSpan;
}

Result<GroupedProblem> validate(const GroupedProblem& problem) {
  GroupedProblem p = problem;
  WW_CHECK(check_extents(p));
  const GemmProblem outputs = outputs_of(p);
  WW_CHECK(check_types(p.a, p.b, plain_output(outputs), p.scale));
  WW_TRY(p.scale_type, check_scale_type(p.scale, p.scale_type));
  WW_CHECK(check_b_major(p));
  WW_CHECK(check_epilogue(outputs));
  WW_CHECK(check_encoding(p.encoding, p.alignment));
  fill_strides(p);
  WW_CHECK(check_multiples(p.n, p.k, p.a, problem.lda == 0 && problem.ldb == 0 && p.b_major == Major::k));
  WW_CHECK(check_rows("lda", "k", p.total_rows(), p.k, p.lda, p.a));
  const std::int64_t columns = config::output_columns(p.epilogue, p.n), step = 16 * 8 / bits_of(p.d);
  if (columns % step != 0)  // tails of groups are stored 16 bytes at a time
    return failure(ErrorCode::unsupported, "n", fmt::format("a multiple of {} columns of D in {}", step, name_of(p.d)),
                   fmt::format("{}", columns));
  const bool by_k = p.b_major == Major::k;
  const std::int64_t rows_of_b = by_k ? p.n : p.k;
  WW_CHECK(check_rows("ldb", by_k ? "k" : "n", rows_of_b, by_k ? p.k : p.n, p.ldb, p.b));
  if (p.stride_b_group == 0) p.stride_b_group = rows_of_b * p.ldb;  // cannot overflow: ldb has been checked with them
  WW_CHECK(check_groups("stride_b_group", p.groups, p.stride_b_group, rows_of_b, p.ldb, p.b));
  WW_CHECK(check_rows("ldd", "n", p.total_rows(), columns, p.ldd, p.d));
  GemmProblem operands{.k = p.k, .a = p.a, .b = p.b, .scale = p.scale};
  operands.lda = p.lda, operands.ldb = p.ldb;
  WW_CHECK(check_padded_rows(operands));
  if (p.groups > 1) operands.ldb = p.stride_b_group;
  if (const Result<void> apart = check_padded_rows(operands); !apart)
    return failure(with_argument(apart.error(), "stride_b_group"));
  WW_CHECK(check_scales(p));
  WW_CHECK(check_expected_sizes(p));
  return p;
}

Result<void> validate(const GemmConfig& resolved, const GroupedProblem& problem) {
  WW_CHECK(check_variant(resolved, problem));
  if (resolved.row_groups.capacity < problem.groups)
    return config_failure(resolved, "groups", fmt::format("at least {}, the groups of the problem", problem.groups));
  if (resolved.operands.layout != MatrixLayout{Major::k, problem.b_major})
    return failure(ErrorCode::unsupported, "config, layout",
                   fmt::format("{}, as the problem has A and B", name_of(MatrixLayout{Major::k, problem.b_major})),
                   to_text(resolved));
  if (resolved.dense.epilogue_n != 0) return config_failure(resolved, "epilogue_n", "0 for grouped products");
  if (const config::ConfigFault fault = config::fault_of_grouped(resolved))
    return config_failure(resolved, fault.field, select::expected_text(fault));
  return check_epilogue_tile(outputs_of(problem), resolved);
}

}  // namespace ww::ops
