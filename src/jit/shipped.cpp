// SPDX-License-Identifier: Apache-2.0
// Searches for shipped modules, and makes them at build time.
#include "jit/shipped.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

#include "jit/build_facts.hpp"
#include "jit/keys.hpp"

// The directory where find_package(warpwright) found the modules. The package compiles this function into the programs
// and shared libraries that link the library (cmake/warpwright-config.cmake.in), because a static library has no
// location at run time.
extern "C" const char* warpwright_module_directory() __attribute__((weak));

namespace ww::jit {

std::vector<fs::path> module_directories() {
  std::vector<fs::path> found;
  if (const char* own = std::getenv("WARPWRIGHT_MODULE_DIR"); own && *own) found.emplace_back(own);
  if (warpwright_module_directory != nullptr) found.emplace_back(warpwright_module_directory());
  std::error_code ignored;
  Dl_info info{};
  std::vector<fs::path> binaries;
  if (::dladdr(reinterpret_cast<const void*>(&find_shipped), &info) && info.dli_fname)
    binaries.push_back(fs::canonical(info.dli_fname, ignored));
  binaries.push_back(fs::read_symlink("/proc/self/exe", ignored));
  for (const fs::path& binary : binaries) {
    if (binary.empty()) continue;
    const fs::path folder = binary.parent_path();
    found.push_back(folder / "warpwright" / "modules");                 // <prefix>/lib/libwarpwright.so
    found.push_back(folder.parent_path() / installed_module_folder());  // <prefix>/bin/…
  }
  found.emplace_back(build_module_directory());
  std::vector<fs::path> once;
  for (const fs::path& directory : found)
    if (std::find(once.begin(), once.end(), directory) == once.end()) once.push_back(directory);
  return once;
}

std::optional<Shipped> find_shipped(std::string_view text) {
  for (const fs::path& directory : module_directories()) {
    if (!why_not_trusted(directory).empty()) continue;
    for (const IsaLevel isa : loadable_isa_levels()) {
      const std::string key = module_source_key(text, isa);
      const fs::path path = directory / (key + ".so");
      const Result<std::string> file = read_file(path);
      if (!file) continue;
      // Not read_entry(), which removes a broken file: an installed one is the package manager's to replace.
      if (std::optional<Entry> entry = unpack(*file, key)) return Shipped{std::move(*entry), path};
    }
  }
  return std::nullopt;
}

Result<fs::path> ship_module(std::string_view text, const fs::path& directory) {
  const IsaLevel isa = loadable_isa_levels().front();
  const std::string key = module_source_key(text, isa);
  const fs::path path = directory / (key + ".so");
  if (const Result<std::string> file = read_file(path); file && unpack(*file, key)) return path;
  WW_CHECK(make_directories(directory));
  WW_TRY(const HostCompiler compiler, HostCompiler::find());
  WW_TRY(const WorkDirectory work, WorkDirectory::make(fs::absolute(directory)));
  WW_TRY(const Entry entry, compiler.compile(text, isa, work.path()));
  WW_CHECK(publish_file(path, pack(entry, key)));
  return path;
}

}  // namespace ww::jit
