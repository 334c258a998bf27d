// SPDX-License-Identifier: Apache-2.0
// Tensors over pointers, shared addresses and coordinates; swizzles; the canonical K-major shared-memory layouts.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "warpwright/layout/tensor.hpp"

namespace ww {
namespace {

struct SharedAddress {
  u32 bytes = 0;
  friend constexpr SharedAddress operator+(SharedAddress a, i64 offset) { return {a.bytes + static_cast<u32>(offset)}; }
  friend constexpr bool operator==(SharedAddress, SharedAddress) = default;
};

TEST(Swizzle, MatchesTheChunkRuleOfEachModeAndIsItsOwnInverse) {
  for (int offset = 0; offset < 8192; ++offset) {
    const int chunk = offset / 16, byte = offset % 16;
    const auto moved = [&](int per_row, int rows) {  // chunk c of row r goes to c ^ (r / rows % per_row)
      const int row = chunk / per_row, c = chunk % per_row;
      return (row * per_row + (c ^ (row / rows % per_row))) * 16 + byte;
    };
    ASSERT_EQ((Swizzle<1, 4, 3>{}(offset)), moved(2, 4));
    ASSERT_EQ((Swizzle<2, 4, 3>{}(offset)), moved(4, 2));
    ASSERT_EQ((Swizzle<3, 4, 3>{}(offset)), moved(8, 1));
    ASSERT_EQ((Swizzle<3, 4, 3>{}(Swizzle<3, 4, 3>{}(offset))), offset);
    ASSERT_EQ((Swizzle<0, 4, 3>{}(offset)), offset);
    ASSERT_EQ((upcast<2>(Swizzle<3, 4, 3>{})(offset) * 2), (Swizzle<3, 4, 3>{}(offset * 2)));
  }
  static_assert(is_same_v<decltype(Swizzle<3, 4, 3>{}(Int<128>{})), Int<144>>);
  static_assert(Swizzle<3, 4, 3>::kPeriod == 1024 && Swizzle<1, 4, 3>::kPeriod == 256);
}

// K-major, span bytes of K per row, 8 rows per pattern: swz((mn % 8) * span + k * elsize) + (mn / 8) * 8 span, and the
// next span of K is a separate block (rows * span bytes further).
template <int kBits, int kBytes> void expect_canonical_k_major() {
  constexpr int kSpan = 16 << kBits, kElements = kSpan / kBytes;
  using Atom = Layout<Shape<_8, Int<kElements>>, Stride<Int<kElements>, _1>>;
  constexpr auto tile =
      tile_to_shape(composition(upcast<kBytes>(Swizzle<kBits, 4, 3>{}), Atom{}), Shape<_128, Int<128 / kBytes>>{});
  static_assert(__is_empty(decltype(tile)));
  for (int mn = 0; mn < 128; ++mn) {
    for (int k = 0; k < 128 / kBytes; ++k) {
      const int inside = Swizzle<kBits, 4, 3>{}(mn % 8 * kSpan + k % kElements * kBytes);
      ASSERT_EQ(tile(mn, k) * kBytes, inside + mn / 8 * 8 * kSpan + k / kElements * 128 * kSpan) << mn << ',' << k;
    }
  }
  // What a matrix descriptor is told: the stride between 8-row groups, +64 rows, the start of the second K instruction.
  EXPECT_EQ((tile(8, 0) - tile(0, 0)) * kBytes, 8 * kSpan);
  EXPECT_EQ((tile(64, 0) - tile(0, 0)) * kBytes, 64 * kSpan);
  EXPECT_EQ(tile(0, 32 / kBytes) * kBytes, kSpan == 32 ? 4096 : 32);
}
TEST(CanonicalLayout, KMajorTilesAreWhatTheDescriptorSays) {
  expect_canonical_k_major<3, 1>();  // e4m3, 128-byte swizzle
  expect_canonical_k_major<3, 2>();  // bf16
  expect_canonical_k_major<3, 4>();  // tf32
  expect_canonical_k_major<2, 2>();
  expect_canonical_k_major<1, 2>();
}

TEST(CanonicalLayout,
     MNMajorWith128ByteSwizzle) {  // bf16, atom 64 (mn) x 8 (k): per K16 instruction 2048 bytes, next 64 rows 8192
  using Atom = Layout<Shape<_64, _8>, Stride<_1, _64>>;
  constexpr auto tile =
      tile_to_shape(composition(upcast<2>(Swizzle<3, 4, 3>{}), Atom{}), Shape<_128, _64>{}, Step<_1, _0>{});
  for (int mn = 0; mn < 128; ++mn)
    for (int k = 0; k < 64; ++k)
      ASSERT_EQ(tile(mn, k) * 2, (Swizzle<3, 4, 3>{}(k % 8 * 128 + mn % 64 * 2) + mn / 64 * 8192 + k / 8 * 1024));
  EXPECT_EQ(tile(0, 16) * 2, 2048);
}

TEST(Tensor, PointerTensorsReadAndWrite) {
  std::vector<int> data(12);
  std::iota(data.begin(), data.end(), 0);
  const auto t = make_tensor(data.data(), Shape<_3, _4>{}, Stride<_4, _1>{});
  EXPECT_EQ(t(2, 1), 9);
  EXPECT_EQ(t(1, _)(3), 7);
  EXPECT_EQ(t(_, 2)(2), 10);
  t(1, 1) = 100;
  EXPECT_EQ(data[5], 100);
  static_assert(sizeof(t) == sizeof(int*));
  EXPECT_EQ((group_modes<0, 2>(t)(4)), 100);  // element 4 of the 3 x 4 matrix, rows fastest, is (1, 1)
  EXPECT_EQ(domain_offset(make_coord(1, 1), t)(0, 0), 100);
}

TEST(Tensor, SharedStagesKeepTheSwizzleThroughSlices) {
  using Atom = Layout<Shape<_8, _128>, Stride<_128, _1>>;
  const auto sA =
      make_tensor(SharedAddress{0x400}, tile_to_shape(composition(Swizzle<3, 4, 3>{}, Atom{}), Shape<_64, _128, _4>{}));
  static_assert(sizeof(sA) == sizeof(SharedAddress));
  for (int stage = 0; stage < 4; ++stage) {
    const auto s = sA(_, _, stage);
    EXPECT_EQ(s.origin(), SharedAddress{static_cast<u32>(0x400 + stage * 8192)});
    for (int row = 0; row < 64; ++row) {
      const auto line = s(row, _);
      for (int k = 0; k < 128; ++k) {
        const u32 expected = 0x400 + static_cast<u32>(Swizzle<3, 4, 3>{}(stage * 8192 + row * 128 + k));
        ASSERT_EQ(s(row, k).bytes, expected);
        ASSERT_EQ(line(k).bytes, expected);
        ASSERT_EQ(local_tile(s, Shape<_8, _32>{}, make_coord(row / 8, k / 32))(row % 8, k % 32).bytes, expected);
      }
    }
  }
}

TEST(Tensor, LocalTilesOfARunTimeMatrix) {
  const int m = 300, k = 200;
  std::vector<int> data(static_cast<std::size_t>(m * k));
  std::iota(data.begin(), data.end(), 0);
  const auto gA = make_tensor(data.data(), make_shape(m, k), make_stride(k, _1{}));
  const auto row = local_tile(gA, Shape<_128, _64>{}, make_coord(1, _));
  static_assert(rank_v<decltype(row)> == 3);
  EXPECT_EQ(size<2>(row), 4);
  EXPECT_EQ(row(5, 6, 2), (128 + 5) * k + 2 * 64 + 6);
  const auto same_row = local_tile(gA, Shape<_128, _256, _64>{}, make_coord(1, 7, _), Step<_1, X, _1>{});
  EXPECT_EQ(same_row(5, 6, 2), row(5, 6, 2));
  EXPECT_EQ(local_tile(gA, Shape<_128, _64>{}, make_coord(1, 2))(5, 6), row(5, 6, 2));
  const auto run_time = local_tile(gA, make_shape(100, 50), make_coord(2, 3));
  EXPECT_EQ(run_time(7, 8), (200 + 7) * k + 150 + 8);
}

TEST(Coordinates, TilesOfACoordinateTensorNameTheBoxForTma) {
  const auto mA =
      make_coord_tensor(make_layout(make_shape(1000, 300), make_stride(E<1>{}, E<0>{})));  // innermost first: (k, m)
  const auto gA = local_tile(mA, Shape<_128, _64>{}, make_coord(3, _));                    // (128, 64, k tiles)
  for (int tile = 0; tile < 5; ++tile) {
    EXPECT_TRUE(*gA(_, _, tile).data() == make_arith_tuple(64 * tile, 384));
    EXPECT_TRUE(gA(5, 7, tile) == make_arith_tuple(64 * tile + 7, 389));
  }
  static_assert(is_same_v<decltype(get<0>(gA.layout())), Layout<_128, E<1>>>);
  static_assert(is_same_v<decltype(get<2>(gA.layout()).stride()), ScaledBasis<_64, 0>>);
}

TEST(Coordinates, IdentityTensorReturnsItsCoordinate) {
  const auto id = make_identity_tensor(make_shape(make_shape(_4{}, 3), 5));
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j < 5; ++j) EXPECT_TRUE(id(i, j) == make_arith_tuple(i, j));
  EXPECT_TRUE(id(make_coord(2, 1), 3) == make_arith_tuple(6, 3));
  const auto tile = local_tile(make_identity_tensor(make_shape(100, 100)), Shape<_16, _8>{}, make_coord(2, 3));
  EXPECT_TRUE(tile(1, 2) == make_arith_tuple(33, 26));
}

}  // namespace
}  // namespace ww
