// SPDX-License-Identifier: Apache-2.0
// The rule for structures of another size than this library's.
#include "capi/structs.hpp"

namespace ww::capi {

Result<void> check_longer(const char* argument, const void* given, std::size_t known, std::size_t size) {
  // A size that no structure has would cut a pointer in two.
  if (size < sizeof(std::size_t) || size > kLargestStruct || size % alignof(std::size_t) != 0)
    return failure(ErrorCode::invalid, fmt::format("{}->struct_size", argument), fmt::format("{}, its sizeof", known),
                   fmt::format("{}", size));
  const auto* const bytes = static_cast<const unsigned char*>(given);
  for (std::size_t i = known; i < size; ++i)
    if (bytes[i] != 0)
      return failure(ErrorCode::unsupported, fmt::format("{}->struct_size", argument),
                     fmt::format("{}, or zeros in every byte after", known),
                     fmt::format("{}, with byte {} set: this library is older than its caller", size, i));
  return {};
}

}  // namespace ww::capi
