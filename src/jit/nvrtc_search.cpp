// SPDX-License-Identifier: Apache-2.0
// Collects candidates; nothing is loaded here.
#include "jit/nvrtc_search.hpp"

#include <link.h>

#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

namespace ww::jit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
// Where the wheels nvidia-cuda-nvrtc (CUDA 13) and nvidia-cuda-nvrtc-cu12 put their libraries.
constexpr const char* kWheelFolders[] = {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"};

// Wheels rename libraries that they bundle: libnvrtc-672ee683.so.12.
bool is_nvrtc(std::string_view name) {
  return name.starts_with("libnvrtc") && name.find(".so") != name.npos && !name.starts_with("libnvrtc-builtins") &&
         name.find(".alt.") == name.npos;
}

void add_existing(const fs::path& folder, std::vector<std::string>& paths) {
  std::error_code ignored;
  for (const char* name : kNames)
    if (fs::exists(folder / name, ignored)) paths.push_back((folder / name).string());
}

/// Returns the folder named site-packages or dist-packages that holds `file`. Folders of other names are not searched,
/// because somebody else may be able to write them.
fs::path site_packages_of(const fs::path& file) {
  for (fs::path folder = file.parent_path(); folder.has_relative_path(); folder = folder.parent_path())
    if (folder.filename() == "site-packages" || folder.filename() == "dist-packages") return folder;
  return {};
}

}  // namespace

std::vector<std::string> loaded_nvrtc() {
  std::vector<std::string> paths;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        if (info->dlpi_name && is_nvrtc(fs::path(info->dlpi_name).filename().string()))
          static_cast<std::vector<std::string>*>(found)->push_back(info->dlpi_name);
        return 0;
      },
      &paths);
  return paths;
}

std::vector<std::string> nvrtc_candidates(const fs::path& library, const std::vector<std::string>& loaded) {
  std::vector<std::string> paths = loaded;
  if (const char* own = std::getenv("WARPWRIGHT_NVRTC"); own && *own) {
    std::error_code ignored;
    if (!fs::is_directory(own, ignored)) paths.emplace_back(own);
    else
      for (const char* name : kNames) paths.push_back((fs::path(own) / name).string());
    return paths;
  }
  if (const fs::path site = site_packages_of(library); !site.empty())
    for (const char* folder : kWheelFolders) add_existing(site / folder, paths);
  paths.insert(paths.end(), std::begin(kNames), std::end(kNames));
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* home = std::getenv(variable);
    if (!home || !*home) continue;
    for (const char* name : kNames) paths.push_back(fmt::format("{}/lib64/{}", home, name));
  }
  for (const char* name : kNames) paths.push_back(fmt::format("/usr/local/cuda/lib64/{}", name));
  return paths;
}

fs::path nvrtc_builtins(const fs::path& nvrtc, int major, int minor) {
  std::error_code ignored;
  const fs::path folder = nvrtc.parent_path();
  if (folder.empty()) return {};
  const fs::path beside = folder / fmt::format("libnvrtc-builtins.so.{}.{}", major, minor);
  if (fs::exists(beside, ignored)) return beside;
  // A renamed library has renamed builtins.
  for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end; at.increment(ignored)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with("libnvrtc-builtins") && name.ends_with(fmt::format(".so.{}.{}", major, minor)))
      return at->path();
  }
  return {};
}

}  // namespace ww::jit
