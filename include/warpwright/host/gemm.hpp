// SPDX-License-Identifier: Apache-2.0
// D[M, N] = scale (A[M, K] . B[N, K]^T): describe the problem once, get a plan, run it with any pointers of that shape.
// Operands are K-major (row-major A and B) unless a problem says otherwise; strides are in elements and 0 means packed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "warpwright/config/gemm_config.hpp"
#include "warpwright/host/device.hpp"
#include "warpwright/host/epilogue.hpp"
#include "warpwright/host/result.hpp"

namespace ww {

/// What scales are stored as. Kernels read f32 so far; the others are refused as unsupported.
enum class ScaleType {
  f32,
  e8m0,  // a power of two in 8 bits: MXFP8, MXFP4
  e4m3,  // NVFP4, beside a global scale
};
const char* name_of(ScaleType type);

struct GemmProblem {
  std::int64_t m = 0, n = 0, k = 0;
  DType a = DType::e4m3, b = DType::e4m3, d = DType::bf16;
  Scale scale = Scale::none;
  ScaleType scale_type = ScaleType::f32;
  std::int64_t lda = 0, ldb = 0, ldd = 0;  // row strides in elements; 0: K, K, N. Rows start at multiples of 16 bytes
  // Scales are of `scale_type`, their strides in elements
  //   row_column:  scale_a[row * scale_a_row], scale_b[n * scale_b_n]
  //   block:       scale_a[row * scale_a_row + kb * scale_a_k], scale_b[nb * scale_b_n + kb * scale_b_k]
  //                kb = k / 128; nb = n / 128 with block_1x128_128x128, n with block_1x128_1x128
  // both strides of an operand 0: packed row-major, (M) and (N); (M, ceil(K/128)), and (ceil(N/128), ceil(K/128)) or
  // (N, ceil(K/128)). A row stride of 1 makes them M- or N-major
  std::int64_t scale_a_row = 0, scale_a_k = 0;
  std::int64_t scale_b_n = 0, scale_b_k = 0;
  // mn: A is stored (K, M), B is stored (K, N), and lda, ldb are the strides of those rows; 16-bit operands only
  Major a_major = Major::k, b_major = Major::k;
  // column: D is stored (N, M), ldd is the stride of those rows (0: M) and batch_d that of such matrices; not e4m3, and
  // M is a multiple of 16 bytes of D
  OutputLayout d_layout = OutputLayout::row;
  // column: C, auxiliary matrices and stores of an epilogue that names any are stored (N, M), their ld from column to
  // column, whatever D's layout. Not with SwiGLU or D in e4m3, nor under swap-AB, which auto then leaves alone
  OutputLayout c_layout = OutputLayout::row;
  // `batch` products of this shape; from one matrix, or the scales of one, to the next: elements, 0 = the same for all.
  // The matrices of D are disjoint, one behind the other or side by side in its stored rows.
  std::int64_t batch = 1;
  std::int64_t batch_a = 0, batch_b = 0, batch_d = 0;
  std::int64_t batch_scale_a = 0, batch_scale_b = 0;
  // Every matrix of A, B, D, and of the epilogue's C, is where an array of `batch` pointers in device memory says;
  // strides from one to the next are not read. Of the rest, scales among it, the strides above hold as they do without
  bool pointer_array = false;
  // What becomes of the scaled product; empty: D is that, rounded. Behind SwiGLU, D has N / 2 columns.
  EpilogueTree epilogue = {};
};

/// Device pointers. `scale_a` and `scale_b` are read for every recipe but Scale::none; one element each for
/// Scale::tensor.
struct GemmOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
  const void* scale_a = nullptr;  // of GemmProblem::scale_type
  const void* scale_b = nullptr;
  const float* global_scale = nullptr;  // one more factor of every product, of 4-bit types; null: 1
  // GemmPlan::workspace_bytes(), 256-byte aligned, zeroed once by the caller: every run leaves its counters at zero
  // again, so that a captured graph may be replayed. After a run that failed, zero it again
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  EpilogueOperands epilogue = {};  // what the epilogue names
  // With GemmProblem::pointer_array, instead of a, b, d and epilogue.c: arrays of `batch` pointers, in device memory as
  // what they point to, all multiples of 16 bytes. Read by the device in every run: a small launch before the product
  // makes tensor maps of them in the workspace. why not maps made by the host: it would have to know the pointers, and
  // to copy maps to the device in every run; so a captured graph follows arrays whose contents change
  const void* const* a_pointers = nullptr;
  const void* const* b_pointers = nullptr;
  const void* const* c_pointers = nullptr;
  void* const* d_pointers = nullptr;
};

/// Programmatic dependent launch: whether a kernel may start before its predecessor in the stream has ended (CUDA). It
/// reads nothing of an earlier kernel's, and writes nothing, before that; results are the same.
enum class Pdl {
  automatic,  // where it was measured to pay (docs/selection.md), from driver 12.3 on
  off,
  on,
};

struct GemmOptions {
  // Fields of 0 are chosen to suit the others; dtypes and scale come from the problem. `swap_ab`: B's rows on the
  // 64-row side of the instruction, A's on the side that has steps of 8, for few rows of A; tile_m and cluster_m then
  // speak of B's rows, tile_n and cluster_n of A's. Auto takes it where the model says so, not where a tile or cluster
  // is given
  GemmConfig config = {};
  int sms = 0;  // CTAs to launch at most; 0 = what fits the device
  Pdl pdl = Pdl::automatic;
  // The bits of a row of D depend on that row of A, on B and the scales alone, not on M or the number of SMs: every row
  // is summed over K in one order, with swap-AB or without. Refuses stream-K and split-K
  bool batch_invariant = false;
  // Configs that need more are not chosen by themselves: stream-K, and split-K through workspace. What the epilogue
  // reduces, and what `config` asks for, is not limited
  std::size_t workspace_limit = std::size_t{64} << 20;
};

/// Why this library cannot run `problem` with `options`, without touching a device; no error when it can.
Result<void> can_implement(const GemmProblem& problem, const GemmOptions& options = {});

/// A compiled kernel and everything about its launch but the pointers. Copyable, thread-safe, reusable; one workspace
/// serves one run at a time. The bits of D follow from config and GemmOptions::sms; only stream-K depends on the
/// latter.
class GemmPlan {
 public:
  const GemmProblem& problem() const;
  const GemmConfig& config() const;     // fully resolved
  std::size_t workspace_bytes() const;  // owned by the caller, 256-byte aligned, zeroed once before the first run
  /// Validates pointers (null, alignment), then launches. M or N = 0 launches nothing; K = 0 is a product
  /// of zeros.
  Result<void> run(const GemmOperands& operands, Stream stream = {}) const;
  /// Statistics of this thread's last run on an emulated device.
  std::optional<EmuStats> last_stats() const;

 private:
  class Impl;
  friend Result<GemmPlan> plan_gemm(const Device&, const GemmProblem&, const GemmOptions&);
  explicit GemmPlan(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

/// Chooses a config, compiles or loads its kernel, and asks the device how much of it runs at once.
Result<GemmPlan> plan_gemm(const Device& device, const GemmProblem& problem, const GemmOptions& options = {});

}  // namespace ww
