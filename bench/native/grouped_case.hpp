// SPDX-License-Identifier: Apache-2.0
// A grouped benchmark case and its data. The same sets of buffers serve contenders whose groups are given by offsets
// and by masked counts: A, D and A's scales have room for either, and random contents suit both.
#pragma once

#include "bench/native/case.hpp"
#include "warpwright/host/grouped.hpp"

namespace ww::bench {

struct GroupedCase {
  std::vector<std::int64_t> counts;  // rows of each group
  std::int64_t n = 0, k = 0;
  std::string regime;  // "prefill", "decode", or ""
  std::map<std::string, double> peers_us;
  double roof_us = 0;

  std::int64_t groups() const { return static_cast<std::int64_t>(counts.size()); }
  std::int64_t rows() const;  // useful ones
  std::int64_t most() const;  // of one group
  double flops() const { return 2.0 * static_cast<double>(rows()) * static_cast<double>(n) * static_cast<double>(k); }
};

/// The grouped cases of a file in file order; `skipped` counts the others.
Result<std::vector<GroupedCase>> grouped_cases(const std::filesystem::path& path, int& skipped);

/// By offsets, or by masked counts. Block scales of A lie M-major.
GroupedProblem problem_of(const GroupedCase& grouped, const BenchOptions& options, bool masked);

struct GroupedSets {
  std::vector<BufferSet> sets;
  Buffer offsets, counts;  // (G) each
};
Result<GroupedSets> make_grouped_sets(const Device& device, const GroupedCase& grouped, const BenchOptions& options,
                                      const BenchData& data);

/// What `problem` reads and writes in `set`.
GroupedOperands operands_of(const GroupedProblem& problem, const GroupedSets& sets, const BufferSet& set);

/// As spot_check: rows at the edges of groups first, then any.
Result<double> spot_check(const Device& device, const GroupedCase& grouped, const GroupedProblem& problem,
                          const BufferSet& set);

}  // namespace ww::bench
