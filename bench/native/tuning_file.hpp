// SPDX-License-Identifier: Apache-2.0
// The tuning file that `tune` writes (tuning/table.hpp), and the problem by which it has a case.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/native/suite.hpp"
#include "jit/files.hpp"
#include "tuning/table.hpp"

namespace ww::bench {

/// Returns the operation of a case as its calls will have it, with the config and limits of `options`.
Result<std::shared_ptr<Operation>> tuned_operation(const Suite& suite, const BenchCase& bench_case,
                                                   const BenchOptions& options);

/// Returns what a tuning file knows the operation by.
Result<tuning::Problem> tuning_problem_of(const Operation& operation, Arch arch);

/// Returns the present time as lines have it.
std::string date_now();

/// A tuning file, with its lines as they stand in it.
class TuningFile {
 public:
  TuningFile(std::filesystem::path path, tuning::Place place) : path_(std::move(path)), place_(std::move(place)) {}
  /// Reads the lines that the file has now.
  Result<void> read();
  /// Returns whether the file has a measured line of this problem that is in force here.
  bool has(const tuning::Problem& problem) const;
  /// Returns why modelled lines of this problem are refused: a measured one is in force here, which they never replace.
  Result<void> check_unmeasured(const tuning::Problem& problem) const;
  /// Returns why the file cannot be locked. Another process may hold the lock, as it does for a moment.
  Result<void> check_lock() const;
  /// Adds lines and drops those that they replace: of the same problems on this device, modelled, or measured with
  /// other kernels or drivers. Other processes may have added theirs since the file was read, so that it is read again,
  /// and a lock beside it keeps them away until it is replaced. Fails where check_unmeasured() then refuses a modelled
  /// line, and leaves the file as it is.
  Result<void> add(std::vector<tuning::Line> lines);
  const tuning::Place& place() const { return place_; }

 private:
  std::filesystem::path lock_path() const;
  Result<std::optional<jit::FileDescriptor>> try_lock(std::chrono::milliseconds timeout) const;

  std::filesystem::path path_;
  tuning::Place place_;
  std::vector<tuning::FileLine> lines_;
};

}  // namespace ww::bench
