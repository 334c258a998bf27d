// SPDX-License-Identifier: Apache-2.0
// A device on which kernels run: an NVIDIA GPU behind the driver, or the emulated device on this CPU. Buffers, copies
// and streams are the minimum that a caller without CUDA needs. A caller with CUDA passes its own pointers and streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "warpwright/core/machine.hpp"
#include "warpwright/host/emulation.hpp"
#include "warpwright/host/launch.hpp"
#include "warpwright/host/result.hpp"
#include "warpwright/host/strict_rules.hpp"

namespace ww {

/// Settings of an emulated device. Results and reports depend on all of them except `threads`.
struct EmuOptions {
  std::uint64_t seed = 0;  // of the random choices of `schedule`
  EmuSchedule schedule = EmuSchedule::random;
  EmuMath math = EmuMath::exact;
  int pct_depth = 3;      // EmuSchedule::pct: looks for bugs that need this many ordering constraints
  int threads = 0;        // OS threads that run independent clusters; 0 = one per core
  int sms = 0;            // CTAs resident at once; 0 = 4, or one cluster
  int slow_cta = -1;      // this CTA pauses before every tile, like one on an SM that also does other work
  bool check = false;     // report races and misuse; compiles the checked variant of each kernel (emu::check)
  bool timeline = false;  // record EmuStats::timeline; all clusters then share one OS thread, as many at once as fit
  bool traffic = true;    // a check also counts bytes and bank conflicts by source line
  StrictRules strict_rules = default_strict_rules();  // that a check applies
};

/// A kernel that a device has loaded.
struct KernelEvent {
  const std::string& kernel;   // its entry
  double compile_seconds = 0;  // 0: it was in a cache or shipped
};

/// In the place of a tuning file: none, whatever WARPWRIGHT_TUNING says.
inline constexpr const char* kNoTuning = "none";

/// How a device is opened.
struct DeviceOptions {
  std::filesystem::path cache_dir;  // empty: WARPWRIGHT_CACHE_DIR, XDG_CACHE_HOME/warpwright, ~/.cache/warpwright
  EmuOptions emu;                   // not read for GPUs
  // A file of measured choices, as `warpwright tune` writes it; plans on this device follow it where their config is
  // open. Empty: WARPWRIGHT_TUNING, or none; kNoTuning: none. A file that cannot be read is an error of Device::open().
  std::filesystem::path tuning = {};
  // Called once for each kernel, after the device has loaded it, by the thread that made it: a plan that needs several
  // kernels makes them on several threads at the same time. May be empty; it must not throw.
  std::function<void(const KernelEvent&)> on_kernel = {};
};

/// Facts about a device.
struct DeviceInfo {
  std::string name;         // "emu:sm90", "cuda:0"
  std::string description;  // "emulated sm_90a, 4 SMs", "NVIDIA H200, driver 13.0"
  bool emulated = false;    // kernels run on the CPU
  Arch arch = Arch::sm90;
  std::string product;             // "NVIDIA H200", "emulated sm_90a"
  std::string driver;              // the CUDA version that the driver is for, "13.0"; empty if emulated
  int sms = 0;                     // CTAs that a persistent kernel launches by default
  std::uint64_t memory_bytes = 0;  // of device memory in all; emulated: of this machine
  int shared_bytes_per_cta = 0;    // the most dynamic shared memory of a CTA
};

/// A CUstream; null is the default stream. Ignored by emulated devices, which run at once.
struct Stream {
  void* handle = nullptr;  // a CUstream of the device's context
};

/// Device memory owned by the caller. Copies share it; it is freed with the last copy.
class Buffer {
 public:
  /// Makes a buffer without memory.
  Buffer() = default;
  /// Returns the address in device memory; null of a buffer without bytes.
  void* data() const { return memory_.get(); }
  /// Returns the size in bytes.
  std::size_t bytes() const { return bytes_; }

 private:
  friend class Device;
  Buffer(std::shared_ptr<void> memory, std::size_t bytes) : memory_(std::move(memory)), bytes_(bytes) {}
  std::shared_ptr<void> memory_;
  std::size_t bytes_ = 0;
};

/// An open device. Copies are the same device, and plans keep it open.
class Device {
 public:
  // Moving copies, so that no device is ever empty.
  Device(const Device&) = default;
  Device& operator=(const Device&) = default;

  /// Opens a device: "auto" (cuda:0 when there is one, otherwise emu:sm90), "emu:sm90" or "cuda:<ordinal>". Errors:
  /// invalid for an unknown name; could_not_finish when the named device is absent.
  static Result<Device> open(std::string_view name, DeviceOptions options = {});

  /// Returns facts about the device, which do not change.
  const DeviceInfo& info() const;
  /// Allocates uninitialised memory, 256-byte aligned. On could_not_finish, the error names the bytes requested and
  /// available.
  Result<Buffer> allocate(std::size_t bytes) const;
  /// Copies `bytes` from `host_source` to `device_destination`, or from `device_source` to `host_destination`; the copy
  /// has finished when the call returns. Errors: could_not_finish.
  Result<void> upload(void* device_destination, const void* host_source, std::size_t bytes) const;
  Result<void> download(void* host_destination, const void* device_source, std::size_t bytes) const;
  /// Waits for `stream`. Errors of kernels surface here as could_not_finish.
  Result<void> synchronize(Stream stream = {}) const;
  /// Returns whether the stream is capturing a graph; false on an emulated device. Plans must be made before a capture,
  /// because loading a kernel would end it.
  Result<bool> is_capturing(Stream stream) const;

  /// Encodes a tensor map for kernels of this device. Errors: invalid names the field of `spec`.
  Result<arch::TensorMap> tensor_map(const TensorMapSpec& spec) const;

  class Backend;  // of the library alone
  /// Returns the executor behind the device; of the library alone.
  Backend& backend() const { return *backend_; }

 private:
  explicit Device(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}
  std::shared_ptr<Backend> backend_;
};

}  // namespace ww
