// SPDX-License-Identifier: Apache-2.0
// Prints `warpwright gemm` flags for rows of the covering array, one line each; with a count more accepted rows, drawn
// at random, so that there are that many in all.
#include <fmt/format.h>

#include <cstdlib>
#include <random>

#include "covering_array.hpp"

namespace {

using namespace ww;
using namespace ww::testing;

std::string flags_of(const Row& row) {
  GemmConfig config = config_of(row);
  const GemmProblem p = problem_of(row);
  const int cluster = config.cluster.m * config.cluster.n * std::max(1, config.cluster.k);
  config.epilogue = {};  // said by --epilogue
  std::string text =
      fmt::format("--m {} --n {} --k {} --dtype {} --b-dtype {} --scale {} --layout {} --sms {} --config {}", p.m, p.n,
                  p.k, name_of(p.a), name_of(p.b), name_of(p.scale), name_of(MatrixLayout{p.a_major, p.b_major}),
                  std::max(4, cluster), to_text(config));
  if (p.d != e4m3) text += fmt::format(" --out-dtype {}", name_of(p.d));  // e4m3 follows from the epilogue
  if (p.d_layout == OutputLayout::column) text += " --d-layout column";
  if (p.batch > 1) text += fmt::format(" --batch {}", p.batch);
  if (const char* epilogue = kEpilogueNames[row[kEpilogue]]; *epilogue) text += fmt::format(" --epilogue {}", epilogue);
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<Row> accepted = accepted_rows();
  std::vector<Row> rows = covering_array(accepted);
  std::mt19937_64 rng(1);
  for (const std::size_t wanted = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0; rows.size() < wanted;)
    rows.push_back(accepted[rng() % accepted.size()]);
  for (const Row& row : rows) fmt::print("{}\n", flags_of(row));
}
