// SPDX-License-Identifier: Apache-2.0
// A place where kernels run: an NVIDIA GPU behind the driver, or the emulated device on this CPU.
// Buffers, copies and streams are the little a caller needs without CUDA; with it, pass your own pointers and streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "warpwright/collective/gemm_config.hpp"
#include "warpwright/host/result.hpp"

namespace ww {

namespace runtime { class Backend; }

enum class EmuSchedule { fifo, random };
enum class EmuMath { exact, fp32_chain };   // exact: the tensor core to the bit; fp32_chain: one fma after another, k ascending

/// How an emulated device behaves. Results and reports depend on these, never on `threads`.
struct EmuOptions {
  std::uint64_t seed = 0;
  EmuSchedule schedule = EmuSchedule::random;
  EmuMath math = EmuMath::exact;
  int threads = 0;   // OS threads that carry independent clusters; 0 = one per core
};

struct DeviceOptions {
  std::filesystem::path cache_dir;   // empty: WARPWRIGHT_CACHE_DIR, XDG_CACHE_HOME/warpwright, ~/.cache/warpwright
  EmuOptions emu;
};

struct DeviceInfo {
  std::string name;          // "emu:sm90", "cuda:0"
  std::string description;   // "emulated sm_90a, 4 SMs", "NVIDIA H200, driver 13.0"
  bool emulated = false;
  Arch arch = Arch::sm90;
  int sms = 0;               // default number of CTAs a persistent kernel launches
  std::uint64_t memory_bytes = 0;
  int shared_bytes_per_cta = 0;
};

/// A CUstream; null is the default stream. Ignored by emulated devices, which run at once.
struct Stream { void* handle = nullptr; };

/// What one emulated launch did. Byte counts are by operand name ("a", "b", "d").
struct EmuStats {
  double seconds = 0;
  std::uint64_t ctas = 0, fibers = 0, switches = 0;
  std::uint64_t tma_loads = 0, tma_stores = 0, wgmmas = 0;
  std::map<std::string, std::uint64_t> l2_read_bytes;    // a multicast load counts once
  std::map<std::string, std::uint64_t> l2_write_bytes;
  std::map<std::string, std::uint64_t> shared_write_bytes;  // bytes that arrived in shared memory, every destination counted
};

/// Device memory owned by the caller; freed with the last copy of its device.
class Buffer {
 public:
  Buffer() = default;
  void* data() const { return memory_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  friend class Device;
  Buffer(std::shared_ptr<void> memory, std::size_t bytes) : memory_(std::move(memory)), bytes_(bytes) {}
  std::shared_ptr<void> memory_;
  std::size_t bytes_ = 0;
};

class Device {
 public:
  /// "auto" (cuda:0 when there is one, else emu:sm90), "emu:sm90", "cuda:<ordinal>".
  /// Errors: invalid for an unknown name, could_not_finish when the named device is not there.
  static Result<Device> open(std::string_view name, DeviceOptions options = {});

  const DeviceInfo& info() const;
  /// Uninitialised memory, 256-byte aligned. could_not_finish names the bytes needed and present.
  Result<Buffer> allocate(std::size_t bytes) const;
  Result<void> upload(void* device_destination, const void* host_source, std::size_t bytes) const;
  Result<void> download(void* host_destination, const void* device_source, std::size_t bytes) const;
  Result<void> synchronize(Stream stream = {}) const;

  runtime::Backend& backend() const { return *backend_; }

 private:
  explicit Device(std::shared_ptr<runtime::Backend> backend) : backend_(std::move(backend)) {}
  std::shared_ptr<runtime::Backend> backend_;
};

}  // namespace ww
