// SPDX-License-Identifier: Apache-2.0
// Where kernels come from. A kernel that a device needs is taken from memory, from a pack of precompiled cubins (or
// the shipped emulator modules), from the cache on disk, or from a compiler, in this order. WARPWRIGHT_JIT=off forbids
// the compilers; WARPWRIGHT_JIT=trace makes the program print a line for each kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace ww {

/// Where a kernel came from.
enum class KernelOrigin {
  compiled,  // a compiler made it now
  cache,     // the cache on disk
  pack,      // a pack of precompiled cubins
  module,    // an emulator module that ships with the library
};

/// Returns "compiled", "cache", "pack" or "module".
const char* name_of(KernelOrigin origin);

/// How many kernels this process took from where, not counting those that it had in memory.
struct KernelCounts {
  // One count for each KernelOrigin.
  std::uint64_t compiled = 0, cache = 0, pack = 0, module = 0;
};
/// Returns the counts since the process started.
KernelCounts kernel_counts();

/// One kernel that was not in memory.
struct KernelNotice {
  KernelOrigin origin = KernelOrigin::compiled;  // where it came from
  std::string kernel;                            // the text of its config, or the first line of a source without one
  double seconds = 0;                            // of the compiler; 0 for other origins
  std::string note;                              // why a pack or the cache was not used; usually empty
};

/// Calls `listener` after each kernel that was not in memory, from the thread that took it, one call at a time. An
/// empty function ends that. `listener` must not ask for kernels itself.
void set_kernel_listener(std::function<void(const KernelNotice&)> listener);

/// A pack of precompiled cubins that was found.
struct KernelPack {
  std::filesystem::path path;  // of its file
  std::size_t kernels = 0;     // that it holds
  std::string compiler;        // "NVRTC 13.0 (109338064 bytes)"
  std::string problem;         // why the pack, or a kernel of it, is not used; empty: all are
};

/// Returns the packs of this process, searched once: those in WARPWRIGHT_PACK_DIR, beside this library
/// (warpwright/packs), and in its build folder. With `check_kernels`, reads every kernel of every pack.
std::vector<KernelPack> kernel_packs(bool check_kernels = false);

}  // namespace ww
