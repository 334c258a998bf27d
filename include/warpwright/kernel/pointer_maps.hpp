// SPDX-License-Identifier: Apache-2.0
// First launch of a batch with pointer arrays: makes the tensor maps of A, B and D of every matrix.
//   warp 0, 1, 2 of a CTA: template of A, B, D (a parameter) -> shared memory -> for each of the CTA's matrices: its
//   address from the array -> replace it -> release to global memory
// Only addresses differ from matrix to matrix; extents and strides are those of the template.
#pragma once

#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/pdl.hpp"
#include "warpwright/arch/common/role.hpp"
#include "warpwright/arch/common/tensor_map_update.hpp"
#include "warpwright/config/gemm_arguments.hpp"

namespace ww::kernel {

struct PointerMapsArguments {
  arch::TensorMap map[config::kMapsOfMatrix];          // templates: A, B, D
  const void* const* pointers[config::kMapsOfMatrix];  // (batch); null: no maps of this operand
  arch::TensorMap* maps;                               // (batch, {A, B, D})
  i32 batch;
};

struct PointerMaps {
  static constexpr int kThreads = config::kMapsOfMatrix * static_cast<int>(arch::kWarpSize);
  static constexpr int kSharedBytes = config::kMapsOfMatrix * static_cast<int>(arch::tensor_map::kBytes);

  WW_DEVICE static void run(const PointerMapsArguments& arguments) {
    arch::role("pointer maps");
    const u32 operand = arch::warp::uniform(arch::warp_index());
    const arch::SharedAddress copy = arch::dynamic_shared() + operand * arch::tensor_map::kBytes;
    arch::tensor_map::copy_to_shared(arguments.map[operand], copy);
    arch::warp::sync();
    arch::pdl::launch_dependents();
    arch::pdl::wait();  // nothing an earlier kernel wrote is read, and nothing it reads is written before this line
    const void* const* const pointers = arguments.pointers[operand];
    if (pointers == nullptr) return;
    for (int l = static_cast<int>(arch::block_index()); l < arguments.batch; l += static_cast<int>(arch::grid_size())) {
      if (arch::lane_index() == 0)
        arch::tensor_map::replace_address(copy, reinterpret_cast<const void*>(arch::global::load_u64(pointers + l)));
      arch::warp::sync();
      arch::tensor_map::release(arguments.maps + config::kMapsOfMatrix * l + operand, copy);
      arch::warp::sync();  // the next change must follow every lane's read of the copy
    }
  }
};

}  // namespace ww::kernel
