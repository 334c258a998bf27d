// SPDX-License-Identifier: Apache-2.0
// What operations and kernels of the user share under the checker.
#include "check/runner.hpp"

#include <cstring>

namespace ww::campaign {

Result<std::unique_ptr<Runner>> make_runner(const SetUp& job) {
  DeviceOptions options;
  options.cache_dir = job.cache_dir;
  options.emu.check = true;
  WW_TRY(const Device device, Device::open(machine_of(kDefaultArch).emulated_device, options));
  const CheckSettings settings{.math = job.math, .pct_depth = job.pct_depth, .strict_rules = job.strict_rules};
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

void choose(runtime::Backend& backend, const ScheduleRun& schedule, CheckSettings settings) {
  EmuOptions options;
  options.seed = schedule.seed;
  options.schedule = schedule.kind;
  options.math = settings.math;
  options.pct_depth = settings.pct_depth;
  options.strict_rules = settings.strict_rules;
  options.threads = 1;
  options.check = true;
  options.traffic = schedule.traffic;
  backend.set_emu_options(options);
}

CheckReport report_of(const runtime::Backend& backend, const Result<void>& done) {
  if (std::optional<CheckReport> report = backend.last_check()) return std::move(*report);
  CheckReport report;
  report.why_incomplete = done ? "nothing was launched under the checker" : done.error().message;
  return report;
}

}  // namespace ww::campaign
