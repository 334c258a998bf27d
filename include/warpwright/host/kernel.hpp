// SPDX-License-Identifier: Apache-2.0
// A kernel of your own, compiled and launched on either executor:
//   const Kernel kernel = *Kernel::compile(device, {"scale", text});             text: WW_KERNEL(scale, 128, Params, p)
//   const MemoryRange memory[] = {{"x", x.data(), x.bytes(), true}};
//   kernel.launch(Params{…}, {.grid = 4, .threads = 128, .memory = memory});
// examples/01_one_tma_load.cpp and those after it are whole programs; docs/checking-kernels.md checks such a kernel.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "warpwright/host/device.hpp"
#include "warpwright/host/gemm.hpp"
#include "warpwright/host/launch.hpp"
#include "warpwright/host/report.hpp"

namespace ww {

/// The shape of one launch. Grids are one-dimensional.
struct KernelLaunch {
  std::uint32_t grid = 1;                    // CTAs, a multiple of `cluster`
  std::uint32_t cluster = 1;                 // CTAs of a cluster, at most 16
  std::uint32_t threads = 0;                 // of a CTA, equal to the number in WW_KERNEL
  std::uint32_t shared_bytes = 0;            // dynamic shared memory of a CTA
  std::span<const MemoryRange> memory = {};  // all global memory that the kernel accesses; read only by emulated
                                             // devices
  bool cross_cta = false;  // CTAs of different clusters wait for each other, so that all must be resident
  bool pdl = false;        // may start before its predecessor in the stream has ended
  Stream stream = {};      // null: the default stream
};

/// A kernel of your own, compiled for one device. Kernels are copyable and thread-safe.
class Kernel {
 public:
  // Moving copies, so that no kernel is ever empty.
  Kernel(const Kernel&) = default;
  Kernel& operator=(const Kernel&) = default;

  /// Loads the kernel from memory or the cache on disk, or compiles it. Errors: could_not_finish with the compiler's
  /// messages.
  static Result<Kernel> compile(const Device& device, const KernelSource& source);

  const std::string& name() const;  // KernelSource::name
  /// Enqueues one launch; on an emulated device the launch has finished when this returns. `params` points to the
  /// `params_bytes` bytes of the kernel's parameter. Errors: invalid names the field of the launch; could_not_finish is
  /// the kernel's own failure.
  Result<void> launch(const void* params, std::size_t params_bytes, const KernelLaunch& launch) const;
  /// Enqueues one launch with `params`, which is of the type that WW_KERNEL names; `shape` as above.
  template <class Params> Result<void> launch(const Params& params, const KernelLaunch& shape) const {
    static_assert(std::is_trivially_copyable_v<Params>, "a kernel's parameter is passed as its bytes");
    return launch(&params, sizeof params, shape);
  }
  /// Returns how many clusters of this shape the device holds at once.
  Result<int> max_active_clusters(const KernelLaunch& launch) const;
  /// Returns statistics of this thread's last launch on an emulated device.
  std::optional<EmuStats> last_stats() const;
  /// Returns the checker's report on this thread's last launch on a device with EmuOptions::check, even if that launch
  /// returned an error because of its findings.
  std::optional<CheckReport> last_check() const;

  class Impl;

 private:
  explicit Kernel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

/// Reads the source file at `path`, whose kernel is called `name`.
Result<KernelSource> read_kernel_source(const std::filesystem::path& path, std::string name);

/// Returns the translation unit that plans with this resolved config compile, dense or grouped.
KernelSource kernel_source(const GemmConfig& config);

}  // namespace ww
