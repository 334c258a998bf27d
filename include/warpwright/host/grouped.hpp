// SPDX-License-Identifier: Apache-2.0
// D[r, :] = epilogue(scale (A[r, :] . B[group of r]^T)) for ragged groups of rows: A [M, K], B [G, N, K], D [M, N], all
// row-major.
// Which rows belong to which group is known on the device only, in one of five encodings of int32 arrays; the host
// never reads them, so a captured graph may be replayed with other sizes. Groups may be empty and need no alignment.
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

struct GroupedProblem {
  std::int64_t groups = 0;  // G, at most 4096
  std::int64_t rows = 0;  // M: rows of A and D; masked: rows of one group (Mmax), A is [G, Mmax, K] and D [G, Mmax, N]
  std::int64_t n = 0, k = 0;
  DType a = DType::e4m3, b = DType::e4m3, d = DType::bf16;
  Scale scale = Scale::none;
  ScaleType scale_type = ScaleType::f32;
  GroupEncoding encoding = GroupEncoding::offsets;
  std::int64_t alignment = 1;  // offsets: a group starts at the next multiple of this after the one before it ends
  bool zero_outside = false;   // rows of D outside every group: written with zeros instead of left alone
  // row strides in elements; 0: K, K, columns of D, which are N, or N / 2 behind SwiGLU. Rows start at multiples of
  // 16 bytes
  std::int64_t lda = 0, ldb = 0, ldd = 0;
  std::int64_t stride_b_group = 0;  // elements from B[g] to B[g + 1]; 0: N * ldb
  // Scales are of `scale_type`, their strides in elements; a stride of 0 beside others that are set shares one scale
  //   tensor:      scale_a[g * scale_a_group], scale_b[g * scale_b_group]          (0, 0: one for the whole tensor)
  //   row_column:  scale_a[row * scale_a_row], scale_b[g * scale_b_group + n * scale_b_n]
  //   block:       scale_a[row * scale_a_row + kb * scale_a_k], scale_b[g * scale_b_group + nb * scale_b_n + kb *
  //   scale_b_k]
  // row and column recipes: all 0 means packed row-major (M), (G, N); block: (M, ceil(K/128)), (G, ceil(N/128),
  // ceil(K/128))
  std::int64_t scale_a_row = 0, scale_a_k = 0, scale_a_group = 0;
  std::int64_t scale_b_n = 0, scale_b_k = 0, scale_b_group = 0;
  // A tree without reductions; SwiGLU and quantise_block with variants contiguous and masked alone, which `auto` then
  // takes. Rows outside groups are not walked: zeros there are zeros.
  EpilogueTree epilogue = {};

  /// Rows of A and D in memory: M, or G * Mmax.
  std::int64_t total_rows() const { return encoding == GroupEncoding::masked ? groups * rows : rows; }
};

/// Device pointers. What `sizes` and `sizes2` hold: see GroupEncoding.
struct GroupedOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
  const void* scale_a = nullptr;  // of GroupedProblem::scale_type
  const void* scale_b = nullptr;
  const float* global_scale = nullptr;  // as in GemmOperands
  const std::int32_t* sizes = nullptr;
  const std::int32_t* sizes2 = nullptr;
  std::uint32_t* status = nullptr;  // optional: GroupStatus bits are or-ed into it
  void* workspace = nullptr;        // GroupedPlan::workspace_bytes(), 256-byte aligned, zeroed once by the caller
  std::size_t workspace_bytes = 0;
  // What the tree names, with G in the place of a batch: batch_row_vector is the step from bias[g] to bias[g + 1], N
  // for bias [G, N] and 0 for one [N] that serves all groups; batch_scalar likewise. C, auxiliary matrices, outputs and
  // column vectors have the rows of D, all groups in one tensor (masked: G * Mmax), and no such step.
  EpilogueOperands epilogue = {};
};

/// Why this library cannot run `problem` with `options`, without touching a device; no error when it can.
Result<void> can_implement(const GroupedProblem& problem, const GemmOptions& options = {});

/// Tiles of one launch that were `width` rows of tokens wide.
struct TileWidth {
  int width = 0;
  bool swapped = false;  // weights on the M side of wgmma
  std::uint64_t tiles = 0;
};

/// A compiled kernel and everything about its launch but the pointers. Copyable, thread-safe; one workspace serves one
/// run at a time.
class GroupedPlan {
 public:
  const GroupedProblem& problem() const;
  const GemmConfig& config() const;     // fully resolved
  std::size_t workspace_bytes() const;  // owned by the caller, 256-byte aligned; zeroed before its first use
  /// Validates pointers (null, alignment), then launches. Never synchronises, never reads sizes: graph-capturable.
  Result<void> run(const GroupedOperands& operands, Stream stream = {}) const;
  /// The token widths of the last finished run that used `workspace` (copied from the device); ragged only, else empty.
  Result<std::vector<TileWidth>> widths(const void* workspace) const;
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
