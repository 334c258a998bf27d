// SPDX-License-Identifier: Apache-2.0
// The 128-byte opaque description of a global tensor that TMA reads. The backend of the device (runtime/) encodes it on
// the host. A kernel parameter may be used as it is. One in global memory needs the fences of tensor_map_update.hpp, by
// which kernels also change one.
#pragma once

#include "warpwright/core/numbers.hpp"

namespace ww::arch {

struct alignas(64) TensorMap {
  u64 words[16];
};

}  // namespace ww::arch
