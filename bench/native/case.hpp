// SPDX-License-Identifier: Apache-2.0
// A benchmark case and its data: the problem, the sets of buffers over which calls rotate, and a spot check of results.
// Scales are near 1 and stored so that every contender takes them without a copy: A's M-major, B's K-major with rows
// padded to a multiple of 4 floats (cuBLASLt's layouts; our strides are free).
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/native/bench.hpp"

namespace ww::bench {

struct BenchCase {
  std::int64_t m = 0, n = 0, k = 0;
  std::map<std::string, double> peers_us;  // of the case file: other libraries' microseconds
  double roof_us = 0;                      // 0: not in the file
};

/// The cases of `options` in file order. `skipped` counts those of other operations or below min_m.
Result<std::vector<BenchCase>> bench_cases(const BenchOptions& options, int& skipped);

/// A JSON object with an array "cases".
Result<nlohmann::json> parse_case_file(const std::filesystem::path& path);
/// The optional figures of a case of that file.
void read_peers(const nlohmann::json& entry, std::map<std::string, double>& peers_us, double& roof_us);

GemmProblem problem_of(const BenchCase& bench_case, const BenchOptions& options);

/// Returns a peer's microseconds by name, 0 when the case has none.
double table_us(const BenchCase& bench_case, const std::string& name);

/// Device memory of one call.
struct BufferSet {
  Buffer a, b, d, scale_a, scale_b;  // block scales; empty for other recipes
  Buffer tensor_scales;              // floats for per-tensor recipes and peers; each on an address of its own 16 bytes
  const float* tensor_scale_a() const { return static_cast<const float*>(tensor_scales.data()); }
  const float* tensor_scale_b() const { return tensor_scale_a() + kTensorScaleB; }
  static constexpr int kTensorScaleB = 4, kTensorScales = 8;
};

/// A long random vector from which operands are cut, because generating every byte of every set would take longer than
/// the runs.
class DataPool {
 public:
  DataPool(DType type, std::uint64_t seed);
  /// Fills `bytes` from element `offset` of the endless repetition of the pool.
  Result<void> fill(const Device& device, void* destination, std::size_t bytes, std::size_t offset) const;

 private:
  std::vector<std::uint8_t> bytes_;
  std::size_t element_ = 1;
};

/// The pools of A, B and scales, made once for all cases.
struct BenchData {
  explicit BenchData(const BenchOptions& options);
  DataPool a, b, scales;
};

/// Returns the number of sets of `bytes` each that together exceed 240 MB; at least two.
std::size_t rotation_sets(std::size_t bytes);

/// Elements of a device buffer as numbers.
Result<std::vector<double>> fetch(const Device& device, const void* base, std::int64_t first, std::int64_t count,
                                  DType type);

/// Makes so many sets that one rotation moves more than 240 MB, so that no operand is found in L2.
Result<std::vector<BufferSet>> make_sets(const Device& device, const GemmProblem& problem, const BenchData& data);

/// The scales of the recipe that ran, which for a peer may differ from the problem's.
enum class Recipe { unscaled, tensor, block };

/// Returns the largest |got - FP64| over sampled elements, in units of the root of the sum of squared products.
/// Rounding and short accumulators stay below 0.1; a wrong element is about 1. A non-finite element counts as
/// infinitely wrong.
Result<double> spot_check(const Device& device, const GemmProblem& problem, const BufferSet& set, Recipe recipe);

}  // namespace ww::bench
