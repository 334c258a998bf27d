// SPDX-License-Identifier: Apache-2.0
// The order of common kernels, src/select/common_shapes.inc, from case files:
//   tools/pack_configs.py build/release/bin/warpwright --cases .        writes the layers of models, dense.json
//   warpwright bench gemm --random 800 --seed 771 --dry-run --json > random.json
//   order_kernels dense.json random.json > src/select/common_shapes.inc
// For each recipe the order repeatedly takes the kernel that serves the most of the remaining problems, each of them
// within kIndistinct of its least modelled time. The problems of the first file count three times.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "select/common_shapes.hpp"
#include "select/correction.hpp"
#include "select/ranking.hpp"

namespace {

using namespace ww;
using select::KernelShape, select::shape_of;

struct Counted {
  GemmProblem problem;
  int weight = 1;
};

bool read(const std::string& path, int weight, std::vector<Counted>& problems) {
  std::ifstream file(path);
  const nlohmann::json cases = nlohmann::json::parse(file, nullptr, false);
  if (!cases.is_object() || !cases.contains("cases")) return false;
  for (const auto& one : cases["cases"])
    if (one.value("op", "dense") == "dense")
      problems.push_back({{.m = one["m"], .n = one["n"], .k = one["k"]}, weight});
  return true;
}

std::string line_of(const KernelShape& k) {
  return fmt::format("{{{}, {}, {}, {}, {}, {}, {}, {}, {}}},", k.recipe, k.tile_m, k.tile_n, k.cluster_m, k.cluster_n,
                     k.cluster_k, k.schedule, k.scheduler, k.swapped);
}

/// The lines of the kernels that serve a problem.
std::vector<std::string> serving(GemmProblem p, int recipe) {
  constexpr Scale kScales[] = {Scale::block_1x128_128x128, Scale::tensor, Scale::none};
  p.a = p.b = recipe == 2 ? bf16 : e4m3, p.d = bf16, p.scale = kScales[recipe];
  p.lda = p.ldb = p.k, p.ldd = p.n;
  const std::vector<select::Candidate> all = select::rank(p, {}).candidates;
  const auto us = [](const select::Candidate& c) { return c.cost.total(); };
  double least = us(all.front());  // but for what the present order prefers
  for (const select::Candidate& c : all) least = std::min(least, us(c));
  const double most = select::has_correction(p, all.front().config) ? least * (1 + select::kIndistinct) : least;
  std::vector<std::string> lines;
  for (const select::Candidate& c : all)
    if (us(c) <= most) lines.push_back(line_of(shape_of(c.config)));
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Counted> problems;
  for (int i = 1; i < argc; ++i)
    if (!read(argv[i], i == 1 ? 3 : 1, problems)) return fmt::print(stderr, "{}: not a case file\n", argv[i]), 2;
  if (problems.empty()) return fmt::print(stderr, "usage: order_kernels <cases.json>...\n"), 2;
  fmt::print(
      "// SPDX-License-Identifier: Apache-2.0\n// Written by tests/select/order_kernels.cpp: recipe, tile, cluster, "
      "schedule, scheduler, swap-AB.\n");
  for (int recipe = 0; recipe < 3; ++recipe) {
    std::vector<std::vector<std::string>> left;
    std::vector<int> weights;
    for (const Counted& one : problems) left.push_back(serving(one.problem, recipe)), weights.push_back(one.weight);
    for (;;) {
      std::map<std::string, int> served;
      for (std::size_t i = 0; i < left.size(); ++i)
        for (const std::string& line : left[i]) served[line] += weights[i];
      if (served.empty()) break;
      const std::string most =
          std::max_element(served.begin(), served.end(), [](auto& a, auto& b) { return a.second < b.second; })->first;
      fmt::print("{}\n", most);
      for (std::vector<std::string>& lines : left)
        if (std::find(lines.begin(), lines.end(), most) != lines.end()) lines.clear();
    }
  }
}
