// SPDX-License-Identifier: Apache-2.0
// posix_spawn, a socket pair and an anonymous file. A worker leads a process group of its own, so that an interrupt of
// the terminal reaches the campaign alone, and a compiler that the worker runs ends with it.
#include "check/process.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "jit/build_facts.hpp"

extern char** environ;

// Where find_package(warpwright) found the emulator modules (cmake/warpwright-config.cmake.in).
extern "C" const char* warpwright_module_directory() __attribute__((weak));

namespace ww::campaign {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = "warpwright-check-worker";

bool runs(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

/// The prefix of the package that the program was built against.
fs::path linked_prefix() {
  fs::path prefix = warpwright_module_directory();
  const fs::path modules = jit::installed_module_folder();
  for (auto part = modules.begin(); part != modules.end(); ++part) prefix = prefix.parent_path();
  return prefix;
}

/// Folders of installed and built workers, the nearest first.
std::vector<fs::path> folders() {
  std::error_code ignored;
  std::vector<fs::path> binaries, found;
  if (warpwright_module_directory != nullptr) found.push_back(linked_prefix() / jit::installed_libexec_folder());
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&find_worker), &info) && info.dli_fname)
    binaries.push_back(fs::canonical(info.dli_fname, ignored));
  binaries.push_back(fs::read_symlink("/proc/self/exe", ignored));
  for (const fs::path& binary : binaries) {
    fs::path prefix = binary.parent_path();  // <prefix>/bin, <prefix>/lib or <prefix>/lib/<machine>
    for (int up = 0; up < 2 && prefix.has_relative_path(); ++up) {
      prefix = prefix.parent_path();
      found.push_back(prefix / jit::installed_libexec_folder());
    }
  }
  found.emplace_back(jit::build_libexec_directory());
  return found;
}

/// A descriptor above those that a worker uses, so that none of them is overwritten before it is copied.
int above(int descriptor) {
  const int moved = ::fcntl(descriptor, F_DUPFD_CLOEXEC, kPage + 1);
  ::close(descriptor);
  return moved;
}

Result<pid_t> spawn(const fs::path& program, int socket, int page, std::size_t number) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (const int standard : {0, 1, 2}) posix_spawn_file_actions_addopen(&files, standard, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2(&files, socket, kSocket);
  posix_spawn_file_actions_adddup2(&files, page, kPage);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const std::string parent = fmt::format("{}", ::getpid()), index = fmt::format("{}", number);
  const char* const arguments[] = {kProgram, parent.c_str(), index.c_str(), nullptr};
  pid_t id = -1;
  const int error =
      ::posix_spawn(&id, program.c_str(), &files, &attributes, const_cast<char* const*>(arguments), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error == 0) return id;
  return failure(ErrorCode::could_not_finish, "worker", "a program that can be started",
                 fmt::format("{}: {}", program.string(), std::strerror(error)));
}

}  // namespace

Result<fs::path> find_worker(const fs::path& requested) {
  fs::path named = requested;
  if (named.empty())
    if (const char* own = std::getenv("WARPWRIGHT_CHECK_WORKER"); own && *own) named = own;
  if (!named.empty()) {
    if (runs(named)) return fs::absolute(named);
    return failure(ErrorCode::could_not_finish, requested.empty() ? "WARPWRIGHT_CHECK_WORKER" : "worker",
                   "the path of warpwright-check-worker", "\"" + named.string() + "\"");
  }
  std::string tried;
  for (const fs::path& folder : folders()) {
    if (runs(folder / kProgram)) return folder / kProgram;
    tried += (tried.empty() ? "" : ", ") + folder.string();
  }
  return failure(ErrorCode::could_not_finish, "worker", fmt::format("{} in one of {}", kProgram, tried), "none",
                 "set WARPWRIGHT_CHECK_WORKER to its path");
}

Page::Page() {
  const int file = ::memfd_create("warpwright-check", MFD_CLOEXEC);
  if (file < 0) return;
  descriptor_ = above(file);
  if (descriptor_ < 0 || ::ftruncate(descriptor_, sizeof(SharedPage)) != 0) return;
  void* page = ::mmap(nullptr, sizeof(SharedPage), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (page != MAP_FAILED) data_ = new (page) SharedPage{};
}

Page::~Page() {
  if (data_) ::munmap(data_, sizeof(SharedPage));
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<WorkerProcess> WorkerProcess::start(const fs::path& program, const Page& page, std::size_t number) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return failure(ErrorCode::could_not_finish, "worker", "a socket pair", std::strerror(errno));
  const int mine = above(ends[0]), its = above(ends[1]);
  Result<pid_t> id = spawn(program, its, page.descriptor(), number);
  ::close(its);
  if (id) return WorkerProcess(*id, mine);
  ::close(mine);
  return failure(id.error());
}

WorkerProcess::WorkerProcess(WorkerProcess&& other) noexcept
    : id_(std::exchange(other.id_, -1)),
      socket_(std::exchange(other.socket_, -1)),
      received_(std::move(other.received_)) {}

WorkerProcess::~WorkerProcess() {
  kill();
  end();
}

bool WorkerProcess::send(Message kind, const std::string& bytes) {
  const std::string message = frame(kind, bytes);
  for (std::size_t at = 0; at < message.size();) {
    const ssize_t count = ::send(socket_, message.data() + at, message.size() - at, MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) at += static_cast<std::size_t>(count);
  }
  return true;
}

bool WorkerProcess::receive() {
  char buffer[65536];
  const ssize_t count = ::recv(socket_, buffer, sizeof buffer, 0);
  if (count < 0 && errno == EINTR) return true;
  if (count <= 0) return false;
  received_.append(buffer, static_cast<std::size_t>(count));
  return true;
}

std::optional<WorkerProcess::Received> WorkerProcess::next() {
  std::uint64_t head[2] = {};
  if (received_.size() < sizeof head) return std::nullopt;
  std::memcpy(head, received_.data(), sizeof head);
  if (received_.size() - sizeof head < head[0]) return std::nullopt;
  Received message{static_cast<Message>(head[1]), received_.substr(sizeof head, head[0])};
  received_.erase(0, sizeof head + head[0]);
  return message;
}

void WorkerProcess::kill() {
  if (id_ <= 0) return;
  ::kill(-id_, SIGKILL);
  ::kill(id_, SIGKILL);  // it may not have its group yet
}

std::string WorkerProcess::end() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  if (id_ <= 0) return {};
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(id_, &status, 0)) < 0 && errno == EINTR) {
  }
  const pid_t id = std::exchange(id_, -1);
  ::kill(-id, SIGKILL);  // what it has left in its group
  if (ended < 0) return {};
  return WIFSIGNALED(status) ? fmt::format("signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)))
                             : fmt::format("status {}", WEXITSTATUS(status));
}

}  // namespace ww::campaign
