// SPDX-License-Identifier: Apache-2.0
// D[g] [M, N] = scale (A_g . B_g^T) for ragged groups of K, each with its own D. This is the weight gradient of
// experts: A and B are activations and gradients as they are stored, (tokens, M) and (tokens, N), and K counts tokens.
//   D[g][m, n] = (C[g][m, n] +) sum over the rows k of group g of A[k, m] B[k, n]
// Only the device knows which rows belong to which group, in the encodings of groups of rows (host/grouped.hpp). The
// host never reads them. A group may be empty: its D is zero or, when accumulating, C.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "warpwright/config/enumerations.hpp"
#include "warpwright/config/group_encoding.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww {

/// Products of ragged groups of K, each with its own D [M, N].
struct KGroupedProblem {
  std::int64_t groups = 0;    // G, at most 4096
  std::int64_t m = 0, n = 0;  // extents of every D[g]
  std::int64_t k = 0;  // rows of A and B in memory, in all groups together; masked: of one group (Kmax), G * Kmax in
                       // all
  DType a = DType::bf16, b = DType::bf16, d = DType::f32;  // element types of A, B and D
  // none, tensor, row_column, block_1x128_1x128, block_1x128_128x128, mx or nv. Scales that step along K are indexed by
  // the whole K, not by the K of a group. Those of mx and nv lie in chunks (core/scale_chunks.hpp), and those of each
  // group are a matrix of their own: the scales of a group that starts at row s of K begin at chunk s / (4 vector),
  // times the blocks of 128 rows that M or N has. Groups that follow one another have scales that do.
  Scale scale = Scale::none;
  ScaleType scale_type = ScaleType::f32;
  GroupEncoding encoding = GroupEncoding::offsets;
  std::int64_t alignment = 1;  // offsets and row_ids: as in GroupedProblem
  // mn: A is stored as (K, M), B as (K, N). If both are mn and no scales step along K, groups may begin and end at any
  // row. A K-major operand, (M, K) or (N, K), and scales of blocks, of mx and of nv restrict groups to begin and end at
  // multiples of 128, e2m1 of mx and nv at multiples of 256. Hopper takes FP8 and tf32 no other way. Groups that do not
  // are cut to whole blocks, and the status word reports `misaligned`.
  Major a_major = Major::mn, b_major = Major::mn;
  // per_group: a K-major operand holds the matrices of the groups one after the other, each (M, K of the group) or (N,
  // K of the group) with packed rows. The matrix of the group that starts at row s of K begins at element M * s, or N *
  // s. k is a multiple of 128, and lda or ldb of such an operand is 0. The plan has a workspace. An MN-major operand is
  // the same in memory with either packing.
  KPacking packing = KPacking::joint;
  bool accumulate = false;  // D[g] = C[g] + product, where C has D's type and strides; otherwise D[g] = product
  std::int64_t lda = 0, ldb = 0, ldd = 0;  // row strides in elements of A and B as stored; 0: packed
  std::int64_t stride_d_group = 0;         // elements from D[g] to D[g + 1]; 0: M * ldd
  // float32 scales, as in GemmProblem. The group strides apply only to tensor and row_column; 0 = all groups share one
  // set.
  std::int64_t scale_a_row = 0, scale_a_k = 0, scale_a_group = 0;
  std::int64_t scale_b_n = 0, scale_b_k = 0, scale_b_group = 0;

  /// Returns the rows of K in memory.
  std::int64_t total_k() const { return encoding == GroupEncoding::masked ? groups * k : k; }
};

/// Device pointers. GroupEncoding documents what `sizes` and `sizes2` hold; here they count rows of K.
struct KGroupedOperands {
  // Matrices, at multiples of 16 bytes. With `accumulate`, c is null or `d` for in-place accumulation, otherwise
  // matrices that do not overlap D.
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* d = nullptr;
  // Of KGroupedProblem::scale_type.
  const void* scale_a = nullptr;
  const void* scale_b = nullptr;
  const float* global_scale = nullptr;  // as in GemmOperands
  // Arrays on the device, which say where the groups are.
  const std::int32_t* sizes = nullptr;
  const std::int32_t* sizes2 = nullptr;
  std::uint32_t* status = nullptr;  // optional: the kernel ORs GroupStatus bits into it
  // KGroupedPlan::workspace_bytes() bytes, 256-byte aligned, in any state.
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

/// Returns the reason why this library cannot run `problem` with `options`, or no error. Touches no device.
Result<void> can_implement(const KGroupedProblem& problem, const GemmOptions& options = {});

/// A compiled kernel and its launch parameters except the pointers. Plans are copyable and thread-safe; a workspace
/// serves one run at a time.
class KGroupedPlan {
 public:
  // Moving copies, so that no plan is ever empty.
  KGroupedPlan(const KGroupedPlan&) = default;
  KGroupedPlan& operator=(const KGroupedPlan&) = default;

  const KGroupedProblem& problem() const;  // as it was planned
  const GemmConfig& config() const;        // fully resolved
  std::size_t workspace_bytes() const;  // owned by the caller, 256-byte aligned; 0 unless groups are packed one by one
  /// Validates the pointers (null, alignment, and that D, other outputs, workspace and status share no byte with
  /// another operand, except with a C that is D), then launches the kernel. It never synchronises and never reads
  /// sizes, so that a graph can capture it.
  Result<void> run(const KGroupedOperands& operands, Stream stream = {}) const;
  /// Returns statistics of this thread's last run on an emulated device.
  std::optional<EmuStats> last_stats() const;

 private:
  class Impl;
  friend Result<KGroupedPlan> plan_k_grouped(const Device&, const KGroupedProblem&, const GemmOptions&);
  explicit KGroupedPlan(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

/// Chooses a config and compiles or loads its kernel.
Result<KGroupedPlan> plan_k_grouped(const Device& device, const KGroupedProblem& problem,
                                    const GemmOptions& options = {});

}  // namespace ww
