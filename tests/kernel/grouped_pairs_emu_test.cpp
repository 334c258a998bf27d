// SPDX-License-Identifier: Apache-2.0
// Groups of rows on pairs of CTAs of the emulated Blackwell, bit for bit against the dense plan on each group.
#include "grouped_bits.hpp"

namespace ww {
namespace {

using namespace ww::testing;

// Groups with an odd number of tiles leave one of the pair without rows, the last of them at the end of A and D.
TEST(GroupedPairs, TakeTilesOfOneGroup) {
  std::uint64_t seed = 160;
  const std::tuple<DType, Scale, DType, Tile> cases[] = {{bf16, Scale::none, bf16, {128, 128}},
                                                         {f16, Scale::row_column, f16, {128, 96}},
                                                         {e4m3, Scale::tensor, f32, {128, 64}},
                                                         {e4m3, Scale::block_1x128_128x128, bf16, {128, 64}},
                                                         {bf16, Scale::tensor, bf16, {128, 256}}};
  for (const auto& [a, scale, d, tile] : cases)
    for (GroupEncoding encoding : {kEncodings[seed % 4], GroupEncoding::masked}) {
      GroupedProblem p = problem_for(encoding, scale, a, d);
      if (a == bf16) p.b_major = Major::mn;
      p.rows = encoding == GroupEncoding::masked ? 258 : 480, p.zero_outside = seed % 2 == 0;
      const GemmConfig config{.arch = Arch::sm100,
                              .tile = tile,
                              .cluster = {2, 1},
                              .sm100 = {.pair = true},
                              .row_groups = {.variant = normal_variant(encoding)}};
      expect_dense_bits(make_grouped(p, {1, 129, 0, 64, 257, 3}, 4, ++seed), config);
      expect_dense_bits(make_grouped(p, {0, 0, 0, 0, 0, 1}, 4, ++seed), config);
      p.k = 0;
      expect_dense_bits(make_grouped(p, {1, 129, 0, 64, 257, 3}, 4, ++seed), config);
    }
}

}  // namespace
}  // namespace ww
