// SPDX-License-Identifier: Apache-2.0
// How well constants of the cost model match recorded times, and the constants that match them best.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "coordinate_descent.hpp"
#include "recorded_times.hpp"
#include "select/cost_model.hpp"

namespace ww::testing {

using select::Cost;
using select::CostConstants;

using Fitted = FittedConstant<CostConstants>;
inline constexpr Fitted kFitted[] = {
    {"launch_us", &CostConstants::launch_us, 1, 6},
    {"block_clocks", &CostConstants::block_clocks, 0, 300},
    {"scale_clocks", &CostConstants::scale_clocks, 0, 300},
    {"column_clocks", &CostConstants::column_clocks, 0, 10},
    {"shared_bytes_per_clock", &CostConstants::shared_bytes_per_clock, 64, 300},
    {"load_bytes_per_clock", &CostConstants::load_bytes_per_clock, 32, 200},
    {"fill_bytes_per_clock", &CostConstants::fill_bytes_per_clock, 4, 100},
    {"ring_clocks", &CostConstants::ring_clocks, 0, 4000},
    {"l2_bytes_per_us", &CostConstants::l2_bytes_per_us, 4000000.0, 30000000.0},
    {"hbm_bytes_per_us", &CostConstants::hbm_bytes_per_us, 3000000.0, 4600000.0},
    {"hbm_latency_us", &CostConstants::hbm_latency_us, 0.2, 4},
    {"l2_overlap", &CostConstants::l2_overlap, 1, 8},
    {"memory_overlap", &CostConstants::memory_overlap, 1, 8},
    {"small_shared", &CostConstants::small_shared, 0, 1},
    {"large_shared", &CostConstants::large_shared, 0, 1},
    {"lag_shared", &CostConstants::lag_shared, 0, 1},
    {"tile_clocks", &CostConstants::tile_clocks, 0, 2000},
    {"store_clocks_per_kib", &CostConstants::store_clocks_per_kib, 2, 100},
    {"narrow_panels", &CostConstants::narrow_panels, 0, 2},
    {"promotion_exposed_one", &CostConstants::promotion_exposed_one, 0, 2},
    {"promotion_exposed_blocks", &CostConstants::promotion_exposed_blocks, 0, 2},
    {"promotion_exposed_two", &CostConstants::promotion_exposed_two, 0, 2},
    {"promotion_exposed_three", &CostConstants::promotion_exposed_three, 0, 2},
    {"power_fp8", &CostConstants::power_fp8, 0, 4},
    {"power_read", &CostConstants::power_read, 0, 8},
    {"power_share", &CostConstants::power_share, 0.1, 1},
    {"exchange_us", &CostConstants::exchange_us, 0, 10},
    {"stream_share", &CostConstants::stream_share, 0, 1},
    {"cluster_exchange_us", &CostConstants::cluster_exchange_us, 0, 5},
    {"dsmem_bytes_per_clock", &CostConstants::dsmem_bytes_per_clock, 4, 128},
    {"overlap_us", &CostConstants::overlap_us, 0, 1},
    {"cluster_us", &CostConstants::cluster_us, 0, 2},
};
inline constexpr int kRecordedSms = 132;

using Cases = std::vector<RecordedCase>;

/// The model without corrections, which belong to the constants of today.
inline CostConstants uncorrected() {
  CostConstants k;
  k.corrected = false;
  return k;
}

/// Returns the modelled cost of `c`, launched as the recorded times of `one` were.
inline Cost cost_of(const RecordedCase& one, const GemmConfig& c, CostConstants k) {
  if (!one.overlaps) k.overlap_us = 0;
  k.older_kernels = one.older_kernels;
  return select::cost_of(one.problem, c, kRecordedSms, k);
}

inline double modelled_us(const RecordedCase& one, const GemmConfig& c, const CostConstants& k) {
  const Cost cost = cost_of(one, c, k);
  return cost.total() - cost[select::Term::uncertainty];  // recorded times have no uncertainty
}

/// Returns the root of the mean square of log(modelled / recorded). A time twice that of the case's best has a quarter
/// of the weight, because slow configs need to be told from fast ones, not from each other.
inline double error_of(const Cases& cases, const CostConstants& k) {
  double sum = 0, weights = 0;
  for (const RecordedCase& one : cases)
    for (const RecordedTime& r : one.times) {
      const double weight = std::pow(one.best() / r.us, 2);
      sum += weight * std::pow(std::log(modelled_us(one, r.config, k) / r.us), 2);
      weights += weight;
    }
  return std::sqrt(sum / weights);
}

/// Returns the config that a choice among those that ran takes, uncertainty penalties included.
inline const RecordedTime& taken(const RecordedCase& one, const CostConstants& k) {
  return *std::min_element(one.times.begin(), one.times.end(), [&](const RecordedTime& a, const RecordedTime& b) {
    return cost_of(one, a.config, k).total() < cost_of(one, b.config, k).total();
  });
}

/// Cases in which that one is within a tenth of the best.
inline int near_best(const Cases& cases, const CostConstants& k) {
  return static_cast<int>(std::count_if(cases.begin(), cases.end(),
                                        [&](const RecordedCase& one) { return taken(one, k).us <= 1.1 * one.best(); }));
}

/// Geometric mean of its time over the best.
inline double loss_of(const Cases& cases, const CostConstants& k) {
  double sum = 0;
  for (const RecordedCase& one : cases) sum += std::log(taken(one, k).us / one.best());
  return std::exp(sum / static_cast<double>(cases.size()));
}

/// Returns the cases of every other problem, from `first` on. It is not every other case, because a problem that ran in
/// several results would be on both sides.
inline Cases half_of(const Cases& cases, std::size_t first) {
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, DType, Scale>;
  std::map<Key, std::size_t> numbers;
  Cases half;
  for (const RecordedCase& one : cases) {
    const GemmProblem& p = one.problem;
    const std::size_t number = numbers.try_emplace({p.m, p.n, p.k, p.a, p.scale}, numbers.size()).first->second;
    if (number % 2 == first) half.push_back(one);
  }
  return half;
}

/// Returns the objective of a fit. The error alone does not suffice: two configs of similar times decide a choice, and
/// the error does not see which of them is modelled as the faster. Choices weigh six times as much. Cases whose configs
/// ran alone count ten times: they are few, and a prefill runs such products for seconds. A choice counts as if it were
/// random among configs within a few percent of the least modelled time, so that the objective has no steps and a tiny
/// lead gains nothing.
inline double objective_of(const Cases& cases, const CostConstants& k) {
  constexpr double kHair = 0.02, kChoices = 6;
  double sum = 0, weights = 0, loss = 0, count = 0;
  std::vector<double> logs;
  for (const RecordedCase& one : cases) {
    const double repeats = one.alone ? 10 : 1;
    logs.clear();
    for (const RecordedTime& r : one.times) {
      const Cost cost = cost_of(one, r.config, k);
      const double weight = repeats * std::pow(one.best() / r.us, 2), total = cost.total();
      sum += weight * std::pow(std::log((total - cost[select::Term::uncertainty]) / r.us), 2);
      weights += weight;
      logs.push_back(std::log(total));
    }
    const double least = *std::min_element(logs.begin(), logs.end());
    double lots = 0, over = 0;
    for (std::size_t i = 0; i < logs.size(); ++i) {
      const double lot = std::exp((least - logs[i]) / kHair);
      lots += lot, over += lot * std::log(one.times[i].us / one.best());
    }
    loss += repeats * over / lots, count += repeats;
  }
  return std::sqrt(sum / weights) + kChoices * loss / count;
}

/// Returns the constants that match `cases` best.
inline CostConstants fit(const Cases& cases, const CostConstants& k, int rounds = 60) {
  return descend(
      k, std::span<const Fitted>(kFitted), [&](const CostConstants& trial) { return objective_of(cases, trial); },
      rounds);
}

}  // namespace ww::testing
