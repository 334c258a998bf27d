// SPDX-License-Identifier: Apache-2.0
// Merges the clusters of a launch in their order, so that nothing depends on which OS thread ran them.
#include "emu/check/summary.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ww::emu {
namespace {

using Key = std::tuple<Rule, std::string, int, std::string, int>;

Key key_of(const Finding& f) { return {f.rule, f.first.file, f.first.line, f.second.file, f.second.line}; }

struct Span {
  const GlobalSpan* span;
  u32 cluster;
};

Finding race_between(const Span& first, const Span& second, const runtime::Launch& launch) {
  Finding finding;
  finding.rule = Rule::data_race;
  finding.first = *first.span->party;
  finding.second = *second.span->party;
  finding.begin = std::max(first.span->begin, second.span->begin);
  finding.end = std::min(first.span->end, second.span->end);
  finding.space = "global memory";
  for (const runtime::MemoryRange& range : launch.memory) {
    const u64 base = reinterpret_cast<u64>(range.base);
    if (finding.begin < base || finding.begin >= base + range.bytes) continue;
    finding.begin -= base;
    finding.end -= base;
    finding.space = fmt::format("operand {}", range.name);
    break;
  }
  finding.advice = "let one CTA own the bytes, or order the clusters by a release and an acquire at GPU scope";
  finding.text =
      "CTAs of different clusters touch the same global memory, at least one writes, and nothing orders them";
  finding.text = text_of(finding);
  return finding;
}

/// Reports spans of different clusters that overlap if one is a write.
void compare_clusters(const std::map<u32, CheckResult>& results, const runtime::Launch& launch,
                      std::map<Key, std::size_t>& known, std::vector<Finding>& findings) {
  std::vector<Span> spans;
  for (const auto& [cluster, result] : results)
    for (const GlobalSpan& span : result.spans) spans.push_back({&span, cluster});
  std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return std::tie(a.span->begin, a.cluster) < std::tie(b.span->begin, b.cluster);
  });
  std::vector<Span> open;
  for (const Span& now : spans) {
    std::erase_if(open, [&](const Span& before) { return before.span->end <= now.span->begin; });
    for (const Span& before : open) {
      if (before.cluster == now.cluster || (!before.span->write && !now.span->write)) continue;
      const bool swap = now.cluster < before.cluster;
      Finding finding = race_between(swap ? now : before, swap ? before : now, launch);
      if (findings.size() < kMostFindings && known.try_emplace(key_of(finding), findings.size()).second)
        findings.push_back(std::move(finding));
    }
    open.push_back(now);
  }
}

void add_traffic(const std::map<u32, CheckResult>& results, const runtime::Launch& launch, CheckReport& report) {
  std::map<std::tuple<std::string, int, std::string>, LineTraffic> lines;
  std::vector<OperandTraffic> operands(launch.memory.size());
  SectorMerge merge;
  for (const auto& [cluster, result] : results) {
    for (const SectorRun& run : result.sectors) {
      const u64 bytes = merge.new_bytes(run);
      const LineTraffic& line = result.traffic[run.line];
      lines[{line.file, line.line, line.operation}].hbm_bytes += bytes;
      (run.write ? operands[run.range].hbm_write_bytes : operands[run.range].hbm_read_bytes) += bytes;
    }
    for (const LineTraffic& line : result.traffic) {
      LineTraffic& sum = lines[{line.file, line.line, line.operation}];
      sum.file = line.file;
      sum.line = line.line;
      sum.operation = line.operation;
      sum.accesses += line.accesses;
      sum.shared_bytes += line.shared_bytes;
      sum.l2_bytes += line.l2_bytes;
      sum.wavefronts += line.wavefronts;
      sum.ideal += line.ideal;
      sum.multicast_saved_bytes += line.multicast_saved_bytes;
    }
  }
  for (auto& [key, line] : lines) report.traffic.push_back(std::move(line));
  for (std::size_t i = 0; i < operands.size(); ++i) {
    operands[i].name = launch.memory[i].name;
    if (!operands[i].hbm_read_bytes && !operands[i].hbm_write_bytes) continue;
    OperandTraffic* same = nullptr;  // an operand may have two ranges
    for (OperandTraffic& other : report.operands)
      if (other.name == operands[i].name) same = &other;
    if (!same) {
      report.operands.push_back(std::move(operands[i]));
      continue;
    }
    same->hbm_read_bytes += operands[i].hbm_read_bytes;
    same->hbm_write_bytes += operands[i].hbm_write_bytes;
  }
}

}  // namespace

void summarise(std::map<u32, CheckResult>& results, const runtime::Launch& launch, bool hooked,
               const std::string& stopped, CheckReport& report) {
  std::map<Key, std::size_t> known;
  std::string unsupported;
  bool seen = false;
  for (auto& [cluster, result] : results) {
    for (Finding& finding : result.findings)
      if (report.findings.size() < kMostFindings && known.try_emplace(key_of(finding), report.findings.size()).second)
        report.findings.push_back(std::move(finding));
    if (unsupported.empty()) unsupported = result.unsupported;
    seen = seen || result.hooked;
  }
  compare_clusters(results, launch, known, report.findings);
  add_traffic(results, launch, report);
  if (!unsupported.empty()) report.why_incomplete = "not modelled: " + unsupported;
  else if (!stopped.empty() && report.findings.empty()) report.why_incomplete = "stopped: " + stopped;
  else if (!hooked) report.why_incomplete = "the kernel's module was not compiled with its plain accesses instrumented";
  else if (!seen) report.why_incomplete = "the kernel made no plain access that the checker saw";
  report.verdict = !report.findings.empty()         ? Verdict::findings
                   : !report.why_incomplete.empty() ? Verdict::incomplete
                                                    : Verdict::clean;
}

}  // namespace ww::emu
