// SPDX-License-Identifier: Apache-2.0
// Compares D with FP64, every element within its own bound (docs/numerics.md section 7): no norm, no tolerance.
// A correct result never fails; a dropped k-block or a swapped scale exceeds the bound of nearly every element it
// affects.
// It does not model the tensor core again: the bound follows from what one instruction may lose.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "reference/group_layout.hpp"
#include "reference/matrix.hpp"
#include "warpwright/config/enumerations.hpp"
#include "warpwright/host/device.hpp"

namespace ww::ref {

/// `d` = scale (a . b^T); a is (M, K), b is (N, K), d is (M, N). Scales: none; (1, 1) each; (M, 1) and (1, N); or
/// scale_a (M, ceil(K/128)) and scale_b (ceil(N/128), ceil(K/128)) or, with Scale::block_1x128_1x128, (N, ceil(K/128)).
/// mx and nv: bytes, scale_a (M, ceil(K/32)) and scale_b (N, ceil(K/32)), or K/16 and a factor `global_scale`.
/// With `groups`, b is (G N, K), and scale_b has the rows of one group after those of the one before; per tensor either
/// scale may have one row for each group. Rows of d in no group must hold `outside` in every byte.
struct Claim {
  const Matrix& a;
  const Matrix& b;
  const Matrix& d;
  Scale scale = Scale::none;
  const Matrix* scale_a = nullptr;
  const Matrix* scale_b = nullptr;
  EmuMath math = EmuMath::exact;
  const std::vector<GroupRows>* groups = nullptr;  // ascending, without overlap
  unsigned char outside = 0xff;
  // With both: the reference and its bound before the output conversion, (M, N), are stored there, and of D only rows
  // in no group are checked.
  double* reference = nullptr;
  double* error = nullptr;
  float global_scale = 1;  // nv
  Arch arch = Arch::sm90;  // whose tensor core computed d
  std::int64_t columns() const {
    return reference ? b.rows() / (groups ? static_cast<std::int64_t>(groups->size()) : 1) : d.cols();
  }
};

struct Mismatch {
  std::int64_t row = 0, column = 0;
  double got = 0, expected = 0, bound = 0;
};

struct Comparison {
  std::int64_t wrong = 0;                 // elements outside their bound
  std::optional<Mismatch> first;          // the first of them, row by row
  Mismatch worst;                         // the element with the largest finite |got - expected|, right or wrong
  double max_error = 0;                   // that difference
  double max_error_of_bound = 0;          // the largest |got - expected| / bound: above 1 is wrong
  std::int64_t outside = 0;               // elements in no group
  std::int64_t outside_wrong = 0;         // those that something was written to
  std::optional<Mismatch> first_outside;  // `got` is what, `expected` what it was
};

/// `progress`, when given, rises from 0 to 1000.
Comparison verify(const Claim& claim, std::atomic<int>* progress = nullptr);

}  // namespace ww::ref
