// SPDX-License-Identifier: Apache-2.0
// Checks what an epilogue tree made of a product: D, stored matrices, reductions, scales. The tree is evaluated again
// in FP64, every node with a bound on the error of FP32 (docs/numerics.md section 9).
#pragma once

#include <array>
#include <cstdint>

#include "reference/epilogue_bounds.hpp"
#include "reference/verify.hpp"
#include "warpwright/host/epilogue.hpp"

namespace ww::ref {

/// Host copies of every tensor that a tree names. Vectors are (1, N) and (M, 1); outputs are those that the kernel
/// wrote. In a batch, each tensor has the rows of all matrices, one after the other, or of one that serves all.
struct EpilogueTensors {
  std::int64_t batch = 1, m = 0;            // matrices, and rows of each
  OutputLayout layout = OutputLayout::row;  // of matrices on the device: column, each is its transpose there
  bool grouped = false;                     // vectors along N have a row for each group, or one for all
  std::array<float, kEpilogueSlots> scalar{1, 1, 1, 1};
  std::array<std::vector<float>, kEpilogueSlots> scalars;  // one for each group instead, or none
  Matrix c;
  std::array<Matrix, kEpilogueSlots> row, column, auxiliary, out;
  std::array<bool, kEpilogueSlots> is_store{};  // out: a matrix, not a reduction
  Matrix out_scales;                            // (M, blocks); of mx and nv in bytes
  // Of mx and nv: for each row of D the row of its scales in chunks, -1 for none, and the rows of all chunks.
  std::vector<std::int64_t> chunk_row;
  std::int64_t chunk_rows = 0;
  std::vector<float> amax = {0};  // of each matrix
};

/// The scaled products (m, n) of a batch, row-major, one after the other; or one (m, n) of which the rows of groups are
/// judged. Then tensors have the rows of D, but vectors along N, which have one for each group or one.
struct BoundedProduct {
  std::int64_t m = 0, n = 0;
  std::vector<double> reference, error;
  std::int64_t batch = 1;
  const std::vector<GroupRows>* groups = nullptr;
};

/// The verdict on D and on every output: `where` names the first tensor with a wrong element; rows count on from one
/// matrix of a batch to the next.
struct EpilogueComparison {
  Comparison verdict;
  std::string where = "D";
  std::int64_t elements = 0;
};
EpilogueComparison verify_epilogue(const EpilogueTree& tree, const BoundedProduct& product,
                                   const EpilogueTensors& tensors, const Matrix& d);

/// Checks the product of `claim` alone if `tree` is empty, otherwise the product and then what the tree made of it.
/// `product` has the extents and the groups; its values are computed here.
EpilogueComparison verify_product(Claim claim, const EpilogueTree& tree, BoundedProduct product,
                                  const EpilogueTensors& tensors, std::atomic<int>* progress = nullptr);

}  // namespace ww::ref
