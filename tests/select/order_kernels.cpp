// SPDX-License-Identifier: Apache-2.0
// The order of common kernels, src/select/common_shapes.inc, from case files:
//   tools/pack_configs.py build/release/bin/warpwright --cases .        writes the layers of models by operation
//   warpwright bench gemm --random 800 --seed 771 --dry-run --json > random.json
//   warpwright bench grouped --random 400 --seed 771 --dry-run --json > random_grouped.json
//   order_kernels dense.json grouped.json -- random.json random_grouped.json > src/select/common_shapes.inc
// For each recipe the order repeatedly takes the kernel that serves the most of the remaining problems, which are those
// where the model cannot tell it from the fastest. The problems of files before -- count three times. Groups are of
// unknown size, in one matrix and masked.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "select/common_shapes.hpp"
#include "select/grouped_correction.hpp"
#include "select/grouped_ranking.hpp"
#include "select/ranking.hpp"

namespace {

using namespace ww;
using select::KernelShape, select::shape_of;

struct Counted {
  std::variant<GemmProblem, GroupedProblem> problem;
  int weight = 1;
};

bool read(const std::string& path, int weight, std::vector<Counted>& problems) {
  std::ifstream file(path);
  const nlohmann::json cases = nlohmann::json::parse(file, nullptr, false);
  if (!cases.is_object() || !cases.contains("cases")) return false;
  for (const auto& one : cases["cases"]) {
    const std::string op = one.value("op", "dense");
    if (op == "dense") problems.push_back({GemmProblem{.m = one["m"], .n = one["n"], .k = one["k"]}, weight});
    if (op != "grouped") continue;
    const auto counts = one["tokens_per_group"].get<std::vector<std::int64_t>>();
    GroupedProblem p{.groups = static_cast<std::int64_t>(counts.size()), .n = one["n"], .k = one["k"]};
    for (const std::int64_t count : counts) p.rows += count;
    problems.push_back({p, weight});
    p.encoding = GroupEncoding::masked, p.rows = 2 * ceil_div(p.rows, p.groups);
    problems.push_back({p, weight});
  }
  return true;
}

std::string line_of(const KernelShape& k) {
  return fmt::format("{{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}},", k.recipe, k.tile_m, k.tile_n, k.cluster_m,
                     k.cluster_n, k.cluster_k, k.schedule, k.scheduler, k.swapped, k.variant, k.warpgroups,
                     k.occupancy);
}

std::vector<select::Candidate> candidates_of(const GemmProblem& p) { return select::rank(p, {}).candidates; }
std::vector<select::Candidate> candidates_of(const GroupedProblem& p) { return select::rank(p, {}).candidates; }
bool corrected(const GemmProblem& p, const GemmConfig& c) { return select::has_correction(p, c); }
bool corrected(const GroupedProblem& p, const GemmConfig& c) {
  const std::vector<select::LikelySizes> sizes = select::assumed_sizes(p);
  return !sizes.empty() && select::has_correction(p, sizes.front().sizes, c);
}

/// The lines of the kernels that serve a problem.
template <class Problem> std::vector<std::string> serving(Problem p, int recipe) {
  constexpr Scale kScales[] = {Scale::block_1x128_128x128, Scale::tensor, Scale::none};
  p.a = p.b = recipe == 2 ? bf16 : e4m3, p.d = bf16, p.scale = kScales[recipe];
  p.lda = p.ldb = p.k, p.ldd = p.n;
  const std::vector<select::Candidate> all = candidates_of(p);
  const auto us = [](const select::Candidate& c) { return c.cost.total(); };
  double least = us(all.front());  // but for what the present order prefers
  for (const select::Candidate& c : all) least = std::min(least, us(c));
  const double indistinct = std::is_same_v<Problem, GemmProblem> ? select::kIndistinct : select::kIndistinctGroups;
  const double most = corrected(p, all.front().config) ? least * (1 + indistinct) : least;
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
  int weight = 3;
  for (int i = 1; i < argc; ++i)
    if (argv[i] == std::string_view("--")) weight = 1;
    else if (!read(argv[i], weight, problems)) return fmt::print(stderr, "{}: not a case file\n", argv[i]), 2;
  if (problems.empty()) return fmt::print(stderr, "usage: order_kernels <cases.json>... -- <cases.json>...\n"), 2;
  fmt::print(
      "// SPDX-License-Identifier: Apache-2.0\n// Written by tests/select/order_kernels.cpp: recipe, tile, cluster, "
      "schedule, scheduler, swap-AB; of groups: variant,\n// warpgroups, occupancy.\n");
  for (int recipe = 0; recipe < 3; ++recipe) {
    std::vector<std::vector<std::string>> left;
    std::vector<int> weights;
    for (const Counted& one : problems) {
      left.push_back(std::visit([&](const auto& p) { return serving(p, recipe); }, one.problem));
      weights.push_back(one.weight);
    }
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
