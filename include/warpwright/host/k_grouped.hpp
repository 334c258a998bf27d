// SPDX-License-Identifier: Apache-2.0
// D[g] [M, N] = scale (A_g . B_g^T) for ragged groups of K, each with a D of its own: the gradients of the weights of
// experts, where A and B are activations and gradients as they lie, (tokens, M) and (tokens, N), and K are the tokens.
//   D[g][m, n] = (C[g][m, n] +) sum over the rows k of group g of A[k, m] B[k, n]
// Which rows belong to which group is known on the device only, in the encodings of groups of rows (host/grouped.hpp);
// the host never reads them. A group may be empty: its D is zero or, when accumulating, C.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "warpwright/config/group_encoding.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww {

struct KGroupedProblem {
  std::int64_t groups = 0;  // G, at most 4096
  std::int64_t m = 0, n = 0;
  std::int64_t k = 0;  // rows of A and B in memory, whatever their group; masked: of one group (Kmax), G Kmax in all
  DType a = DType::bf16, b = DType::bf16, d = DType::f32;
  // none, tensor, row_column, block_1x128_1x128 or block_1x128_128x128. Scales stand for K as a whole, not for groups,
  // where they step along K
  Scale scale = Scale::none;
  ScaleType scale_type = ScaleType::f32;
  GroupEncoding encoding = GroupEncoding::offsets;
  std::int64_t alignment = 1;  // offsets: a group starts at the next multiple of this after the one before it ends
  // mn: A is stored (K, M), B is stored (K, N). Both mn: groups begin and end at any row. With a K-major operand, that
  // is (M, K) or (N, K), which FP8 and tf32 need, they begin and end at multiples of 128: others are cut to whole ones,
  // and the status word says misaligned
  Major a_major = Major::mn, b_major = Major::mn;
  bool accumulate = false;                 // D[g] = C[g] + product, C of D's type and strides; else D[g] = product
  std::int64_t lda = 0, ldb = 0, ldd = 0;  // row strides in elements of A and B as stored; 0: packed
  std::int64_t stride_d_group = 0;         // elements from D[g] to D[g + 1]; 0: M * ldd
  // Scales of `scale_type`, as GemmProblem has them. Steps from one group's to the next are for tensor and row_column
  // alone; 0 is one set for all groups.
  std::int64_t scale_a_row = 0, scale_a_k = 0, scale_a_group = 0;
  std::int64_t scale_b_n = 0, scale_b_k = 0, scale_b_group = 0;

  /// Rows of K in memory.
  std::int64_t total_k() const { return encoding == GroupEncoding::masked ? groups * k : k; }
};

/// Device pointers. What `sizes` and `sizes2` hold: see GroupEncoding; their rows are rows of K.
struct KGroupedOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;  // accumulate: null or `d`, in place; else matrices apart from D
  void* d = nullptr;
  const void* scale_a = nullptr;  // of KGroupedProblem::scale_type
  const void* scale_b = nullptr;
  const float* global_scale = nullptr;  // as in GemmOperands
  const std::int32_t* sizes = nullptr;
  const std::int32_t* sizes2 = nullptr;
  std::uint32_t* status = nullptr;  // optional: GroupStatus bits are or-ed into it
};

/// Why this library cannot run `problem` with `options`, without touching a device; no error when it can.
Result<void> can_implement(const KGroupedProblem& problem, const GemmOptions& options = {});

/// A compiled kernel and everything about its launch but the pointers. Copyable, thread-safe; needs no workspace.
class KGroupedPlan {
 public:
  const KGroupedProblem& problem() const;
  const GemmConfig& config() const;  // fully resolved
  /// Validates pointers (null, alignment), then launches. Never synchronises, never reads sizes: graph-capturable.
  Result<void> run(const KGroupedOperands& operands, Stream stream = {}) const;
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
