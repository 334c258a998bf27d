// SPDX-License-Identifier: Apache-2.0
// A pack: one file of precompiled cubins, found by the key of their source (keys.hpp, cubin_source_key).
//   header { magic, format, kernels, target, compiler, bytes of the file, XXH3-128 of header and index }
//   index  { key, offset, payload bytes, log bytes, XXH3-128 of the kernel }, sorted by key
//   kernels, each payload | log
// A reader trusts nothing of the file: lengths are checked before use, and a kernel's checksum when it is read. Files
// are read, not mapped, so that one that is cut short meanwhile is an error and not a signal.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "jit/digest.hpp"
#include "jit/entry.hpp"
#include "jit/files.hpp"
#include "warpwright/core/machine.hpp"

namespace ww::jit {

/// The suffix of packs; other files of their folders are ignored.
inline constexpr const char* kPackSuffix = ".wwpack";

/// Returns the bytes of a pack of `kernels` for `arch` by key; the same kernels give the same bytes.
std::string pack_bytes(const std::map<std::string, Entry>& kernels, std::string_view compiler,
                       Arch arch = kDefaultArch);

class Pack {
 public:
  /// Reads header and index. Errors say what is wrong with the file.
  static Result<Pack> open(const fs::path& path);

  const fs::path& path() const { return path_; }
  const std::string& compiler() const { return compiler_; }
  /// Returns what the kernels were compiled for: "sm_90a", "sm_100a". Keys differ by it, so that a pack is asked for
  /// the kernels of any device.
  const std::string& target() const { return target_; }
  std::size_t size() const { return index_.size(); }
  /// Returns the keys in ascending order.
  std::vector<std::string> keys() const;
  bool contains(std::string_view key) const { return record_of(key) != nullptr; }
  /// Returns the kernel of `key`, which the pack contains. Errors: its bytes are not those that were written.
  Result<Entry> read(std::string_view key) const;

 private:
  struct Record {
    char key[kKeyLength];
    std::uint64_t offset, payload_bytes, log_bytes;
    unsigned char checksum[16];
  };
  static_assert(sizeof(Record) == 72);

  Pack(fs::path path, FileDescriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  Result<void> read_index();
  const Record* record_of(std::string_view key) const;

  fs::path path_;
  FileDescriptor file_;
  std::string compiler_, target_;
  std::vector<Record> index_;
  friend std::string pack_bytes(const std::map<std::string, Entry>& kernels, std::string_view compiler, Arch arch);
};

}  // namespace ww::jit
