// SPDX-License-Identifier: Apache-2.0
// `warpwright tune --kernels`: few kernels for all problems of a server, by modelled times alone. The choice is
// written to a tuning file, one line a problem, which `auto` follows and from which `prepare` compiles.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/native/tune.hpp"

namespace ww::bench {

/// Returns numbers of rows from 1 to `most`, ascending, so close that a line for each serves every number between them
/// (tuning::Table::find): all up to 16, then eight steps for each doubling. They are multiples of powers of two, as the
/// extents of tiles are.
std::vector<std::int64_t> row_steps(std::int64_t most);

/// Chooses at most `options.kernels` kernels for the cases and writes the lines. Text and JSON: the loss of 1, 2, ...
/// kernels, and the kernels with the number of their problems.
Result<Outcome> choose_kernels(const Suite& suite, const TuneOptions& options);

}  // namespace ww::bench
