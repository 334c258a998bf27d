// SPDX-License-Identifier: Apache-2.0
// Formats what a run did.
#include "cli/execution.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "facts/facts.hpp"

namespace ww::cli {

std::string scaled(double value, const char* unit) {
  const char* prefix = "";
  for (const char* next : {"k", "M", "G", "T"}) {
    if (value < 1000) break;
    value /= 1000, prefix = next;
  }
  return fmt::format("{:.4g} {}{}", value, prefix, unit);
}

std::string duration(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  return seconds >= 1e-3 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.3g} us", seconds * 1e6);
}

namespace {

std::string bytes_by_operand(const std::map<std::string, std::uint64_t>& bytes) {
  std::string text;
  for (const auto& [name, count] : bytes)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, scaled(static_cast<double>(count), "B"));
  return text.empty() ? "nothing" : text;
}

/// Returns "5 to 6", or one number if both ends are equal.
std::string range_text(const std::vector<CtaWork>& work, std::uint64_t CtaWork::*field) {
  const auto less = [&](const CtaWork& a, const CtaWork& b) { return a.*field < b.*field; };
  const auto [least, most] = std::minmax_element(work.begin(), work.end(), less);
  return (*least).*field == (*most).*field ? fmt::format("{}", (*most).*field)
                                           : fmt::format("{} to {}", (*least).*field, (*most).*field);
}

/// Reports how the CTAs shared the work of a GEMM, and where partial sums were added.
void report_work(const EmuStats& s, Outcome& outcome) {
  if (s.work.empty()) return;
  std::uint64_t in_part = 0;
  for (const CtaWork& work : s.work) in_part += work.parts;
  const auto workspace = s.thread_write_bytes.find("workspace");
  const std::uint64_t written = workspace == s.thread_write_bytes.end() ? 0 : workspace->second;
  outcome.text += fmt::format(
      "  a CTA      {} tiles, {} k-blocks; {} partial tiles, {} bytes over DSMEM, {} to workspace\n",
      range_text(s.work, &CtaWork::tiles), range_text(s.work, &CtaWork::k_blocks), in_part, s.dsmem_bytes, written);
}

}  // namespace

void report_stats(const EmuStats& s, Outcome& outcome) {
  outcome.text += fmt::format("  L2 reads   {}\n  L2 writes  {}\n", bytes_by_operand(s.l2_read_bytes),
                              bytes_by_operand(s.l2_write_bytes));
  const std::string mmas = s.ummas > 0 ? fmt::format("{} tcgen05.mmas", s.ummas) : fmt::format("{} wgmmas", s.wgmmas);
  outcome.text += fmt::format("  work       {} CTAs, {} TMA loads, {} TMA stores, {}, {} fibers, {} switches\n", s.ctas,
                              s.tma_loads, s.tma_stores, mmas, s.fibers, s.switches);
  for (auto& field : facts::fields_of(s)) outcome.json.push_back(std::move(field));
  report_work(s, outcome);
}

namespace {

Fields mismatch_fields(const Mismatch& m) {
  return {{"row", m.row}, {"column", m.column}, {"got", m.got}, {"expected", m.expected}, {"bound", m.bound}};
}

}  // namespace

void report_verdict(const ref::Comparison& v, std::int64_t elements, Outcome& outcome, const std::string& tensor) {
  outcome.json.emplace_back("max_error", v.max_error);
  outcome.json.emplace_back("max_error_of_bound", v.max_error_of_bound);
  outcome.json.emplace_back("worst", mismatch_fields(v.worst));
  outcome.json.emplace_back("wrong", v.wrong);
  if (v.max_error == 0 && !v.first) outcome.text += "  verify     right: every element is the FP64 value\n";
  else
    outcome.text += fmt::format(
        "  verify     {}: worst error {:.4g} at ({}, {}), expected {:.6g}, got {:.6g}; no element beyond {:.3g} of its "
        "bound\n",
        v.first ? "WRONG" : "right", v.max_error, v.worst.row, v.worst.column, v.worst.expected, v.worst.got,
        v.max_error_of_bound);
  if (!v.first) return;
  const Mismatch& f = *v.first;
  outcome.json.emplace_back("first_wrong", mismatch_fields(f));
  const std::string where = fmt::format("{} at row {}, column {}", tensor, f.row, f.column);
  outcome.error =
      make_error(ErrorCode::wrong_result, where, fmt::format("{:.9g} +- {:.3g}", f.expected, f.bound),
                 fmt::format("{:.9g}", f.got), fmt::format("{} of {} elements are wrong", v.wrong, elements));
}

}  // namespace ww::cli
