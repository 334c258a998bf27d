// SPDX-License-Identifier: Apache-2.0
// `warpwright devices`: the devices of this machine with their limits, and where driver, NVRTC, cache and modules were
// found. A machine without a GPU is no error; the reason is part of the answer. This is what a bug report should hold.
#include <fmt/format.h>

#include "cli/flags.hpp"
#include "jit/build_facts.hpp"
#include "jit/jit.hpp"
#include "jit/nvrtc.hpp"
#include "jit/shipped.hpp"
#include "runtime/cuda_backend.hpp"
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
  list.push_back(Fields{{"name", info.name},
                        {"usable", true},
                        {"description", info.description},
                        {"emulated", info.emulated},
                        {"arch", name_of(info.arch)},
                        {"sms", info.sms},
                        {"memory_bytes", info.memory_bytes},
                        {"shared_bytes_per_cta", info.shared_bytes_per_cta}});
}

/// A file or directory that was looked for: its path, or why there is none.
Fields found(const char* what, const Result<std::string>& path, std::string& text) {
  text += fmt::format("{:<10} {}\n", what, path ? *path : "none: " + path.error().message);
  if (!path) return {{"found", false}, {"reason", path.error().message}};
  return {{"found", true}, {"path", *path}};
}

}  // namespace

Result<Outcome> run_devices(const Flags&) {
  Outcome outcome;
  std::string& text = outcome.text;
  List devices, modules;
  text = fmt::format("warpwright {}\n", jit::library_version());
  add_device("emu:sm90", text, devices);
  const runtime::CudaPresence cuda = runtime::cuda_presence();
  for (std::size_t i = 0; i < cuda.devices.size(); ++i) add_device(fmt::format("cuda:{}", i), text, devices);
  if (cuda.devices.empty()) text += fmt::format("{:<10} none: {}\n", "cuda:N", cuda.reason);
  text += fmt::format("{:<10} {}\n", "driver", cuda.driver.empty() ? "none" : cuda.driver);

  const Result<const jit::Nvrtc*> nvrtc = jit::Nvrtc::get();
  const Fields compiler =
      found("NVRTC",
            nvrtc ? Result<std::string>(fmt::format("{}, {}", (*nvrtc)->path(), (*nvrtc)->identity()))
                  : failure(nvrtc.error()),
            text);
  const Result<std::filesystem::path> root = jit::cache_root({});
  const Fields cache = found("cache", root ? Result<std::string>(root->string()) : failure(root.error()), text);
  for (const jit::fs::path& directory : jit::module_directories()) {
    std::error_code ignored;
    const bool exists = jit::fs::is_directory(directory, ignored);
    text += fmt::format("{:<10} {}{}\n", "modules", directory.string(), exists ? "" : " (does not exist)");
    modules.push_back(Fields{{"path", directory.string()}, {"exists", exists}});
  }
  outcome.json = {{"ok", true},
                  {"version", jit::library_version()},
                  {"devices", devices},
                  {"cuda_reason", cuda.reason},
                  {"driver", cuda.driver},
                  {"nvrtc", compiler},
                  {"cache", cache},
                  {"modules", modules}};
  return outcome;
}

}  // namespace ww::cli
