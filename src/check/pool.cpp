// SPDX-License-Identifier: Apache-2.0
// One round of schedules: workers start in order, a worker that dies is replaced, what takes too long is cut.
#include "check/pool.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include "check/job_wire.hpp"

namespace ww::campaign {
namespace {

constexpr int kTickMilliseconds = 100;
constexpr int kMostReplacements = 8;  // of workers that a kernel ended; each costs a start

std::string lines_of(const FindingParty& p) {
  return fmt::format("{}:{}/{}:{}", p.file, p.line, p.inner_file, p.inner_line);
}

}  // namespace

std::string key_of(const Finding& finding) {
  std::string a = lines_of(finding.first), b = lines_of(finding.second);
  if (b < a) std::swap(a, b);
  return fmt::format("{} {} {}", rule_name(finding.rule), a, b);
}

Pool::Pool(PoolSettings settings) : settings_(std::move(settings)) {
  const auto cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  slots_.resize(
      static_cast<std::size_t>(std::clamp(settings_.processes > 0 ? settings_.processes : cores, 1, kMostProcesses)));
}

Pool::~Pool() = default;

Result<void> Pool::start(std::size_t number) {
  if (!page_.data())
    return failure(ErrorCode::could_not_finish, "worker", "memory that worker processes can share", "none");
  if (program_.empty()) {
    WW_TRY(program_, find_worker(settings_.worker));
  }
  Slot& slot = slots_[number];
  slot.process.reset();
  slot.set_up = false;
  page_.data()->workers[number].current = -1;
  WW_TRY(WorkerProcess process, WorkerProcess::start(program_, page_, number));
  slot.process.emplace(std::move(process));
  return {};
}

bool Pool::give_job(std::size_t number) {
  Slot& slot = slots_[number];
  if (!slot.process && !start(number)) return false;
  if (slot.set_up) return true;
  return slot.set_up = slot.process->send(Message::set_up, job_);
}

Result<Ready> Pool::set_up(const SetUp& job) {
  SetUp copy = job;
  copy.fingerprint = fingerprint();
  WireWriter wire;
  wire(copy);
  job_ = std::move(wire.bytes);
  for (Slot& slot : slots_) slot.set_up = false;
  if (!slots_[0].process) WW_CHECK(start(0));
  give_job(0);
  WorkerProcess& worker = *slots_[0].process;
  for (;;) {
    if (stop_requested()) {
      slots_[0].process.reset();
      return failure(ErrorCode::could_not_finish, "stop", "no stop", "one that was requested before a schedule ran");
    }
    pollfd ready{worker.descriptor(), POLLIN, 0};
    if (::poll(&ready, 1, kTickMilliseconds) > 0 && !worker.receive()) {
      const std::string how = worker.end();
      slots_[0].process.reset();
      return failure(ErrorCode::could_not_finish, "worker", "a process that prepares the kernel",
                     how.empty() ? "one that ended" : "one that ended with " + how);
    }
    tick(0);
    const std::optional<WorkerProcess::Received> message = worker.next();
    if (!message) continue;
    Ready answer;
    WireReader reader(message->bytes);
    reader(answer);
    if (message->kind != Message::ready || !reader.good)
      return failure(ErrorCode::could_not_finish, "worker", "an answer of this build", "another");
    if (answer.failed) return failure(std::move(answer.error));
    ticked_ = 0;  // so that progress is reported even if all schedules end within a tick
    return answer;
  }
}

void Pool::tick(double fraction) {
  if (!settings_.tick || now() - ticked_ < 1e-3 * kTickMilliseconds) return;
  ticked_ = now();
  settings_.tick(fraction);
}

/// The campaign's side of one list of schedules.
class Pool::Round {
 public:
  Round(Pool& pool, const ScheduleList& schedules, const RunSettings& settings)
      : pool_(pool), schedules_(schedules), settings_(settings), start_(now()), deadline_(start_ + settings.seconds) {}

  Campaign campaign() {
    shared().next = 0;
    Run run{schedules_, deadline_};
    WireWriter wire;
    wire(run);
    order_ = std::move(wire.bytes);
    const std::size_t count = std::min<std::uint64_t>(pool_.slots_.size(), schedules_.size());
    working_.assign(count, false), killed_.assign(count, false);
    for (std::size_t i = 0; i < count; ++i) working_[i] = enlist(i);
    if (count > 0 && std::none_of(working_.begin(), working_.end(), [](bool w) { return w; }))
      result_.why_incomplete = "no worker process could be started";
    collect();
    return finish();
  }

 private:
  SharedPage& shared() const { return *pool_.page_.data(); }

  /// Gives worker `i` the job, when it does not have it, and the order to run.
  bool enlist(std::size_t i) {
    shared().workers[i].current = -1;
    if (!pool_.give_job(i)) return false;
    return pool_.slots_[i].process->send(Message::run, order_);
  }

  void collect() {
    while (std::any_of(working_.begin(), working_.end(), [](bool w) { return w; })) {
      std::vector<pollfd> polls;
      std::vector<std::size_t> owners;
      for (std::size_t i = 0; i < working_.size(); ++i)
        if (working_[i]) polls.push_back({pool_.slots_[i].process->descriptor(), POLLIN, 0}), owners.push_back(i);
      ::poll(polls.data(), polls.size(), kTickMilliseconds);
      for (std::size_t i = 0; i < polls.size(); ++i)
        if (polls[i].revents != 0) hear(owners[i]);
      if (pool_.stop_requested()) return stop();
      if (now() > deadline_ + settings_.grace)
        for (std::size_t i = 0; i < working_.size(); ++i)
          if (working_[i] && !killed_[i]) pool_.slots_[i].process->kill(), killed_[i] = true;
      show_progress();
    }
  }

  void stop() {
    result_.stopped = true;
    for (std::size_t i = 0; i < working_.size(); ++i) {
      if (!working_[i]) continue;
      working_[i] = false;
      pool_.slots_[i].process.reset();
    }
  }

  void hear(std::size_t i) {
    WorkerProcess& worker = *pool_.slots_[i].process;
    if (!worker.receive()) return lost(i);
    while (const std::optional<WorkerProcess::Received> message = worker.next()) {
      if (message->kind == Message::ran) take(message->bytes);
      if (message->kind == Message::done) working_[i] = false;
      if (message->kind == Message::ready && refuses(message->bytes)) {
        // A later worker that cannot build the target, for want of memory say, takes no part.
        pool_.slots_[i].process.reset();
        working_[i] = false;
        return;
      }
    }
  }

  static bool refuses(std::string_view bytes) {
    Ready answer;
    WireReader wire(bytes);
    wire(answer);
    return !wire.good || answer.failed;
  }

  void take(std::string_view message) {
    WireReader wire(message);
    std::uint64_t index = 0;
    SequenceReport sequence;
    wire(index), wire(sequence);
    CheckReport& report = sequence.report;
    if (!wire.good || index >= schedules_.size() || sequence.launch_of.size() != report.findings.size()) return;
    ++result_.ran;
    result_.launches += static_cast<std::size_t>(sequence.launches);
    longest_ = std::max(longest_, report.stats.seconds * sequence.launches);
    if (report.verdict == Verdict::incomplete)
      note_incomplete(index, report.why_incomplete.empty() ? "no reason was given" : report.why_incomplete);
    for (std::size_t i = 0; i < report.findings.size(); ++i)
      note_finding(report.findings[i], index, i, sequence.launch_of[i]);
    if (index == 0) result_.example = std::move(report);
  }

  void note_finding(Finding& finding, std::size_t index, std::size_t position, int launch) {
    const std::string key = key_of(finding);
    // Schedules start in order, so those before this one have started and will be heard.
    if (key == settings_.until) shared().next = schedules_.size();
    Seen& seen = found_[key];
    Found& found = seen.found;
    // One report may hold a pair of lines twice, once for each access that came later.
    if (std::exchange(seen.last, index) == index) return;
    if (found.schedules++ != 0 && found.first <= index) return;
    found.first = index;
    found.position = position;
    found.launch = launch;
    found.finding = std::move(finding);
  }

  void note_incomplete(std::size_t index, const std::string& why) {
    if (!result_.why_incomplete.empty() && index >= incomplete_at_) return;
    incomplete_at_ = index;
    result_.why_incomplete = fmt::format("schedule {} ({}): {}", index, to_text(schedules_[index]), why);
  }

  /// A worker that was cut or died did not finish its schedule; the others, and one in its place, go on.
  void lost(std::size_t i) {
    working_[i] = false;
    const std::int64_t current = shared().workers[i].current;
    const std::string how = pool_.slots_[i].process->end();
    pool_.slots_[i].process.reset();
    pool_.slots_[i].set_up = false;
    if (current >= 0) judge(i, static_cast<std::size_t>(current), how);
    if (killed_[i] || shared().next >= schedules_.size()) return;
    if (replaced_++ < kMostReplacements) working_[i] = enlist(i);
    if (!working_[i] && result_.why_incomplete.empty()) result_.why_incomplete = "a worker process ended";
  }

  void judge(std::size_t i, std::size_t schedule, const std::string& how) {
    if (!killed_[i])
      return note_incomplete(schedule,
                             fmt::format("the process that ran it ended{}; a kernel that accesses memory outside its "
                                         "operands does this",
                                         how.empty() ? "" : " with " + how));
    const double ran = now() - shared().workers[i].start;
    // A schedule of ordinary length is cut by the clock; one that is much longer than any may never end.
    if (ran > std::max(settings_.grace, 10 * longest_) || result_.ran == 0)
      note_incomplete(schedule, fmt::format("it had not ended after {:.0f} s", ran));
  }

  void show_progress() {
    const double by_count = static_cast<double>(result_.ran) / static_cast<double>(schedules_.size());
    const double by_time = settings_.seconds > 0 ? (now() - start_) / settings_.seconds : 0;
    pool_.tick(std::min(1.0, std::max(by_count, by_time)));
  }

  Campaign finish() {
    for (auto& [key, seen] : found_) result_.findings.push_back(std::move(seen.found));
    std::sort(result_.findings.begin(), result_.findings.end(), [](const Found& a, const Found& b) {
      return a.first != b.first ? a.first < b.first : a.position < b.position;
    });
    if (result_.stopped)
      result_.why_incomplete = fmt::format("interrupted after {} of {} schedules", result_.ran, schedules_.size()) +
                               (result_.why_incomplete.empty() ? "" : "; " + result_.why_incomplete);
    if (result_.ran == 0 && result_.why_incomplete.empty())
      result_.why_incomplete = "no schedule ended in the time given";
    result_.seconds = now() - start_;
    return std::move(result_);
  }

  Pool& pool_;
  const ScheduleList& schedules_;
  const RunSettings& settings_;
  const double start_, deadline_;
  std::string order_;
  std::vector<bool> working_, killed_;
  int replaced_ = 0;
  struct Seen {
    Found found;
    std::size_t last = ~std::size_t{0};  // the schedule that was counted last
  };
  std::map<std::string, Seen> found_;
  Campaign result_;
  std::size_t incomplete_at_ = 0;
  double longest_ = 0;
};

Campaign Pool::run(const ScheduleList& schedules, const RunSettings& settings) {
  return Round(*this, schedules, settings).campaign();
}

}  // namespace ww::campaign
