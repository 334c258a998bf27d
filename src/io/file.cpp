// SPDX-License-Identifier: Apache-2.0
// POSIX files behind file.hpp.
#include "io/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <vector>

#include "host/messages.hpp"

namespace ww::io {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

/// Returns invalid for a path that names nothing; after any other error the same call may succeed later.
ErrorCode code_of(int error) {
  const bool absent = error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG || error == ELOOP;
  return absent ? ErrorCode::invalid : ErrorCode::could_not_finish;
}

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

/// The target of an output path.
struct Output {
  std::string path;     // behind all symlinks
  bool stream = false;  // is written through, not replaced
  int descriptor = -1;  // the open descriptor of a stream that has one
  bool exists = false;
  struct stat status = {};  // of a file that exists
};

bool is_open_as(const struct stat& status, int descriptor) {
  struct stat open {};
  return ::fstat(descriptor, &open) == 0 && open.st_dev == status.st_dev && open.st_ino == status.st_ino;
}

/// Returns the path behind a chain of symlinks, whose last link may point to nothing.
std::string follow(std::string path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code failed;
    const std::filesystem::path target = std::filesystem::read_symlink(path, failed);
    if (failed) return path;
    path = (std::filesystem::path(directory_of(path)) / target).string();
  }
  return path;
}

Result<Output> open_output(const std::string& path, const std::string& argument) {
  const auto refuse = [&](ErrorCode code, const char* expected, const std::string& actual) {
    return failure(code, argument, expected, fmt::format("{}: {}", quoted(path), actual));
  };
  Output output;
  if (::stat(path.c_str(), &output.status) != 0) {
    const int error = errno;
    if (error != ENOENT) return refuse(code_of(error), "the name of a file that can be written", reason(error));
    output.path = follow(path);
    std::error_code ignored;
    if (path.empty() || output.path.back() == '/')
      return refuse(ErrorCode::invalid, "the name of a file", "it names none");
    if (!std::filesystem::is_directory(directory_of(output.path), ignored))
      return refuse(ErrorCode::invalid, "a file in a folder that exists", reason(error));
    return output;
  }
  output.exists = true;
  const mode_t mode = output.status.st_mode;
  if (S_ISDIR(mode)) return refuse(ErrorCode::invalid, "the name of a file", "it is a directory");
  if (S_ISBLK(mode)) return refuse(ErrorCode::invalid, "a file, FIFO or character device", "it is a block device");
  if (S_ISSOCK(mode)) return refuse(ErrorCode::invalid, "a file, FIFO or character device", "it is a socket");
  // The file behind standard output is not replaced, because the report goes to the descriptor that is open already.
  for (int standard : {STDOUT_FILENO, STDERR_FILENO})
    if (output.descriptor < 0 && is_open_as(output.status, standard)) output.descriptor = standard;
  output.stream = output.descriptor >= 0 || !S_ISREG(mode);
  output.path = output.stream ? path : follow(path);
  if (output.descriptor < 0 && ::access(path.c_str(), W_OK) != 0)
    return refuse(ErrorCode::could_not_finish, "a file that can be written", reason(errno));
  return output;
}

/// Creates a new file in the folder of `path` and stores its name in `name`.
int create_beside(const std::string& path, std::string& name) {
  static std::atomic<unsigned> count = 0;
  int descriptor = -1;
  do {
    name = fmt::format("{}/.warpwright-{}-{}.tmp", directory_of(path), ::getpid(), count++);
    descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor < 0 && errno == EEXIST);
  return descriptor;
}

/// Copies owner and permissions of the old file. Only root can keep another owner; a file that gets a new owner loses
/// its set-user-ID and set-group-ID bits.
bool keep_permissions(int descriptor, const Output& output) {
  if (!output.exists) return true;
  const bool owned = ::fchown(descriptor, output.status.st_uid, output.status.st_gid) == 0;
  return ::fchmod(descriptor, output.status.st_mode & (owned ? 07777 : 0777)) == 0;
}

/// Replaces a file; returns 0 or the error number.
int replace(const Output& output, const std::function<bool(const Sink&)>& fill) {
  std::string name;
  const int descriptor = create_beside(output.path, name);
  if (descriptor < 0) return errno;
  errno = 0;
  bool done = fill([&](const void* data, std::size_t bytes) { return write_all(descriptor, data, bytes); }) &&
              keep_permissions(descriptor, output) && ::fsync(descriptor) == 0;
  int error = errno;
  if (::close(descriptor) != 0 && done) done = false, error = errno;
  if (done && ::rename(name.c_str(), output.path.c_str()) != 0) done = false, error = errno;
  if (!done) ::unlink(name.c_str());
  return done ? 0 : error != 0 ? error : EIO;
}

/// Holds SIGPIPE back, so that a reader who closes a FIFO early is an error and no signal.
class PipeSignalBlock {
 public:
  PipeSignalBlock() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    was_pending_ = ::sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &old_);
  }
  ~PipeSignalBlock() {
    const timespec now{};
    if (!was_pending_) ::sigtimedwait(&pipe_, nullptr, &now);
    ::pthread_sigmask(SIG_SETMASK, &old_, nullptr);
  }

 private:
  sigset_t pipe_, old_;
  bool was_pending_ = false;
};

/// Writes through an existing file; returns 0 or the error number.
int write_through(const Output& output, const std::function<bool(const Sink&)>& fill) {
  const PipeSignalBlock block;
  const int descriptor = output.descriptor >= 0 ? ::fcntl(output.descriptor, F_DUPFD_CLOEXEC, 0)
                                                : ::open(output.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) return errno;
  errno = 0;
  const bool done = fill([&](const void* data, std::size_t bytes) { return write_all(descriptor, data, bytes); });
  const int error = errno;
  if (::close(descriptor) != 0 && done) return errno;
  return done ? 0 : error != 0 ? error : EIO;
}

}  // namespace

Result<InputFile> InputFile::open(const std::string& path, const std::string& argument) {
  InputFile file;
  file.path_ = path, file.argument_ = argument;
  // O_NONBLOCK, because opening a FIFO would otherwise wait for its writer before fstat can refuse it.
  file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.descriptor_ < 0) {
    return failure(code_of(errno), argument, "a file that can be read",
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
                     fmt::format("{} bytes at offset {} of {}", wanted, offset, printable(path_)),
                     got == 0 ? "the end of the file" : reason(errno));
    to += got, offset += static_cast<std::uint64_t>(got), bytes -= static_cast<std::size_t>(got);
  }
  return {};
}

Result<void> check_writable(const std::string& path, const std::string& argument) {
  WW_TRY(const Output output, open_output(path, argument));
  if (output.stream) return {};
  // A file is created and removed here, because permissions alone do not tell whether a folder takes one.
  std::string name;
  const int descriptor = create_beside(output.path, name);
  if (descriptor < 0)
    return failure(ErrorCode::could_not_finish, argument, "a file in a folder that can be written",
                   fmt::format("{}: {}", quoted(path), reason(errno)));
  ::close(descriptor);
  ::unlink(name.c_str());
  return {};
}

Result<void> write_file(const std::string& path, const std::string& argument,
                        const std::function<bool(const Sink&)>& fill) {
  WW_TRY(const Output output, open_output(path, argument));
  const int error = output.stream ? write_through(output, fill) : replace(output, fill);
  if (error == 0) return {};
  return failure(ErrorCode::could_not_finish, argument, "a file that can be written",
                 fmt::format("{}: {}", quoted(path), reason(error)));
}

bool same_output(const std::string& one, const std::string& other) {
  if (one == other) return true;
  struct stat first {
  }, second{};
  if (::stat(one.c_str(), &first) == 0 && ::stat(other.c_str(), &second) == 0 && !S_ISREG(first.st_mode))
    return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
  std::error_code failed;
  const auto resolved = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(follow(path), failed);
  };
  return resolved(one) == resolved(other) && !failed;
}

bool is_standard_output(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && is_open_as(status, STDOUT_FILENO);
}

}  // namespace ww::io
