// SPDX-License-Identifier: Apache-2.0
// Where files that are shipped with the library lie: beside it in a build folder, an install prefix or a wheel.
#pragma once

#include <filesystem>
#include <vector>

namespace ww::jit {

/// Returns the file of the library or program that this code is part of; empty if it cannot be known.
std::filesystem::path own_binary();

/// Returns the folders in which to look for shipped files of a `kind`, "modules" or "packs", the first found wins: the
/// folder that the environment variable names; the package that a program was linked with; below the folders of this
/// library and of the running program; the build folder. They need not exist.
std::vector<std::filesystem::path> shipped_folders(const char* variable, const char* kind);

}  // namespace ww::jit
