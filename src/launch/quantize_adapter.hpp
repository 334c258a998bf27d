// SPDX-License-Identifier: Apache-2.0
// Kernel, grid and arguments of a quantisation or of a transpose of FP8 matrices. One problem describes both: if x is
// FP8, bytes and scales are copied.
#pragma once

#include <cstdint>

#include "launch/k_groups.hpp"
#include "launch/operand_overlap.hpp"
#include "runtime/backend.hpp"
#include "warpwright/config/quantize_arguments.hpp"
#include "warpwright/host/quantize.hpp"

namespace ww::adapters {

/// Returns the kernel of a problem. `p.x` may be FP8.
config::QuantizeKind quantize_kind(const QuantizeProblem& p);
runtime::KernelSource quantize_source(config::QuantizeKind kind);

/// Returns the tiles that the kernel goes through, at most with groups.
std::int64_t quantize_tiles(const QuantizeProblem& p);

class QuantizeAdapter {
 public:
  /// `problem` is valid and has explicit strides.
  static Result<std::shared_ptr<const QuantizeAdapter>> create(const Device& device, const QuantizeProblem& problem,
                                                               const QuantizeOptions& options);

  /// `x_scales`: of an FP8 x, or null. Errors call an FP8 x "w".
  Result<void> run(const QuantizeOperands& operands, const float* x_scales, Stream stream) const;
  const QuantizeProblem& problem() const { return problem_; }
  std::optional<EmuStats> last_stats() const { return device_.backend().last_stats(); }

 private:
  QuantizeAdapter(const Device& device, const QuantizeProblem& problem) : device_(device), problem_(problem) {}

  /// A tensor of a run: what the caller passed for it, and its extent in memory.
  struct Tensor {
    const char* name;
    const void* pointer;
    OperandSpan span;
    std::uint64_t alignment;  // of its elements
    bool written;
  };
  static constexpr int kTensors = 9;
  int tensors(const QuantizeOperands& operands, const float* x_scales, Tensor (&to)[kTensors]) const;
  void fill_arguments();

  Device device_;
  QuantizeProblem problem_;
  KGroups groups_;                                 // without any: groups is 0
  std::shared_ptr<const runtime::Kernel> kernel_;  // null: nothing to do
  runtime::Launch launch_;                         // without params, memory and stream
  config::QuantizeArguments arguments_{};          // without pointers
  // Whether strides allow wide accesses; pointers may still forbid them.
  bool wide_x_ = false, wide_q_ = false, wide_transposed_ = false;
};

}  // namespace ww::adapters
