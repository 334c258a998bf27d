// SPDX-License-Identifier: Apache-2.0
// One file of the cache: a cubin or a shared object, the compiler's log, and a checksum of both.
//   payload | log | trailer { magic, payload bytes, log bytes, key, XXH3-128 of everything before }
// The checksum is a trailer, because dlopen expects the ELF header first and ignores what follows; so one file, renamed
// once, serves both.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ww::jit {

struct Entry {
  std::string payload;
  std::string log;
};

std::string pack(const Entry& entry, std::string_view key);

/// Returns nothing if `file` is truncated, altered, of another format, or stored under another key.
std::optional<Entry> unpack(std::string_view file, std::string_view key);

}  // namespace ww::jit
