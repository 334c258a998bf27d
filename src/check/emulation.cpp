// SPDX-License-Identifier: Apache-2.0
// Operands hold noise that depends on nothing, so a schedule and its seed say all about a run.
#include "check/emulation.hpp"

#include <fmt/format.h>

#include <cstring>

#include "emu/random.hpp"
#include "host/messages.hpp"

namespace ww::campaign {

std::string shell_word(const std::string& text) {
  const bool plain = !text.empty() && text.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789_-./=,:+@%") == std::string::npos;
  if (plain) return text;
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

const char* math_text(const CheckSettings& s) {
  return s.math == EmuMath::off ? "off" : s.math == EmuMath::fp32_chain ? "fp32" : "on";
}

std::string settings_text(const CheckSettings& s) {
  std::string text = s.math == EmuMath::off ? " --math off" : s.math == EmuMath::fp32_chain ? " --math fp32" : "";
  if (s.pct_depth != 3) text += fmt::format(" --pct-depth {}", s.pct_depth);
  return text;
}

void fill_noise(void* memory, std::size_t bytes) {
  emu::Random random(1);
  auto* out = static_cast<std::byte*>(memory);
  for (std::size_t at = 0; at < bytes; at += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(out + at, &word, std::min<std::size_t>(8, bytes - at));
  }
}

void choose(runtime::Backend& backend, const ScheduleRun& schedule, const CheckSettings& settings) {
  EmuOptions options;
  options.seed = schedule.seed;
  options.schedule = schedule.kind;
  options.math = settings.math;
  options.pct_depth = settings.pct_depth;
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

Result<Device> open_checking_device(const std::string& name) {
  DeviceOptions options;
  options.emu.check = true;
  WW_TRY(const Device device, Device::open(name == "auto" ? "emu:sm90" : name, options));
  if (!device.info().emulated)
    return failure(ErrorCode::invalid, "--device", "an emulated device, emu:sm90", quoted(name));
  return device;
}

}  // namespace ww::campaign
