// SPDX-License-Identifier: Apache-2.0
// The host side of grouped products: one problem, one resolved config, one loaded kernel (one more if rows outside
// groups are zeroed, one more that makes descriptors); launches with any pointers. run() encodes tensor maps, unless
// earlier runs did, and launches. It allocates nothing, waits for nothing and reads no sizes, so that it can be
// captured in a graph.
#pragma once

#include <cstdint>

#include "launch/epilogue_adapter.hpp"
#include "launch/map_cache.hpp"
#include "launch/operand_overlap.hpp"
#include "runtime/backend.hpp"
#include "warpwright/host/grouped.hpp"
#include "warpwright/kernel/gemm_params.hpp"

namespace ww::adapters {

/// Returns a bound on the tiles that groups of any sizes make.
std::int64_t tile_bound(const GroupedProblem& problem, const GemmConfig& config);
/// Returns a bound on the clusters that have tiles, for variants whose token tiles follow one another.
std::int64_t cluster_tile_bound(const GroupedProblem& problem, const GemmConfig& config);

class GroupedAdapter {
 public:
  /// `problem` has explicit strides, `config` is resolved and without fault. Compiles or loads the kernels.
  static Result<std::shared_ptr<const GroupedAdapter>> create(const Device& device, const GroupedProblem& problem,
                                                              const GemmConfig& config, const GemmOptions& options);

  const GroupedProblem& problem() const { return problem_; }
  const GemmConfig& config() const { return config_; }
  std::size_t workspace_bytes() const;
  Result<void> run(const GroupedOperands& operands, Stream stream) const;
  Result<std::vector<TileWidth>> widths(const void* workspace) const;
  std::optional<EmuStats> last_stats() const { return device_.backend().last_stats(); }

 private:
  GroupedAdapter(const Device& device, const GroupedProblem& problem, const GemmConfig& config)
      : device_(device), problem_(problem), config_(config), epilogue_(problem) {}

  Result<void> prepare_product(const GemmOptions& options, int sms);
  Result<void> prepare_update(const GemmOptions& options, int sms);
  Result<void> prepare_zeros(const GemmOptions& options, int sms);

  Result<void> check_sizes(const GroupedOperands& operands) const;
  Result<void> check_workspace(const GroupedOperands& operands) const;
  Result<void> check_product(const GroupedOperands& operands) const;
  config::GroupSizes group_sizes(const GroupedOperands& operands) const;
  Result<void> encode_maps(const GroupedOperands& operands, config::GroupedArguments& arguments) const;
  /// Encodes the maps of scales that the tensor core applies.
  Result<void> encode_scales(const GroupedOperands& operands, config::ScaleMaps& maps) const;
  config::GroupDescriptors descriptors(const GroupedOperands& operands) const;
  Result<void> launch_update(const config::GroupedArguments& product, const GroupedOperands& operands,
                             Stream stream) const;
  /// Launches the product. `memory` covers all operands, including the epilogue's.
  Result<void> launch_product(const GroupedOperands& operands, const config::EpilogueArguments& epilogue,
                              const MemoryRanges& memory, Stream stream) const;
  Result<void> launch_zeros(const GroupedOperands& operands, Stream stream) const;

  Device device_;
  GroupedProblem problem_;
  GemmConfig config_;
  EpilogueAdapter epilogue_;
  std::shared_ptr<const runtime::Kernel> product_;                 // null when no row can be in a group
  std::shared_ptr<const runtime::Kernel> update_;                  // null unless the variant is descriptors
  std::shared_ptr<const runtime::Kernel> zeros_;                   // null unless rows outside groups are zeroed
  runtime::Launch product_launch_, update_launch_, zeros_launch_;  // without params, memory and stream
  config::GroupedArguments arguments_{};                           // without pointers
  OperandSpans spans_{};                                           // the memory of the operands
  mutable MapCache maps_;                                          // of A in every box, B and D
};

}  // namespace ww::adapters
