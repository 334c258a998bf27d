// SPDX-License-Identifier: Apache-2.0
// One launch as the executors see it. A leaf: runtime/ makes launches, emu/ carries them out, and neither needs the
// other's headers for that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "warpwright/host/device.hpp"
#include "warpwright/host/launch.hpp"

namespace ww::runtime {

using ww::KernelSource;
using ww::MemoryRange;
using ww::SmemSwizzle;
using ww::TensorMapSpec;

/// Returns the key of a kernel among those of a device.
inline std::string key_of(const KernelSource& source) { return source.name + '\n' + source.text; }

/// A loaded kernel; it belongs to the backend that made it.
class Kernel {
 public:
  virtual ~Kernel() = default;
};

struct Launch {
  const Kernel* kernel = nullptr;
  std::uint32_t grid = 1;     // CTAs, a multiple of cluster; one-dimensional
  std::uint32_t cluster = 1;  // CTAs of a cluster
  std::uint32_t threads = 0;  // of a CTA
  std::uint32_t shared_bytes = 0;
  const void* params = nullptr;  // the kernel's one parameter, passed by value
  std::size_t params_bytes = 0;
  std::span<const MemoryRange> memory;  // for emulated devices, which refuse other memory; other devices ignore it
  bool cross_cta = false;  // CTAs of different clusters wait for each other, so all must be resident at once
  bool pdl = false;
  Stream stream;
};

}  // namespace ww::runtime
