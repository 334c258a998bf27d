// SPDX-License-Identifier: Apache-2.0
// The trailer is read only if magic, key and lengths agree; the checksum then covers every byte before it.
#include "jit/entry.hpp"

#include <cstdint>
#include <cstring>

#include "jit/digest.hpp"

namespace ww::jit {
namespace {

struct Trailer {
  char magic[8];
  std::uint64_t payload_bytes;
  std::uint64_t log_bytes;
  char key[kKeyLength];
  unsigned char checksum[16];
};
static_assert(sizeof(Trailer) == 72 && offsetof(Trailer, checksum) == 56);

constexpr std::string_view kMagic = "WWENTRY1";

}  // namespace

std::string pack(const Entry& entry, std::string_view key) {
  Trailer trailer{};
  std::memcpy(trailer.magic, kMagic.data(), kMagic.size());
  trailer.payload_bytes = entry.payload.size();
  trailer.log_bytes = entry.log.size();
  std::memcpy(trailer.key, key.data(), key.size() < kKeyLength ? key.size() : kKeyLength);
  std::string file = entry.payload + entry.log;
  file.append(reinterpret_cast<const char*>(&trailer), offsetof(Trailer, checksum));
  const Checksum checksum = checksum_of(file);
  file.append(reinterpret_cast<const char*>(checksum.data()), checksum.size());
  return file;
}

std::optional<Entry> unpack(std::string_view file, std::string_view key) {
  if (file.size() < sizeof(Trailer)) return std::nullopt;
  Trailer trailer;
  const std::size_t contents = file.size() - sizeof(Trailer);
  std::memcpy(&trailer, file.data() + contents, sizeof(Trailer));
  if (std::string_view(trailer.magic, kMagic.size()) != kMagic || std::string_view(trailer.key, kKeyLength) != key)
    return std::nullopt;
  if (trailer.payload_bytes > contents || trailer.log_bytes != contents - trailer.payload_bytes) return std::nullopt;
  const Checksum checksum = checksum_of(file.substr(0, contents + offsetof(Trailer, checksum)));
  if (std::memcmp(checksum.data(), trailer.checksum, checksum.size()) != 0) return std::nullopt;
  return Entry{std::string(file.substr(0, trailer.payload_bytes)),
               std::string(file.substr(trailer.payload_bytes, trailer.log_bytes))};
}

}  // namespace ww::jit
