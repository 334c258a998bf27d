// SPDX-License-Identifier: Apache-2.0
// Operands generated from a seed. Element (row, column) depends on (seed, which, row, column) alone, so a larger
// problem contains the smaller one and the order of filling does not matter.
//   values:  N(0, 1) rounded to the type; small types saturate      scales:  in [1/4, 4), powers of two equally likely
#pragma once

#include <cstdint>

#include "reference/matrix.hpp"

namespace ww::ref {

/// The operand to which a number belongs; two operands of one seed are independent.
enum class Operand : std::uint64_t { a = 1, b = 2, scale_a = 3, scale_b = 4, global_scale = 5 };

/// Fills a matrix of any type but e8m0. Values are 2^16 quantiles of the normal distribution, drawn alike.
void fill_normal(Matrix& matrix, std::uint64_t seed, Operand which);

/// Fills a matrix of f32, e4m3 or e8m0 with scales 2^e (1 + f), e in {-2, -1, 0, 1}, f in [0, 1) with as many bits as
/// the type has.
void fill_scales(Matrix& matrix, std::uint64_t seed, Operand which);

}  // namespace ww::ref
