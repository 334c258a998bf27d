// SPDX-License-Identifier: Apache-2.0
// The choice of a config as data: every candidate with its modelled time, term by term, and the reason for each
// exclusion. Nothing is compiled or run. docs/selection.md describes the list and the model; `warpwright explain`
// prints this.
#pragma once

#include <string>
#include <vector>

#include "warpwright/host/gemm.hpp"

namespace ww {

/// One part of a modelled time.
struct CostTerm {
  const char* name = "";     // "last wave"
  const char* meaning = "";  // "SMs without a tile in the last wave"
  double us = 0;
};

/// A config and its modelled cost. The sum of its terms is `us`.
struct RankedConfig {
  GemmConfig config = {};  // resolved
  double us = 0;
  std::vector<CostTerm> terms = {};  // terms other than 0
  int waves = 0;                     // tiles of the busiest CTA, rounded up
  int resident_ctas = 0;
  double hbm_bytes = 0;
};

/// Configs that are excluded for one reason.
struct ExcludedConfigs {
  std::string reason;  // "tile (n): expected a multiple of 8 up to 256"
  std::vector<GemmConfig> configs;
};

struct Explanation {
  GemmProblem problem = {};  // with explicit strides
  int sms = 0;               // that the launch may use
  // On an emulated device, `chosen` comes from the short list whose modules are shipped, not from the head of
  // `ranking`.
  bool emulated = false;
  RankedConfig chosen = {};                    // config that a plan uses
  std::vector<RankedConfig> ranking = {};      // fastest first
  std::vector<ExcludedConfigs> excluded = {};  // in the order of the list
};

/// Explains the choice of a plan on `device`; without one, on an H200 with all its SMs. Errors are those of
/// can_implement().
Result<Explanation> explain(const Device& device, const GemmProblem& problem, const GemmOptions& options = {});
Result<Explanation> explain(const GemmProblem& problem, const GemmOptions& options = {});

}  // namespace ww
