// SPDX-License-Identifier: Apache-2.0
// A worker of invented reports, for the tests of the pool: the entry of the kernel says what its schedules do.
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "check/job_wire.hpp"

namespace ww::campaign {
namespace {

Finding finding(Rule rule, int first_line, int second_line, std::string text) {
  Finding f;
  f.rule = rule;
  f.first.file = f.second.file = "kernel.hpp";
  f.first.line = first_line;
  f.second.line = second_line;
  f.text = std::move(text);
  return f;
}

/// Every third schedule from the sixth on has a race, each from the ninth on a deadlock.
void add_findings(const ScheduleRun& run, CheckReport& report) {
  const bool swapped = run.seed % 2 == 0;
  if (run.seed >= 6 && run.seed % 3 == 0)
    report.findings.push_back(
        finding(Rule::data_race, swapped ? 20 : 10, swapped ? 10 : 20, "race " + std::to_string(run.seed)));
  if (!report.findings.empty())
    report.findings.push_back(finding(Rule::data_race, 10, 20, "race, the other way round"));
  if (run.seed >= 9) report.findings.push_back(finding(Rule::deadlock, 30, 0, "deadlock " + std::to_string(run.seed)));
  if (!report.findings.empty()) report.verdict = Verdict::findings;
}

CheckReport invent(const std::string& what, const ScheduleRun& run) {
  CheckReport report;
  report.verdict = Verdict::clean;
  if (what == "buggy") add_findings(run, report);
  if (what == "unsure" && run.seed == 5) report.verdict = Verdict::incomplete, report.why_incomplete = "no idea";
  if (what == "dies" && run.seed == 3) ::raise(SIGSEGV);
  if (what == "always dies") ::raise(SIGKILL);
  if ((what == "hangs" && run.seed == 4) || what == "always hangs")
    for (;;) ::pause();
  return report;
}

bool receive(void* to, std::size_t bytes) {
  return ::recv(kSocket, to, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
}

void send(Message kind, const std::string& bytes) {
  const std::string message = frame(kind, bytes);
  if (::send(kSocket, message.data(), message.size(), MSG_NOSIGNAL) < 0) std::_Exit(1);
}

template <class T> std::string bytes_of(T value) {
  WireWriter wire;
  wire(value);
  return wire.bytes;
}

int serve(std::size_t number) {
  auto* page =
      static_cast<SharedPage*>(::mmap(nullptr, sizeof(SharedPage), PROT_READ | PROT_WRITE, MAP_SHARED, kPage, 0));
  SetUp job;
  for (std::uint64_t head[2]; receive(head, sizeof head);) {
    std::string bytes(head[0], '\0');
    if (!receive(bytes.data(), bytes.size())) return 1;
    WireReader wire(bytes);
    if (head[1] == static_cast<std::uint64_t>(Message::set_up)) {
      wire(job);
      const std::string entry = std::get<KernelCheck>(job.target).entry;
      if (entry == "dies early") ::raise(SIGABRT);
      Ready ready{.target = job.target};
      if (entry == "refuses")
        ready.failed = true, ready.error = make_error(ErrorCode::invalid, "entry", "another", entry);
      send(Message::ready, bytes_of(ready));
      continue;
    }
    Run run;
    wire(run);
    const std::string what = std::get<KernelCheck>(job.target).entry;
    for (std::uint64_t i; (i = page->next++) < run.schedules.size();) {
      if (i > 0 && now() > run.deadline) break;
      page->workers[number].start = now();
      page->workers[number].current = static_cast<std::int64_t>(i);
      SequenceReport report{.report = invent(what, run.schedules[i]), .launches = run.schedules[i].launches};
      report.launch_of.assign(report.report.findings.size(), report.launches);
      WireWriter out;
      out(i), out(report);
      send(Message::ran, out.bytes);
      page->workers[number].current = -1;
    }
    send(Message::done, {});
  }
  return 0;
}

}  // namespace
}  // namespace ww::campaign

int main(int, char** argv) { return ww::campaign::serve(static_cast<std::size_t>(std::atoi(argv[2]))); }
