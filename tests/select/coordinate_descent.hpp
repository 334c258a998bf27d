// SPDX-License-Identifier: Apache-2.0
// Coordinate descent over the constants of a cost model.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace ww::testing {

/// A constant of a model and its bounds.
template <class Constants> struct FittedConstant {
  const char* name;
  double Constants::*field;
  double least, most;
};

/// Returns the constants with the least `objective` that coordinate descent from `k` finds. Each constant has a step of
/// its own, and a round is repeated as far as it goes on to help. There is no random start.
template <class Constants, class Objective>
Constants descend(Constants k, std::span<const FittedConstant<Constants>> fitted, const Objective& objective,
                  int rounds) {
  std::vector<double> steps;
  for (const auto& f : fitted) steps.push_back(0.05 * (f.most - f.least));
  double least = objective(k);
  const auto better = [&](const Constants& trial) {
    const double value = objective(trial);
    if (value >= least) return false;
    k = trial, least = value;
    return true;
  };
  for (int round = 0; round < rounds; ++round) {
    const Constants before = k;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto& f = fitted[i];
      bool found = false;
      for (int way = 0; way < 2 && !found; ++way) {
        Constants trial = k;
        trial.*f.field = std::clamp(k.*f.field + steps[i], f.least, f.most);
        found = better(trial);
        steps[i] *= found ? 1.6 : -0.6;
      }
    }
    const Constants after = k;
    for (double by = 1; by < 100; by *= 2) {
      Constants trial = k;
      for (const auto& f : fitted)
        trial.*f.field = std::clamp(k.*f.field + by * (after.*f.field - before.*f.field), f.least, f.most);
      if (!better(trial)) break;
    }
  }
  return k;
}

}  // namespace ww::testing
