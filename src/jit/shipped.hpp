// SPDX-License-Identifier: Apache-2.0
// Emulator modules compiled when the library was built (cmake/emu_modules.cmake): same source, same flags, same format
// as the cache. Their key leaves the compiler out: whoever built the library has answered for it.
#pragma once

#include <optional>

#include "jit/entry.hpp"
#include "jit/files.hpp"

namespace ww::jit {

struct Shipped {
  Entry entry;
  fs::path path;
};
/// The first whole module for `text` in WARPWRIGHT_MODULE_DIR, in the package that the program was built against, beside
/// this library or program, in its build folder.
std::optional<Shipped> find_shipped(std::string_view text);

/// Build-time side: makes `directory`/<key>.so unless it is there and whole.
Result<fs::path> ship_module(std::string_view text, const fs::path& directory);

}  // namespace ww::jit
