// SPDX-License-Identifier: Apache-2.0
// The host's C++ compiler as a compiler of emulator modules: which one, with which flags, and how it is run (no shell).
// The flags equal the library's own where results depend on them: no contraction, no fast math.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "jit/entry.hpp"
#include "warpwright/host/result.hpp"

namespace ww::jit {

/// Checked modules report their plain loads and stores to the emulator (arch/common/hooks.hpp).
enum class Flavour { plain, checked };

/// The instruction-set levels for which modules are compiled; each is part of the key.
enum class IsaLevel { baseline, x86_64_v3 };

/// Returns the levels that may be loaded here: the best of this CPU first, then those below it.
const std::vector<IsaLevel>& loadable_isa_levels();

struct HostCompiler {
  std::filesystem::path path;
  std::string identity;  // path, size and modification time, so that an upgraded compiler counts as another

  /// Finds the compiler: WARPWRIGHT_CXX (a name or a path; nothing else is tried then), the compiler that built this
  /// library, c++, g++, clang++.
  static Result<HostCompiler> find();

  /// Compiles `text` in the directory `work`. The payload is the shared object, the log the compiler's warnings.
  Result<Entry> compile(std::string_view text, IsaLevel isa, const std::filesystem::path& work,
                        Flavour flavour = Flavour::plain) const;
};

/// The folder that debug information names instead of the temporary work directory. It holds the library's headers, and
/// any source whose #line names a relative path.
inline constexpr const char* kSourceFolder = "/warpwright-source";

/// Returns the flags without paths, so that they can be part of a key.
std::vector<std::string> module_flags(IsaLevel isa, Flavour flavour = Flavour::plain);

}  // namespace ww::jit
