// SPDX-License-Identifier: Apache-2.0
// Files for input and output: a regular file read at offsets, and an output that replaces only regular files.
// Nothing is mapped, so that a file that shrinks while it is read is an error and not a signal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "warpwright/host/result.hpp"

namespace ww::io {

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
  /// Reads exactly `bytes` bytes from `offset`, or returns could_not_finish.
  Result<void> read(std::uint64_t offset, void* destination, std::size_t bytes) const;

 private:
  InputFile() = default;
  void swap(InputFile& other) noexcept;

  int descriptor_ = -1;
  std::uint64_t bytes_ = 0;
  std::string path_, argument_;
};

/// Writes one part of a file; returns false when the file system refused it.
using Sink = std::function<bool(const void* data, std::size_t bytes)>;

/// Refuses, before any work is done, a path that write_file() could not write: a directory, a block device, a socket, a
/// file without write permission, a folder that is missing or takes no new file.
Result<void> check_writable(const std::string& path, const std::string& argument);

/// Writes what `fill` produces. A regular file, or one that does not exist yet, is replaced atomically: readers see the
/// old content or all of the new one, permissions stay, a symlink stays and its target is replaced. A character device,
/// a FIFO and standard output are written through. Nothing else is left behind on failure.
Result<void> write_file(const std::string& path, const std::string& argument,
                        const std::function<bool(const Sink&)>& fill);

/// Whether both paths lead to one file: the same name in two spellings, or a symlink and its target.
bool same_output(const std::string& one, const std::string& other);

/// Whether writing to `path` writes to standard output.
bool is_standard_output(const std::string& path);

}  // namespace ww::io
