// SPDX-License-Identifier: Apache-2.0
// What one operation adds to the benchmark. Each is one file beside this one; the engine (bench.cpp) does not know
// which operation it times.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/native/cublaslt.hpp"
#include "bench/native/report.hpp"

namespace ww::bench {

/// One of our contenders before it has a plan.
struct Variant {
  std::string name;    // in the report
  std::string detail;  // reported where the plan fails, which has no config
  GemmConfig config;
};

class Suite {
 public:
  virtual ~Suite() = default;
  /// In case files: "dense".
  virtual const char* op() const = 0;
  virtual Result<void> check(const BenchOptions& options) const = 0;
  /// Our contenders for a case.
  virtual Result<std::vector<Variant>> variants(const Device& device, const BenchCase& bench_case,
                                                const BenchOptions& options) const = 0;
  virtual CheckTarget target(const BenchCase& bench_case, const BenchOptions& options,
                             const GemmOptions& plan) const = 0;

  virtual bool has_peers() const { return false; }
  /// Adds other libraries' contenders; one that cannot take part is listed with its reason.
  virtual void add_peers(const Result<std::shared_ptr<CublasLt>>&, const CaseResult&, const Device&, const BufferSet&,
                         const BenchOptions&, std::vector<Contender>&) const {}

  /// Derives ratios from the times.
  virtual void place(CaseResult&) const {}
  virtual Fields to_fields(const CaseResult& result) const = 0;
  virtual std::string rows_of(const CaseResult& result) const = 0;
  /// A finished case while others run.
  virtual std::string one_line(const CaseResult& result) const { return rows_of(result); }
  /// The last line of the table and the members of the JSON object that follow those of facts_fields().
  virtual void add_summary(const std::vector<CaseResult>& results, const Facts& facts, const BenchOptions& options,
                           Outcome& outcome) const = 0;
};

/// The operation of a target.
Result<std::shared_ptr<Operation>> operation_of(const CheckTarget& target);

/// The dense problem of a case.
GemmProblem problem_of(const BenchCase& bench_case, const BenchOptions& options);

/// "warpwright", or "warpwright[0]" and on: the configs of `texts`, which start from the one of `options`.
Result<std::vector<Variant>> variants_of(const std::vector<std::string>& texts, const BenchOptions& options);

/// Splits a list "a;b" of configs; "auto" and an empty list give one empty text.
std::vector<std::string> split_variants(const std::string& text);

}  // namespace ww::bench
