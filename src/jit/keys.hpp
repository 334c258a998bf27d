// SPDX-License-Identifier: Apache-2.0
// The key of everything that determines the result of a compile: two calls with one key may share one result.
//   cubin source   library, headers, source, NVRTC's flags                            (packs)
//   cubin          cubin source, NVRTC's identity                                     (cached cubins)
//   module source  library, headers, source, host flags with the instruction-set level   (shipped modules)
//   module         module source, compiler identity                                       (cached modules)
#pragma once

#include <string>
#include <string_view>

#include "jit/host_compiler.hpp"
#include "jit/nvrtc.hpp"
#include "warpwright/core/machine.hpp"

namespace ww::jit {

std::string cubin_source_key(std::string_view text, Arch arch = kDefaultArch);
std::string cubin_key(std::string_view text, const Nvrtc& nvrtc, Arch arch = kDefaultArch);
std::string module_source_key(std::string_view text, IsaLevel isa, Flavour flavour = Flavour::plain);
std::string module_key(std::string_view text, IsaLevel isa, const HostCompiler& compiler,
                       Flavour flavour = Flavour::plain);

}  // namespace ww::jit
