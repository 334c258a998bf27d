// SPDX-License-Identifier: Apache-2.0
// Judges D against FP64, every element within its own bound (docs/numerics.md section 7): no norm, no tolerance.
// A right result never fails; a dropped k-block or a swapped scale leaves the bound of nearly every element it touches.
// Not a second implementation of the tensor core: the bound follows from what one instruction may lose.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "cli/matrix.hpp"
#include "warpwright/collective/gemm_config.hpp"
#include "warpwright/host/device.hpp"

namespace ww::cli {

/// `d` = scale (a . b^T); a is (M, K), b is (N, K), d is (M, N). Scales: none; (1, 1) each; or
/// scale_a (M, ceil(K/128)) and scale_b (ceil(N/128), ceil(K/128)).
struct Claim {
  const Matrix& a;
  const Matrix& b;
  const Matrix& d;
  Scale scale = Scale::none;
  const Matrix* scale_a = nullptr;
  const Matrix* scale_b = nullptr;
  EmuMath math = EmuMath::exact;
};

struct Mismatch {
  std::int64_t row = 0, column = 0;
  double got = 0, expected = 0, bound = 0;
};

struct Verdict {
  std::int64_t wrong = 0;         // elements outside their bound
  std::optional<Mismatch> first;  // the first of them, row by row
  Mismatch worst;                 // the right-or-wrong element with the largest finite |got - expected|
  double max_error = 0;           // that difference
  double max_error_of_bound = 0;  // the largest |got - expected| / bound: above 1 is wrong
};

/// `progress`, when given, rises from 0 to 1000.
Verdict verify(const Claim& claim, std::atomic<int>* progress = nullptr);

}  // namespace ww::cli
