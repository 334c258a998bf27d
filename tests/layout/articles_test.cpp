// SPDX-License-Identifier: Apache-2.0
// Outputs that published articles on CuTe kernels print, as tests: cluster layouts, multicast masks, a CTA's slices and
// the accumulator. Sources: Colfax's tutorial on clusters and 2-SM UMMA (CUTLASS Blackwell examples 03 and 04); PTX
// m64nNk.
#include <gtest/gtest.h>

#include <bit>
#include <set>

#include "warpwright/layout/mask.hpp"
#include "warpwright/layout/tensor.hpp"

namespace ww {
namespace {

constexpr auto kOneSm = tiled_divide(make_layout(Shape<_4, _4, _1>{}), make_tile(_1{}));
constexpr auto kTwoSm = tiled_divide(make_layout(Shape<_4, _4, _1>{}), make_tile(_2{}));

TEST(ClusterLayout, PrintsAsInTheArticle) {
  static_assert(is_same_v<decltype(kTwoSm.shape()), Shape<Shape<_2>, _2, _4, _1>>);  // ((_2),_2,_4,_1)
  static_assert(is_same_v<decltype(kOneSm.shape()), Shape<Shape<_1>, _4, _4, _1>>);
  EXPECT_TRUE(kOneSm.get_flat_coord(11) == make_coord(0, 3, 2, 0));  // rank 11 is (0,3,2,0)
  EXPECT_TRUE(kTwoSm.get_flat_coord(11) == make_coord(1, 1, 2, 0));
  for (int rank = 0; rank < 16; ++rank) {
    EXPECT_EQ(kOneSm(kOneSm.get_flat_coord(rank)), rank);
    EXPECT_EQ(kTwoSm(kTwoSm.get_flat_coord(rank)), rank);
  }
}

TEST(CtaMask, OneSmMulticast) {
  for (int rank = 0; rank < 16; ++rank) {
    const auto vmnk = kOneSm.get_flat_coord(rank);
    EXPECT_EQ(cta_mask<2>(kOneSm, vmnk), 0x1111 << (rank % 4));        // A: the row
    EXPECT_EQ(cta_mask<1>(kOneSm, vmnk), 0x000F << (4 * (rank / 4)));  // B: the column
  }
  const auto release = [](int rank) {
    const auto c = kOneSm.get_flat_coord(rank);
    return cta_mask<2>(kOneSm, c) | cta_mask<1>(kOneSm, c);
  };
  EXPECT_EQ(release(0), 0x111F);
  EXPECT_EQ(cta_mask(kOneSm, make_coord(0, 1, _, 0)), 0x2222);  // CTA (1,2)
  EXPECT_EQ(cta_mask(kOneSm, make_coord(0, _, 2, 0)), 0x0F00);
  EXPECT_EQ(release(9), 0x2F22);
  EXPECT_EQ(cta_mask<2>(kOneSm, kOneSm.get_flat_coord(11)), 0x8888);
  EXPECT_EQ(cta_mask<1>(kOneSm, kOneSm.get_flat_coord(11)), 0x0F00);
  EXPECT_EQ(cta_mask(kOneSm, make_coord(0, 3, 2, 0)), 1 << 11);  // nothing shared: the CTA itself
  EXPECT_EQ(std::popcount(static_cast<unsigned>(release(9))), 4 + 4 - 1);
}

TEST(CtaMask, TwoSmMulticast) {
  for (int rank = 0; rank < 16; ++rank) {
    const auto c = kTwoSm.get_flat_coord(rank);
    const int v = get<0>(c), m = get<1>(c), n = get<2>(c);
    EXPECT_EQ(cta_mask<2>(kTwoSm, c), 0x1111 << (v + 2 * m));
    EXPECT_EQ(cta_mask<1>(kTwoSm, c), 0x0005 << (v + 4 * n));
    const int release = (cta_mask<0, 2>(kTwoSm, c)) | (cta_mask<0, 1>(kTwoSm, c));
    EXPECT_EQ(release, (0x000F << (4 * n)) | (0x3333 << (2 * m)));
    if (rank == 0) {
      EXPECT_EQ(release, 0x333F);
    }
  }
}

TEST(CtaMask, EveryClusterShapeSharesByEqualCoordinates) {
  for (int m = 1; m <= 16; ++m) {
    for (int n = 1; m * n <= 16; ++n) {
      const auto cluster = make_layout(make_shape(m, n));
      for (int rank = 0; rank < m * n; ++rank) {
        unsigned row = 0, column = 0;
        for (int peer = 0; peer < m * n; ++peer) {
          row |= (peer % m == rank % m ? 1u : 0u) << peer;
          column |= (peer / m == rank / m ? 1u : 0u) << peer;
        }
        EXPECT_EQ(cta_mask(cluster, make_coord(rank % m, _)), row);
        EXPECT_EQ(cta_mask(cluster, make_coord(_, rank / m)), column);
      }
    }
  }
}

// CTA 0 prints ArithTuple(0,0), CTA 1 prints ArithTuple(0,128); shape (64,128) boxes over four k tiles, stride 64@0.
// Beyond print: the four CTAs of a row cut their 128 x 64 tile in four and together load each element once.
TEST(CtaSlice, CoordinatesOfEachCtaOfACluster) {
  const auto mA = make_coord_tensor(make_layout(make_shape(512, 256), make_stride(E<1>{}, E<0>{})));
  std::set<std::pair<int, int>> loaded;
  for (int rank = 0; rank < 16; ++rank) {
    const auto c = kOneSm.get_flat_coord(rank);
    const auto gA = local_tile(mA, Shape<_128, _64>{}, make_coord(get<1>(c), _));  // (128, 64, k tiles)
    EXPECT_EQ(size<2>(gA), 4);
    static_assert(is_same_v<decltype(get<2>(gA.layout()).stride()), ScaledBasis<_64, 0>>);
    if (rank < 2) {
      EXPECT_TRUE(*gA.data() == make_arith_tuple(0, 128 * rank));
    }
    const auto mine =
        local_tile(gA(_, _, 1), Shape<_32, _64>{}, make_coord(get<2>(c), 0));  // a quarter, by own place in the row
    EXPECT_TRUE(mine(0, 0) == make_arith_tuple(64, 128 * (rank % 4) + 32 * (rank / 4)));
    for (int i = 0; i < 32; ++i)
      for (int j = 0; j < 64; ++j) EXPECT_TRUE(loaded.emplace(get<0>(mine(i, j)), get<1>(mine(i, j))).second);
  }
  EXPECT_EQ(loaded.size(), 512u * 64u);
}

// LayoutA_TV (_2,(_128,_16)):(_128,(_1,_256)): of a 256 x 16 tile each CTA of the pair holds 128 rows.
TEST(ThreadValueLayout, APairOfCtasSplitsTheRows) {
  constexpr Layout<Shape<_2, Shape<_128, _16>>, Stride<_128, Stride<_1, _256>>> tv;
  for (int v = 0; v < 2; ++v)
    for (int i = 0; i < 128; ++i)
      for (int k = 0; k < 16; ++k) ASSERT_EQ(tv(v, make_coord(i, k)), (128 * v + i) + 256 * k);
}

// CLayout ((4,8,4),(2,2,N/8)):((128,1,16),(64,8,512)): the wgmma accumulator as (row) + 64 (column).
TEST(ThreadValueLayout, WgmmaAccumulator) {
  constexpr int kN = 64;
  constexpr Layout<Shape<Shape<_4, _8, _4>, Shape<_2, _2, Int<kN / 8>>>,
                   Stride<Stride<_128, _1, _16>, Stride<_64, _8, Int<512>>>>
      c_layout;
  static_assert(size(c_layout) == 64 * kN && cosize(c_layout) == 64 * kN);
  for (int t = 0; t < 128; ++t) {
    for (int v = 0; v < kN / 2; ++v) {
      const int row = 16 * (t / 32) + t % 32 / 4 + 8 * (v / 2 % 2), column = 2 * (t % 4) + v % 2 + 8 * (v / 4);
      ASSERT_EQ(c_layout(t, v), row + 64 * column);
    }
  }
}

}  // namespace
}  // namespace ww
