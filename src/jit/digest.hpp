// SPDX-License-Identifier: Apache-2.0
// XXH3-128, for two uses: cache keys (a list of fields) and checksums of cache entries (bytes).
// It is no defence against forgery; that rests on who may write the cache directory (files.hpp, why_not_trusted).
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace ww::jit {

inline constexpr std::size_t kKeyLength = 32;  // hexadecimal digits

/// Returns the key of a list of fields. Each field enters with its length, so ("ab", "c") and ("a", "bc") differ.
std::string key_of(const std::vector<std::string_view>& fields);

using Checksum = std::array<unsigned char, 16>;
Checksum checksum_of(std::string_view bytes);

}  // namespace ww::jit
