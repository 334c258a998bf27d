// SPDX-License-Identifier: Apache-2.0
// From the source of a kernel to something that a backend can load: NVRTC for the GPU, the host compiler for the
// emulator, and one cache for both. Nothing here depends on GEMMs.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "warpwright/core/machine.hpp"
#include "warpwright/host/compile.hpp"
#include "warpwright/host/result.hpp"

namespace ww::jit {

struct Compiled {
  std::vector<char> image;     // cubin; empty for a host module
  std::filesystem::path path;  // shared object, file of the cache, or pack; empty for a cubin that never touched a disk
  double compile_seconds = 0;  // 0 if it came from a cache or from the shipped modules
  std::string log;             // compiler output (ptxas info for cubins)
  KernelOrigin origin = KernelOrigin::compiled;
};

/// Returns the cache directory from the API argument, WARPWRIGHT_CACHE_DIR, XDG_CACHE_HOME/warpwright, or
/// ~/.cache/warpwright, in this order.
Result<std::filesystem::path> cache_root(const std::filesystem::path& requested);

/// Returns the cubin of `text` for `arch`: from memory, a pack, the cache, or compiled now. Without `packs` none of
/// them is asked. Where WARPWRIGHT_JIT=off forbids compiling, the error names the kernel and the command that makes it.
Result<Compiled> compile_cubin(std::string_view text, const std::filesystem::path& cache_dir, bool packs = true,
                               Arch arch = kDefaultArch);
/// Ends the use of the pack that a Compiled came from, because the driver refused its kernel.
void refuse_pack(const std::filesystem::path& pack, const std::string& why);

/// Returns a shared object that exports warpwright_module: shipped with the library, cached, or compiled now by the
/// host's C++ compiler. With `checked`, its plain loads and stores are reported to the emulator; such modules are never
/// shipped.
Result<Compiled> compile_module(std::string_view text, const std::filesystem::path& cache_dir, bool checked = false);

}  // namespace ww::jit
