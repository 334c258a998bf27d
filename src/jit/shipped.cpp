// SPDX-License-Identifier: Apache-2.0
// Searches for shipped modules, and makes them at build time.
#include "jit/shipped.hpp"

#include "jit/folders.hpp"
#include "jit/keys.hpp"

namespace ww::jit {

std::vector<fs::path> module_directories() { return shipped_folders("WARPWRIGHT_MODULE_DIR", "modules"); }

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
