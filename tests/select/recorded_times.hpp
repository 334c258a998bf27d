// SPDX-License-Identifier: Apache-2.0
// Our own contenders in results that `warpwright bench gemm --result FILE` wrote.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "select/config_text.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww::testing {

struct RecordedTime {
  GemmProblem problem;
  GemmConfig config;  // fully resolved, as printed
  double us = 0;
  std::string text;  // of the config
};

/// Appends the dense times of one file; false when it is none.
inline bool read_times(const std::string& path, std::vector<RecordedTime>& times) {
  std::ifstream file(path);
  const nlohmann::json result = nlohmann::json::parse(file, nullptr, false);
  if (!result.is_object() || !result.contains("cases")) return false;
  for (const auto& one : result["cases"]) {
    if (one.value("op", "dense") != "dense" || !one.contains("contenders")) continue;
    for (const auto& contender : one["contenders"]) {
      if (!contender.value("name", "").starts_with("warpwright") || contender.value("us", 0.0) <= 0) continue;
      const auto config = parse_config(contender.value("config", ""));
      if (!config) return false;
      RecordedTime time{{.m = one["m"], .n = one["n"], .k = one["k"]}, *config, contender["us"], to_text(*config)};
      // why: a second set of raw accumulators came on the 21st; until then `auto` meant one
      if (config->scale == Scale::block_1x128_128x128 && config->math_warpgroups == 2 && config->promotion == 0 &&
          result.value("date", "") < "2026-11-21")
        time.config.promotion = 1;
      time.problem.a = config->a, time.problem.b = config->b, time.problem.d = config->d;
      time.problem.scale = config->scale;
      times.push_back(time);
    }
  }
  return true;
}

}  // namespace ww::testing
