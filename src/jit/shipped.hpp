// SPDX-License-Identifier: Apache-2.0
// Emulator modules compiled when the library was built (cmake/emu_modules.cmake), with the same source, flags and
// format as the cache. Their key omits the compiler, because the library's builder chose it.
#pragma once

#include <optional>
#include <vector>

#include "jit/entry.hpp"
#include "jit/files.hpp"

namespace ww::jit {

struct Shipped {
  Entry entry;
  fs::path path;
};
/// Returns the directories that are searched for shipped modules, in order; not all need exist.
std::vector<fs::path> module_directories();

/// Returns the first whole module for `text` in WARPWRIGHT_MODULE_DIR, in the package that the program was built
/// against, beside this library or program, or in its build folder.
std::optional<Shipped> find_shipped(std::string_view text);

/// Build-time side: makes `directory`/<key>.so unless it exists and is whole.
Result<fs::path> ship_module(std::string_view text, const fs::path& directory);

}  // namespace ww::jit
