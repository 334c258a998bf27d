// SPDX-License-Identifier: Apache-2.0
// Few kernels for many problems: the rankings of all problems in terms of kernels, and the choice of a given number.
// Configs that differ only in what a launch decides, such as the raster or the splits of K in workspace, are one
// kernel.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "select/kernel_set.hpp"
#include "warpwright/host/explain.hpp"

namespace ww::ops {

class KernelChoice {
 public:
  /// A config for a problem, and the kernel that it runs.
  struct Served {
    std::size_t kernel = 0;
    const GemmConfig* config = nullptr;  // lives as long as the choice
    double us = 0;
  };
  struct Chosen {
    std::vector<select::KernelLoss> losses;       // of 1, 2, ... kernels
    std::vector<std::optional<Served>> problems;  // in the order of add(); empty where no chosen kernel can run it
  };

  /// Adds a problem, by what explain() ranks for it: what auto takes first.
  void add(const std::vector<RankedConfig>& ranking);
  /// Returns how many kernels auto runs for all problems.
  std::size_t automatic() const;
  /// Chooses at most `limit` kernels, at least 1, for the problems that were added.
  Chosen choose(std::size_t limit) const;

 private:
  struct Known {
    GemmConfig config;
    std::size_t kernel = 0;
  };
  using Entry = std::map<std::string, Known>::const_iterator;
  struct Best {
    double us = 0;
    Entry config;
  };
  struct Problem {
    std::map<std::size_t, Best> by_kernel;
    std::optional<std::size_t> automatic;  // the kernel of the first config
  };
  Entry known(const GemmConfig& config);

  std::map<std::string, Known> configs_;        // by text
  std::map<std::string, std::size_t> kernels_;  // by source
  std::vector<Problem> problems_;
};

}  // namespace ww::ops
