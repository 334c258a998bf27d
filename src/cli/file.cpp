// SPDX-License-Identifier: Apache-2.0
// POSIX files behind file.hpp.
#include "cli/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

namespace ww::cli {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }
std::string quoted(const std::string& text) { return fmt::format("\"{}\"", text); }

std::string directory_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

bool write_all(int descriptor, const void* data, std::size_t bytes) {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(descriptor, from, std::min<std::size_t>(bytes, 1 << 30));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    from += written, bytes -= static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace

Result<InputFile> InputFile::open(const std::string& path, const std::string& argument) {
  InputFile file;
  file.path_ = path, file.argument_ = argument;
  // why: O_NONBLOCK, or opening a FIFO waits for its writer before fstat can refuse it
  file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.descriptor_ < 0) {
    const bool absent = errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG || errno == ELOOP;
    return failure(absent ? ErrorCode::invalid : ErrorCode::could_not_finish, argument, "a file that can be read",
                   fmt::format("{}: {}", quoted(path), reason(errno)));
  }
  struct stat status {};
  if (::fstat(file.descriptor_, &status) != 0 || !S_ISREG(status.st_mode))
    return failure(ErrorCode::invalid, argument, "a regular file", quoted(path));
  file.bytes_ = static_cast<std::uint64_t>(status.st_size);
  return file;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void InputFile::swap(InputFile& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(bytes_, other.bytes_);
  path_.swap(other.path_);
  argument_.swap(other.argument_);
}

Result<void> InputFile::read(std::uint64_t offset, void* destination, std::size_t bytes) const {
  char* to = static_cast<char*>(destination);
  const std::size_t wanted = bytes;
  while (bytes > 0) {
    const ssize_t got = ::pread(descriptor_, to, std::min<std::size_t>(bytes, 1 << 30), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      return failure(ErrorCode::could_not_finish, argument_,
                     fmt::format("{} bytes at offset {} of {}", wanted, offset, path_),
                     got == 0 ? "the end of the file" : reason(errno));
    to += got, offset += static_cast<std::uint64_t>(got), bytes -= static_cast<std::size_t>(got);
  }
  return {};
}

Result<void> check_writable(const std::string& path, const std::string& argument) {
  const std::string directory = directory_of(path);
  std::error_code ignored;
  if (path.empty() || std::filesystem::is_directory(path, ignored) || path.back() == '/')
    return failure(ErrorCode::invalid, argument, "the name of a file", quoted(path));
  if (!std::filesystem::is_directory(directory, ignored))
    return failure(ErrorCode::invalid, argument, "a file in a directory that exists", quoted(path));
  if (::access(directory.c_str(), W_OK | X_OK) != 0)
    return failure(ErrorCode::could_not_finish, argument, "a directory that can be written",
                   fmt::format("{}: {}", quoted(directory), reason(errno)));
  return {};
}

Result<void> write_file(const std::string& path, const std::string& argument,
                        const std::function<bool(const Sink&)>& fill) {
  std::string temporary = path + ".XXXXXX";
  const auto refuse = [&](int error) {
    return failure(ErrorCode::could_not_finish, argument, "a file that can be written",
                   fmt::format("{}: {}", quoted(path), reason(error)));
  };
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) return refuse(errno);
  errno = 0;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  bool done = fill([&](const void* data, std::size_t bytes) { return write_all(descriptor, data, bytes); }) &&
              ::fchmod(descriptor, 0666 & ~mask) == 0 && ::fsync(descriptor) == 0;
  int error = done ? 0 : errno;
  if (::close(descriptor) != 0 && done) done = false, error = errno;
  if (done && ::rename(temporary.c_str(), path.c_str()) != 0) done = false, error = errno;
  if (done) return {};
  ::unlink(temporary.c_str());
  return refuse(error);
}

}  // namespace ww::cli
