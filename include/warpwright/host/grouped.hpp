// SPDX-License-Identifier: Apache-2.0
// D[r, :] = epilogue(scale (A[r, :] . B[group of r]^T)) for ragged groups of rows: A [M, K], B [G, N, K] or, in 16-bit
// types, [G, K, N], D [M, N], all row-major. Only the device knows which rows belong to which group, in one of five
// encodings of int32 arrays. The host never reads the arrays, so a captured graph may be replayed with other sizes.
// Groups may be empty and need no alignment.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "warpwright/config/gemm_config.hpp"
#include "warpwright/config/group_encoding.hpp"
#include "warpwright/host/device.hpp"
#include "warpwright/host/epilogue.hpp"
#include "warpwright/host/gemm.hpp"
#include "warpwright/host/result.hpp"

namespace ww {

/// Products of ragged groups of rows with a matrix each: A [M, K], B [G, N, K], D [M, N].
struct GroupedProblem {
  std::int64_t groups = 0;  // G, at most 4096
  std::int64_t rows = 0;  // M: rows of A and D; masked: rows of one group (Mmax), A is [G, Mmax, K] and D [G, Mmax, N]
  std::int64_t n = 0, k = 0;
  // Element types of A, B and D. A and B have one type or, with Scale::mx, any of 4, 6 and 8 bits each.
  DType a = DType::e4m3, b = DType::e4m3, d = DType::bf16;
  Major b_major = Major::k;  // mn: B is stored as [G, K, N]; bf16 and f16 only
  Scale scale = Scale::none;
  ScaleType scale_type = ScaleType::f32;
  GroupEncoding encoding = GroupEncoding::offsets;
  // offsets: each group starts at the first multiple of this after the end of the previous one. row_ids: the id of the
  // first of so many rows is the group of all of them, whatever ids the others have.
  std::int64_t alignment = 1;
  bool zero_outside = false;  // if true, rows of D outside every group are zeroed; otherwise they are left alone
  // Row strides in elements. 0: K for A and B, N for an N-major B; for D its number of columns, which is N, or N / 2
  // after SwiGLU. Rows start at multiples of 16 bytes.
  std::int64_t lda = 0, ldb = 0, ldd = 0;
  std::int64_t stride_b_group = 0;  // elements from B[g] to B[g + 1]; 0: N * ldb, or K * ldb
  // float32 scales; strides in elements. A stride of 0 beside others that are set shares one scale.
  //   tensor:      scale_a[g * scale_a_group], scale_b[g * scale_b_group]          (0, 0: one for the whole tensor)
  //   row_column:  scale_a[row * scale_a_row], scale_b[g * scale_b_group + n * scale_b_n]
  //   block:       scale_a[row * scale_a_row + kb * scale_a_k],
  //                scale_b[g * scale_b_group + nb * scale_b_n + kb * scale_b_k]
  // The scales of A of masked groups may lie apart, scale_a_group floats from one group to the next; 0 means Mmax *
  // scale_a_row.
  //   mx, nv:      bytes in chunks (core/scale_chunks.hpp), on Blackwell alone. Each group's scales are a matrix of
  //                their own, padded to 128 rows.
  //                A: the matrices of the groups that have rows follow one another, in memory for
  //                most_scale_blocks(M, G) * 128 rows. Masked groups instead have matrices of Mmax rows each, which
  //                begin scale_a_group bytes apart.
  //                B: the matrices of the groups begin scale_b_group bytes apart.
  //                A distance of 0 stands for matrices without gaps. The other strides are 0.
  // If all strides are 0, scales are packed row-major. row_column: (M) and (G, N). block: (M, ceil(K/128)) and (G,
  // ceil(N/128), ceil(K/128)).
  std::int64_t scale_a_row = 0, scale_a_k = 0, scale_a_group = 0;
  std::int64_t scale_b_n = 0, scale_b_k = 0, scale_b_group = 0;
  // An epilogue without reductions. SwiGLU and quantise_block need the variant contiguous or masked, which `auto` then
  // chooses. Rows outside groups skip the epilogue: a row of zeros stays a row of zeros.
  EpilogueTree epilogue = {};
  // Rows that the groups are likely to have, for the choice of a config alone: one number for each group, in any order,
  // or one for all of them. A run may have any other sizes. Empty: the choice reckons with groups of equal and of
  // uneven sizes, some of them empty, and with masked groups that are half full.
  std::vector<std::int64_t> expected_sizes = {};

  /// Returns the rows of A and D in memory: M, or G * Mmax.
  std::int64_t total_rows() const { return encoding == GroupEncoding::masked ? groups * rows : rows; }
  /// Returns the floats by which the scales of a group are farther apart than its rows.
  std::int64_t scale_a_gap() const {
    return encoding == GroupEncoding::masked && scale_a_group != 0 ? scale_a_group - rows * scale_a_row : 0;
  }
};

/// Device pointers. GroupEncoding documents what `sizes` and `sizes2` hold.
struct GroupedOperands {
  // Matrices, at multiples of 16 bytes.
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
  // Of GroupedProblem::scale_type.
  const void* scale_a = nullptr;
  const void* scale_b = nullptr;
  const float* global_scale = nullptr;  // as in GemmOperands
  // Arrays on the device, which say where the groups are.
  const std::int32_t* sizes = nullptr;
  const std::int32_t* sizes2 = nullptr;
  std::uint32_t* status = nullptr;  // optional: the kernel ORs GroupStatus bits into it
  // GroupedPlan::workspace_bytes() bytes, 256-byte aligned, zeroed once by the caller.
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  // Operands that the tree names, with G groups in place of a batch. batch_row_vector is the stride from bias[g] to
  // bias[g + 1]: N for bias [G, N], 0 for one bias [N] that serves all groups. batch_scalar is the same for scalars. C,
  // auxiliary matrices, outputs and column vectors have the rows of D, with all groups in one tensor (masked: G *
  // Mmax), and no stride between groups.
  EpilogueOperands epilogue = {};
};

/// Returns the reason why this library cannot run `problem` with `options`, or no error. Touches no device.
Result<void> can_implement(const GroupedProblem& problem, const GemmOptions& options = {});

/// The number of tiles of one launch that were `width` rows of tokens wide.
struct TileWidth {
  int width = 0;            // rows of tokens of a tile
  bool swapped = false;     // weights on the M side of wgmma
  std::uint64_t tiles = 0;  // of this width
};

/// A compiled kernel and its launch parameters except the pointers. Plans are copyable and thread-safe; a workspace
/// serves one run at a time.
class GroupedPlan {
 public:
  // Moving copies, so that no plan is ever empty.
  GroupedPlan(const GroupedPlan&) = default;
  GroupedPlan& operator=(const GroupedPlan&) = default;

  const GroupedProblem& problem() const;  // as it was planned
  const GemmConfig& config() const;       // fully resolved
  std::size_t workspace_bytes() const;    // owned by the caller, 256-byte aligned; zeroed before its first use
  /// Validates the pointers (null, alignment, and that D, other outputs, workspace and status share no byte with
  /// another operand, except with a C that is D), then launches the kernel. It never synchronises and never reads
  /// sizes, so that a graph can capture it.
  Result<void> run(const GroupedOperands& operands, Stream stream = {}) const;
  /// Copies from the device the token widths of the last finished run that used `workspace`. Only the ragged variant
  /// records them; for the others the list is empty.
  Result<std::vector<TileWidth>> widths(const void* workspace) const;
  /// Returns statistics of this thread's last run on an emulated device.
  std::optional<EmuStats> last_stats() const;

 private:
  class Impl;
  friend Result<GroupedPlan> plan_grouped(const Device&, const GroupedProblem&, const GemmOptions&);
  explicit GroupedPlan(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

/// Chooses a config and compiles or loads the kernels of its launches.
Result<GroupedPlan> plan_grouped(const Device& device, const GroupedProblem& problem, const GemmOptions& options = {});

}  // namespace ww
