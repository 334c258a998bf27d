// SPDX-License-Identifier: Apache-2.0
// Tuning files: the bytes of a file in memory, read line by line. Lines that are accepted print as lines that mean the
// same, and a table of them finds each problem that is not stale.
#include "fuzz.hpp"
#include "tuning/table.hpp"

void ww::fuzz::repair(std::string&) {}

namespace ww::fuzz {
namespace {

/// Requires that `line`, printed, is read again and prints the same.
void check_printed(const tuning::Line& line) {
  const std::string printed = tuning::to_text(line);
  const auto again = tuning::read_lines(memory_file(printed + "\n"));
  require(again.has_value() && again->size() == 1, "a printed line is refused: " + printed);
  require(tuning::to_text(again->front().line) == printed, "a line prints in two ways: " + printed);
}

/// Requires that a table of lines has the choice of `line` for its own problem, or a later line's of the same problem.
void check_found(const tuning::Table& table, const tuning::Line& line) {
  const tuning::Table::Entry* found = table.find(line.problem);
  require(found != nullptr, "a table does not find a problem of its lines: " + tuning::to_text(line));
  require(found->stale.empty(), "a table finds a stale entry where another fits: " + tuning::to_text(line));
  require(found->us > 0 && found->measured > 0, "an entry without a measurement: " + tuning::to_text(line));
}

}  // namespace
}  // namespace ww::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace ww;
  const std::string_view text(reinterpret_cast<const char*>(data), bytes);
  const auto lines = tuning::read_lines(fuzz::memory_file(text));
  if (!lines) return fuzz::require_well_formed(lines.error()), 0;
  for (const tuning::FileLine& one : *lines) {
    fuzz::require(text.find(one.text) != std::string_view::npos, "the text of a line is that of the file");
    fuzz::check_printed(one.line);
  }
  if (lines->empty()) return 0;
  ++fuzz::counters().accepted;
  const tuning::Place here = lines->back().line.place;
  const auto table = tuning::Table::open(fuzz::memory_file(text), here);
  if (!table) return fuzz::require_well_formed(table.error()), 0;
  for (const tuning::FileLine& one : *lines)
    if (tuning::staleness(one.line.place, here).empty()) fuzz::check_found(**table, one.line);
  ++fuzz::counters().compared;
  return 0;
}
