// SPDX-License-Identifier: Apache-2.0
// Numbers are little-endian, which all hosts of these GPUs are.
#include "jit/pack.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include "jit/digest.hpp"

namespace ww::jit {
namespace {

static_assert(std::endian::native == std::endian::little);

struct Header {
  char magic[8];
  std::uint32_t format, kernels;
  char target[16], compiler[64];
  std::uint64_t file_bytes;
  unsigned char checksum[16];  // of the header up to here and of the index
};
static_assert(sizeof(Header) == 120 && offsetof(Header, checksum) == 104);

constexpr std::string_view kMagic = "WWPACK\r\n";  // a transfer as text alters it
constexpr std::uint32_t kFormat = 1, kMostKernels = 1 << 20;

template <std::size_t n> void put(char (&field)[n], std::string_view text) {
  std::memset(field, 0, n);
  std::memcpy(field, text.data(), std::min(n, text.size()));
}
template <std::size_t n> std::string text_of(const char (&field)[n]) { return {field, strnlen(field, n)}; }

Checksum checksum_of_index(const Header& header, std::string_view index) {
  std::string bytes(reinterpret_cast<const char*>(&header), offsetof(Header, checksum));
  return checksum_of(bytes.append(index));
}

/// Reads `bytes` at `offset`; fewer at the end of the file.
Result<std::string> read_at(const FileDescriptor& file, const fs::path& path, std::uint64_t offset, std::size_t bytes) {
  std::string text(bytes, '\0');
  std::size_t have = 0;
  while (have < bytes) {
    const ssize_t got = ::pread(file.get(), text.data() + have, bytes - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure(file_error("read", path, errno));
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  return text;
}

tl::unexpected<Error> broken(const fs::path& path, std::string_view why) {
  return failure(make_error(ErrorCode::could_not_finish, {}, {}, {}, fmt::format("{}: {}", path.string(), why)));
}

}  // namespace

std::string pack_bytes(const std::map<std::string, Entry>& kernels, std::string_view compiler, Arch arch) {
  std::string index, data;
  const std::uint64_t first = sizeof(Header) + kernels.size() * sizeof(Pack::Record);
  for (const auto& [key, entry] : kernels) {
    Pack::Record record{};
    std::memcpy(record.key, key.data(), std::min(key.size(), kKeyLength));
    record.offset = first + data.size();
    record.payload_bytes = entry.payload.size(), record.log_bytes = entry.log.size();
    const std::string bytes = entry.payload + entry.log;
    const Checksum checksum = checksum_of(bytes);
    std::memcpy(record.checksum, checksum.data(), checksum.size());
    index.append(reinterpret_cast<const char*>(&record), sizeof record);
    data += bytes;
  }
  Header header{};
  std::memcpy(header.magic, kMagic.data(), kMagic.size());
  header.format = kFormat, header.kernels = static_cast<std::uint32_t>(kernels.size());
  put(header.target, machine_of(arch).target), put(header.compiler, compiler);
  header.file_bytes = first + data.size();
  const Checksum checksum = checksum_of_index(header, index);
  std::memcpy(header.checksum, checksum.data(), checksum.size());
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + index + data;
}

Result<Pack> Pack::open(const fs::path& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return failure(file_error("open", path, errno));
  Pack pack(path, std::move(file));
  WW_CHECK(pack.read_index());
  return pack;
}

Result<void> Pack::read_index() {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) return failure(file_error("stat", path_, errno));
  if (!S_ISREG(status.st_mode)) return broken(path_, "not a regular file");
  WW_TRY(const std::string head, read_at(file_, path_, 0, sizeof(Header)));
  Header header{};
  if (head.size() < sizeof(Header)) return broken(path_, "shorter than the header of a pack");
  std::memcpy(&header, head.data(), sizeof(Header));
  if (std::string_view(header.magic, kMagic.size()) != kMagic) return broken(path_, "not a pack");
  if (header.format != kFormat)
    return broken(path_, fmt::format("format {}, and this library reads format {}", header.format, kFormat));
  target_ = text_of(header.target);
  bool compiles = false;
  std::string known;
  for (int i = 0; i < kArchs; ++i) {
    const std::string_view one = machine_of(static_cast<Arch>(i)).target;
    compiles = compiles || one == target_;
    known += fmt::format("{}{}", i > 0 ? " or " : "", one);
  }
  if (!compiles) return broken(path_, fmt::format("kernels for {}, not for {}", target_, known));
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (header.file_bytes != bytes)
    return broken(path_, fmt::format("{} bytes long, and {} when it was written", bytes, header.file_bytes));
  const std::size_t index_bytes = std::size_t{std::min(header.kernels, kMostKernels)} * sizeof(Record);
  if (header.kernels > kMostKernels || sizeof(Header) + index_bytes > bytes)
    return broken(path_, fmt::format("{} kernels do not fit into {} bytes", header.kernels, bytes));
  WW_TRY(const std::string index, read_at(file_, path_, sizeof(Header), index_bytes));
  if (index.size() != index_bytes) return broken(path_, "cut short while it was read");
  const Checksum checksum = checksum_of_index(header, index);
  if (std::memcmp(checksum.data(), header.checksum, checksum.size()) != 0)
    return broken(path_, "the checksum of its index differs");
  index_.resize(header.kernels);
  if (!index_.empty()) std::memcpy(index_.data(), index.data(), index_bytes);
  for (const Record& record : index_)
    if (record.offset > bytes || record.payload_bytes > bytes - record.offset ||
        record.log_bytes > bytes - record.offset - record.payload_bytes)
      return broken(path_, "a kernel lies outside of the file");
  if (!std::is_sorted(index_.begin(), index_.end(),
                      [](const Record& a, const Record& b) { return std::memcmp(a.key, b.key, kKeyLength) < 0; }))
    return broken(path_, "its keys are not in order");
  compiler_ = text_of(header.compiler);
  return {};
}

std::vector<std::string> Pack::keys() const {
  std::vector<std::string> keys;
  for (const Record& record : index_) keys.emplace_back(record.key, kKeyLength);
  return keys;
}

const Pack::Record* Pack::record_of(std::string_view key) const {
  const auto before = [](const Record& a, std::string_view b) { return std::string_view(a.key, kKeyLength) < b; };
  const auto at = std::lower_bound(index_.begin(), index_.end(), key, before);
  return at != index_.end() && std::string_view(at->key, kKeyLength) == key ? &*at : nullptr;
}

Result<Entry> Pack::read(std::string_view key) const {
  const Record* record = record_of(key);
  if (record == nullptr) return broken(path_, fmt::format("no kernel {}", key));
  const std::size_t bytes = record->payload_bytes + record->log_bytes;
  WW_TRY(const std::string text, read_at(file_, path_, record->offset, bytes));
  const Checksum checksum = checksum_of(text);
  if (text.size() != bytes || std::memcmp(checksum.data(), record->checksum, checksum.size()) != 0)
    return broken(path_, fmt::format("the checksum of kernel {} differs", key));
  return Entry{text.substr(0, record->payload_bytes), text.substr(record->payload_bytes)};
}

}  // namespace ww::jit
