// SPDX-License-Identifier: Apache-2.0
// The layout language: what it prints, that it agrees with the types of core/, and that no input makes it do anything
// but answer or refuse with a position.
#include <gtest/gtest.h>

#include <random>

#include "layout/dynamic.hpp"
#include "layout/text.hpp"
#include "warpwright/layout/swizzle.hpp"

namespace ww {
namespace {

std::string first_line(std::string_view expression) {
  const auto result = evaluate_layout(expression);
  return result ? result->substr(0, result->find('\n')) : result.error().message;
}

// The text of a core layout: the same printer, fed from types.
template <class S, class D> layout::DynamicLayout dynamic(const S& shape, const D& stride) {
  if constexpr (is_tuple_v<S>) {
    layout::DynamicLayout layout = layout::DynamicLayout::of(std::vector<layout::DynamicLayout>{});
    [&]<int... I>(index_sequence<I...>) { (layout.modes.push_back(dynamic(get<I>(shape), get<I>(stride))), ...); }
    (make_index_sequence<rank_v<S>>{});
    return layout;
  } else {
    return layout::DynamicLayout::of(shape, stride);
  }
}
template <LayoutType L> std::string text(const L& layout) {
  return layout::to_text(dynamic(layout.shape(), layout.stride()));
}

TEST(LayoutText, PrintsALayoutAndItsTable) {
  EXPECT_EQ(evaluate_layout("(4,(2,2)):(2,(1,8))").value(),
            "(4,(2,2)):(2,(1,8))\n"
            "size 16, cosize 16\n"
            "  |  0  1  2  3\n"
            "--+------------\n"
            "0 |  0  1  8  9\n"
            "1 |  2  3 10 11\n"
            "2 |  4  5 12 13\n"
            "3 |  6  7 14 15\n");
  EXPECT_EQ(evaluate_layout("coalesce((2,4))").value(),
            "8:1\nsize 8, cosize 8\n"
            "  | 0 1 2 3 4 5 6 7\n--+----------------\n0 | 0 1 2 3 4 5 6 7\n");
  EXPECT_EQ(evaluate_layout("(2,2,2)").value(), "(2,2,2):(1,2,4)\nsize 8, cosize 8\n");
}

TEST(LayoutText, AgreesWithTheTypes) {
  constexpr Layout<Shape<Int<9>, Shape<_4, _8>>, Stride<Int<59>, Stride<Int<13>, _1>>> a;
  constexpr Tile<Layout<_3, _3>, Layout<Shape<_2, _4>, Stride<_1, _8>>> tiler;
  const std::string arguments = "((9,(4,8)):(59,(13,1)), (3:3, (2,4):(1,8)))";
  EXPECT_EQ(first_line("logical_divide" + arguments), text(logical_divide(a, tiler)));
  EXPECT_EQ(first_line("zipped_divide" + arguments), text(zipped_divide(a, tiler)));
  EXPECT_EQ(first_line("tiled_divide" + arguments), text(tiled_divide(a, tiler)));
  EXPECT_EQ(first_line("flat_divide" + arguments), text(flat_divide(a, tiler)));
  constexpr Layout<Shape<_2, Int<5>>, Stride<Int<5>, _1>> block;
  constexpr Layout<Shape<_3, _4>, Stride<_1, _3>> copies;
  EXPECT_EQ(first_line("blocked_product((2,5):(5,1), (3,4):(1,3))"), text(blocked_product(block, copies)));
  EXPECT_EQ(first_line("raked_product((2,5):(5,1), (3,4):(1,3))"), text(raked_product(block, copies)));
  EXPECT_EQ(first_line("logical_product((2,5):(5,1), (3,4):(1,3))"), text(logical_product(block, copies)));
  EXPECT_EQ(first_line("zipped_product((2,4), (3,2))"),
            text(zipped_product(make_layout(Shape<_2, _4>{}), Tile<_3, _2>{})));
  EXPECT_EQ(first_line("tiled_product((2,4), (3,2))"),
            text(tiled_product(make_layout(Shape<_2, _4>{}), Tile<_3, _2>{})));
  EXPECT_EQ(first_line("compose((6,2):(8,2), (4,3):(3,1))"),
            text(composition(Layout<Shape<Int<6>, _2>, Stride<_8, _2>>{}, Layout<Shape<_4, _3>, Stride<_3, _1>>{})));
  EXPECT_EQ(first_line("tiled_divide((_4,_4,_1), (2))"),
            text(tiled_divide(make_layout(Shape<_4, _4, _1>{}), Tile<_2>{})));
  EXPECT_EQ(first_line("complement((2,2):(1,6), 24)"), "(3,2):(2,12)");
  EXPECT_EQ(first_line("left_inverse((8,4):(1,9))"), "(9,4):(1,8)");
  EXPECT_EQ(first_line("right_inverse((4,8):(8,1))"), "(8,4):(4,1)");
  EXPECT_EQ(first_line("complement(4:2)"), "2:1");
}

TEST(LayoutText, TilersOfTilersZipTheModesThatTheyDivide) {
  EXPECT_EQ(first_line("zipped_divide((8,6), (2,(3)))"), "((2,(3)),(4,(2))):((1,(8)),(2,(24)))");
  EXPECT_EQ(first_line("flat_divide((8,6), (2,(3)))"), "(2,(3),4,(2)):(1,(8),2,(24))");
  EXPECT_EQ(first_line("tiled_divide((8,6), ((2)))"), "(((2)),(4),6):(((1)),(2),8)");
  EXPECT_EQ(first_line("zipped_product((2,4), (3,(2)))"), "((2,(4)),(3,(2))):((1,(2)),(2,(1)))");
  EXPECT_EQ(first_line("zipped_divide(((4,8),6), ((2,4),3))"), "(((2,4),3),((2,2),2)):(((1,4),32),((2,16),96))");
  EXPECT_EQ(first_line("zipped_divide((8,6), (2,(3,2)))"),
            "invalid: argument expression: expected a tiler of at most 1 modes, got 2; at position 0");
}

TEST(LayoutText, ProductsOfOneModeKeepEveryCopy) {
  EXPECT_EQ(first_line("blocked_product(2:2, 4:1)"), "((2,(2,2))):((2,(1,4)))");
  EXPECT_EQ(first_line("size(raked_product(2:2, 4:1))"), "8");
}

TEST(LayoutText, AppliesSlicesAndSwizzles) {
  EXPECT_EQ(first_line("(4,(2,2)):(2,(1,8))(1,(0,1))"), "10");
  EXPECT_EQ(first_line("(4,8)(31)"), "31");
  EXPECT_EQ(first_line("slice((_,2), (4,8))"), "8 o (4):(1)");
  EXPECT_EQ(first_line("(4,8)(_,2)"), "8 o (4):(1)");
  EXPECT_EQ(first_line("size((4,8))"), "32");
  EXPECT_EQ(first_line("cosize((4,8):(9,1))"), "35");
  EXPECT_EQ(first_line("swizzle(3,4,3, (8,128):(128,1))"), "Sw<3,4,3> o 0 o (8,128):(128,1)");
  EXPECT_EQ(first_line("zipped_divide(swizzle(3,4,3, (8,128):(128,1)), (8,32))"),
            "Sw<3,4,3> o 0 o ((8,32),(1,4)):((128,1),(0,32))");
  constexpr auto core = composition(Swizzle<3, 4, 3>{}, Layout<Shape<_8, _128>, Stride<_128, _1>>{});
  for (const int row : {0, 3, 7})
    for (const int k : {0, 17, 100}) {
      const auto coord = "(" + std::to_string(row) + "," + std::to_string(k) + ")";
      EXPECT_EQ(first_line("swizzle(3,4,3, (8,128):(128,1))" + coord), std::to_string(core(row, k)));
      EXPECT_EQ(first_line("slice((" + std::to_string(row) + ",_), swizzle(3,4,3, (8,128):(128,1)))(" +
                           std::to_string(k) + ")"),
                std::to_string(core(row, k)));
    }
}

TEST(LayoutText, ErrorsNamePositionExpectedAndActual) {
  const auto expect = [](std::string_view expression, std::string_view position, std::string_view expected,
                         std::string_view actual) {
    const auto result = evaluate_layout(expression);
    ASSERT_FALSE(result) << expression;
    EXPECT_EQ(result.error().code, ErrorCode::invalid);
    EXPECT_EQ(result.error().argument, "expression");
    EXPECT_EQ(result.error().expected, expected) << expression;
    EXPECT_EQ(result.error().actual, actual) << expression;
    EXPECT_NE(result.error().message.find("at position " + std::string(position)), std::string::npos)
        << result.error().message;
  };
  expect("(4,8", "4", "',' or ')'", "the end of the expression");
  expect("(4,8):(1,(4,2))", "9", "strides that match the shape 8", "(4,2)");
  expect("(4,0)", "0", "extents of at least 1", "0");
  expect("(4,8) 5", "6", "the end of the expression", "'5'");
  expect("(4,8)(4,8)", "6", "a coordinate from 0 to 3", "4");
  expect("(4,8)(1,2,3)", "5", "an integer or a coordinate of 2 members", "(1,2,3)");
  expect("coalesce((4,8),3)", "0", "coalesce with 1 arguments", "2");
  expect("composition((6,2):(1,7), 4:4)", "0", "layouts that compose", "steps that do not divide the modes evenly");
  expect("left_inverse((2,2):(1,1))", "0", "distinct offsets whose strides divide one another", "(2,2):(1,1)");
  expect("4:99999999999999999999", "2", "an integer of at most 1099511627776", "more");
  expect("swizzle(3,4,2,(8,8))", "12", "a shift S of at least B", "2");
}

TEST(LayoutText, HostileInputGetsAnAnswerOrAnError) {
  const std::string pieces[] = {"(",
                                ")",
                                ",",
                                ":",
                                "_",
                                "1",
                                "2",
                                "4",
                                "(4,8)",
                                "(2,2):(1,4)",
                                "(2,(4))",
                                "((2),(2,(2)))",
                                "1099511627776",
                                "0",
                                "-",
                                "7:3",
                                "\xff",
                                " ",
                                "complement(",
                                "composition(",
                                "logical_divide(",
                                "blocked_product(",
                                "left_inverse(",
                                "slice(",
                                "swizzle(3,4,3,",
                                "raked_product(",
                                "zipped_product(",
                                "zipped_divide(",
                                "tiled_divide(",
                                "flat_divide(",
                                "size(",
                                "coalesce(",
                                "logical_product("};
  std::mt19937 random(20250719);
  int answered = 0;
  for (int i = 0; i < 60000; ++i) {
    std::string expression;
    for (unsigned n = 1 + random() % 9; n > 0; --n) expression += pieces[random() % std::size(pieces)];
    for (auto open = std::count(expression.begin(), expression.end(), '('),
              closed = std::count(expression.begin(), expression.end(), ')');
         open > closed; ++closed)
      expression += ')';
    const auto result = evaluate_layout(expression);
    answered += result.has_value();
    if (result) {
      EXPECT_LT(result->size(), 64000u) << expression;
    } else {
      EXPECT_EQ(result.error().code, ErrorCode::invalid) << expression;
    }
  }
  EXPECT_GT(answered, 500);
  for (const auto& expression :
       {std::string(4096, '('), std::string(100000, '('),
        std::string("blocked_product((1048576,1048576),(1048576,1048576))"),
        std::string("composition((2,524288):(1099511627775,1), 1048576:1048576)"),
        std::string("complement((1048576,1048576):(1048576,1), 1099511627776)"),
        std::string("logical_product((1099511627776):(1), (1048576))"), std::string("()"), std::string("()(0)"),
        std::string("composition((), 4)"), std::string("zipped_divide((), ())"), std::string("size(())")}) {
    const auto result = evaluate_layout(expression);
    if (!result) {
      EXPECT_EQ(result.error().code, ErrorCode::invalid) << expression.substr(0, 80);
    }
  }
}

}  // namespace
}  // namespace ww
