// SPDX-License-Identifier: Apache-2.0
// Kernel, grid and arguments of kernel/pack_scales.hpp.
#pragma once

#include <cstdint>

#include "runtime/backend.hpp"
#include "warpwright/config/pack_scales_arguments.hpp"
#include "warpwright/host/pack_scales.hpp"

namespace ww::adapters {

/// Its name contains what profilers of DeepGEMM's callers look for, pack_fp32_into_ue8m0.
runtime::KernelSource pack_scales_source();

/// Returns the words from the first to the last of one packed matrix.
std::int64_t packed_words_span(const PackScalesProblem& p);

class PackScalesAdapter {
 public:
  /// `problem` is valid and has explicit strides.
  static Result<std::shared_ptr<const PackScalesAdapter>> create(const Device& device, const PackScalesProblem& problem,
                                                                 const QuantizeOptions& options);
  Result<void> run(const PackScalesOperands& operands, Stream stream) const;
  const PackScalesProblem& problem() const { return problem_; }
  std::optional<EmuStats> last_stats() const { return device_.backend().last_stats(); }

 private:
  PackScalesAdapter(const Device& device, const PackScalesProblem& problem) : device_(device), problem_(problem) {}

  Device device_;
  PackScalesProblem problem_;
  std::shared_ptr<const runtime::Kernel> kernel_;  // null: nothing to do
  runtime::Launch launch_;                         // without params, memory and stream
  config::PackScalesArguments arguments_{};        // without pointers
};

}  // namespace ww::adapters
