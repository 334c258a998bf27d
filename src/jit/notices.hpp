// SPDX-License-Identifier: Apache-2.0
// Whether compiling is allowed (WARPWRIGHT_JIT), and the record of where kernels came from (host/compile.hpp).
#pragma once

#include <string>
#include <string_view>

#include "warpwright/host/compile.hpp"
#include "warpwright/host/result.hpp"

namespace ww::jit {

enum class JitMode { on, off, trace };

/// Returns the value of WARPWRIGHT_JIT, on if it is not set. Errors: invalid for other values.
Result<JitMode> jit_mode();

/// Returns the first line of a source without its comment marker: the config's text in kernels of this library.
std::string headline(std::string_view source);

/// Returns the error of a kernel that would have to be compiled although WARPWRIGHT_JIT=off; `looked` says where it
/// was looked for, `flag` is what the command that makes it needs beside the config.
Error compiling_is_off(std::string_view source, const std::string& looked, const std::string& flag);

/// Counts, and calls the listener.
void notify(KernelOrigin origin, std::string_view source, double seconds, const std::string& note);

}  // namespace ww::jit
