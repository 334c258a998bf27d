// SPDX-License-Identifier: Apache-2.0
// The file operations of the cache, each with its failure as text: whole-file reads, durable atomic publishing, work
// directories, anonymous executable files, and advisory locks.
// Nothing here is specific to kernels, and nothing relies on a lock for safety.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "warpwright/host/result.hpp"

namespace ww::jit {

namespace fs = std::filesystem;

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor();
  bool valid() const { return fd_ >= 0; }
  int get() const { return fd_; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_;
};

/// Returns an error such as "open /a/b: Permission denied", code could_not_finish.
Error file_error(std::string_view operation, const fs::path& path, int error_number);

Result<std::string> read_file(const fs::path& path);
Result<void> write_file(const fs::path& path, std::string_view bytes);  // plain: for work directories

/// Creates a directory and its parents; every new one gets mode 0700.
Result<void> make_directories(const fs::path& directory);

/// Returns why code from `directory` must not be run: its owner is neither this user nor root, or others may write it.
/// Empty: it is trusted.
std::string why_not_trusted(const fs::path& directory);

/// Replaces a file durably. After this returns, the file holds all of `bytes`, also after a crash; if it fails or the
/// process dies, `path` holds its old contents. It uses a temporary file in the same directory, fsync, rename, and
/// fsync of the directory.
Result<void> publish_file(const fs::path& path, std::string_view bytes);

/// Removes the leftovers of killed processes: temporary files, work directories and lock files of ours that no process
/// holds locked. If the file system has no locks, it removes those older than an hour.
void sweep_leftovers(const fs::path& directory);

/// A directory of mode 0700 that is removed with its content. Its lock tells other processes that it is in use.
class WorkDirectory {
 public:
  static Result<WorkDirectory> make(const fs::path& parent);
  WorkDirectory(WorkDirectory&& other) noexcept : path_(std::move(other.path_)), lock_(std::move(other.lock_)) {
    other.path_.clear();
  }
  WorkDirectory& operator=(WorkDirectory&&) = delete;
  ~WorkDirectory();
  const fs::path& path() const { return path_; }

 private:
  WorkDirectory(fs::path path, FileDescriptor lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  fs::path path_;
  FileDescriptor lock_;
};

bool is_noexec(const fs::path& path);

/// Returns a path under /proc/self/fd for an anonymous file with these bytes, for dlopen where no directory can be
/// used.
/// The descriptor stays open for the life of the process, because dlopen identifies libraries by this name, so it must
/// stay unique.
Result<fs::path> anonymous_file(std::string_view bytes);

/// Holds flock on `path`, which it makes, while alive; empty if others held it for all of `timeout`. An error says why
/// the file cannot be locked at all.
Result<std::optional<FileDescriptor>> advisory_lock(const fs::path& path, std::chrono::milliseconds timeout);

}  // namespace ww::jit
