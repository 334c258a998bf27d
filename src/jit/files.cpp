// SPDX-License-Identifier: Apache-2.0
// System calls, with EINTR, short writes and error texts handled once.
#include "jit/files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>

#include <fmt/format.h>

namespace ww::jit {
namespace {

constexpr std::string_view kTemporaryPrefix = ".ww-";  // sweep_leftovers removes old files of this name

Result<void> write_all(int fd, const fs::path& path, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failure(file_error("write", path, errno));
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

// A rename survives a power cut only when its directory has reached the disk too.
void sync_directory(const fs::path& directory) {
  FileDescriptor fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.valid()) ::fsync(fd.get());
}

/// Marks `path`, which `fd` names, as in use for as long as `fd` is open. Returns false if a sweep removed it before
/// that.
bool mark_in_use(const FileDescriptor& fd, const fs::path& path) {
  ::flock(fd.get(), LOCK_EX | LOCK_NB);  // if it fails, the age of the file protects it
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// Returns whether nobody uses `path` any more. A file that its owner has locked is in use; `fd` then keeps others from
/// locking it.
bool is_left_over(const fs::path& path, FileDescriptor& fd) {
  if (fd.valid() && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return true;
  if (!fd.valid() || errno == EWOULDBLOCK) return false;
  std::error_code gone;
  const auto written = fs::last_write_time(path, gone);
  return !gone && written < fs::file_time_type::clock::now() - std::chrono::hours(1);
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (valid()) ::close(fd_);
}

Error file_error(std::string_view operation, const fs::path& path, int error_number) {
  return make_error(ErrorCode::could_not_finish, {}, {}, {},
                    fmt::format("{} {}: {}", operation, path.string(), std::generic_category().message(error_number)));
}

Result<std::string> read_file(const fs::path& path) {
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return failure(file_error("open", path, errno));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return failure(file_error("stat", path, errno));
  if (!S_ISREG(status.st_mode)) return failure(file_error("read", path, EINVAL));
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::read(fd.get(), bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure(file_error("read", path, errno));
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

Result<void> write_file(const fs::path& path, std::string_view bytes) {
  FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd.valid()) return failure(file_error("create", path, errno));
  return write_all(fd.get(), path, bytes);
}

Result<void> make_directories(const fs::path& directory) {
  fs::path so_far;
  for (const fs::path& part : directory) {
    so_far /= part;
    if (::mkdir(so_far.c_str(), 0700) == 0 || errno == EEXIST) continue;
    const int error_number = errno;  // EROFS or EACCES on an existing parent is no obstacle
    std::error_code ignored;
    if (!fs::is_directory(so_far, ignored)) return failure(file_error("mkdir", so_far, error_number));
  }
  std::error_code ignored;
  if (!fs::is_directory(directory, ignored)) return failure(file_error("mkdir", directory, ENOTDIR));
  return {};
}

std::string why_not_trusted(const fs::path& directory) {
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0) return std::generic_category().message(errno);
  if (!S_ISDIR(status.st_mode)) return "not a directory";
  if (status.st_uid != ::geteuid() && status.st_uid != 0)
    return fmt::format("owned by user {}, not by user {} or root", status.st_uid, ::geteuid());
  if (status.st_mode & S_IWOTH) return fmt::format("writable by everybody (mode {:04o})", status.st_mode & 07777);
  return {};
}

Result<void> publish_file(const fs::path& path, std::string_view bytes) {
  const fs::path directory = path.parent_path();
  WW_CHECK(make_directories(directory));
  std::string name = (directory / kTemporaryPrefix).string() + "XXXXXX";
  FileDescriptor fd(::mkostemp(name.data(), O_CLOEXEC));
  if (!fd.valid()) return failure(file_error("create a file in", directory, errno));
  if (!mark_in_use(fd, name))
    return publish_file(path, bytes);  // a sweep came between; the next name is a different one
  Result<void> done = write_all(fd.get(), name, bytes);
  if (done && ::fsync(fd.get()) != 0) done = failure(file_error("fsync", name, errno));
  if (done && ::rename(name.c_str(), path.c_str()) != 0) done = failure(file_error("rename to", path, errno));
  if (!done) {
    ::unlink(name.c_str());
    return done;
  }
  sync_directory(directory);
  return {};
}

void sweep_leftovers(const fs::path& directory) {
  std::error_code ignored;
  for (fs::directory_iterator it(directory, ignored), end; !ignored && it != end; it.increment(ignored)) {
    const fs::path& path = it->path();
    if (!path.filename().string().starts_with(kTemporaryPrefix)) continue;
    FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    std::error_code gone;
    if (is_left_over(path, fd)) fs::remove_all(path, gone);
  }
}

Result<WorkDirectory> WorkDirectory::make(const fs::path& parent) {
  std::string name = (parent / kTemporaryPrefix).string() + "XXXXXX";
  if (!::mkdtemp(name.data())) return failure(file_error("create a directory in", parent, errno));
  FileDescriptor lock(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock.valid() && errno != ENOENT) {
    const Error error = file_error("open", name, errno);
    ::rmdir(name.c_str());
    return failure(error);
  }
  // A sweep came between; the next name is a different one.
  if (!lock.valid() || !mark_in_use(lock, name)) return make(parent);
  return WorkDirectory(name, std::move(lock));
}

WorkDirectory::~WorkDirectory() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

bool is_noexec(const fs::path& path) {
  struct statvfs status {};
  return ::statvfs(path.c_str(), &status) == 0 && (status.f_flag & ST_NOEXEC);
}

Result<fs::path> anonymous_file(std::string_view bytes) {
  FileDescriptor fd(::memfd_create("warpwright-module", MFD_CLOEXEC));
  if (!fd.valid()) return failure(file_error("memfd_create", "warpwright-module", errno));
  WW_CHECK(write_all(fd.get(), "memfd", bytes));
  return fs::path(fmt::format("/proc/self/fd/{}", fd.release()));
}

Result<std::optional<FileDescriptor>> advisory_lock(const fs::path& path, std::chrono::milliseconds timeout) {
  FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return failure(file_error("open", path, errno));
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return failure(file_error("lock", path, errno));
    if (std::chrono::steady_clock::now() > deadline) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return std::make_optional(std::move(fd));
}

}  // namespace ww::jit
