// SPDX-License-Identifier: Apache-2.0
// The tensors that an epilogue tree names: read from files or generated from the seed, copied to a device and back.
#pragma once

#include <cstdint>

#include "io/array_file.hpp"
#include "reference/verify_epilogue.hpp"

namespace ww::operations {

using namespace io;
using namespace ref;

/// Inputs that come from files; the others are generated.
class EpilogueFiles {
 public:
  /// Of C, a vector or a matrix, by its leaf.
  std::optional<ArrayFile>& at(EpilogueOp op, int slot) { return files_[index_of(op)][static_cast<std::size_t>(slot)]; }
  const std::optional<ArrayFile>& at(EpilogueOp op, int slot) const {
    return files_[index_of(op)][static_cast<std::size_t>(slot)];
  }

 private:
  static std::size_t index_of(EpilogueOp op) {
    return static_cast<std::size_t>(op) - static_cast<std::size_t>(EpilogueOp::c);
  }
  std::array<std::array<std::optional<ArrayFile>, kEpilogueSlots>, 4> files_;
};

/// A leaf that is a tensor in memory.
inline bool is_tensor(EpilogueOp op) { return op >= EpilogueOp::c && op <= EpilogueOp::auxiliary; }

/// Makes host tensors of `tree` for a product (m, n): inputs filled, outputs of 0xff bytes. Rows of matrices are `pad`
/// elements longer than n; pad is even. Scalars stay 1. In a batch every tensor has the rows of `batch` matrices,
/// except those from files with one dimension less, which serve the whole batch.
Result<EpilogueTensors> make_tensors(const EpilogueTree& tree, std::int64_t m, std::int64_t n, std::uint64_t seed,
                                     const EpilogueFiles& files = {}, std::int64_t pad = 0, std::int64_t batch = 1);

/// Does the same for groups of rows: matrices, outputs and vectors along M have `rows` rows, all groups in one. Vectors
/// along N have one row for each of `groups`, but a file with one dimension serves them all.
Result<EpilogueTensors> make_group_tensors(const EpilogueTree& tree, std::int64_t rows, std::int64_t n,
                                           std::int64_t groups, std::uint64_t seed, const EpilogueFiles& files = {},
                                           std::int64_t pad = 0);

/// Says where scales of mx and nv of D's rows lie, each group's a matrix of its own in `blocks` blocks of 128 rows:
/// one after another, or as far apart as `masked_rows` need.
void place_group_scales(const std::vector<GroupRows>& groups, std::int64_t masked_rows, std::int64_t blocks,
                        EpilogueTensors& tensors);

/// Device copies and the pointers to them.
struct EpilogueBuffers {
  std::vector<Buffer> buffers;
  EpilogueOperands operands;
};
Result<EpilogueBuffers> upload(const Device& device, const EpilogueTensors& tensors);

/// Copies the outputs into `tensors`.
Result<void> download(const Device& device, const EpilogueBuffers& buffers, EpilogueTensors& tensors);

}  // namespace ww::operations
