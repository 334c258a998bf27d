// SPDX-License-Identifier: Apache-2.0
// Packs the exponents of float32 scales that are powers of two (UE8M0), four of a row to a 32-bit word, by one kernel.
// DeepGEMM's layouts of scales for later GPUs need it; products of this library read float32 scales.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "warpwright/host/quantize.hpp"

namespace ww {

/// scales [batch, M, K] and packed [batch, M, words]: byte i of word w is the exponent of scale 4 w + i, or 0 behind
/// the last one. K counts scales. Strides are in elements.
struct PackScalesProblem {
  std::int64_t m = 0, k = 0, batch = 1;  // rows, scales of a row, matrices
  // Strides of scales; both 0: packed row-major.
  std::int64_t scale_m = 0, scale_k = 0;
  // Strides of words; both 0: 1 and M rounded up to 4, which is DeepGEMM's layout.
  std::int64_t packed_m = 0, packed_k = 0;
  std::int64_t batch_scales = 0, batch_packed = 0;  // 0: packed
  // Groups of K (batch 1), each of which begins a new word. Only the device knows their sizes: int32, group g having
  // ceil(sizes[g] / span) scales.
  std::int64_t groups = 0;  // at most 4096; 0: none
  std::int64_t span = 128;  // K of one scale
  std::int64_t words = 0;   // of a row; 0: ceil(K / 4), which with groups must be given
};

/// Device pointers. `packed` overlaps nothing.
struct PackScalesOperands {
  const float* scales = nullptr;        // [batch, M, K]
  std::uint32_t* packed = nullptr;      // [batch, M, words]
  const std::int32_t* sizes = nullptr;  // with groups: [G]
};

/// Returns the reason why this library cannot run `problem` with `options`, or no error. Touches no device.
Result<void> can_implement(const PackScalesProblem& problem, const QuantizeOptions& options = {});

/// As QuantizePlan.
class PackScalesPlan {
 public:
  const PackScalesProblem& problem() const;  // with explicit strides
  /// Validates the pointers (null, alignment, overlap), then launches the kernel, as QuantizePlan::run() does.
  Result<void> run(const PackScalesOperands& operands, Stream stream = {}) const;
  /// Returns statistics of this thread's last run on an emulated device.
  std::optional<EmuStats> last_stats() const;

 private:
  class Impl;
  friend Result<PackScalesPlan> plan_pack_scales(const Device&, const PackScalesProblem&, const QuantizeOptions&);
  explicit PackScalesPlan(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

/// Compiles or loads the kernel.
Result<PackScalesPlan> plan_pack_scales(const Device& device, const PackScalesProblem& problem,
                                        const QuantizeOptions& options = {});

}  // namespace ww
