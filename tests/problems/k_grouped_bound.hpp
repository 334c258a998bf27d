// SPDX-License-Identifier: Apache-2.0
// Checks that every D[g] of a problem with groups of K lies within the bound of docs/numerics.md of the product in
// FP64. The exact reference, which shares the tensor core's arithmetic with the emulator, cannot check this.
#pragma once

#include <cstdint>

#include "grouped_bound.hpp"
#include "random_k_grouped.hpp"
#include "reference/verify_epilogue.hpp"

namespace ww::testing {

/// Copies `rows` rows of `columns` values, which are `ld` elements apart, to a matrix of their own.
inline ref::Matrix copied(const std::uint8_t* bytes, DType type, std::int64_t rows, std::int64_t columns,
                          std::int64_t ld) {
  ref::Matrix matrix = ref::Matrix::allocate(type, rows, columns, columns, "reference").value();
  for (std::int64_t r = 0; r < rows && columns > 0; ++r)
    std::memcpy(matrix.row(r), bytes + bytes_in(type, r * ld), static_cast<std::size_t>(bytes_in(type, columns)));
  return matrix;
}
/// Copies an MN-major operand, which is stored as (K, rows), to a matrix (rows, K).
inline ref::Matrix transposed(const std::uint8_t* bytes, DType type, std::int64_t rows, std::int64_t k,
                              std::int64_t ld) {
  ref::Matrix matrix = ref::Matrix::allocate(type, rows, k, k, "reference").value();
  const int size = bytes_of(type);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < k; ++i) std::memcpy(matrix.row(r) + i * size, bytes + (i * ld + r) * size, size);
  return matrix;
}

/// Describes the first group with elements outside their bound; the text is empty if there is none.
inline std::string outside_bound(const HostKGrouped& h, const std::vector<std::uint8_t>& d) {
  const KGroupedProblem& p = h.problem;
  for (std::size_t g = 0; g < h.ranges.size(); ++g) {
    const HostProblem one = problem_of_group(h, g);
    const std::int64_t k = one.problem.k, blocks = ceil_div(k, 128);
    const auto operand = [&](const std::vector<std::uint8_t>& bytes, DType type, Major major, std::int64_t rows,
                             std::int64_t ld) {
      return major == Major::mn ? transposed(bytes.data(), type, rows, k, ld) : copied(bytes.data(), type, rows, k, ld);
    };
    const auto scales = [&](const std::vector<float>& values, std::int64_t rows, std::int64_t columns) {
      const bool has = p.scale != Scale::none;
      return copied(reinterpret_cast<const std::uint8_t*>(values.data()), f32, has ? rows : 0, columns, columns);
    };
    const bool block = is_block(p.scale), vectors = p.scale == Scale::row_column;
    const ref::Matrix a = operand(one.a, p.a, p.a_major, p.m, one.problem.lda);
    const ref::Matrix b = operand(one.b, p.b, p.b_major, p.n, one.problem.ldb);
    const bool micro = is_microscaled(p.scale), has = p.scale != Scale::none && !(micro && k == 0);
    const ref::Matrix sa = micro ? scales_in_rows(one.chunks_a, p.scale, p.m, k)
                                 : scales(one.scale_a, block || vectors ? p.m : 1, block ? blocks : 1);
    const ref::Matrix sb = micro ? scales_in_rows(one.chunks_b, p.scale, p.n, k)
                                 : scales(one.scale_b, block ? ceil_div(p.n, columns_of_scale(p.scale)) : 1,
                                          block     ? blocks
                                          : vectors ? p.n
                                                    : 1);
    const std::int64_t at = static_cast<std::int64_t>(g) * p.stride_d_group * bytes_of(p.d);
    const ref::Matrix out = copied(d.data() + at, p.d, p.m, p.n, p.ldd);
    ref::Claim claim{.a = a, .b = b, .d = out, .scale = has ? p.scale : Scale::none};
    if (has) claim.scale_a = &sa, claim.scale_b = &sb;
    claim.global_scale = h.global_scale.value_or(1), claim.arch = h.config.arch;
    ref::Comparison verdict;
    if (!p.accumulate) {
      verdict = ref::verify(claim);
    } else {
      ref::BoundedProduct product{p.m, p.n, {}, {}};
      product.reference.resize(static_cast<std::size_t>(p.m * p.n)), product.error.resize(product.reference.size());
      claim.reference = product.reference.data(), claim.error = product.error.data();
      ref::verify(claim);
      ref::EpilogueTensors tensors;
      tensors.m = p.m;
      tensors.c = copied(h.c.data() + at, p.d, p.m, p.n, p.ldd);
      verdict = ref::verify_epilogue(evt::acc + evt::c(p.d), product, tensors, out).verdict;
    }
    if (verdict.wrong != 0)
      return fmt::format("group {}: {} elements outside the FP64 bound, the first at ({}, {}): {} for {} within {}\n{}",
                         g, verdict.wrong, verdict.first->row, verdict.first->column, verdict.first->got,
                         verdict.first->expected, verdict.first->bound, h.replay());
  }
  return "";
}

}  // namespace ww::testing
