// SPDX-License-Identifier: Apache-2.0
// One function for each kind of target.
#include "check/command.hpp"

#include <fmt/format.h>

#include "config/config_text.hpp"

namespace ww::campaign {
namespace {

constexpr const char* kProgram = "warpwright check";
constexpr const char* kDevice = "--device emu:sm90";
constexpr const char* kEncodings[] = {"offsets", "indptr", "starts-counts", "row-ids", "masked"};
constexpr int kUsualPctDepth = 3;

std::string options_text(const GemmOptions& options) {
  return fmt::format(" --config {}{}", shell_word(to_text(options.config)),
                     options.sms > 0 ? fmt::format(" --sms {}", options.sms) : "");
}

/// The flags that lay the groups out again; `rows` is M of rows, K of K.
std::string group_flags(const CheckGroups& groups, GroupEncoding encoding, const char* counts, const char* size,
                        std::int64_t rows) {
  if (groups.counts.empty()) return groups.flags;
  std::string text = fmt::format("{} {} --encoding {} {} {}", counts, fmt::join(groups.counts, ","),
                                 kEncodings[static_cast<int>(encoding)], size, rows);
  if (groups.alignment > 1) text += fmt::format(" --align {}", groups.alignment);
  if (groups.gap > 0) text += fmt::format(" --gap {}", groups.gap);
  return text;
}

std::string words_of(const GemmCheck& check) {
  const GemmProblem& p = check.problem;
  return fmt::format("{} gemm {} --m {} --n {} --k {}{}{}", kProgram, kDevice, p.m, p.n, p.k,
                     p.batch == 1 ? "" : fmt::format(" --batch {}", p.batch), options_text(check.options));
}

std::string words_of(const GroupedCheck& check) {
  const GroupedProblem& p = check.problem;
  const std::string groups = group_flags(check.groups, p.encoding, "--rows", "--m", p.rows);
  if (groups.empty()) return {};
  return fmt::format("{} grouped {} {} --n {} --k {}{}{}", kProgram, kDevice, groups, p.n, p.k,
                     p.zero_outside ? " --zero-outside" : "", options_text(check.options));
}

std::string words_of(const KGroupedCheck& check) {
  const KGroupedProblem& p = check.problem;
  const std::string groups = group_flags(check.groups, p.encoding, "--ks", "--k", p.k);
  if (groups.empty()) return {};
  return fmt::format("{} k-grouped {} {} --m {} --n {} --layout {}{}{}", kProgram, kDevice, groups, p.m, p.n,
                     name_of(MatrixLayout{p.a_major, p.b_major}), p.accumulate ? " --accumulate" : "",
                     options_text(check.options));
}

std::string words_of(const KernelCheck& check) {
  if (check.source.empty() || !check.text.empty()) return {};
  return fmt::format("{} {} --source {} --entry {} --launch {}", kProgram, kDevice, shell_word(check.source.string()),
                     shell_word(check.entry), to_text(check.launch));
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

std::string replay_command(const CheckTarget& target, const ScheduleRun& schedule, EmuMath math, int pct_depth) {
  std::string text = std::visit([](const auto& check) { return words_of(check); }, target);
  if (text.empty()) return text;
  if (math != EmuMath::exact) text += fmt::format(" --math {}", math_text(math));
  if (pct_depth != kUsualPctDepth) text += fmt::format(" --pct-depth {}", pct_depth);
  return text + fmt::format(" --schedules 1 --emu-schedule {} --seed {}", name_of(schedule.kind), schedule.seed);
}

}  // namespace ww::campaign
