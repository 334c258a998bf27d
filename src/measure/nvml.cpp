// SPDX-License-Identifier: Apache-2.0
// Five functions of a C ABI that has been stable for a decade; declared here, because NVML's header is rarely
// installed.
#include "measure/nvml.hpp"

#include <dlfcn.h>

namespace ww::measure {
namespace {

constexpr int kClockSm = 1;  // NVML_CLOCK_SM

template <class Function> Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

std::unique_ptr<Nvml> Nvml::open(const std::string& pci_bus_id) {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const auto init = find<int()>(library, "nvmlInit_v2");
  const auto by_bus = find<int(const char*, void**)>(library, "nvmlDeviceGetHandleByPciBusId_v2");
  if (init == nullptr || by_bus == nullptr || init() != 0) {
    dlclose(library);
    return nullptr;
  }
  std::unique_ptr<Nvml> nvml(new Nvml);
  nvml->library_ = library;
  if (by_bus(pci_bus_id.c_str(), &nvml->device_) != 0) return nullptr;
  return nvml;
}

Nvml::~Nvml() {
  if (const auto shutdown = find<int()>(library_, "nvmlShutdown")) shutdown();
  dlclose(library_);
}

std::optional<GpuSample> Nvml::sample() const {
  const auto clock = find<int(void*, int, unsigned*)>(library_, "nvmlDeviceGetClockInfo");
  const auto power = find<int(void*, unsigned*)>(library_, "nvmlDeviceGetPowerUsage");
  unsigned mhz = 0, milliwatts = 0;
  if (clock == nullptr || power == nullptr) return std::nullopt;
  if (clock(device_, kClockSm, &mhz) != 0 || power(device_, &milliwatts) != 0) return std::nullopt;
  return GpuSample{static_cast<double>(mhz), milliwatts / 1000.0};
}

std::string Nvml::driver_version() const {
  char version[96] = {};
  const auto get = find<int(char*, unsigned)>(library_, "nvmlSystemGetDriverVersion");
  if (get == nullptr || get(version, sizeof(version) - 1) != 0) return "";
  return version;
}

std::optional<double> Nvml::power_limit_watts() const {
  unsigned milliwatts = 0;
  const auto get = find<int(void*, unsigned*)>(library_, "nvmlDeviceGetEnforcedPowerLimit");
  if (get == nullptr || get(device_, &milliwatts) != 0) return std::nullopt;
  return milliwatts / 1000.0;
}

}  // namespace ww::measure
