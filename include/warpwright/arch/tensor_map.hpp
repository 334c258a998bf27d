// SPDX-License-Identifier: Apache-2.0
// The 128-byte opaque description of a global tensor that TMA walks. Encoded on the host by the backend of the device
// (runtime/). As a kernel's parameter it may be used as it is; one in global memory needs the fences of
// tensor_map_update.hpp, which is also how kernels change one.
#pragma once

#include "warpwright/core/meta.hpp"

namespace ww::arch {

struct alignas(64) TensorMap {
  u64 words[16];
};

}  // namespace ww::arch
