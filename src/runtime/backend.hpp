// SPDX-License-Identifier: Apache-2.0
// The services of a device to the layers above: memory, tensor maps, kernels, launches.
// Two implementations: cuda_backend.cpp (the driver by dlopen) and emu_backend.cpp (the emulator on this CPU).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "warpwright/arch/tensor_map.hpp"
#include "warpwright/host/device.hpp"

namespace ww::runtime {

enum class SmemSwizzle { none, b32, b64, b128 };

/// A tiled tensor map: extents and boxes in elements, innermost dimension first.
struct TensorMapSpec {
  const void* base = nullptr;  // 16-byte aligned
  DType element = DType::e4m3;
  int rank = 2;                        // 1..3 (the driver allows 5)
  std::uint64_t extent[5] = {};        // >= 1
  std::uint64_t stride_bytes[5] = {};  // of dimensions 1..rank-1, multiples of 16; [0] is ignored
  std::uint32_t box[5] = {};           // 1..256; box[0] * element size a multiple of 16 and within the swizzle's span
  SmemSwizzle swizzle = SmemSwizzle::b128;
};

/// One translation unit for either executor. `name` is the kernel's entry; `text` includes "warpwright/kernel/…".
struct KernelSource {
  std::string name;
  std::string text;
};

/// A loaded kernel; it belongs to the backend that made it.
class Kernel {
 public:
  virtual ~Kernel() = default;
};

/// Global memory that a launch may touch. The emulator checks every access against these ranges and counts bytes by
/// `name`.
/// There are no initial values, because an array with room for many ranges is on the path of every call.
struct MemoryRange {
  const char* name;
  const void* base;
  std::uint64_t bytes;
  bool writable;
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

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual Result<std::shared_ptr<void>> allocate(std::size_t bytes) = 0;
  virtual Result<void> upload(void* destination, const void* source, std::size_t bytes) = 0;
  virtual Result<void> download(void* destination, const void* source, std::size_t bytes) = 0;
  virtual Result<void> synchronize(Stream stream) = 0;
  virtual Result<arch::TensorMap> encode(const TensorMapSpec& spec) = 0;
  /// Returns the kernel from memory, from disk, or from the compiler.
  virtual Result<std::shared_ptr<const Kernel>> kernel(const KernelSource& source) = 0;
  virtual Result<void> launch(const Launch& launch) = 0;
  /// Returns the number of clusters of this launch's shape that can be resident at once.
  virtual Result<int> max_active_clusters(const Launch& launch) = 0;
  /// Sets how later launches are emulated; not to be called while one runs. Kernels keep their instrumentation
  /// (EmuOptions::check).
  virtual void set_emu_options(const EmuOptions&) {}
  virtual std::optional<EmuStats> last_stats() const { return std::nullopt; }
  /// Returns the report of this thread's last launch under EmuOptions::check, also if that launch returned an error for
  /// its findings.
  virtual std::optional<CheckReport> last_check() const { return std::nullopt; }
};

}  // namespace ww::runtime
