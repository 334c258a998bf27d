// SPDX-License-Identifier: Apache-2.0
// The cases of a benchmark: sizes from the flags or from a case file, with other libraries' times where a file has any.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/native/bench.hpp"

namespace ww::bench {

struct BenchCase {
  std::int64_t m = 0, n = 0, k = 0;             // those that the operation has; groups bring the other one
  std::vector<std::int64_t> counts = {};        // rows of each group, or rows of K
  std::string regime = {};                      // the class of its rows, such as "prefill" and "decode", or ""
  std::map<std::string, double> peers_us = {};  // of the case file: other libraries' microseconds
  double roof_us = 0;                           // 0: not in the file

  std::int64_t groups() const { return static_cast<std::int64_t>(counts.size()); }
  std::int64_t rows() const;  // of all groups
  std::int64_t most() const;  // of one group
  double flops() const;
};

/// The cases of `options.cases` that are of operation `op` in file order, those that are drawn at random, or the one of
/// the flags. `skipped` counts those of other operations or below min_m.
Result<std::vector<BenchCase>> bench_cases(const BenchOptions& options, const std::string& op, int& skipped);

/// Returns the case as an entry of a case file.
io::Fields case_fields(const BenchCase& bench_case, const std::string& op);

/// Returns a peer's microseconds by name, 0 when the case has none.
double table_us(const BenchCase& bench_case, const std::string& name);

}  // namespace ww::bench
