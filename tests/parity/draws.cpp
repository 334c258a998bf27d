// SPDX-License-Identifier: Apache-2.0
// Which problems are tested follows from the commit, so every problem that a commit can draw must be one that a plan
// takes with the config drawn for it. Nothing is compiled here, and no element is drawn.
//   draws [step] [seed]     every step-th problem of each family, from number seed % step of it on
// Exit status: 0 all are legal, 1 one is refused.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "problems/blackwell_problem.hpp"
#include "problems/narrow_problem.hpp"
#include "problems/random_k_grouped.hpp"
#include "problems/scaled_groups.hpp"

namespace {

using namespace ww;
using namespace ww::testing;

HostGrouped of_rows(std::uint64_t i) { return i >= kFirstScaledGrouped ? scaled_grouped(i) : numbered_grouped(i); }
HostKGrouped of_k(std::uint64_t i) { return i >= kFirstScaledKGrouped ? scaled_k_grouped(i) : numbered_k_grouped(i); }

int drawn = 0, refused = 0;

/// Counts the problems that no plan takes, and prints them, among every `step`-th of the `count` from `first` on.
template <class Draw>
void look_at(std::uint64_t first, std::uint64_t count, std::uint64_t step, std::uint64_t seed, const Draw& draw) {
  for (std::uint64_t i = first + seed % step; i < first + count; i += step) {
    const auto host = draw(i);
    ++drawn;
    const auto answer = can_implement(host.problem, {.config = host.config});
    if (!answer) ++refused, fmt::print("{}\n  {}\n", host.replay(), answer.error().message);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t step = argc > 1 ? std::max<std::uint64_t>(std::strtoull(argv[1], nullptr, 0), 1) : 1;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 0) : 0;
  const WithoutElements without;
  // As many of each family as the tests beside this file reach, whatever the commit is.
  for (const std::uint64_t first : {std::uint64_t{0}, kFirstSplitGrouped, kFirstOccupancyGrouped, kFirstNMajorGrouped})
    look_at(first, 2'400, step, seed, of_rows);
  look_at(kFirstWideGrouped, 27'000, step, seed, of_rows);
  for (const std::uint64_t first : {kFirstBlackwellGrouped, kFirstScaledGrouped})
    look_at(first, 10'100, step, seed, of_rows);
  for (const std::uint64_t first : {std::uint64_t{0}, kFirstPacked}) look_at(first, 55'200, step, seed, of_k);
  for (const std::uint64_t first : {kFirstBlackwellKGrouped, kFirstScaledKGrouped})
    look_at(first, 10'100, step, seed, of_k);
  look_at(8'000'000, 80'200, step, seed, blackwell_problem);
  look_at(9'000'000, 80'200, step, seed, narrow_problem);
  fmt::print("{} of {} problems are legal\n", drawn - refused, drawn);
  return refused == 0 ? 0 : 1;
}
