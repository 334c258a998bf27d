// SPDX-License-Identifier: Apache-2.0
// Casts to formats whose scales the tensor core applies: MXFP8, MXFP6 and MXFP4 (a power of two for each 32 elements of
// a row) and NVFP4 (an e4m3 number for each 16). One kernel finds the largest magnitude, rounds the scale, casts and
// packs. docs/numerics.md has the arithmetic. The results are the operands of products with Scale::mx and Scale::nv.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "warpwright/host/quantize.hpp"

namespace ww {

/// q = x / scale, for x [batch, M, K]. Strides are in elements.
struct MicroscaleProblem {
  std::int64_t m = 0, k = 0, batch = 1;
  DType x = DType::bf16;    // bf16, f16 or f32
  DType q = DType::e4m3;    // mx: e4m3, e5m2, e3m2, e2m3 or e2m1; nv: e2m1
  Scale scale = Scale::mx;  // mx or nv
  // Row strides; 0: K. Those of packed types, and then K, are multiples of 2 (e2m1) or 4 (e3m2, e2m3), so that rows
  // start at bytes. Products need more: row_multiple().
  std::int64_t ldx = 0, ldq = 0;
  std::int64_t batch_x = 0, batch_q = 0;  // 0: packed
  // Scales in chunks of 512 bytes, as products read them (core/scale_chunks.hpp); the padding of chunks becomes 0.
  // false: row-major (M, ceil(K/32)) or (M, ceil(K/16)).
  bool chunked = true;
  std::int64_t batch_scales = 0;  // bytes; 0: packed
};

/// Device pointers. The outputs overlap nothing.
struct MicroscaleOperands {
  const void* x = nullptr;         // [batch, M, K]
  void* q = nullptr;               // [batch, M, K]
  std::uint8_t* scales = nullptr;  // bytes of e8m0 or e4m3
  // nv: the scale of the whole tensor, a positive finite float by which results are to be multiplied; usually the
  // largest magnitude of x over 448 * 6. Null: 1.
  const float* tensor_scale = nullptr;
};

/// Returns the reason why this library cannot run `problem` with `options`, or no error. Touches no device.
Result<void> can_implement(const MicroscaleProblem& problem, const QuantizeOptions& options = {});

/// As QuantizePlan.
class MicroscalePlan {
 public:
  const MicroscaleProblem& problem() const;  // with explicit strides
  /// Validates the pointers (null, alignment, overlap), then launches the kernel, as QuantizePlan::run() does.
  Result<void> run(const MicroscaleOperands& operands, Stream stream = {}) const;
  /// Returns statistics of this thread's last run on an emulated device.
  std::optional<EmuStats> last_stats() const;

 private:
  class Impl;
  friend Result<MicroscalePlan> plan_microscale(const Device&, const MicroscaleProblem&, const QuantizeOptions&);
  explicit MicroscalePlan(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

/// Compiles or loads the kernel.
Result<MicroscalePlan> plan_microscale(const Device& device, const MicroscaleProblem& problem,
                                       const QuantizeOptions& options = {});

}  // namespace ww
