// SPDX-License-Identifier: Apache-2.0
// Folders relative to binaries, because an installed tree and a wheel may be anywhere.
#include "jit/folders.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

#include "jit/build_facts.hpp"

// The directory where find_package(warpwright) found the modules. The package compiles this function into the programs
// and shared libraries that link the library (cmake/warpwright-config.cmake.in), because a static library has no
// location at run time. Packs lie in its sibling.
extern "C" const char* warpwright_module_directory() __attribute__((weak));

namespace ww::jit {

namespace fs = std::filesystem;

fs::path own_binary() {
  std::error_code ignored;
  Dl_info info{};
  if (!::dladdr(reinterpret_cast<const void*>(&own_binary), &info) || !info.dli_fname) return {};
  return fs::canonical(info.dli_fname, ignored);
}

std::vector<fs::path> shipped_folders(const char* variable, const char* kind) {
  std::vector<fs::path> found;
  if (const char* own = std::getenv(variable); own && *own) found.emplace_back(own);
  if (warpwright_module_directory != nullptr)
    found.push_back(fs::path(warpwright_module_directory()).parent_path() / kind);
  std::error_code ignored;
  for (const fs::path& binary : {own_binary(), fs::read_symlink("/proc/self/exe", ignored)}) {
    if (binary.empty()) continue;
    const fs::path folder = binary.parent_path();
    found.push_back(folder / "warpwright" / kind);                                             // <prefix>/lib/…so
    if (folder.filename() == "warpwright") found.push_back(folder / kind);                     // of a Python package
    found.push_back((folder.parent_path() / installed_module_folder()).parent_path() / kind);  // <prefix>/bin/…
  }
  found.push_back(fs::path(build_module_directory()).parent_path() / kind);
  std::vector<fs::path> once;
  for (const fs::path& directory : found)
    if (std::find(once.begin(), once.end(), directory) == once.end()) once.push_back(directory);
  return once;
}

}  // namespace ww::jit
