// SPDX-License-Identifier: Apache-2.0
// The chains of dependent launches that must not depend on whether launches overlap: every kind of kernel, each result
// read by the next launch as A, as C, as scales, or as the sizes of groups.
#pragma once

#include <ostream>

#include "overlap_chain.hpp"

namespace ww::gpu_test {

struct ChainCase {
  std::string name;
  std::function<Chain(const Setting&)> make;  // throws what it cannot do

  /// The default would print its bytes, addresses among them, in the names that ctest lists.
  friend void PrintTo(const ChainCase& c, std::ostream* out) { *out << c.name; }
};

std::vector<ChainCase> dense_chains();
std::vector<ChainCase> grouped_chains();

inline std::vector<ChainCase> all_chains() {
  std::vector<ChainCase> all = dense_chains();
  for (ChainCase& c : grouped_chains()) all.push_back(std::move(c));
  return all;
}

}  // namespace ww::gpu_test
