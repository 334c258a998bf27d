// SPDX-License-Identifier: Apache-2.0
// D[M, N] = scale (A[M, K] . B[N, K]^T). Describe a problem once, make a plan, and run it with any pointers of that
// shape. Operands are K-major (row-major A and B) unless the problem says otherwise. Strides are in elements; 0 means
// packed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "warpwright/config/gemm_config.hpp"
#include "warpwright/host/device.hpp"
#include "warpwright/host/epilogue.hpp"
#include "warpwright/host/result.hpp"

namespace ww {

/// The storage type of scales. It follows from the recipe: e8m0 with Scale::mx, e4m3 with Scale::nv, else f32. A
/// problem may name it or leave f32; another type is refused as unsupported.
enum class ScaleType {
  f32,   // FP32
  e8m0,  // a power of two in 8 bits: MXFP8, MXFP4
  e4m3,  // NVFP4; the sign is ignored
};
/// Returns "f32", "e8m0" or "e4m3".
const char* name_of(ScaleType type);

/// A dense product, or a batch of them: D[M, N] = epilogue(scale (A[M, K] B[N, K]^T)).
struct GemmProblem {
  std::int64_t m = 0, n = 0, k = 0;                         // extents
  DType a = DType::e4m3, b = DType::e4m3, d = DType::bf16;  // element types of A, B and D
  Scale scale = Scale::none;
  ScaleType scale_type = ScaleType::f32;
  std::int64_t lda = 0, ldb = 0, ldd = 0;  // row strides in elements; 0: K, K, N. Rows start at multiples of 16 bytes
  // float32 scales; strides in elements:
  //   row_column:  scale_a[row * scale_a_row], scale_b[n * scale_b_n]
  //   block:       scale_a[row * scale_a_row + kb * scale_a_k], scale_b[nb * scale_b_n + kb * scale_b_k]
  //                kb = k / 128; nb = n / 128 with block_1x128_128x128, n with block_1x128_1x128
  //   mx, nv:      bytes in chunks of 512 (core/scale_chunks.hpp), of (M, ceil(K/32)) and (N, ceil(K/32)) scales, or
  //                K/16; these strides are 0. Padding may hold any byte but NaN (255 of e8m0, 127 of e4m3)
  // If both strides of an operand are 0, its scales are packed row-major. row_column: (M) and (N). block: (M,
  // ceil(K/128)) for A; (ceil(N/128), ceil(K/128)) or (N, ceil(K/128)) for B. A row stride of 1 makes the scales M- or
  // N-major.
  std::int64_t scale_a_row = 0, scale_a_k = 0;
  std::int64_t scale_b_n = 0, scale_b_k = 0;
  // Rows of e2m1, e3m2 and e2m3 are packed: strides count elements all the same, and K and the strides are multiples of
  // row_multiple(type). Beside another type, e2m1 has multiples of 128.
  // mn: A is stored as (K, M) and B as (K, N); lda and ldb are the strides of those rows. Only for 16-bit operands and
  // tf32.
  Major a_major = Major::k, b_major = Major::k;
  // column: D is stored as (N, M); ldd is the stride of those rows (0: M) and batch_d the stride of such matrices. Not
  // available for FP8. M must be a multiple of 16 bytes of D.
  OutputLayout d_layout = OutputLayout::row;
  // column: the epilogue's C, auxiliary matrices and stores are stored as (N, M), whatever D's layout is; their ld is
  // the stride from column to column. Not available with SwiGLU, with D in FP8 or under swap-AB, which auto then does
  // not choose.
  OutputLayout c_layout = OutputLayout::row;
  // `batch` products of this shape. The strides are elements between consecutive matrices, or between their scales; 0 =
  // all share one. Scales of mx and nv: bytes, whole rows of chunks. The matrices of D are disjoint: one after another,
  // or side by side within its stored rows.
  std::int64_t batch = 1;
  std::int64_t batch_a = 0, batch_b = 0, batch_d = 0;
  std::int64_t batch_scale_a = 0, batch_scale_b = 0;
  // If true, arrays of `batch` pointers in device memory locate every matrix of A, B, D and of the epilogue's C, and
  // their batch strides are ignored. The other operands, including scales, still use the strides above.
  bool pointer_array = false;
  // Applied to the scaled product before the store; if empty, D is the rounded product. With SwiGLU, D has N / 2
  // columns.
  EpilogueTree epilogue = {};
};

/// Device pointers. `scale_a` and `scale_b` are read for every recipe except Scale::none. For Scale::tensor, each is
/// one float.
struct GemmOperands {
  // Matrices, at multiples of 16 bytes; of 32 where TMA widens types of 4 and 6 bits.
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
  // Of GemmProblem::scale_type.
  const void* scale_a = nullptr;
  const void* scale_b = nullptr;
  const float* global_scale = nullptr;  // nv: a float, the product of both tensors' scales, which multiplies every
                                        // product; null: 1
  // GemmPlan::workspace_bytes() bytes, 256-byte aligned, which the caller zeroes once. Every run resets its counters to
  // zero, so that a captured graph may be replayed. After a run that failed, zero the workspace again.
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  EpilogueOperands epilogue = {};  // operands that the epilogue names
  // With GemmProblem::pointer_array, these replace a, b, d and epilogue.c. Each is an array of `batch` pointers in
  // device memory; every pointer in it is aligned as that matrix is. The device reads the arrays in every run: a small
  // kernel before the product builds tensor maps from them in the workspace. If the host built the maps, it would need
  // the pointers and would copy maps to the device for each run. A captured graph therefore follows arrays whose
  // contents change.
  const void* const* a_pointers = nullptr;
  const void* const* b_pointers = nullptr;
  const void* const* c_pointers = nullptr;
  void* const* d_pointers = nullptr;
};

/// Programmatic dependent launch (CUDA): whether a kernel may start before its predecessor in the stream has ended.
/// Until the predecessor has ended, the kernel neither reads what earlier kernels wrote nor writes anything, so that
/// results do not change.
enum class Pdl {
  automatic,  // on where it was measured to pay (docs/selection.md), from driver 12.3
  off,        // never
  on,         // from driver 12.3; older ones launch as with `off`
};

/// How a problem is solved.
struct GemmOptions {
  // Fields of 0 are chosen to fit the others; dtypes, scale, layouts, batch and epilogue come from the problem. With
  // `swap_ab`, rows of B are on the 64-row side of the instruction, and rows of A on the side with steps of 8, for
  // problems with few rows of A. Then tile.m and cluster.m count B's rows, tile.n and cluster.n A's. Auto takes swap-AB
  // where the cost model prefers it, unless a tile or cluster is given.
  GemmConfig config = {};
  // Upper limit of the CTAs launched; 0 = as many as the device can hold at once. The tile schedulers single and clc
  // launch a CTA for every tile.
  int sms = 0;
  Pdl pdl = Pdl::automatic;
  // If true, the bits of a row of D depend only on that row of A, on B and on the scales, not on M or the number of
  // SMs. Every row is then summed over K in one order, with or without swap-AB. Excludes stream-K and split-K.
  bool batch_invariant = false;
  // Limits the workspace of configs that auto chooses: stream-K and split-K through workspace. It limits neither the
  // reductions of the epilogue nor what `config` requests.
  std::size_t workspace_limit = std::size_t{64} << 20;
};

/// Returns the reason why this library cannot run `problem` with `options`, or no error. Touches no device.
Result<void> can_implement(const GemmProblem& problem, const GemmOptions& options = {});

/// A compiled kernel and its launch parameters except the pointers. Plans are copyable, thread-safe and reusable; a
/// workspace serves one run at a time. The bits of D follow from config and GemmOptions::sms. Only stream-K depends on
/// the latter.
class GemmPlan {
 public:
  // Moving copies, so that no plan is ever empty.
  GemmPlan(const GemmPlan&) = default;
  GemmPlan& operator=(const GemmPlan&) = default;

  const GemmProblem& problem() const;   // as it was planned
  const GemmConfig& config() const;     // fully resolved
  std::size_t workspace_bytes() const;  // owned by the caller, 256-byte aligned, zeroed once before the first run
  /// Validates the pointers (null, alignment, and that D, the workspace and outputs of the epilogue share no byte with
  /// another operand, except with a C that is D), then launches the kernel. With arrays of pointers the matrices
  /// themselves are not compared. M or N = 0 launches nothing; K = 0 computes a product of zeros.
  Result<void> run(const GemmOperands& operands, Stream stream = {}) const;
  /// Returns statistics of this thread's last run on an emulated device.
  std::optional<EmuStats> last_stats() const;

 private:
  class Impl;
  friend Result<GemmPlan> plan_gemm(const Device&, const GemmProblem&, const GemmOptions&);
  explicit GemmPlan(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

/// Chooses a config, compiles or loads its kernel, and asks the device how many of its CTAs are resident at once.
Result<GemmPlan> plan_gemm(const Device& device, const GemmProblem& problem, const GemmOptions& options = {});

}  // namespace ww
