// SPDX-License-Identifier: Apache-2.0
// Structures that begin with their size. One of the size that this library knows is read in place; a shorter one is
// completed with zeros, the defaults; a longer one must end in zeros.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include <fmt/format.h>

#include "capi/status.hpp"

namespace ww::capi {

inline constexpr std::size_t kLargestStruct = 4096;  // a larger size is garbage, whose bytes must not be read

Result<void> check_longer(const char* argument, const void* given, std::size_t known, std::size_t size);

/// A structure of the caller's. `storage` is used, and initialised, only if the caller's size is another.
template <class Struct> class Given {
  static_assert(std::is_trivial_v<Struct> && offsetof(Struct, struct_size) == 0);

 public:
  /// Reads `given`, which is the argument `argument`. With `optional` a null pointer is a structure of zeros.
  ww_status read(const char* argument, const Struct* given, bool optional = false) {
    if (given != nullptr && given->struct_size == sizeof(Struct)) [[likely]] {
      read_ = given;
      return WW_OK;
    }
    return read_other(argument, given, optional);
  }
  const Struct& operator*() const { return *read_; }
  const Struct* operator->() const { return read_; }

 private:
  [[gnu::noinline]] ww_status read_other(const char* argument, const Struct* given, bool optional) {
    read_ = &storage_;
    std::memset(&storage_, 0, sizeof storage_);
    storage_.struct_size = sizeof storage_;
    if (given == nullptr) return optional ? WW_OK : refuse(argument, "a structure", "null");
    const std::size_t size = given->struct_size;
    WW_C_CHECK(check_longer(argument, given, sizeof(Struct), size));
    std::memcpy(&storage_, given, std::min(size, sizeof storage_));
    storage_.struct_size = sizeof storage_;
    return WW_OK;
  }

  const Struct* read_ = nullptr;
  Struct storage_;
};

/// Writes `from` to a structure of the caller's, as much of it as the caller knows.
template <class Struct> ww_status write_struct(const char* argument, Struct from, Struct* to) {
  if (to == nullptr) return refuse(argument, "a structure to write to", "null");
  const std::size_t size = to->struct_size;
  if (size < sizeof(size_t) || size > kLargestStruct || size % alignof(std::size_t) != 0)
    return refuse(argument, fmt::format("struct_size = {}", sizeof(Struct)), fmt::format("{}", size));
  from.struct_size = size;
  std::memcpy(to, &from, std::min(size, sizeof(Struct)));
  return WW_OK;
}

/// Refuses a null pointer to where a result goes.
inline ww_status check_output(const char* argument, const void* pointer) {
  if (pointer != nullptr) [[likely]]
    return WW_OK;
  return refuse(argument, "a pointer to where the result is stored", "null");
}

/// The text of an optional string.
inline const char* text_or_empty(const char* text) { return text != nullptr ? text : ""; }

}  // namespace ww::capi
