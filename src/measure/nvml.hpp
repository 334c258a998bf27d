// SPDX-License-Identifier: Apache-2.0
// SM clock and power through NVML, if the machine has it. It only reads; no setting of the card is ever changed.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace ww::measure {

struct GpuSample {
  double sm_mhz = 0, watts = 0;
};

class Nvml {
 public:
  /// Returns null if the library, its functions or the device are missing; figures then have no clock and power.
  static std::unique_ptr<Nvml> open(const std::string& pci_bus_id);
  ~Nvml();
  std::optional<GpuSample> sample() const;
  std::string driver_version() const;  // "580.159.04"
  std::optional<double> power_limit_watts() const;

 private:
  Nvml() = default;
  void* library_ = nullptr;
  void* device_ = nullptr;
};

}  // namespace ww::measure
