// SPDX-License-Identifier: Apache-2.0
// How well constants of the cost model meet recorded times, and the constants that meet them best.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "recorded_times.hpp"
#include "select/cost_model.hpp"

namespace ww::testing {

using select::Cost;
using select::CostConstants;

struct Fitted {
  const char* name;
  double CostConstants::*field;
  double least, most;
};
inline constexpr Fitted kFitted[] = {
    {"tensor_ghz_fp8", &CostConstants::tensor_ghz_fp8, 1.1, 1.98},
    {"tensor_ghz_16", &CostConstants::tensor_ghz_16, 1.1, 1.98},
    {"store_clocks_per_kib", &CostConstants::store_clocks_per_kib, 4, 100},
    {"promotion_exposed_one", &CostConstants::promotion_exposed_one, 0, 2},
    {"promotion_exposed_three", &CostConstants::promotion_exposed_three, 0, 2},
    {"memory_exposed", &CostConstants::memory_exposed, 0, 1},
};
inline constexpr int kRecordedSms = 132;

inline double modelled_us(const RecordedTime& r, const CostConstants& k) {
  const Cost cost = select::cost_of(r.problem, r.config, kRecordedSms, k);
  return cost.total() - cost[select::Term::doubt];  // what is recorded is no longer in doubt
}

/// Root of the mean square of log(modelled / recorded).
inline double error_of(const std::vector<RecordedTime>& times, const CostConstants& k) {
  double sum = 0;
  for (const RecordedTime& r : times) sum += std::pow(std::log(modelled_us(r, k) / r.us), 2);
  return std::sqrt(sum / static_cast<double>(times.size()));
}

/// Coordinate descent from `k`; no random start.
inline CostConstants fit(const std::vector<RecordedTime>& times, CostConstants k) {
  for (double step = 0.2; step > 1e-4; step /= 1.5)
    for (int round = 0; round < 40; ++round) {
      bool better = false;
      for (const Fitted& f : kFitted)
        for (const double sign : {1.0, -1.0}) {
          CostConstants trial = k;
          trial.*f.field = std::clamp(k.*f.field + sign * step * 0.25 * (f.most - f.least), f.least, f.most);
          if (error_of(times, trial) < error_of(times, k)) k = trial, better = true;
        }
      if (!better) break;
    }
  return k;
}

}  // namespace ww::testing
