// SPDX-License-Identifier: Apache-2.0
// Few kernels for many problems: of all kernels that could run a list of problems, those of which a given number loses
// the least modelled time against the best kernel of each problem.
//   1. the kernel is added that lowers the loss the most, until there are enough or nothing is lost
//   2. after each, kernels are exchanged one by one for others as long as that lowers the loss
// The order of the kernels decides ties, so that the same times give the same choice.
#pragma once

#include <cstddef>
#include <vector>

namespace ww::select {

/// Microseconds by problem and kernel; infinity where a kernel cannot run a problem.
using KernelTimes = std::vector<std::vector<double>>;

/// How much longer problems take with some kernels than with the best one of each: the ratio of times minus 1.
struct KernelLoss {
  std::size_t kernels = 0;
  double mean = 0, worst = 0;  // over the problems that these kernels can run
  std::size_t unsolved = 0;    // problems that none of them can
};

struct KernelSet {
  std::vector<std::size_t> kernels;  // ascending
  std::vector<KernelLoss> losses;    // of 1 kernel, 2 kernels, ... ; the last is that of `kernels`
};

/// Chooses at most `limit` kernels, which is at least 1. A problem that fewer kernels leave unsolved counts before any
/// loss of time. Every problem has as many times as the others.
KernelSet choose_kernels(const KernelTimes& times, std::size_t limit);

}  // namespace ww::select
