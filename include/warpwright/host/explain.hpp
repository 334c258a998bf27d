// SPDX-License-Identifier: Apache-2.0
// The choice of a config as data: every candidate with its modelled time, term by term, and what was ruled out and why.
// For groups of rows the model reckons with equal, uneven and partly empty ones; configs for groups of K have no
// modelled time. Nothing is compiled or run. docs/selection.md describes the list and the model; `warpwright explain`
// prints this.
#pragma once

#include <string>
#include <vector>

#include "warpwright/host/gemm.hpp"
#include "warpwright/host/grouped.hpp"
#include "warpwright/host/k_grouped.hpp"

namespace ww {

/// One part of a modelled time.
struct CostTerm {
  const char* name = "";     // "last wave"
  const char* meaning = "";  // "SMs without a tile in the last wave"
  double us = 0;             // microseconds
};

/// A config and what it costs by the model, 0 where no model speaks of it. The sum of its terms is `us`.
struct RankedConfig {
  GemmConfig config = {};            // resolved
  double us = 0;                     // microseconds
  std::vector<CostTerm> terms = {};  // terms other than 0
  int waves = 0;                     // tiles of the busiest CTA, rounded up
  int resident_ctas = 0;             // CTAs of the launch that run at once
  double hbm_bytes = 0;              // read and written, by the model
};

/// Configs that are excluded for one reason.
struct ExcludedConfigs {
  std::string reason;  // "tile (n): expected a multiple of 8 up to 256"
  std::vector<GemmConfig> configs;
};

/// Why a plan takes its config.
struct Explanation {
  int sms = 0;  // that the launch may use
  // On an emulated device `chosen` need not be the head of `ranking`: it comes from the short list whose modules ship.
  // The same holds for groups where a request leaves no choice.
  bool emulated = false;
  RankedConfig chosen = {};                    // what a plan takes
  std::string because = {};                    // one sentence
  bool tuned = false;                          // `chosen` comes from the device's tuning file
  std::string tuning = {};                     // what that file says of the problem, or why that is not followed
  const char* modelled_for = "";               // the device whose times are modelled: "H200"
  bool measured = true;                        // false: its rates are those of publications, and no kernel ran on it
  std::vector<RankedConfig> ranking = {};      // what `auto` takes first, then by time, if modelled
  std::vector<ExcludedConfigs> excluded = {};  // in the order of the list
};

/// Explains the choice of a plan on `device`; without one, on an H200 with all its SMs, or on a B200 where the config's
/// arch is sm100. Errors are those of
/// can_implement().
Result<Explanation> explain(const Device& device, const GemmProblem& problem, const GemmOptions& options = {});
Result<Explanation> explain(const GemmProblem& problem, const GemmOptions& options = {});
Result<Explanation> explain(const Device& device, const GroupedProblem& problem, const GemmOptions& options = {});
Result<Explanation> explain(const GroupedProblem& problem, const GemmOptions& options = {});
Result<Explanation> explain(const Device& device, const KGroupedProblem& problem, const GemmOptions& options = {});
Result<Explanation> explain(const KGroupedProblem& problem, const GemmOptions& options = {});

}  // namespace ww
