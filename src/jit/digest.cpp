// SPDX-License-Identifier: Apache-2.0
// The only translation unit that depends on the hash function.
#include "jit/digest.hpp"

#include <cstdint>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ww::jit {
namespace {

Checksum canonical(XXH128_hash_t hash) {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  Checksum result;
  static_assert(sizeof(bytes.digest) == sizeof(result));
  std::memcpy(result.data(), bytes.digest, sizeof(result));
  return result;
}

}  // namespace

std::string key_of(const std::vector<std::string_view>& fields) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  for (std::string_view field : fields) {
    const std::uint64_t length = field.size();
    XXH3_128bits_update(&state, &length, sizeof(length));
    XXH3_128bits_update(&state, field.data(), field.size());
  }
  std::string hex;
  for (unsigned char byte : canonical(XXH3_128bits_digest(&state))) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

Checksum checksum_of(std::string_view bytes) { return canonical(XXH3_128bits(bytes.data(), bytes.size())); }

}  // namespace ww::jit
