// SPDX-License-Identifier: Apache-2.0
// The host side of the GEMM kernel: one problem, one resolved config, one loaded kernel; launches with any pointers.
// Everything that does not depend on pointers is computed once, here. run() encodes three tensor maps, unless earlier
// runs did, and launches. The problem was validated before (ops/); run() checks only what depends on pointers.
#pragma once

#include <cstdint>

#include "launch/epilogue_adapter.hpp"
#include "launch/k_group_maps.hpp"
#include "launch/map_cache.hpp"
#include "launch/operand_overlap.hpp"
#include "launch/pointer_arrays.hpp"
#include "runtime/backend.hpp"
#include "warpwright/host/gemm.hpp"
#include "warpwright/kernel/gemm_params.hpp"
#include "warpwright/scheduler/launch_plan.hpp"

namespace ww::adapters {

/// The operands as the kernel names them: under swap-AB its A is the caller's B.
struct KernelPointers {
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
  const void* scale_a = nullptr;
  const void* scale_b = nullptr;
  void* workspace = nullptr;
};

class GemmAdapter {
 public:
  /// `problem` has explicit strides, and `config` is resolved and without fault. Compiles or loads the kernel. With
  /// `k_groups` the problem is a batch of as many products as there are groups; its A and B cover all of K.
  static Result<std::shared_ptr<const GemmAdapter>> create(const Device& device, const GemmProblem& problem,
                                                           const GemmConfig& config, const GemmOptions& options,
                                                           const std::optional<KGroups>& k_groups = {});

  const GemmProblem& problem() const { return problem_; }
  const GemmConfig& config() const { return config_; }
  std::size_t workspace_bytes() const { return workspace_bytes_; }
  Result<void> run(const GemmOperands& operands, Stream stream, const KGroupPointers& groups = {}) const;
  std::optional<EmuStats> last_stats() const { return device_.backend().last_stats(); }

 private:
  GemmAdapter(const Device& device, const GemmProblem& problem, const GemmConfig& config);

  Result<void> share_out(const GemmOptions& options);
  void lay_out_workspace();
  Result<void> check_pointers(const GemmOperands& operands) const;
  /// Returns the map of A or B as stored, with `rows` along M or N.
  Result<runtime::TensorMapSpec> operand_map(const char* name, const void* base, DType type, Major major,
                                             std::int64_t rows, std::int64_t ld, int box_rows) const;
  /// Returns the spans of the operands that the kernel names. With arrays of pointers, matrices have none.
  OperandSpans spans() const;
  /// Adds the operands of a run but the epilogue's.
  void list_operands(const KernelPointers& operands, const GemmOperands& given, const KGroupPointers& groups,
                     OperandList& list) const;
  runtime::TensorMapSpec output_map(const void* d) const;  // of one matrix
  Result<void> encode_maps(const KernelPointers& operands, config::GemmArguments& arguments) const;
  /// Encodes the maps of scales that the tensor core applies.
  Result<void> encode_scales(const KernelPointers& operands, config::ScaleMaps& maps) const;
  /// Sets where the scheduler's counter, flags and partial tiles are.
  void set_workspace(void* workspace, kernel::GemmParams& params) const;
  /// Makes the tensor maps of arrays of pointers, then launches the product.
  Result<void> launch_pointers(const GemmOperands& operands, runtime::Launch launch, arch::TensorMap* maps,
                               const config::GemmArguments& gemm) const;
  /// Adds the memory of everything but the epilogue.
  void add_memory(const KernelPointers& operands, MemoryRanges& memory) const;

  Device device_;
  GemmProblem problem_;  // as given,
  GemmConfig config_;
  GemmProblem product_;  // and as the kernel sees it (transposed under swap-AB)
  GemmConfig made_;
  EpilogueAdapter epilogue_;
  std::shared_ptr<const runtime::Kernel> kernel_;  // null when there is nothing to launch (M or N = 0)
  std::optional<KGroups> k_groups_;
  std::optional<PointerArrays> pointers_;
  std::optional<KGroupMaps> group_maps_;  // of groups of K packed one by one
  kernel::KGroupedParams params_{};       // without pointers; without groups only the GemmParams of it count
  scheduler::WorkspacePlan workspace_;
  std::size_t workspace_bytes_ = 0;  // of the scheduler, the epilogue and tensor maps
  std::size_t epilogue_offset_ = 0;  // in the workspace
  std::size_t maps_offset_ = 0;      // the same, of tensor maps of pointer arrays or of groups of K
  runtime::Launch launch_;           // without params, memory and stream
  OperandSpans spans_{};             // the memory of the operands
  mutable MapCache maps_;            // of A, B and D
};

}  // namespace ww::adapters
