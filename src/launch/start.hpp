// SPDX-License-Identifier: Apache-2.0
// The last step of every run: a launch as its plan has prepared it, with what differs from run to run.
#pragma once

#include "runtime/backend.hpp"

namespace ww::adapters {

/// Starts `launch` on `stream` with the parameters at `params`. `memory` is what the kernel may access.
inline Result<void> start(const Device& device, runtime::Launch launch, const void* params,
                          std::span<const runtime::MemoryRange> memory, Stream stream) {
  launch.params = params;
  launch.memory = memory;
  launch.stream = stream;
  return device.backend().launch(launch);
}

}  // namespace ww::adapters
