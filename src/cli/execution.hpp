// SPDX-License-Identifier: Apache-2.0
// What the verbs that run an operation once share: operands from files or from the seed, memory asked for before it is
// taken, the stopwatch, and how statistics and verdicts are told.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/array_file.hpp"
#include "cli/operands.hpp"
#include "cli/report.hpp"
#include "cli/verify.hpp"

namespace ww::cli {

double now_seconds();

struct OperandShape {
  DType type = DType::f32;
  std::int64_t rows = 0, cols = 0, ld = 0;
};

/// The parts fit 63 bits, their sum need not.
__extension__ using WideBytes = unsigned __int128;
inline WideBytes bytes_of(const OperandShape& s) {
  return WideBytes(s.rows) * WideBytes(s.ld) * WideBytes(bytes_of(s.type));
}

/// Refuses what neither this process nor the device has memory for; `once` are the bytes of all operands.
Result<void> check_fits(const DeviceInfo& device, WideBytes once, const char* argument);

/// From the file when there is one, else made from the seed; `argument` is named when memory runs out.
Result<Matrix> host_operand(const std::optional<ArrayFile>& file, const OperandShape& shape, std::uint64_t seed,
                            Operand which, const char* argument);

Result<Buffer> upload(const Device& device, const Matrix& matrix);

struct Timing {
  double seconds = 0;  // of one run
  int runs = 1;        // that is the mean of so many
  std::optional<EmuStats> stats;
};

/// On a GPU: one run to warm up, then enough of them that the clock's and the launch's noise is small.
Result<Timing> timed_runs(const Device& device, const std::function<Result<void>()>& run,
                          const std::function<std::optional<EmuStats>()>& stats);

/// 1234567 FLOP/s as "1.235 MFLOP/s".
std::string scaled(double value, const char* unit);
std::string duration(double seconds);

void report_stats(const EmuStats& stats, Outcome& outcome);
/// Sets the outcome's error when an element is wrong; `elements` were judged.
void report_verdict(const Verdict& verdict, std::int64_t elements, Outcome& outcome, const std::string& tensor = "D");

}  // namespace ww::cli
