// SPDX-License-Identifier: Apache-2.0
// The data of a benchmark: sets of operands over which calls rotate, and a spot check of results. Scales are near 1.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/native/bench.hpp"
#include "operations/operation.hpp"

namespace ww::bench {

using operations::Operation;

/// Device memory of one call.
struct BufferSet : operations::OperandSet {
  Buffer tensor_scales;  // floats for peers with one scale for a tensor; each on an address of its own 16 bytes
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

/// Makes so many sets that the operands of one rotation exceed 240 MB, at least two, so that none is found in L2; one
/// on an emulated device. Each is large enough for any of `operations`, which are ways to compute one case.
Result<std::vector<BufferSet>> make_sets(const Device& device, std::span<const Operation* const> operations,
                                         const BenchOptions& options, const BenchData& data);

/// Elements of a device buffer as numbers, `step` elements apart.
Result<std::vector<double>> fetch(const Device& device, const void* base, std::int64_t first, std::int64_t step,
                                  std::int64_t count, DType type);

/// The scales that were used: those of the problem, none, or a peer's, one for each tensor.
enum class Recipe { problem, unscaled, tensor };

/// Returns the largest |got - FP64| over sampled elements, in units of the root of the sum of squared products.
/// Rounding and short accumulators stay below 0.1; a wrong element is about 1. A non-finite element counts as
/// infinitely wrong.
Result<double> spot_check(const Device& device, const Operation& operation, const BenchOptions& options,
                          const BufferSet& set, Recipe recipe);

}  // namespace ww::bench
