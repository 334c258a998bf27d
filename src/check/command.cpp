// SPDX-License-Identifier: Apache-2.0
// The words of an operation come from itself; those of a kernel are here.
#include "check/command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "check/target.hpp"
#include "config/config_text.hpp"

namespace ww::campaign {
namespace {

constexpr const char* kProgram = "warpwright check";
constexpr int kUsualPctDepth = 3;

std::string sms_text(int sms) { return sms > 0 ? fmt::format(" --sms {}", sms) : ""; }

std::string options_text(const GemmOptions& options) {
  return fmt::format(" --config {}{}", shell_word(to_text(options.config)), sms_text(options.sms));
}

template <class Check> std::string words_of(const Check& check) {
  const auto operation = operations::make_operation(check);
  if (!operation) return {};
  const std::string flags = (*operation)->flags();
  if (flags.empty()) return {};
  return fmt::format("{} {} --device {} {}{}", kProgram, (*operation)->name(),
                     machine_of(check.options.config.arch).emulated_device, flags, options_text(check.options));
}

std::string words_of(const KernelCheck& check) {
  if (check.source.empty() || !check.text.empty()) return {};
  return fmt::format("{} --device {} --source {} --entry {} --launch {}{}", kProgram,
                     machine_of(check.arch).emulated_device, shell_word(check.source.string()), shell_word(check.entry),
                     to_text(check.launch), sms_text(check.sms));
}

}  // namespace

std::string shell_word(const std::string& text) {
  const bool plain = !text.empty() && text.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789_-./=,:+@%") == std::string::npos;
  if (plain) return text;
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

const char* math_text(EmuMath math) {
  return math == EmuMath::off ? "off" : math == EmuMath::fp32_chain ? "fp32" : "on";
}

std::string replay_command(const CheckTarget& target, const ScheduleRun& schedule, const CheckOptions& options) {
  std::string text = std::visit([](const auto& check) { return words_of(check); }, target);
  if (text.empty()) return text;
  if (options.math != EmuMath::exact) text += fmt::format(" --math {}", math_text(options.math));
  if (options.pct_depth != kUsualPctDepth) text += fmt::format(" --pct-depth {}", options.pct_depth);
  if (!options.relaxed.empty()) text += fmt::format(" --relax {}", fmt::join(options.relaxed, ","));
  if (!options.strict.empty()) text += fmt::format(" --strict {}", fmt::join(options.strict, ","));
  if (options.verify) text += " --verify";
  // An operation's usual number depends on the place of the schedule in its campaign.
  if (!std::holds_alternative<KernelCheck>(target) || schedule.launches != 1)
    text += fmt::format(" --launches {}", schedule.launches);
  return text + fmt::format(" --schedules 1 --emu-schedule {} --seed {}", name_of(schedule.kind), schedule.seed);
}

}  // namespace ww::campaign
