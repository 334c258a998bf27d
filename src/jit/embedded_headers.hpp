// SPDX-License-Identifier: Apache-2.0
// The kernel headers as they were when the library was built (cmake/embed_headers.cmake writes the definitions).
// A kernel is always compiled against these texts, never against files on the user's include path.
#pragma once

#include <span>
#include <string_view>

namespace ww::jit {

struct EmbeddedHeader {
  const char* name;  // "warpwright/core/meta.hpp"
  const char* text;
};

std::span<const EmbeddedHeader> embedded_headers();

/// Returns the digest of the code in src/jit, which is part of every cache key.
std::string_view library_build_id();

}  // namespace ww::jit
