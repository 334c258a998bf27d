// SPDX-License-Identifier: Apache-2.0
// The files that may be NVRTC, in the order in which they are tried:
//   loaded in this process already > WARPWRIGHT_NVRTC > site-packages around this library > ld.so > CUDA toolkits
// NVRTC opens its builtins library by name alone, so that the one beside it has to be loaded first.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ww::jit {

/// Returns the paths of the libnvrtc that this process has loaded.
std::vector<std::string> loaded_nvrtc();

/// Returns names for dlopen. `loaded` come first. If WARPWRIGHT_NVRTC is set, nothing but the file that it names, or
/// the libraries of the folder that it names, follows. `library` is the file of this library: where it lies in a
/// site-packages folder, NVIDIA's wheels beside it are searched.
std::vector<std::string> nvrtc_candidates(const std::filesystem::path& library, const std::vector<std::string>& loaded);

/// Returns the builtins library of this version beside `nvrtc`; empty if there is none.
std::filesystem::path nvrtc_builtins(const std::filesystem::path& nvrtc, int major, int minor);

}  // namespace ww::jit
