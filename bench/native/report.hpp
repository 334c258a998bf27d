// SPDX-License-Identifier: Apache-2.0
// A benchmark's figures as a table and as JSON, and the derived ratios:
//   ratio = cuBLASLt us / ours us          vs_table_deepgemm = ratio / (cuBLASLt us / DeepGEMM us of the case file)
// Above 1, ours is faster than the peer in both; the second compares with a library that was not in the run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/native/contender.hpp"
#include "bench/native/cuda.hpp"

namespace ww::bench {

struct CaseResult {
  BenchCase bench_case;
  GemmProblem problem;
  std::vector<Contender> contenders;
  std::vector<GpuSample> samples;
  std::vector<EmuStats> emulated;  // of each contender, on an emulated device
  std::optional<Error> error;      // the case as a whole could not run
  std::size_t sets = 0;
  double ratio_to_cublaslt = 0;  // of our best; 0: no peer
  double vs_table_deepgemm = 0;  // 0: not in the case file, or another recipe
};

struct Facts {
  DeviceInfo device;
  GpuFacts gpu;
  std::string date, cublaslt;
  int skipped = 0;
};

const Contender* best_of_ours(const CaseResult& result);
/// Fills the two ratios. Above 1: we are faster.
void place(CaseResult& result);
std::optional<Error> first_failure(const CaseResult& result);

/// A contender's name, config and figures; `flops` of one call.
Fields measured_fields(const Contender& contender, double flops);
/// Medians of the samples of one case.
std::optional<GpuSample> typical(std::vector<GpuSample> samples);
/// Returns place, time, command, sources and method of a run.
Fields facts_fields(const Facts& facts, const BenchOptions& options);

std::string one_line(const CaseResult& result);
Outcome report(const std::vector<CaseResult>& results, const Facts& facts, const BenchOptions& options);
/// Writes indented JSON under a temporary name and renames it.
Result<void> write_result(const std::filesystem::path& path, const Fields& json);

}  // namespace ww::bench
