// SPDX-License-Identifier: Apache-2.0
// Our own contenders in results that `warpwright bench gemm --result FILE` wrote, case by case.
#pragma once

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/config_text.hpp"
#include "warpwright/config/resolve.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww::testing {

struct RecordedTime {
  GemmConfig config;  // fully resolved, as printed
  double us = 0;
};

/// One problem and the configs that ran in turns on it, each once, fastest first.
struct RecordedCase {
  GemmProblem problem;
  std::vector<RecordedTime> times;
  bool alone = false;  // each had the GPU to itself for a second or longer
  // Launches overlapped where src/select/overlap.cpp has them do so; in older results hardly any did.
  bool overlaps = false;
  bool older_kernels = true;  // CostConstants::older_kernels
  double best() const { return times.front().us; }
};

/// Operations from which on a product runs at the power limit. Configs that took turns there shared one clock, so that
/// their times say little about what each takes alone.
inline constexpr double kAlone = 1e11;

/// The dense cases of one result, except those at the power limit whose configs took turns.
inline bool read_cases(const std::string& path, std::vector<RecordedCase>& cases) {
  std::ifstream file(path);
  const nlohmann::json result = nlohmann::json::parse(file, nullptr, false);
  if (!result.is_object() || !result.contains("cases")) return false;
  for (const auto& one : result["cases"]) {
    if (one.value("op", "dense") != "dense" || !one.contains("contenders")) continue;
    RecordedCase recorded{{.m = one["m"], .n = one["n"], .k = one["k"]},
                          {},
                          one.value("alone", false),
                          result.value("overlaps_by_rule", false),
                          !result.contains("kernels_since")};
    const GemmProblem& p = recorded.problem;
    if (!recorded.alone &&
        2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) >= kAlone)
      continue;
    recorded.problem.lda = recorded.problem.ldb = recorded.problem.k, recorded.problem.ldd = recorded.problem.n;
    for (const auto& contender : one["contenders"]) {
      if (!contender.value("name", "").starts_with("warpwright") || contender.value("us", 0.0) <= 0) continue;
      const auto parsed = parse_config(contender.value("config", ""));
      if (!parsed) return false;
      const GemmConfig config = config::resolve(*parsed);  // older results left out fields at their defaults
      auto& times = recorded.times;
      const auto same = [&](const RecordedTime& r) { return r.config == config; };
      const auto at = std::find_if(times.begin(), times.end(), same);
      // The least time, because the first contender of a loop is up to a tenth slow where power is the limit.
      if (at != times.end()) at->us = std::min<double>(at->us, contender["us"]);
      else times.push_back({config, contender["us"]});
      recorded.problem.a = config.operands.a, recorded.problem.b = config.operands.b,
      recorded.problem.d = config.operands.d;
      recorded.problem.scale = config.operands.scale;
    }
    if (recorded.times.empty()) continue;
    std::stable_sort(recorded.times.begin(), recorded.times.end(),
                     [](const RecordedTime& a, const RecordedTime& b) { return a.us < b.us; });
    cases.push_back(recorded);
  }
  return true;
}

}  // namespace ww::testing
