// SPDX-License-Identifier: Apache-2.0
// `warpwright tune`: measures a few configs of each case by the loop of `bench` and writes the fastest to a tuning
// file.
//   candidates of a case = what auto takes, the next `best` of explain()'s ranking, and `extra` others that the seed
//                          draws
// The file is replaced after every case, so that an interrupted run leaves whole lines; the next run skips what is
// there.
// With a limit of kernels nothing is measured: kernel_choice.hpp.
#pragma once

#include <cstdint>
#include <filesystem>

#include "bench/native/suite.hpp"

namespace ww::bench {

struct TuneOptions {
  BenchOptions bench = {};          // cases, device, times and seed; peers, bursts and variants are not read
  std::filesystem::path file = {};  // the tuning file; lines of other problems and places stay in it
  int best = 8;
  int extra = 0;
  bool dry_run = false;  // lists what would be measured
  // If not 0: measures nothing, and writes the choices that need no more kernels than this and lose the least modelled
  // time.
  int kernels = 0;
  std::int64_t up_to = 0;           // with it: instead of the rows of the cases every number of rows up to this
  std::filesystem::path list = {};  // with it: file for the configs, as `prepare --configs` reads them; empty: none
};

/// Whether each config of a case of so many operations is measured alone: such a case holds a GPU at its power limit,
/// where configs that take turns share a clock (docs/selection.md).
bool measured_alone(double flops, bool emulated);

/// Text: a line for each case. JSON: the same, with the times of all candidates.
Result<Outcome> run_tune(const Suite& suite, const TuneOptions& options);

}  // namespace ww::bench
