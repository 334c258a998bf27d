// SPDX-License-Identifier: Apache-2.0
// The services of a device to the layers above: memory, tensor maps, kernels, launches.
// Two implementations: cuda_backend.cpp (the driver by dlopen) and emu_backend.cpp (the emulator on this CPU).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "host/kernel_launch.hpp"
#include "warpwright/host/device.hpp"
#include "warpwright/host/report.hpp"

namespace ww {
namespace tuning {
class Table;
}

/// What Device::backend() is for the library.
class Device::Backend {
 public:
  virtual ~Backend() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual Result<std::shared_ptr<void>> allocate(std::size_t bytes) = 0;
  virtual Result<void> upload(void* destination, const void* source, std::size_t bytes) = 0;
  virtual Result<void> download(void* destination, const void* source, std::size_t bytes) = 0;
  /// Sets device memory to zero, in the order of `stream`. May be captured into a graph.
  virtual Result<void> clear(void* destination, std::size_t bytes, Stream stream) = 0;
  virtual Result<void> synchronize(Stream stream) = 0;
  virtual Result<bool> is_capturing(Stream) const { return false; }
  virtual Result<arch::TensorMap> encode(const TensorMapSpec& spec) = 0;
  /// Returns the kernel from memory, from disk, or from the compiler.
  virtual Result<std::shared_ptr<const runtime::Kernel>> kernel(const KernelSource& source) = 0;
  /// Returns whether kernel() would find the kernel in the device's memory.
  virtual bool has_kernel(const KernelSource& source) = 0;
  virtual Result<void> launch(const runtime::Launch& launch) = 0;
  /// Returns the error that launch() would return for its arguments, without running anything.
  virtual Result<void> check_launch(const runtime::Launch&) const { return {}; }
  /// Returns the number of clusters of this launch's shape that can be resident at once.
  virtual Result<int> max_active_clusters(const runtime::Launch& launch) = 0;
  /// Sets how later launches are emulated; not to be called while one runs. Kernels keep their instrumentation
  /// (EmuOptions::check).
  virtual void set_emu_options(const EmuOptions&) {}
  virtual std::optional<EmuStats> last_stats() const { return std::nullopt; }
  /// Returns the report of this thread's last launch under EmuOptions::check, also if that launch returned an error for
  /// its findings.
  virtual std::optional<CheckReport> last_check() const { return std::nullopt; }

  /// The measured choices that plans on this device follow; null if it was opened without a tuning file.
  const tuning::Table* tuning() const { return tuning_.get(); }
  /// Called once, before the device is handed out.
  void set_tuning(std::shared_ptr<const tuning::Table> table) { tuning_ = std::move(table); }

 private:
  std::shared_ptr<const tuning::Table> tuning_;
};

namespace runtime {
using Backend = Device::Backend;
}

}  // namespace ww
