// SPDX-License-Identifier: Apache-2.0
// Judges the results of a run against FP64, every element within a bound of its own (docs/numerics.md, section 7).
// There is no norm and no tolerance: a right result never fails, and one dropped block of K leaves the bound of nearly
// every element that it touches. `warpwright gemm --verify` uses the same judge.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "warpwright/host/gemm.hpp"
#include "warpwright/host/grouped.hpp"
#include "warpwright/host/k_grouped.hpp"

namespace ww {

struct VerifyOptions {
  EmuMath math = EmuMath::exact;  // that the device computed with; a GPU's is exact
};

struct Verification {
  /// One element of an output. Rows and columns are those of the product's own matrices.
  struct Element {
    std::string tensor;        // "D", "out0", "out_scales"
    std::int64_t product = 0;  // which matrix of the batch, or which group
    std::int64_t row = 0, column = 0;
    double got = 0, expected = 0, bound = 0;
  };
  std::int64_t elements = 0;      // judged
  std::int64_t wrong = 0;         // outside their bound
  std::optional<Element> first;   // of those, in the order of products and rows
  Element worst = {};             // the one with the largest finite |got - expected|
  double max_error = 0;           // that difference
  double max_error_of_bound = 0;  // the largest |got - expected| / bound: above 1 is wrong

  bool right() const { return wrong == 0; }
};

/// `operands` are those of the run, every pointer in host memory: inputs as they were, outputs as the run left them.
/// With GemmProblem::pointer_array the arrays and what they point to. C that was D has to be given as it was before.
/// Errors: those of can_implement(), and invalid for what is null.
Result<Verification> verify(const GemmProblem& problem, const GemmOperands& operands,
                            const VerifyOptions& options = {});

/// The arrays of sizes are in host memory too, and are checked: groups that overlap or overrun are invalid. Rows of D
/// outside every group are judged only where GroupedProblem::zero_outside asks for zeros.
Result<Verification> verify(const GroupedProblem& problem, const GroupedOperands& operands,
                            const VerifyOptions& options = {});
Result<Verification> verify(const KGroupedProblem& problem, const KGroupedOperands& operands,
                            const VerifyOptions& options = {});

}  // namespace ww
