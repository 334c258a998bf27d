// SPDX-License-Identifier: Apache-2.0
// What operations and kernels of the user share under the checker.
#include "check/runner.hpp"

#include <fmt/format.h>

#include <cstring>

namespace ww::campaign {
namespace {

int sms_of(const CheckTarget& target) {
  return std::visit(
      [](const auto& check) {
        if constexpr (requires { check.options; }) return check.options.sms;
        else return check.sms;
      },
      target);
}

Arch arch_of(const CheckTarget& target) {
  return std::visit(
      [](const auto& check) {
        if constexpr (requires { check.options; }) return check.options.config.arch;
        else return check.arch;
      },
      target);
}

}  // namespace

Result<std::unique_ptr<Runner>> make_runner(const SetUp& job) {
  DeviceOptions options;
  options.cache_dir = job.cache_dir;
  options.emu.check = true;
  options.emu.sms = sms_of(job.target);
  WW_TRY(const Device device, Device::open(machine_of(arch_of(job.target)).emulated_device, options));
  const CheckSettings settings{
      .math = job.math, .pct_depth = job.pct_depth, .strict_rules = job.strict_rules, .verify = job.verify};
  if (const auto* kernel = std::get_if<KernelCheck>(&job.target)) return make_kernel_runner(device, *kernel, settings);
  return make_operation_runner(device, job.target, settings);
}

void fill_noise(void* memory, std::size_t bytes) {
  auto* out = static_cast<std::byte*>(memory);
  std::uint64_t state = 1;
  for (std::size_t at = 0; at < bytes; at += 8) {  // splitmix64
    std::uint64_t word = state += 0x9E3779B97F4A7C15ull;
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9ull;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBull;
    word ^= word >> 31;
    std::memcpy(out + at, &word, std::min<std::size_t>(8, bytes - at));
  }
}

SequenceReport Runner::run(const ScheduleRun& schedule) {
  SequenceReport made;
  if (const Result<void> ready = begin(schedule); !ready) {
    made.report.why_incomplete = ready.error().message;
    return made;
  }
  while (made.launches < schedule.launches) {
    CheckReport report = launch(schedule, ++made.launches);
    made.launch_of.insert(made.launch_of.end(), report.findings.size(), made.launches);
    if (made.launches == 1) {
      made.report = std::move(report);
    } else {
      made.report.verdict = report.verdict;
      made.report.findings = std::move(report.findings);
      if (!report.why_incomplete.empty())
        made.report.why_incomplete = fmt::format("launch {}: {}", made.launches, report.why_incomplete);
    }
    // Afterwards counters mean nothing, and the next launch would only show that.
    if (made.report.verdict != Verdict::clean) break;
  }
  return made;
}

Image image_of(const std::vector<Imaged>& arrays) {
  Image image;
  for (const Imaged& array : arrays) {
    const auto* data = static_cast<const std::byte*>(array.data);
    image.insert(image.end(), data, data + array.bytes);
  }
  return image;
}

std::optional<Finding> difference(const std::vector<Imaged>& arrays, const Image& expected, int launch,
                                  const std::string& what) {
  const std::byte* wanted = expected.data();
  for (const Imaged& array : arrays) {
    const auto* data = static_cast<const std::byte*>(array.data);
    std::size_t first = array.bytes, last = 0, wrong = 0;
    for (std::size_t i = 0; i < array.bytes; ++i) {
      if (data[i] == wanted[i]) continue;
      first = std::min(first, i), last = i, ++wrong;
    }
    if (wrong == 0) {
      wanted += array.bytes;
      continue;
    }
    Finding finding;
    finding.first.operation = what + ", whose results are expected";
    finding.second.operation =
        fmt::format("launch {}: byte {} of {} is 0x{:02x} instead of 0x{:02x}", launch, first, array.name,
                    std::to_integer<unsigned>(data[first]), std::to_integer<unsigned>(wanted[first]));
    finding.begin = first, finding.end = last + 1;
    finding.space = "operand " + array.name;
    return wrong_value(
        std::move(finding), launch,
        fmt::format("{} of {} bytes of {} differ from those of {}", wrong, array.bytes, array.name, what));
  }
  return std::nullopt;
}

Finding wrong_value(Finding finding, int launch, const std::string& text) {
  finding.rule = Rule::wrong_value;
  finding.advice =
      launch == 1 ? "compare the kernel's arithmetic, its tile coordinates and what it leaves out with the problem"
                  : "put back every flag and counter of the workspace before the launch ends, and rely on nothing else "
                    "that the launch before has left there";
  finding.text = fmt::format("{}: {}\n  first:  {}\n  second: {}\n", rule_name(finding.rule), text,
                             finding.first.operation, finding.second.operation);
  if (finding.end > finding.begin)
    finding.text += fmt::format("  bytes:  [0x{:x}, 0x{:x}) of {}\n", finding.begin, finding.end, finding.space);
  finding.text += fmt::format("  advice: {}\n", finding.advice);
  return finding;
}

void add(CheckReport& report, std::optional<Finding> finding) {
  if (!finding) return;
  report.findings.push_back(std::move(*finding));
  report.verdict = Verdict::findings;
}

void choose(runtime::Backend& backend, const ScheduleRun& schedule, int launch, CheckSettings settings) {
  EmuOptions options;
  // The launches of a fifo schedule run alike, because their results are compared: they elect the same lanes and run as
  // many clusters at once.
  options.seed = schedule.kind == EmuSchedule::fifo ? schedule.seed : seed_of_launch(schedule, launch);
  options.schedule = schedule.kind;
  options.math = settings.math;
  options.pct_depth = settings.pct_depth;
  options.strict_rules = settings.strict_rules;
  options.threads = 1;
  options.check = true;
  options.traffic = schedule.traffic && launch == 1;
  backend.set_emu_options(options);
}

CheckReport report_of(const runtime::Backend& backend, const Result<void>& done) {
  if (std::optional<CheckReport> report = backend.last_check()) return std::move(*report);
  CheckReport report;
  report.why_incomplete = done ? "nothing was launched under the checker" : done.error().message;
  return report;
}

}  // namespace ww::campaign
