// SPDX-License-Identifier: Apache-2.0
// The model of Blackwell's times, made of published rates (kB200) because no kernel of ours ran on one:
//   an instruction takes what the tensor core or its reads of shared memory take, whichever is slower
//   a tile takes its instructions, or its consumers where promotion and epilogue take longer
//   a launch takes waves of tiles, or L2 or HBM where those take longer, and the first load and the last epilogue
// Sums between CTAs cost what they do on an H200. The terms are those of cost_model.hpp.
#pragma once

#include "select/cost_model.hpp"

namespace ww::select {

/// `problem` and `config` are those of the kernel (swap_ab.hpp); `config` is resolved and without fault.
Cost sm100_cost(const GemmProblem& problem, const GemmConfig& config, int sms);

/// Clocks of one tile with `k_blocks` of K, without waits.
struct Sm100Tile {
  double tensor = 0, shared = 0;                 // instructions, and what shared memory adds to them
  double promotion = 0, epilogue = 0;            // of the consumers: all of it
  double promotion_seen = 0, epilogue_seen = 0;  // the part that instructions of other tiles do not hide
  double total() const { return tensor + shared + promotion_seen + epilogue_seen; }
};
Sm100Tile sm100_tile(const GemmConfig& config, double k_blocks);

}  // namespace ww::select
