// SPDX-License-Identifier: Apache-2.0
// Layouts as types: arithmetic folds, results of the algebra are the types one writes by hand, mixed integers work.
// Values come from the CuTe documentation's examples and from counting; every small layout is in brute_force_test.
#include <gtest/gtest.h>

#include "warpwright/layout/divide.hpp"

namespace ww {
namespace {

template <class A, class B> constexpr bool same(const A&, const B&) { return is_same_v<A, B>; }
template <class S, class D> using L = Layout<S, D>;

TEST(Int, ArithmeticOfConstantsIsAConstant) {
  static_assert(same(_4{} * _8{} + _1{} - _2{}, Int<31>{}));
  static_assert(same(-_4{} / _2{}, Int<-2>{}) && same(Int<13>{} % _4{}, _1{}) && same(_1{} << _4{}, _16{}));
  static_assert(same(ceil_div(Int<9>{}, _4{}), _3{}) && same(min(_4{}, _8{}), _4{}) && same(max(_4{}, _8{}), _8{}));
  static_assert(_4{} == 4 && _4{} < _8{});
}

TEST(Int, ZeroAndOneDecideAgainstRunTimeNumbers) {
  const int n = 5;
  static_assert(same(_0{} * 5, _0{}) && same(5 * _0{}, _0{}) && same(_0{} / 5, _0{}) && same(_0{} % 5, _0{}) &&
                same(5 % _1{}, _0{}));
  static_assert(same(_0{} + i64{5}, i64{5}) && same(_1{} * u32{5}, u32{5}) && same(u8{5} / _1{}, u8{5}));
  EXPECT_EQ(_4{} * n + _3{}, 23);
  EXPECT_EQ(_4{} * i64{1} << 40, i64{1} << 42);
}

TEST(Tuple, StaticTuplesAreEmptyAndOthersHoldOnlyWhatTheyMust) {
  static_assert(__is_empty(Shape<_4, Shape<_2, _2>>) && __is_empty(L<Shape<_4, _8>, Stride<_8, _1>>));
  static_assert(sizeof(Tuple<_4, int, Tuple<_1, i64>>) == 16);
  static_assert(sizeof(L<Shape<int, _8>, Stride<_8, _1>>) == 4);
}

TEST(Tuple, WalksAndRearranges) {
  const auto t = make_tuple(1, make_tuple(2, make_tuple(_3{}, 4)), 5);
  EXPECT_EQ((get<1, 1, 0>(t)), 3);
  EXPECT_TRUE(flatten(t) == make_tuple(1, 2, 3, 4, 5));
  EXPECT_TRUE(concat(make_tuple(1), make_tuple(), make_tuple(2, 3)) == make_tuple(1, 2, 3));
  EXPECT_TRUE((select<2, 0>(t) == make_tuple(5, 1)));
  EXPECT_TRUE((group<0, 2>(make_tuple(1, 2, 3)) == make_tuple(make_tuple(1, 2), 3)));
  EXPECT_TRUE(append<3>(make_tuple(1), 7) == make_tuple(1, 7, 7));
  EXPECT_TRUE(transform(make_tuple(1, _2{}), [](auto x) { return x * _2{}; }) == make_tuple(2, 4));
  EXPECT_EQ(fold(make_tuple(1, 2, 3), 0, [](auto a, auto b) { return 10 * a + b; }), 123);
  EXPECT_EQ(unwrap(make_tuple(make_tuple(7))), 7);
  EXPECT_FALSE(make_tuple(1, 2) == make_tuple(1, 2, 3));
  static_assert(rank_v<decltype(t)> == 3 && depth_v<decltype(t)> == 3 && depth_v<int> == 0 && rank_v<int> == 1);
}

TEST(Layout, NestedExample) {
  constexpr L<Shape<_4, Shape<_2, _2>>, Stride<_2, Stride<_1, _8>>> layout;
  static_assert(same(layout(_1{}, make_coord(_0{}, _1{})), Int<10>{}));
  static_assert(same(size(layout), _16{}) && same(cosize(layout), _16{}) && same(size<1>(layout), _4{}));
  const int row0[] = {0, 1, 8, 9};
  for (int j = 0; j < 4; ++j) EXPECT_EQ(layout(0, j), row0[j]);
  EXPECT_EQ(layout(7), 3 * 2 + 1);
  static_assert(rank_v<decltype(layout)> == 2 && depth_v<decltype(layout)> == 2);
}

TEST(Layout, MakesDenseAndOrdered) {
  static_assert(same(make_layout(Shape<_4, Shape<_2, _8>>{}).stride(), Stride<_1, Stride<_4, _8>>{}));
  static_assert(same(make_ordered_layout(Shape<_4, _8, _2>{}, Step<_2, _0, _1>{}).stride(), Stride<_16, _1, _8>{}));
  const auto mixed = make_layout(make_shape(5, _4{}));
  static_assert(is_same_v<decltype(mixed.stride()), Stride<_1, int>>);
  EXPECT_EQ(mixed(3, 2), 13);
}

TEST(Layout, SlicesGroupsAndSelects) {
  constexpr L<Shape<_4, Shape<_2, _8>>, Stride<_16, Stride<_1, _2>>> layout;
  static_assert(same(layout(_2{}, _), L<Shape<Shape<_2, _8>>, Stride<Stride<_1, _2>>>{}));
  static_assert(same(layout(_, make_coord(1, _)), L<Shape<_4, _8>, Stride<_16, _2>>{}));
  static_assert(same(group_modes<0, 2>(make_layout(Shape<_2, _3, _4>{})),
                     L<Shape<Shape<_2, _3>, _4>, Stride<Stride<_1, _2>, Int<6>>>{}));
  static_assert(same(select<1, 0>(layout).stride(), Stride<Stride<_1, _2>, _16>{}));
  static_assert(same(get<1>(layout), L<Shape<_2, _8>, Stride<_1, _2>>{}));
}

TEST(Algebra, ResultsAreTheTypesOneWritesByHand) {
  static_assert(same(coalesce(L<Shape<_2, Shape<_1, Int<6>>>, Stride<_1, Stride<Int<6>, _2>>>{}), L<Int<12>, _1>{}));
  static_assert(same(composition(L<Shape<Int<6>, _2>, Stride<_8, _2>>{}, L<Shape<_4, _3>, Stride<_3, _1>>{}),
                     L<Shape<Shape<_2, _2>, _3>, Stride<Stride<Int<24>, _2>, _8>>{}));
  static_assert(same(complement(L<_4, _2>{}, Int<24>{}), L<Shape<_2, _3>, Stride<_1, _8>>{}));
  static_assert(
      same(complement(L<Shape<_2, _2>, Stride<_1, Int<6>>>{}, Int<24>{}), L<Shape<_3, _2>, Stride<_2, Int<12>>>{}));
  static_assert(same(right_inverse(L<Shape<_4, _8>, Stride<_8, _1>>{}), L<Shape<_8, _4>, Stride<_4, _1>>{}));
  static_assert(same(left_inverse(L<Shape<_8, _4>, Stride<_1, Int<9>>>{}), L<Shape<Int<9>, _4>, Stride<_1, _8>>{}));
}

TEST(Divide, DocumentedExamples) {
  constexpr L<Shape<Int<9>, Shape<_4, _8>>, Stride<Int<59>, Stride<Int<13>, _1>>> layout;
  constexpr Tile<L<_3, _3>, L<Shape<_2, _4>, Stride<_1, _8>>> tiler;
  using Expected = L<Shape<Shape<_3, _3>, Shape<Shape<_2, _4>, Shape<_2, _2>>>,
                     Stride<Stride<Int<177>, Int<59>>, Stride<Stride<Int<13>, _2>, Stride<Int<26>, _1>>>>;
  static_assert(same(logical_divide(layout, tiler), Expected{}));
  static_assert(
      same(zipped_divide(layout, tiler).shape(), Shape<Shape<_3, Shape<_2, _4>>, Shape<_3, Shape<_2, _2>>>{}));
  static_assert(same(tiled_divide(layout, tiler).shape(), Shape<Shape<_3, Shape<_2, _4>>, _3, Shape<_2, _2>>{}));
  static_assert(same(flat_divide(layout, tiler).shape(), Shape<_3, Shape<_2, _4>, _3, Shape<_2, _2>>{}));
}

TEST(Product, DocumentedExamples) {
  constexpr L<Shape<_2, Int<5>>, Stride<Int<5>, _1>> block;
  constexpr L<Shape<_3, _4>, Stride<_1, _3>> tiler;
  static_assert(
      same(blocked_product(block, tiler),
           L<Shape<Shape<_2, _3>, Shape<Int<5>, _4>>, Stride<Stride<Int<5>, Int<10>>, Stride<_1, Int<30>>>>{}));
  static_assert(
      same(raked_product(block, tiler),
           L<Shape<Shape<_3, _2>, Shape<_4, Int<5>>>, Stride<Stride<Int<10>, Int<5>>, Stride<Int<30>, _1>>>{}));
  static_assert(same(logical_product(L<Shape<_2, _2>, Stride<_4, _1>>{}, L<Int<6>, _1>{}),
                     L<Shape<Shape<_2, _2>, Shape<_2, _3>>, Stride<Stride<_4, _1>, Stride<_2, _8>>>{}));
  static_assert(same(zipped_product(make_layout(Shape<_2, _4>{}), Tile<_3, _2>{}).shape(),
                     Shape<Shape<_2, _4>, Shape<_3, _2>>{}));
}

TEST(Divide, RunTimeMatricesInTilesOfConstants) {
  const int m = 1000, k = 300;
  const auto gmem = make_layout(make_shape(m, k), make_stride(i64{512}, _1{}));
  const auto tiles = zipped_divide(gmem, Tile<_128, _64>{});
  static_assert(is_same_v<decltype(get<0>(tiles).shape()), Shape<_128, _64>>);
  EXPECT_EQ(size<1>(tiles), 8 * 5);
  EXPECT_EQ(tiles(make_coord(5, 6), make_coord(7, 4)), i64{512} * (7 * 128 + 5) + 4 * 64 + 6);
}

TEST(Divide, TileToShapeRepeatsAnAtomInTheOrderAsked) {
  constexpr L<Shape<_8, _64>, Stride<_64, _1>> atom;
  static_assert(same(tile_to_shape(atom, Shape<_128, _128>{}),
                     L<Shape<_128, Shape<_64, _2>>, Stride<_64, Stride<_1, Int<8192>>>>{}));
  static_assert(same(tile_to_shape(atom, Shape<_128, _128>{}, Step<_1, _0>{}),
                     L<Shape<Shape<_8, _16>, Shape<_64, _2>>, Stride<Stride<_64, Int<1024>>, Stride<_1, Int<512>>>>{}));
}

}  // namespace
}  // namespace ww
