// SPDX-License-Identifier: Apache-2.0
// Names to backends. "auto" is cuda:0 if these kernels run on that GPU, else the emulator. A suitable GPU that cannot
// be opened is an error, so that nobody measures the emulator by accident.
#include "warpwright/host/device.hpp"

#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

#include "host/messages.hpp"
#include "runtime/backend.hpp"
#include "runtime/cuda_backend.hpp"
#include "runtime/emu_backend.hpp"
#include "runtime/place.hpp"

namespace ww {
namespace {

constexpr std::string_view kCudaPrefix = "cuda:";

/// Lists the devices of this machine for error messages: "emu:sm90, cuda:0 (NVIDIA H200), cuda:1 (...)".
std::string existing_devices() {
  std::string list;
  for (const std::string& name : runtime::emulated_devices()) list += (list.empty() ? "" : ", ") + name;
  const runtime::CudaPresence cuda = runtime::cuda_presence();
  for (std::size_t i = 0; i < cuda.devices.size(); ++i)
    list += fmt::format(", cuda:{} ({})", i, cuda.devices[i].description);
  if (cuda.devices.empty()) list += fmt::format("; no CUDA device: {}", cuda.reason);
  return list;
}

Result<std::shared_ptr<runtime::Backend>> open_cuda(std::string_view name, const DeviceOptions& options) {
  const std::string_view digits = name.substr(kCudaPrefix.size());
  int ordinal = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
  if (error != std::errc{} || end != digits.data() + digits.size() || ordinal < 0)
    return failure(ErrorCode::invalid, "device", accepted_devices(runtime::emulated_devices()), std::string(name),
                   "this machine has " + existing_devices());
  if (static_cast<std::size_t>(ordinal) >= runtime::cuda_presence().devices.size())
    return failure(ErrorCode::could_not_finish, "device", "one of this machine's: " + existing_devices(),
                   std::string(name));
  return runtime::open_cuda_backend(ordinal, options);
}

Result<std::shared_ptr<runtime::Backend>> open_backend(std::string_view name, const DeviceOptions& options) {
  if (name == "auto") {
    const runtime::CudaPresence cuda = runtime::cuda_presence();
    if (!cuda.devices.empty() && cuda.devices[0].supported) return runtime::open_cuda_backend(0, options);
    return runtime::open_emu_backend(runtime::emulated_devices().front(), options);
  }
  for (const std::string& emulated : runtime::emulated_devices())
    if (name == emulated) return runtime::open_emu_backend(name, options);
  if (name.starts_with(kCudaPrefix)) return open_cuda(name, options);
  return failure(ErrorCode::invalid, "device", accepted_devices(runtime::emulated_devices()), std::string(name),
                 "this machine has " + existing_devices());
}

}  // namespace

Result<Device> Device::open(std::string_view name, DeviceOptions options) {
  WW_TRY(std::shared_ptr<runtime::Backend> backend, open_backend(name, options));
  const char* named = std::getenv("WARPWRIGHT_TUNING");
  const std::filesystem::path file = options.tuning.empty() && named != nullptr ? named : options.tuning;
  if (!file.empty() && file != kNoTuning) {
    Result<std::shared_ptr<const tuning::Table>> table = tuning::Table::open(file, runtime::place_of(backend->info()));
    if (!table && options.tuning.empty()) return failure(with_argument(table.error(), "WARPWRIGHT_TUNING"));
    if (!table) return failure(table.error());
    backend->set_tuning(std::move(*table));
  }
  return Device(std::move(backend));
}

const DeviceInfo& Device::info() const { return backend_->info(); }

Result<Buffer> Device::allocate(std::size_t bytes) const {
  WW_TRY(std::shared_ptr<void> memory, backend_->allocate(bytes));
  return Buffer(std::move(memory), bytes);
}

Result<void> Device::upload(void* device_destination, const void* host_source, std::size_t bytes) const {
  return backend_->upload(device_destination, host_source, bytes);
}

Result<void> Device::download(void* host_destination, const void* device_source, std::size_t bytes) const {
  return backend_->download(host_destination, device_source, bytes);
}

Result<arch::TensorMap> Device::tensor_map(const TensorMapSpec& spec) const { return backend_->encode(spec); }

Result<void> Device::synchronize(Stream stream) const { return backend_->synchronize(stream); }
Result<bool> Device::is_capturing(Stream stream) const { return backend_->is_capturing(stream); }

}  // namespace ww
