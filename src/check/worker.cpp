// SPDX-License-Identifier: Apache-2.0
// Builds the target that it is sent, runs the schedules that nobody has taken yet, and reports each.
#include "check/worker.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "check/job_wire.hpp"
#include "check/runner.hpp"
#include "runtime/emu_backend.hpp"

namespace ww::campaign {
namespace {

constexpr double kGraceBefore = 3;  // seconds after the deadline; the campaign ends the process after five

bool read_all(void* to, std::size_t bytes) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t count = ::recv(kSocket, at, bytes, 0);
    if (count == 0 || (count < 0 && errno != EINTR)) return false;
    if (count > 0) at += count, bytes -= static_cast<std::size_t>(count);
  }
  return true;
}

bool answer(Message kind, const std::string& bytes) {
  const std::string message = frame(kind, bytes);
  for (std::size_t at = 0; at < message.size();) {
    const ssize_t count = ::send(kSocket, message.data() + at, message.size() - at, MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) at += static_cast<std::size_t>(count);
  }
  return true;
}

bool answer(const Result<Ready>& made) {
  Ready ready;
  ready.failed = !made;
  if (made) ready = *made;
  else ready.error = made.error();
  WireWriter wire;
  wire(ready);
  return answer(Message::ready, wire.bytes);
}

class Worker {
 public:
  Worker(SharedPage& page, std::size_t number) : page_(page), self_(page.workers[number]) {}

  /// False when the campaign is gone, or says what this build does not understand.
  bool serve_one() {
    std::uint64_t head[2];
    if (!read_all(head, sizeof head)) return false;
    std::string bytes(head[0], '\0');
    if (!read_all(bytes.data(), bytes.size())) return false;
    WireReader wire(bytes);
    if (head[1] == static_cast<std::uint64_t>(Message::set_up)) return set_up(bytes);
    Run run;
    wire(run);
    return wire.good && head[1] == static_cast<std::uint64_t>(Message::run) && runner_ && work(run);
  }

 private:
  bool set_up(std::string_view bytes) {
    std::string theirs;
    WireReader first(bytes), whole(bytes);
    first(theirs);  // alone: the rest of a job from another build has no meaning
    if (theirs != fingerprint())
      return answer(failure(ErrorCode::could_not_finish, "worker",
                            "a warpwright-check-worker of the same build as the library", "another"));
    SetUp job;
    whole(job);
    if (!whole.good) return false;
    runner_.reset();  // so that its memory is free for the next
    Result<std::unique_ptr<Runner>> made = make_runner(job);
    if (!made) return answer(failure(made.error()));
    runner_ = std::move(*made);
    return answer(Ready{.target = runner_->target(), .sms = runner_->sms()});
  }

  bool work(const Run& run) {
    const std::uint64_t count = run.schedules.size();
    for (std::uint64_t i; (i = page_.next++) < count;) {
      if (i > 0 && now() > run.deadline) break;
      self_.start = now();
      // Before the campaign ends the process, and only a schedule that is much longer than any.
      runtime::give_up_launches_at(std::max(run.deadline + kGraceBefore, self_.start + 10 * longest_));
      self_.current = static_cast<std::int64_t>(i);
      SequenceReport report = runner_->run(run.schedules[i]);
      longest_ = std::max(longest_, now() - self_.start);
      WireWriter wire;
      wire(i), wire(report);
      if (!answer(Message::ran, wire.bytes)) return false;
      self_.current = -1;
    }
    return answer(Message::done, {});
  }

  SharedPage& page_;
  SharedPage::Worker& self_;
  std::unique_ptr<Runner> runner_;
  double longest_ = 0.3;  // seconds of a schedule
};

/// Closes what the caller had open without the close-on-exec flag, and hides the rest from the worker's own children.
void close_all_but_ours() {
#ifdef SYS_close_range
  ::syscall(SYS_close_range, static_cast<unsigned>(kPage + 1), ~0u, 0u);
#endif
  ::fcntl(kSocket, F_SETFD, FD_CLOEXEC);
  ::fcntl(kPage, F_SETFD, FD_CLOEXEC);
}

}  // namespace

int serve(int argc, const char* const* argv) {
  if (argc != 3) return 2;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != std::atoi(argv[1])) return 2;
  const auto number = static_cast<std::size_t>(std::atoi(argv[2]));
  void* page = ::mmap(nullptr, sizeof(SharedPage), PROT_READ | PROT_WRITE, MAP_SHARED, kPage, 0);
  if (page == MAP_FAILED || number >= kMostProcesses) return 2;
  close_all_but_ours();
  runtime::watch_launches();
  Worker worker(*static_cast<SharedPage*>(page), number);
  while (worker.serve_one()) {
  }
  return 0;
}

}  // namespace ww::campaign
