// SPDX-License-Identifier: Apache-2.0
// Prints `warpwright gemm` flags for rows of the covering array, one line each.
//   covering_rows [count] [of] [seed]   with a count more accepted rows, drawn at random, so that there are that many
//                                       in all; with `of` every such row alone, from number seed % of on
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "covering_array.hpp"
#include "gemm_flags.hpp"

namespace {

using namespace ww;
using namespace ww::testing;

std::string flags_of(const Row& row) {
  return gemm_flags(config_of(row), problem_of(row), kEpilogueNames[row[kEpilogue]]);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<Row> accepted = accepted_rows();
  std::vector<Row> rows = covering_array(accepted);
  std::mt19937_64 rng(1);
  for (const std::size_t wanted = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0; rows.size() < wanted;)
    rows.push_back(accepted[rng() % accepted.size()]);
  const std::size_t of = argc > 3 ? std::max<std::size_t>(std::strtoull(argv[2], nullptr, 0), 1) : 1;
  for (std::size_t i = argc > 3 ? std::strtoull(argv[3], nullptr, 0) % of : 0; i < rows.size(); i += of)
    fmt::print("{}\n", flags_of(rows[i]));
}
