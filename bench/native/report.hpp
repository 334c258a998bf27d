// SPDX-License-Identifier: Apache-2.0
// A benchmark's figures as a table and as JSON, and the derived ratios:
//   ratio = cuBLASLt us / ours us          vs_table_deepgemm = ratio / (cuBLASLt us / DeepGEMM us of the case file)
// Above 1, ours is faster than the peer in both; the second compares with a library that was not in the run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/native/case.hpp"
#include "bench/native/contender.hpp"
#include "bench/native/cuda.hpp"

namespace ww::bench {

struct CaseResult {
  BenchCase bench_case = {};
  DType dtype = DType::e4m3, out = DType::bf16;
  Scale scale = Scale::none;
  std::vector<Contender> contenders = {};
  std::vector<GpuSample> samples = {};
  std::vector<EmuStats> emulated = {};  // of each contender, on an emulated device
  std::optional<Error> error = {};      // the case as a whole could not run
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

bool ran(const Contender& contender);
const Contender* best_of_ours(const CaseResult& result);
std::optional<Error> first_failure(const CaseResult& result);

/// A contender's name, config and figures; `flops` of one call.
Fields measured_fields(const Contender& contender, double flops);
/// Medians of the samples of one case.
std::optional<GpuSample> typical(std::vector<GpuSample> samples);
/// Returns place, time, command, sources and method of a run.
Fields facts_fields(const Facts& facts, const BenchOptions& options);

/// "   1755 MHz, 688 W", or nothing where the device has no samples; as members of an object.
std::string sample_text(const CaseResult& result);
void add_sample(const CaseResult& result, Fields& fields);

/// A figure as text, "-" where 0 says that it was not measured; as a member of an object, null there.
std::string number(double value, int digits);
Value measured_or_null(double value);

/// Of groups: sets, error and contenders as members.
void add_contenders(const CaseResult& result, Fields& fields);
/// Returns the rows of the table, one or two for each contender.
std::string contender_rows(const CaseResult& result);
/// The summary of groups: types, cases and how many were skipped.
void add_types(const Suite& suite, const std::vector<CaseResult>& results, const Facts& facts,
               const BenchOptions& options, Outcome& outcome);

/// Adds the means of each class of cases (BenchCase::regime): share of the roof, and cuBLASLt's time over ours.
void add_classes(const std::vector<CaseResult>& results, Outcome& outcome);

List cases_of(const Suite& suite, const std::vector<CaseResult>& results);
Outcome report(const Suite& suite, const std::vector<CaseResult>& results, const Facts& facts,
               const BenchOptions& options);
/// Writes indented JSON under a temporary name and renames it.
Result<void> write_result(const std::filesystem::path& path, const Fields& json);

}  // namespace ww::bench
