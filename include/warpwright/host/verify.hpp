// SPDX-License-Identifier: Apache-2.0
// Verifies the results of a run against FP64, each element against its own error bound (docs/numerics.md, section 7).
// There is no norm and no tolerance: a right result never fails, and a dropped block of K violates the bound of nearly
// every element that it affects. `warpwright gemm --verify` does the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "warpwright/host/gemm.hpp"
#include "warpwright/host/grouped.hpp"
#include "warpwright/host/k_grouped.hpp"

namespace ww {

/// How results are judged.
struct VerifyOptions {
  EmuMath math = EmuMath::exact;  // arithmetic of the device; a GPU's is exact
  Arch arch = kDefaultArch;       // of the device: Blackwell sums products of FP8 with more bits than Hopper does
};

/// The outcome of a comparison.
struct Verification {
  /// One element of an output. Rows and columns are those of its matrix.
  struct Element {
    std::string tensor;                // "D", "out0", "out_scales"
    std::int64_t product = 0;          // number of the matrix in the batch, or of the group
    std::int64_t row = 0, column = 0;  // its place
    double got = 0, expected = 0;      // the value of the run, and that of FP64
    double bound = 0;                  // the largest difference that the arithmetic allows
  };
  std::int64_t elements = 0;      // compared
  std::int64_t wrong = 0;         // outside their bound
  std::optional<Element> first;   // the first wrong one, in the order of products and rows
  Element worst = {};             // the element with the largest finite |got - expected|
  double max_error = 0;           // that difference
  double max_error_of_bound = 0;  // the largest |got - expected| / bound; above 1 is wrong

  /// Returns whether every element is within its bound.
  bool right() const { return wrong == 0; }
};

/// Verifies a dense product. `operands` are those of the run, with every pointer in host memory: inputs as they were,
/// outputs as the run left them. With GemmProblem::pointer_array, the arrays and what they point to are in host memory
/// too. After a run with C in place of D, C must be a copy from before the run: the same pointer as D is invalid.
/// Errors: those of can_implement(), and invalid for null pointers.
Result<Verification> verify(const GemmProblem& problem, const GemmOperands& operands,
                            const VerifyOptions& options = {});

/// Verifies a grouped product. The arrays of sizes are in host memory too and are checked: groups that overlap or
/// overrun are invalid. Rows of D outside every group are verified only if GroupedProblem::zero_outside requests zeros.
/// C as for a dense product.
Result<Verification> verify(const GroupedProblem& problem, const GroupedOperands& operands,
                            const VerifyOptions& options = {});
/// Verifies a product with groups of K; sizes as for groups of rows. With KGroupedProblem::accumulate, `c` must be what
/// the run added to, a copy if the run was in place: null or the same pointer as `d` is invalid.
Result<Verification> verify(const KGroupedProblem& problem, const KGroupedOperands& operands,
                            const VerifyOptions& options = {});

}  // namespace ww
