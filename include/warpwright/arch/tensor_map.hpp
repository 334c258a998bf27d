// SPDX-License-Identifier: Apache-2.0
// The 128-byte opaque description of a global tensor that TMA walks. Encoded on the host by the backend of the device
// (runtime/), never written or read by kernels.
#pragma once

#include "warpwright/core/meta.hpp"

namespace ww::arch {

struct alignas(64) TensorMap {
  u64 words[16];
};

}  // namespace ww::arch
