// SPDX-License-Identifier: Apache-2.0
// Kernels ahead of time: everything that a list of problems will need, compiled on several threads and kept in the
// device's cache, in memory and on disk. A plan of one of these problems compiles nothing afterwards.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "warpwright/host/gemm.hpp"

namespace ww {

struct PrepareCase {
  GemmProblem problem;
  GemmOptions options = {};
};

/// One kernel, of the config that a plan of its cases would take.
struct PreparedKernel {
  std::vector<std::size_t> cases = {};  // which of the list need it, ascending
  GemmConfig config = {};               // of the first of them
  double seconds = 0;                   // until it was there; almost nothing from a cache
  std::optional<Error> error = {};      // then there is no kernel, and nothing of it is on disk
};

struct PrepareOptions {
  int threads = 0;  // 0: one for each core
  // After each kernel, from whichever thread made it, one call at a time; may be empty
  std::function<void(std::size_t done, std::size_t of, const PreparedKernel&)> progress = {};
};

struct Prepared {
  std::vector<PreparedKernel> kernels;  // in the order of their first case
  std::size_t failed = 0;               // kernels with an error
  double seconds = 0;
};

/// Compiles each kernel once, however many cases share it. A case that no kernel solves is an entry with its error and
/// does not stop the others; neither does a compiler that fails. Cases without elements need no kernel.
Prepared prepare(const Device& device, std::span<const PrepareCase> cases, const PrepareOptions& options = {});

}  // namespace ww
