// SPDX-License-Identifier: Apache-2.0
// A device opened for measurements, and one case measured on it: what `bench` and `tune` share.
#pragma once

#include <memory>
#include <vector>

#include "bench/native/cuda.hpp"
#include "bench/native/suite.hpp"

namespace ww::bench {

/// Everything that stays the same from case to case.
struct Session {
  const Suite& suite;
  const BenchOptions& options;
  Device device;
  BenchData data;
  std::unique_ptr<GpuBench> gpu;  // null on an emulated device
  Result<std::shared_ptr<CublasLt>> cublaslt;
};

/// Refuses options that no case can be measured with.
Result<void> check_options(const BenchOptions& options);
/// Opens the device, and the peer where there is one. `suite` and `options` must outlive the session.
Result<Session> open_session(const Suite& suite, const BenchOptions& options);
/// Measures `variants`, and peers if the options ask for them; on a GPU in turns, or each alone (MeasureOptions). A
/// contender that fails is an entry with its error.
Result<CaseResult> run_case(Session& session, const BenchCase& bench_case, const Result<std::vector<Variant>>& variants,
                            bool alone = false);

}  // namespace ww::bench
