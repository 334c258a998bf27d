// SPDX-License-Identifier: Apache-2.0
// Files as the program needs them: a regular file read at offsets, and a file that appears whole or not at all.
// Nothing is mapped, so a file that shrinks while it is read is an error and not a signal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "warpwright/host/result.hpp"

namespace ww::cli {

class InputFile {
 public:
  /// Errors name `argument`: invalid when there is no such regular file, could_not_finish when it cannot be read.
  static Result<InputFile> open(const std::string& path, const std::string& argument);

  InputFile(InputFile&& other) noexcept { swap(other); }
  InputFile& operator=(InputFile&& other) noexcept { return swap(other), *this; }
  ~InputFile();

  const std::string& path() const { return path_; }
  const std::string& argument() const { return argument_; }
  std::uint64_t bytes() const { return bytes_; }
  /// Exactly `bytes` bytes from `offset`, or could_not_finish.
  Result<void> read(std::uint64_t offset, void* destination, std::size_t bytes) const;

 private:
  InputFile() = default;
  void swap(InputFile& other) noexcept;

  int descriptor_ = -1;
  std::uint64_t bytes_ = 0;
  std::string path_, argument_;
};

/// Writes one part of a file; false when the file system refused it.
using Sink = std::function<bool(const void* data, std::size_t bytes)>;

/// Refuses, before any work is done, a path whose directory is missing or not writable, or that names a directory.
Result<void> check_writable(const std::string& path, const std::string& argument);

/// Calls `fill` on a temporary name in the same directory, then fsync and rename: readers see the old file or the new.
/// The temporary file is removed on failure.
Result<void> write_file(const std::string& path, const std::string& argument,
                        const std::function<bool(const Sink&)>& fill);

}  // namespace ww::cli
