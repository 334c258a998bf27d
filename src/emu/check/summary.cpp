// SPDX-License-Identifier: Apache-2.0
// The report of a run: its findings, its traffic by line, and its verdict.
#include "emu/check/summary.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ww::emu {
namespace {

void add_traffic(const CheckResult& result, const runtime::Launch& launch, CheckReport& report) {
  std::map<std::tuple<std::string, int, std::string>, LineTraffic> lines;
  std::vector<OperandTraffic> operands(launch.memory.size());
  for (const SectorRun& run : result.sectors) {
    const u64 bytes = run.count * kSectorBytes;
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

void summarise(CheckResult& result, const runtime::Launch& launch, bool hooked, const std::string& stopped,
               CheckReport& report) {
  report.findings = std::move(result.findings);
  const std::string& unsupported = result.unsupported;
  const bool seen = result.hooked;
  add_traffic(result, launch, report);
  if (!unsupported.empty()) report.why_incomplete = "not modelled: " + unsupported;
  else if (!stopped.empty() && report.findings.empty()) report.why_incomplete = "stopped: " + stopped;
  else if (!hooked) report.why_incomplete = "the kernel's module was not compiled with its plain accesses instrumented";
  else if (!seen) report.why_incomplete = "the kernel made no plain access that the checker saw";
  report.verdict = !report.findings.empty()         ? Verdict::findings
                   : !report.why_incomplete.empty() ? Verdict::incomplete
                                                    : Verdict::clean;
}

}  // namespace ww::emu
