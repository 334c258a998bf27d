// SPDX-License-Identifier: Apache-2.0
// Checks that D of a grouped problem lies within the bound of docs/numerics.md of the product in FP64. The exact
// reference, which shares the tensor core's arithmetic with the emulator, cannot check this.
#pragma once

#include <cstdint>

#include "random_grouped.hpp"
#include "reference/scale_chunks.hpp"
#include "reference/verify_epilogue.hpp"

namespace ww::testing {

/// Copies `rows` rows of `bytes` to a matrix.
inline ref::Matrix matrix_of(const void* bytes, DType type, std::int64_t rows, std::int64_t columns, std::int64_t ld) {
  ref::Matrix matrix = ref::Matrix::allocate(type, rows, columns, ld, "reference").value();
  std::memcpy(matrix.data(), bytes, matrix.bytes());
  return matrix;
}

/// Returns the scales of mx and nv of `rows` rows of `k` elements in rows, from their chunks.
inline ref::Matrix scales_in_rows(const std::vector<std::uint8_t>& chunks, Scale scale, std::int64_t rows,
                                  std::int64_t k) {
  return ref::unchunked(chunks.data(), scale == Scale::mx ? e8m0 : e4m3, rows,
                        ceil_div(k, std::int64_t{scale_vector(scale)}), "reference")
      .value();
}

/// Describes the first element of D, as run_on() returns it, outside its bound; the text is empty if there is none.
/// Scales that are not finite have no bound and are left to the exact reference.
inline std::string outside_bound(const HostGrouped& h, const std::vector<std::uint8_t>& d) {
  const GroupedProblem& p = h.problem;
  for (std::int64_t g = 0; g < p.groups; ++g) {
    const auto [start, count] = h.ranges[static_cast<std::size_t>(g)];
    if (count == 0) continue;
    const HostProblem one = problem_of_group(h, g);
    const bool block = p.scale == Scale::block_1x128_128x128, vectors = p.scale == Scale::row_column;
    const std::int64_t blocks = ceil_div(p.k, 128);
    const auto scales = [&](const std::vector<float>& values, std::int64_t rows, std::int64_t columns) {
      return matrix_of(values.data(), f32, p.scale == Scale::none ? 0 : rows, columns, columns);
    };
    const ref::Matrix a = matrix_of(one.a.data(), p.a, count, p.k, p.lda);
    ref::Matrix b = matrix_of(one.b.data(), p.b, h.rows_of_b(), h.columns_of_b(), p.ldb);
    if (p.b_major == Major::mn) b = ref::transposed(b, p.k, "reference").value();
    const ref::Matrix out =
        matrix_of(d.data() + start * p.ldd * bytes_of(p.d), p.d, count, h.columns_of_d(), p.ldd);  // the last row too
    const bool micro = is_microscaled(p.scale), has = p.scale != Scale::none && !(micro && p.k == 0);
    const ref::Matrix sa = micro ? scales_in_rows(one.chunks_a, p.scale, count, p.k)
                                 : scales(one.scale_a, block || vectors ? count : 1, block ? blocks : 1);
    const ref::Matrix sb = micro ? scales_in_rows(one.chunks_b, p.scale, p.n, p.k)
                                 : scales(one.scale_b, block ? ceil_div(p.n, 128) : 1,
                                          block     ? blocks
                                          : vectors ? p.n
                                                    : 1);
    const ref::Claim claim{.a = a,
                           .b = b,
                           .d = out,
                           .scale = has ? p.scale : Scale::none,
                           .scale_a = has ? &sa : nullptr,
                           .scale_b = has ? &sb : nullptr,
                           .global_scale = h.global_scale.value_or(1),
                           .arch = h.config.arch};
    ref::EpilogueTensors tensors;
    tensors.m = count;
    const ref::Comparison verdict = ref::verify_product(claim, p.epilogue, {count, p.n, {}, {}}, tensors).verdict;
    if (verdict.wrong != 0)
      return fmt::format("group {}: {} elements outside the FP64 bound, the first at ({}, {}): {} for {} within {}\n{}",
                         g, verdict.wrong, verdict.first->row, verdict.first->column, verdict.first->got,
                         verdict.first->expected, verdict.first->bound, h.replay());
  }
  return "";
}

}  // namespace ww::testing
