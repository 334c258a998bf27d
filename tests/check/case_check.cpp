// SPDX-License-Identifier: Apache-2.0
// A case under the checker, and its report in short.
#include <fmt/format.h>

#include "case.hpp"

#include "emu/sm90/model.hpp"

namespace ww::check_test {
namespace {

std::string base_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

std::string party_text(const FindingParty& party) {
  if (party.operation.empty() && party.line == 0) return "-";
  return fmt::format("{} at {}:{} ({}:{}) CTA {} warp {} lane {}", party.operation, base_name(party.file), party.line,
                     base_name(party.inner_file), party.inner_line, party.cta, party.warp, party.lane);
}

}  // namespace

CheckReport Prepared::check(const EmuOptions& options) {
  return emu::check(emu::sm90::kModel, *entry_, launch(), options, 8, is_hooked());
}

std::string summary(const CheckReport& report) {
  std::string text = report.verdict == Verdict::clean      ? "clean"
                     : report.verdict == Verdict::findings ? "findings"
                                                           : "incomplete: " + report.why_incomplete;
  for (const Finding& finding : report.findings)
    text += fmt::format("\n    {} in {} [{}, {}): {} | {}", rule_name(finding.rule), finding.space, finding.begin,
                        finding.end, party_text(finding.first), party_text(finding.second));
  return text;
}

}  // namespace ww::check_test
