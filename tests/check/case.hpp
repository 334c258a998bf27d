// SPDX-License-Identifier: Apache-2.0
// The corpus that tests the checker: correct kernels with their input and expected output, and mutants. Each mutant is
// a one-line edit of a kernel, with the rule and the line that a report must name.
//   seeds: base_seed() is the commit's, or WARPWRIGHT_CHECK_SEED; schedule i of a kernel uses base_seed() + i
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "emu/emulator.hpp"
#include "kernels/params.hpp"

namespace ww::check_test {

/// A tensor in the input or the output.
struct TensorOf {
  bool in_output = false;
  runtime::TensorMapSpec spec;
};

struct Case {
  std::string name;
  const char* kernel;
  u32 threads = 128, grid = 1, cluster = 1, shared_bytes = 1024;
  bool cross_cta = false, pdl = false;
  bool map_in_out = false;  // the output starts with the first tensor map
  std::array<i32, 4> arg{};
  std::vector<TensorOf> tensors = {};
  std::vector<u32> in = {}, out = {}, expected = {};
};

/// How a mutant is found: by every run if clocks decide; otherwise by some schedule of the first 50.
enum class Needs { every_run, some_schedule };

struct Mutant {
  const char* name;
  const char* of;  // the case that is edited
  Edit edit;
  std::vector<Rule> rules;         // the rule that must find it; several if the order of two events decides
  std::vector<std::string> marks;  // a party of the finding stands on a line with one of these
  Needs needs;
};

const std::vector<Case>& legal_cases();
std::vector<Case> pattern_cases();  // part of them
const std::vector<Mutant>& mutants();
std::vector<Mutant> pattern_mutants();  // part of them
const Case& case_named(std::string_view name);

/// A kernel of the corpus' module; null when there is none of that name.
const arch::KernelEntry* find_kernel(std::string_view name);
/// Returns whether the module's hooks work.
bool is_hooked();

/// Input, output and parameters of a case in memory aligned as device allocations are.
class Prepared {
 public:
  Prepared(const Case& c, Edit edit);
  Prepared(const Prepared&) = delete;
  Result<EmuStats> run(const EmuOptions& options);
  CheckReport check(const EmuOptions& options);
  /// Empty when the output is what the case expects.
  std::string difference() const;

 private:
  runtime::Launch launch();

  const Case& case_;
  const arch::KernelEntry* entry_;
  Params params_{};
  std::vector<u32> in_, out_;  // with room to align
  u32 *in_words_, *out_words_;
  std::array<runtime::MemoryRange, 2> memory_;
};

u64 base_seed();
/// Returns schedule `index` of a sweep: the searching kinds in rotation, each with its own seed.
EmuOptions schedule_of(int index, u64 base);

/// Whether `file`:`line` is a line of kernels/ that bears one of the marks.
bool is_marked(const std::string& file, int line, const std::vector<std::string>& marks);
bool mark_exists(const std::string& mark);
/// Whether a party of the finding, or a line that its text names, bears one of the marks.
bool names_mark(const Finding& finding, const std::vector<std::string>& marks);
/// One line for each finding.
std::string summary(const CheckReport& report);

}  // namespace ww::check_test
