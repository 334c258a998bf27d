// SPDX-License-Identifier: Apache-2.0
// SM clock and power through NVML, where the machine has it. Reads only; no setting of the card is ever touched.
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
  /// Null when the library, its functions or the device are not there: figures go without clock and power then.
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
