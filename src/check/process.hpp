// SPDX-License-Identifier: Apache-2.0
// A worker: a program that is started by posix_spawn with a socket, a shared page and nothing else of the caller.
// The caller's descriptors, signal mask and signal handlers do not reach it, and a worker that dies raises no SIGPIPE.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "check/messages.hpp"
#include "warpwright/host/result.hpp"

namespace ww::campaign {

/// `requested`, WARPWRIGHT_CHECK_WORKER of the environment, or warpwright-check-worker in libexec/warpwright of the
/// package that the program was built against, beside the library or the running program, or in the build folder.
Result<std::filesystem::path> find_worker(const std::filesystem::path& requested);

/// The page that campaign and workers share, as a descriptor for the workers.
class Page {
 public:
  Page();
  ~Page();
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  SharedPage* data() const { return data_; }  // null when there is no memory
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
  SharedPage* data_ = nullptr;
};

class WorkerProcess {
 public:
  static Result<WorkerProcess> start(const std::filesystem::path& program, const Page& page, std::size_t number);
  WorkerProcess(WorkerProcess&& other) noexcept;
  WorkerProcess& operator=(WorkerProcess&&) = delete;
  ~WorkerProcess();  // ends it with all that it started

  int descriptor() const { return socket_; }
  /// False when it is gone.
  bool send(Message kind, const std::string& bytes);
  /// Takes what has arrived; false at the end.
  bool receive();
  struct Received {
    Message kind{};
    std::string bytes;
  };
  std::optional<Received> next();

  void kill();
  /// Waits for its end: "signal 11 (Segmentation fault)" or "status 1"; empty when the caller reaps its children.
  std::string end();

 private:
  WorkerProcess(pid_t id, int socket) : id_(id), socket_(socket) {}
  pid_t id_ = -1;
  int socket_ = -1;
  std::string received_;
};

}  // namespace ww::campaign
