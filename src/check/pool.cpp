// SPDX-License-Identifier: Apache-2.0
// fork, pipes, one shared page. A child sends (length, schedule number, report) for each schedule and ends with status
// 0.
#include "check/pool.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <thread>
#include <utility>

#include "check/wire.hpp"

namespace ww::campaign {
namespace {

constexpr int kMaxProcesses = 256;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// The page that parent and children share.
struct Shared {
  std::atomic<std::uint64_t> next;
  struct Worker {
    std::atomic<std::int64_t> current;  // number of the schedule it runs, -1 for none
    std::atomic<double> start;
  } workers[kMaxProcesses];
};

struct SharedPage {
  Shared* data;
  SharedPage() {
    void* page = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    data = page == MAP_FAILED ? nullptr : new (page) Shared{};
  }
  ~SharedPage() {
    if (data) ::munmap(data, sizeof(Shared));
  }
  SharedPage(const SharedPage&) = delete;
};

bool write_all(int descriptor, const std::string& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t count = ::write(descriptor, bytes.data() + at, bytes.size() - at);
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) at += static_cast<std::size_t>(count);
  }
  return true;
}

struct Child {
  pid_t id = -1;
  int pipe = -1;
  std::string received;
  bool killed = false;
};

class Pool {
 public:
  Pool(const std::vector<ScheduleRun>& schedules, const std::function<CheckReport(const ScheduleRun&)>& run,
       const PoolOptions& options)
      : schedules_(schedules), run_(run), options_(options), start_(now()), deadline_(start_ + options.seconds) {}

  Campaign campaign() {
    if (!shared_.data) return failed("no memory to share with child processes");
    const auto cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    const int wanted = std::clamp(options_.processes > 0 ? options_.processes : cores, 1, kMaxProcesses);
    const auto count = std::min(static_cast<std::size_t>(wanted), schedules_.size());
    children_.reserve(count);
    for (std::size_t i = 0; i < count; ++i)
      if (!start_child(i)) break;
    if (children_.empty() && count > 0) return failed("no child process could be started");
    collect();
    for (std::size_t i = 0; i < children_.size(); ++i) judge(i);
    return finish();
  }

 private:
  Campaign failed(std::string why) const {
    Campaign campaign;
    campaign.why_incomplete = std::move(why);
    return campaign;
  }

  bool start_child(std::size_t index) {
    int ends[2];
    if (::pipe(ends) != 0) return false;
    shared_.data->workers[index].current = -1;
    const pid_t parent = ::getpid();
    const pid_t id = ::fork();
    if (id == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(1);
      ::close(ends[0]);
      for (const Child& other : children_) ::close(other.pipe);
      ::_exit(work(shared_.data->workers[index], ends[1]) ? 0 : 1);
    }
    ::close(ends[1]);
    if (id < 0) {
      ::close(ends[0]);
      return false;
    }
    children_.push_back({id, ends[0], {}, false});
    return true;
  }

  /// In the child.
  bool work(Shared::Worker& self, int descriptor) {
    for (std::uint64_t i; (i = shared_.data->next++) < schedules_.size();) {
      if (i > 0 && now() > deadline_) return true;
      self.start = now();
      self.current = static_cast<std::int64_t>(i);
      ScheduleRun schedule = schedules_[i];
      schedule.traffic = i == 0;
      CheckReport report = run_(schedule);
      WireWriter wire;
      wire(i), wire(report);
      WireWriter length;
      std::uint64_t bytes = wire.bytes.size();
      length(bytes);
      if (!write_all(descriptor, length.bytes + wire.bytes)) return false;
      self.current = -1;
    }
    return true;
  }

  void collect() {
    std::size_t open = children_.size();
    while (open > 0) {
      std::vector<pollfd> polls;
      std::vector<Child*> owners;
      for (Child& child : children_)
        if (child.pipe >= 0) polls.push_back({child.pipe, POLLIN, 0}), owners.push_back(&child);
      ::poll(polls.data(), polls.size(), 100);
      for (std::size_t i = 0; i < polls.size(); ++i)
        if (polls[i].revents != 0 && !receive(*owners[i])) --open;
      if (now() > deadline_ + options_.grace)
        for (Child& child : children_)
          if (child.pipe >= 0 && !child.killed) ::kill(child.id, SIGKILL), child.killed = true;
      show_progress();
    }
  }

  /// False at the end of the pipe.
  bool receive(Child& child) {
    char buffer[65536];
    const ssize_t count = ::read(child.pipe, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) return true;
    if (count <= 0) {
      ::close(child.pipe);
      child.pipe = -1;
      return false;
    }
    child.received.append(buffer, static_cast<std::size_t>(count));
    for (;;) {
      std::uint64_t bytes = 0;
      if (child.received.size() < sizeof bytes) return true;
      std::memcpy(&bytes, child.received.data(), sizeof bytes);
      if (child.received.size() - sizeof bytes < bytes) return true;
      take(std::string_view(child.received).substr(sizeof bytes, bytes));
      child.received.erase(0, sizeof bytes + bytes);
    }
  }

  void take(std::string_view message) {
    WireReader wire(message);
    std::uint64_t index = 0;
    CheckReport report;
    wire(index), wire(report);
    if (!wire.good || index >= schedules_.size()) return;
    ++result_.ran;
    longest_ = std::max(longest_, report.stats.seconds);
    if (report.verdict == ww::Verdict::incomplete)
      note_incomplete(index, report.why_incomplete.empty() ? "no reason was given" : report.why_incomplete);
    for (std::size_t i = 0; i < report.findings.size(); ++i) note_finding(report.findings[i], index, i);
    if (index == 0) result_.example = std::move(report);
  }

  void note_finding(Finding& finding, std::size_t index, std::size_t position) {
    const std::string key = key_of(finding);
    // schedules start in order, so those before this one have started and will be heard
    if (key == options_.until) shared_.data->next = schedules_.size();
    Seen& seen = found_[key];
    Found& found = seen.found;
    // why: one report may hold a pair of lines twice, once for each that came later
    if (std::exchange(seen.last, index) == index) return;
    if (found.schedules++ != 0 && found.first <= index) return;
    found.first = index;
    found.position = position;
    found.finding = std::move(finding);
  }

  void note_incomplete(std::size_t index, const std::string& why) {
    if (!result_.why_incomplete.empty() && index >= incomplete_at_) return;
    incomplete_at_ = index;
    result_.why_incomplete = fmt::format("schedule {} ({}): {}", index, to_text(schedules_[index]), why);
  }

  /// After the end of a child: one that was cut or died did not finish its schedule.
  void judge(std::size_t index) {
    int status = 0;
    while (::waitpid(children_[index].id, &status, 0) < 0 && errno == EINTR) {
    }
    const std::int64_t current = shared_.data->workers[index].current;
    if (current < 0) return;
    const auto schedule = static_cast<std::size_t>(current);
    if (!children_[index].killed) {
      const std::string how = WIFSIGNALED(status)
                                  ? fmt::format("signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)))
                                  : fmt::format("status {}", WEXITSTATUS(status));
      return note_incomplete(schedule, "the process that ran it ended with " + how +
                                           "; a kernel that accesses memory outside its operands does this");
    }
    const double ran = now() - shared_.data->workers[index].start;
    // why: a schedule of ordinary length is cut by the clock; one that is much longer than any may never end
    if (ran > std::max(options_.grace, 10 * longest_) || result_.ran == 0)
      note_incomplete(schedule, fmt::format("it had not ended after {:.0f} s", ran));
  }

  void show_progress() {
    if (!options_.permille || schedules_.empty()) return;
    const double by_count = static_cast<double>(result_.ran) / static_cast<double>(schedules_.size());
    const double by_time = options_.seconds > 0 ? (now() - start_) / options_.seconds : 0;
    *options_.permille = static_cast<int>(1000 * std::min(1.0, std::max(by_count, by_time)));
  }

  Campaign finish() {
    for (auto& [key, seen] : found_) result_.findings.push_back(std::move(seen.found));
    std::sort(result_.findings.begin(), result_.findings.end(), [](const Found& a, const Found& b) {
      return a.first != b.first ? a.first < b.first : a.position < b.position;
    });
    if (result_.ran == 0 && result_.why_incomplete.empty())
      result_.why_incomplete = "no schedule ended in the time given";
    result_.seconds = now() - start_;
    return std::move(result_);
  }

  const std::vector<ScheduleRun>& schedules_;
  const std::function<CheckReport(const ScheduleRun&)>& run_;
  const PoolOptions& options_;
  const double start_, deadline_;
  SharedPage shared_;
  std::vector<Child> children_;
  struct Seen {
    Found found;
    std::size_t last = ~std::size_t{0};  // the schedule that was counted last
  };
  std::map<std::string, Seen> found_;
  Campaign result_;
  std::size_t incomplete_at_ = 0;
  double longest_ = 0;
};

std::string lines_of(const FindingParty& p) {
  return fmt::format("{}:{}/{}:{}", p.file, p.line, p.inner_file, p.inner_line);
}

}  // namespace

std::string to_text(const ScheduleRun& run) { return fmt::format("{}, seed {}", name_of(run.kind), run.seed); }

std::string key_of(const Finding& finding) {
  std::string a = lines_of(finding.first), b = lines_of(finding.second);
  if (b < a) std::swap(a, b);
  return fmt::format("{} {} {}", rule_name(finding.rule), a, b);
}

Campaign run_schedules(const std::vector<ScheduleRun>& schedules,
                       const std::function<CheckReport(const ScheduleRun&)>& run, const PoolOptions& options) {
  return Pool(schedules, run, options).campaign();
}

}  // namespace ww::campaign
