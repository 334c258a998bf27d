// SPDX-License-Identifier: Apache-2.0
// Casts to FP8 with scales of blocks, and transposes of FP8 matrices. FP8 operands of wgmma are K-major only, so that
// training needs transposed copies: x [tokens, K] quantised along the tokens for the weight gradient, and w [N, K] as
// [K, N] for the gradient of the activations.
//   scale = fl32(max(amax, min_amax) * fl32(1 / largest)), at least 2^-126; 1 where amax and min_amax are 0
//   q     = to FP8, saturating (fl32(x * fl32(1 / scale)))                 largest: 448 for e4m3, 57344 for e5m2
// `power_of_two` rounds the scale up to a power of two. amax is NaN where an element is, and then the scale and every
// element of its block are NaN. Both executors and a NumPy program of these lines agree bit for bit (docs/numerics.md).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "warpwright/config/group_encoding.hpp"
#include "warpwright/host/device.hpp"
#include "warpwright/host/gemm.hpp"
#include "warpwright/host/result.hpp"

namespace ww {

/// The elements that share a scale.
enum class QuantizeBlock {
  b1x128,    // 128 along the rows of each output: of q along K, of the transpose along M
  b128x128,  // the transpose has the same bytes and scales as q, transposed
};
/// Returns "1x128" or "128x128".
const char* name_of(QuantizeBlock block);

/// x [batch, M, K], row-major. A weight's N is called m here. Strides are in elements, and 0 means packed.
struct QuantizeProblem {
  QuantizeBlock block = QuantizeBlock::b1x128;
  std::int64_t m = 0, k = 0, batch = 1;  // extents, and how many matrices there are
  DType x = DType::bf16;                 // bf16, f16 or f32
  DType q = DType::e4m3;                 // e4m3 or e5m2, of both outputs
  bool rows = true;                      // writes q [M, K]
  bool transposed = false;               // writes the transpose [K, M], which is K-major for products that sum over M
  bool power_of_two = false;             // rounds scales up to powers of two
  float min_amax = 1e-4f;                // a block's amax counts as at least this, as in DeepGEMM's casts; 0: no limit

  std::int64_t ldx = 0, ldq = 0;   // 0: K
  std::int64_t ld_transposed = 0;  // from row to row of the transpose; 0: transposed_columns()
  // float32 scales, of b1x128 (M, ceil(K/128)) and (K, ceil(M/128)), of b128x128 (ceil(M/128), ceil(K/128)) and
  // (ceil(K/128), ceil(M/128)):
  //   scales[i * scale_m + kb * scale_k]                 i: row, or block of 128 rows; kb: k / 128
  //   transposed_scales[j * transposed_scale_k + mb * transposed_scale_m]      j: k, or k / 128; mb: m / 128
  // Both 0: packed row-major. For b1x128, scale_m = 1 and scale_k = M rounded up to 4 is DeepGEMM's layout.
  std::int64_t scale_m = 0, scale_k = 0;
  std::int64_t transposed_scale_k = 0, transposed_scale_m = 0;
  // From one matrix of the batch to the next; 0: packed.
  std::int64_t batch_x = 0, batch_q = 0, batch_transposed = 0, batch_scales = 0, batch_transposed_scales = 0;

  // Groups of rows (b1x128 with `transposed`, batch 1). Only the device knows their sizes, as in host/grouped.hpp; not
  // masked. In the transpose, blocks begin anew with each group, and each group is padded to a multiple of `padding`
  // columns, without gaps: the padding's elements are 0, and its blocks without any row have scale 1. With the scales
  // strides as they are and QuantizeOperands::padded_ends as `sizes`, this is what KGroupedProblem reads with encoding
  // offsets and alignment 1 or `padding`. Columns behind the last group, and in both outputs rows outside every group,
  // are left alone.
  std::int64_t groups = 0;  // G, at most 4096; 0: none
  GroupEncoding encoding = GroupEncoding::offsets;
  std::int64_t alignment = 1;  // offsets: each group starts at the first multiple of this after the end of the previous
                               // one
  std::int64_t padding = 128;  // a multiple of 128, at most 65536
  // true: each group's transpose is a packed matrix [K, padded rows] of its own; these follow one another, and
  // ld_transposed is not used. false: they lie side by side in the rows of one matrix.
  bool one_by_one = false;
};

/// Returns an upper bound of the columns of the transpose: M, or with groups the largest sum of padded groups.
/// transposed_scales has ceil(transposed_columns / 128) blocks along M.
std::int64_t transposed_columns(const QuantizeProblem& problem);

/// Device pointers. Outputs overlap nothing. 16-byte alignment of matrices and row strides of whole 16 bytes are
/// faster, and K-major FP8 operands need them.
struct QuantizeOperands {
  const void* x = nullptr;  // [batch, M, K]
  // With QuantizeProblem::rows.
  void* q = nullptr;
  float* scales = nullptr;
  // With QuantizeProblem::transposed.
  void* transposed = nullptr;
  float* transposed_scales = nullptr;
  // With groups: arrays on the device, which GroupEncoding documents.
  const std::int32_t* sizes = nullptr;
  const std::int32_t* sizes2 = nullptr;
  std::int32_t* padded_ends = nullptr;  // optional: (G), where each padded group ends in the columns of the transpose
  std::uint32_t* status = nullptr;      // optional: the kernel ORs GroupStatus bits into it
};

/// How a cast or a transpose is run.
struct QuantizeOptions {
  int sms = 0;               // upper limit of the SMs used; 0 = all
  Pdl pdl = Pdl::automatic;  // automatic is off
};

/// Returns the reason why this library cannot run `problem` with `options`, or no error. Touches no device.
Result<void> can_implement(const QuantizeProblem& problem, const QuantizeOptions& options = {});

/// A compiled kernel and its launch parameters except the pointers. Plans are copyable and thread-safe, and need no
/// workspace.
class QuantizePlan {
 public:
  const QuantizeProblem& problem() const;  // with explicit strides
  /// Validates the pointers (null, alignment, overlap), then launches the kernel. It never allocates device memory,
  /// synchronises or reads sizes, so that a graph can capture it.
  Result<void> run(const QuantizeOperands& operands, Stream stream = {}) const;
  /// Returns statistics of this thread's last run on an emulated device.
  std::optional<EmuStats> last_stats() const;

 private:
  class Impl;
  friend Result<QuantizePlan> plan_quantize(const Device&, const QuantizeProblem&, const QuantizeOptions&);
  explicit QuantizePlan(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

/// Compiles or loads the kernel.
Result<QuantizePlan> plan_quantize(const Device& device, const QuantizeProblem& problem,
                                   const QuantizeOptions& options = {});

/// The transpose of FP8 matrices w [batch, N, K] that are scaled by blocks of 128 x 128, or not at all: the same bytes
/// as [batch, K, N], and the scales transposed.
struct TransposeProblem {
  std::int64_t n = 0, k = 0, batch = 1;
  DType type = DType::e4m3;                // e4m3 or e5m2
  std::int64_t ld = 0, ld_transposed = 0;  // 0: K, N
  // scales[nb * scale_n + kb * scale_k] of w, transposed_scales[kb * transposed_scale_k + nb * transposed_scale_n].
  // Both 0: packed row-major, (ceil(N/128), ceil(K/128)) and (ceil(K/128), ceil(N/128)).
  std::int64_t scale_n = 0, scale_k = 0;
  std::int64_t transposed_scale_k = 0, transposed_scale_n = 0;
  // From one matrix of the batch to the next; 0: packed.
  std::int64_t batch_w = 0, batch_transposed = 0, batch_scales = 0, batch_transposed_scales = 0;
};

/// Device pointers. Outputs overlap nothing. Without scales, both of theirs are null.
struct TransposeOperands {
  const void* w = nullptr;     // [batch, N, K]
  void* transposed = nullptr;  // [batch, K, N]
  // Of 128 x 128 elements each.
  const float* scales = nullptr;
  float* transposed_scales = nullptr;
};

/// Returns the reason why this library cannot run `problem` with `options`, or no error. Touches no device.
Result<void> can_implement(const TransposeProblem& problem, const QuantizeOptions& options = {});

/// A compiled kernel and its launch parameters except the pointers. Plans are copyable and thread-safe, and need no
/// workspace.
class TransposePlan {
 public:
  const TransposeProblem& problem() const;  // with explicit strides
  /// Validates the pointers (null, alignment, overlap), then launches the kernel, as QuantizePlan::run() does.
  Result<void> run(const TransposeOperands& operands, Stream stream = {}) const;
  /// Returns statistics of this thread's last run on an emulated device.
  std::optional<EmuStats> last_stats() const;

 private:
  class Impl;
  friend Result<TransposePlan> plan_transpose(const Device&, const TransposeProblem&, const QuantizeOptions&);
  explicit TransposePlan(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

/// Compiles or loads the kernel.
Result<TransposePlan> plan_transpose(const Device& device, const TransposeProblem& problem,
                                     const QuantizeOptions& options = {});

}  // namespace ww
