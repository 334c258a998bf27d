// SPDX-License-Identifier: Apache-2.0
// `warpwright devices`: what --device may name on this machine, with the limits of each device, and the driver. A
// machine without a GPU is no error; the reason is part of the answer. `warpwright info` says what the build has found.
#include <fmt/format.h>

#include "cli/flags.hpp"
#include "cli/report.hpp"
#include "runtime/cuda_backend.hpp"
#include "runtime/emu_backend.hpp"
#include "warpwright/host/device.hpp"

namespace ww::cli {
namespace {

/// Adds one device, or the reason why it cannot be opened.
void add_device(const std::string& name, std::string& text, List& list) {
  const Result<Device> device = Device::open(name);
  if (!device) {
    text += fmt::format("{:<10} cannot be used: {}\n", name, device.error().message);
    list.push_back(Fields{{"name", name}, {"usable", false}, {"reason", device.error().message}});
    return;
  }
  const DeviceInfo& info = device->info();
  text += fmt::format(
      "{:<10} {}\n{:<10} architecture {}, {} SMs, {:.1f} GiB of memory, {} bytes of shared memory per CTA\n", info.name,
      info.description, "", name_of(info.arch), info.sms, static_cast<double>(info.memory_bytes) / (1 << 30),
      info.shared_bytes_per_cta);
  if (const std::string request = request_for_results(info); !request.empty())
    text += fmt::format("{:<10} {}\n", "", request);
  list.push_back(Fields{{"name", info.name},
                        {"usable", true},
                        {"description", info.description},
                        {"emulated", info.emulated},
                        {"arch", name_of(info.arch)},
                        {"sms", info.sms},
                        {"memory_bytes", info.memory_bytes},
                        {"shared_bytes_per_cta", info.shared_bytes_per_cta}});
}

}  // namespace

Result<Outcome> run_devices(const Flags&) {
  Outcome outcome;
  std::string& text = outcome.text;
  List devices;
  for (const std::string& emulated : runtime::emulated_devices()) add_device(emulated, text, devices);
  const runtime::CudaPresence cuda = runtime::cuda_presence();
  for (std::size_t i = 0; i < cuda.devices.size(); ++i) add_device(fmt::format("cuda:{}", i), text, devices);
  if (cuda.devices.empty()) text += fmt::format("{:<10} none: {}\n", "cuda:N", cuda.reason);
  text += fmt::format("{:<10} {}\n", "driver", cuda.driver.empty() ? "none" : cuda.driver);
  outcome.json = {{"ok", true}, {"devices", devices}, {"cuda_reason", cuda.reason}, {"driver", cuda.driver}};
  return outcome;
}

}  // namespace ww::cli
