// SPDX-License-Identifier: Apache-2.0
// Times of our own configs in results of `warpwright bench gemm --result FILE` and of the loops of bench/, case by
// case.
#pragma once

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/config_text.hpp"
#include "select/cost_model.hpp"
#include "warpwright/config/resolve.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww::testing {

/// A recorded time. Results name its config, and compact ones (bench/loop.py) its index in their list of configs.
struct TimeText {
  std::string config;
  double us = 0;
  bool rough = false;
};
inline std::vector<TimeText> times_of(const nlohmann::json& result, const nlohmann::json& one) {
  std::vector<TimeText> times;
  for (const char* kind : {"times", "rough"})
    if (one.contains(kind))
      for (const auto& pair : one[kind])
        times.push_back({result["configs"][pair[0].get<std::size_t>()], pair[1], *kind == 'r'});
  if (!one.contains("contenders")) return times;
  for (const auto& contender : one["contenders"]) {
    const bool rough = contender.value("rough", false);
    // The first config of a problem runs cold: four calls of it say nothing.
    if (rough && contender == one["contenders"].front()) continue;
    const std::string text = contender.value("config", "");
    const bool apart = !contender.value("name", "").starts_with("overlapping");  // as the other times of its result
    if (apart && text.starts_with("arch=")) times.push_back({text, contender.value("us", 0.0), rough});
  }
  return times;
}

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
inline constexpr double kAlone = select::kAtPowerLimit;

/// The dense cases of one result, except those at the power limit whose configs took turns.
inline bool read_cases(const std::string& path, std::vector<RecordedCase>& cases) {
  std::ifstream file(path);
  const nlohmann::json result = nlohmann::json::parse(file, nullptr, false);
  if (!result.is_object() || !result.contains("cases")) return false;
  for (const auto& one : result["cases"]) {
    if (one.value("op", "dense") != "dense" || !one.contains("m")) continue;
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
    for (const TimeText& time : times_of(result, one)) {
      if (time.us <= 0) continue;
      const auto parsed = parse_config(time.config);
      if (!parsed) return false;
      const GemmConfig config = config::resolve(*parsed);  // older results left out fields at their defaults
      auto& times = recorded.times;
      const auto same = [&](const RecordedTime& r) { return r.config == config; };
      const auto at = std::find_if(times.begin(), times.end(), same);
      // The least time, because the first contender of a loop is up to a tenth slow where power is the limit.
      if (at != times.end()) at->us = std::min(at->us, time.us);
      else times.push_back({config, time.us});
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
