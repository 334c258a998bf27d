// SPDX-License-Identifier: Apache-2.0
// Tensor maps that the preceding launch made. Matrices of a batch at arbitrary addresses: A, B and D of each, from an
// array of pointers (kernel/pointer_maps.hpp). Groups of K packed one by one: A and B of each, from the sizes of the
// groups (kernel/k_group_maps.hpp). Other kernels contain none of it.
#pragma once

#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/tensor_map_update.hpp"
#include "warpwright/arch/common/tma.hpp"
#include "warpwright/config/config_parameter.hpp"
#include "warpwright/config/fixed_extents.hpp"
#include "warpwright/config/gemm_arguments.hpp"
#include "warpwright/config/sizes.hpp"

namespace ww::scheduler {

using namespace config;

template <ConfigParameter kConfig>
WW_DEVICE const arch::TensorMap& map_of_a(const GemmArguments& arguments, TileCoord tile) {
  if constexpr (kConfig.operands.pointer_array) return arguments.maps[kMapsOfMatrix * tile.batch];
  else if constexpr (maps_groups(kConfig)) return arguments.maps[kMapsOfGroup * tile.batch];
  else return arguments.a;
}
template <ConfigParameter kConfig>
WW_DEVICE const arch::TensorMap& map_of_b(const GemmArguments& arguments, TileCoord tile) {
  if constexpr (kConfig.operands.pointer_array) return arguments.maps[kMapsOfMatrix * tile.batch + 1];
  else if constexpr (maps_groups(kConfig)) return arguments.maps[kMapsOfGroup * tile.batch + 1];
  else return arguments.b;
}

/// Prefetches the tensor maps that are launch parameters. One thread calls it.
template <ConfigParameter kConfig> WW_DEVICE void prefetch_maps(const GemmArguments& arguments) {
  if constexpr (!kConfig.operands.pointer_array) {
    if (!maps_groups(kConfig) && k_blocks_of<kConfig>(arguments) > 0) {
      arch::tma::prefetch(arguments.a);
      arch::tma::prefetch(arguments.b);
    }
    arch::tma::prefetch(arguments.d);
  }
}

/// Acquires the maps of A and B of `tile`. The thread that loads from them calls it.
template <ConfigParameter kConfig> WW_DEVICE void acquire_operands(const GemmArguments& arguments, TileCoord tile) {
  if constexpr (acquires_operands(kConfig)) {
    arch::tensor_map::acquire(map_of_a<kConfig>(arguments, tile));
    arch::tensor_map::acquire(map_of_b<kConfig>(arguments, tile));
  }
}
/// Acquires and returns the map of D. The thread that stores to it calls it.
template <ConfigParameter kConfig>
WW_DEVICE const arch::TensorMap& acquired_output(const GemmArguments& arguments, TileCoord tile) {
  if constexpr (kConfig.operands.pointer_array) {
    const arch::TensorMap& map = arguments.maps[kMapsOfMatrix * tile.batch + 2];
    arch::tensor_map::acquire(map);
    return map;
  } else {
    return arguments.d;
  }
}

/// Returns the tree's arguments for the matrix of `tile`.
template <ConfigParameter kConfig>
WW_DEVICE EpilogueArguments epilogue_of(const GemmArguments& arguments, TileCoord tile) {
  EpilogueArguments epilogue = of_matrix(arguments.epilogue, tile.batch);
  if constexpr (kConfig.operands.pointer_array && kConfig.epilogue.has(EpilogueOp::c))
    epilogue.c = reinterpret_cast<const void*>(arch::global::load_u64(arguments.c_pointers + tile.batch));
  return epilogue;
}

}  // namespace ww::scheduler
