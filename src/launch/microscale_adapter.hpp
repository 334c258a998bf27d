// SPDX-License-Identifier: Apache-2.0
// Kernel, grid and arguments of kernel/microscale.hpp.
#pragma once

#include <cstdint>

#include "runtime/backend.hpp"
#include "warpwright/config/microscale_arguments.hpp"
#include "warpwright/host/microscale.hpp"

namespace ww::adapters {

runtime::KernelSource microscale_source(const config::MicroscaleKind& kind);

class MicroscaleAdapter {
 public:
  /// `problem` is valid and has explicit strides.
  static Result<std::shared_ptr<const MicroscaleAdapter>> create(const Device& device, const MicroscaleProblem& problem,
                                                                 const QuantizeOptions& options);
  Result<void> run(const MicroscaleOperands& operands, Stream stream) const;
  const MicroscaleProblem& problem() const { return problem_; }
  std::optional<EmuStats> last_stats() const { return device_.backend().last_stats(); }

 private:
  MicroscaleAdapter(const Device& device, const MicroscaleProblem& problem) : device_(device), problem_(problem) {}

  Device device_;
  MicroscaleProblem problem_;
  std::shared_ptr<const runtime::Kernel> kernel_;  // null: nothing to do
  runtime::Launch launch_;                         // without params, memory and stream
  config::MicroscaleArguments arguments_{};        // without pointers
  std::uint64_t x_bytes_ = 0, q_bytes_ = 0, scales_bytes_ = 0;
};

}  // namespace ww::adapters
