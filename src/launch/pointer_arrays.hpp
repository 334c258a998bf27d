// SPDX-License-Identifier: Apache-2.0
// The launch that makes tensor maps of pointer arrays, and the memory to which those arrays point.
#pragma once

#include <array>
#include <vector>

#include "runtime/backend.hpp"
#include "warpwright/host/gemm.hpp"
#include "warpwright/kernel/pointer_maps.hpp"

namespace ww::adapters {

inline constexpr std::size_t kMapsAlignment = 256;  // in the workspace

/// Bytes of the maps of a batch.
inline std::size_t pointer_map_bytes(const GemmProblem& problem) {
  return static_cast<std::size_t>(problem.batch * config::kMapsOfMatrix) * arch::tensor_map::kBytes;
}

class PointerArrays {
 public:
  /// Loads the kernel.
  static Result<PointerArrays> create(const Device& device, const GemmProblem& problem, int sms, bool pdl);

  Result<void> check(const GemmOperands& operands) const;
  /// Launches it. `maps` are templates of A, B and D, which need not belong to any matrix; `to` receives the maps of
  /// all matrices.
  Result<void> launch(const Device& device, const GemmOperands& operands, const arch::TensorMap& a,
                      const arch::TensorMap& b, const arch::TensorMap& d, arch::TensorMap* to, Stream stream) const;
  /// Returns the memory of the arrays themselves: of A, B, D and C, without bytes what the product does not read.
  std::array<runtime::MemoryRange, 4> arrays(const GemmOperands& operands) const;
  /// Adds the memory that the product may touch on an emulated device, where device memory is the host's and the arrays
  /// can be read.
  void add_memory(const GemmOperands& operands, const void* maps, std::vector<runtime::MemoryRange>& memory) const;

 private:
  GemmProblem problem_;
  bool has_c_ = false;
  std::shared_ptr<const runtime::Kernel> kernel_;
  runtime::Launch launch_;  // without params, memory and stream
};

}  // namespace ww::adapters
