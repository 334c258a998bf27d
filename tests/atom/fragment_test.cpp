// SPDX-License-Identifier: Apache-2.0
// Which element of a tile each value of a fragment is: Hopper's accumulator, the same transposed, and the forms in
// which a Blackwell kernel reads accumulators from tensor memory.
#include "warpwright/atom/fragment.hpp"

#include <gtest/gtest.h>

#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "emu/sm100/places.hpp"
#include "warpwright/atom/layouts.hpp"
#include "warpwright/atom/sm90_accumulator.hpp"
#include "warpwright/atom/tensor_accumulator.hpp"
#include "warpwright/mainloop/sm100/accumulator_reads.hpp"

namespace ww::atom {
namespace {

/// Checks that 128 threads hold every element of the tile once, that the loops agree with row() and column(), and that
/// value() is the inverse of line_of() and pair_of().
template <class F> void expect_every_element_once() {
  using L = typename F::Layout;
  std::set<std::pair<int, int>> seen;
  for (int thread = 0; thread < 128; ++thread) {
    F fragment;
    for (int v = 0; v < F::kValues; ++v) {
      EXPECT_EQ(L::value(L::line_of(v), L::pair_of(v)) + v % 2, v);
      fragment[v] = static_cast<float>(v);
      EXPECT_TRUE(seen.insert({F::row(thread, v), F::column(thread, v)}).second) << thread << ", " << v;
    }
    std::vector<std::tuple<int, int, float>> elements, of_pairs, of_lines;
    const auto line_start = [](int line) { return L::line_offset(line); };
    const auto add = [](auto& list, int line, int along, float x) {
      if (F::kPairsAlongM) list.emplace_back(along, line, x);
      else list.emplace_back(line, along, x);
    };
    for_each_element(fragment, [&](int row, int column, float& x) { elements.emplace_back(row, column, x); });
    for_each_pair<F::kPairs>(fragment, 0, [&](int line, int pair, float& x, float& y) {
      add(of_pairs, line_start(line), L::pair_offset(pair), x);
      add(of_pairs, line_start(line), L::pair_offset(pair) + 1, y);
    });
    for (int line = 0; line < F::kLines; ++line)
      for_each_of_line<F::kPairs>(fragment, line, 0,
                                  [&](int along, float& x) { add(of_lines, line_start(line), along, x); });
    for (int v = 0; v < F::kValues; ++v)
      EXPECT_EQ(elements[v], std::tuple(F::row(thread, v) - F::first_row(thread),
                                        F::column(thread, v) - F::first_column(thread), static_cast<float>(v)));
    for (auto* list : {&of_pairs, &of_lines}) {
      EXPECT_EQ(std::set(list->begin(), list->end()), std::set(elements.begin(), elements.end()));
      EXPECT_EQ(list->size(), elements.size());
    }
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(F::kRows) * F::kColumns);
  EXPECT_LE(seen.rbegin()->first, F::kRows - 1);
  for (const auto& [row, column] : seen) EXPECT_TRUE(row >= 0 && column >= 0 && column < F::kColumns);
}

TEST(Fragment, EveryLayoutHoldsEveryElementOnce) {
  expect_every_element_once<Fragment<Sm90Accumulator<8>>>();
  expect_every_element_once<Fragment<Sm90Accumulator<152>>>();
  expect_every_element_once<Fragment<Transposed<Sm90Accumulator<8>>>>();
  expect_every_element_once<Fragment<Transposed<Sm90Accumulator<40>>>>();
  expect_every_element_once<Fragment<TensorRows<32>>>();      // M = 128, or 256 of a pair
  expect_every_element_once<Fragment<TensorHalfRows<64>>>();  // M = 128 of a pair
  expect_every_element_once<Fragment<TensorMatrices<64>>>();  // M = 64
  expect_every_element_once<Fragment<TensorBlock<40, 64>>>();
  expect_every_element_once<Fragment<Transposed<TensorRows<16>>>>();
  expect_every_element_once<Fragment<Transposed<TensorHalfRows<32>>>>();
}

template <int kN> void expect_accumulator() {
  using F = Fragment<Sm90Accumulator<kN>>;
  using T = Fragment<Transposed<Sm90Accumulator<kN>>>;
  static_assert(F::kRows == 64 && F::kColumns == kN && T::kRows == kN && T::kColumns == 64);
  const AccumulatorLayout<kN> layout;
  for (int thread = 0; thread < 128; ++thread)
    for (int v = 0; v < kN / 2; ++v) {
      const int row = F::row(thread, v), column = F::column(thread, v);
      ASSERT_EQ(row + 64 * column, layout(make_coord(thread, v))) << thread << ", " << v;
      ASSERT_EQ(std::pair(T::row(thread, v), T::column(thread, v)), std::pair(column, row)) << thread << ", " << v;
    }
}

TEST(Fragment, AccumulatorsHoldRowsAndColumnsAsTheLayoutSays) {
  expect_accumulator<8>();
  expect_accumulator<24>();
  expect_accumulator<128>();
  expect_accumulator<256>();
}

/// Which lanes share a line: exactly kLineLanes neighbours, so that reductions need only their shuffles.
template <class L> void expect_lines_of_neighbours() {
  for (int thread = 0; thread < 128; ++thread)
    for (int other = thread / 32 * 32; other < thread / 32 * 32 + 32; ++other)
      EXPECT_EQ(L::first_line(thread) == L::first_line(other), thread / L::kLineLanes == other / L::kLineLanes)
          << thread << ", " << other;
  EXPECT_EQ(L::kWarpLines, 32 / L::kLineLanes * L::kLines);
}

TEST(Fragment, NeighbouringLanesShareALine) {
  expect_lines_of_neighbours<Sm90Accumulator<64>>();
  expect_lines_of_neighbours<TensorRows<32>>();
  expect_lines_of_neighbours<TensorMatrices<16>>();
  expect_lines_of_neighbours<TensorHalfRows<64>>();
  expect_lines_of_neighbours<TensorBlock<24, 64>>();
  expect_lines_of_neighbours<TensorBlock<24, 128>>();
}

/// Checks that consumer warpgroups, which load 16 lanes of each of their warps' quarters with tcgen05.ld.16x256b, get
/// the elements that their fragments name: every element of the accumulators once. `most` columns are loaded at a time.
template <int kN, int kM> void expect_places_of_accumulators(emu::sm100::MmaExtent extent, int most) {
  using F = Fragment<TensorBlock<kN, kM>>;
  std::set<std::pair<int, int>> seen;
  for (int warpgroup = 0; warpgroup < kM / 64; ++warpgroup)
    for (int first = 0, piece = 0; first < kN; first += piece) {
      piece = mainloop::piece_of(kN - first, most);
      const emu::sm100::TensorAccess load{arch::TensorShape::lanes16_bits256, piece / 8};
      ASSERT_TRUE(load.exists()) << piece;
      for (int thread = 0; thread < 128; ++thread)
        for (int v = 0; v < load.registers(); ++v) {
          const emu::sm100::Place place = emu::sm100::register_place(load, thread % 32, v);
          const int row = warpgroup * F::Layout::kBlockStep + F::row(thread, first / 2 + v),
                    column = F::column(thread, first / 2 + v);
          ASSERT_EQ(emu::sm100::accumulator_place(extent, row, column),
                    (emu::sm100::Place{32 * (thread / 32) + 16 * warpgroup + place.lane, first + place.column}))
              << "TensorBlock<" << kN << ", " << kM << ">: thread " << thread << ", value " << first / 2 + v;
          EXPECT_TRUE(seen.insert({row, column}).second);
        }
    }
  EXPECT_EQ(seen.size(), static_cast<size_t>(kM) * kN);
  EXPECT_EQ(*seen.rbegin(), (std::pair{kM - 1, kN - 1}));
}

template <int kN> void expect_places_of_accumulators() {
  for (const int most : {128, 32}) {  // as sums are copied, and as partial sums are promoted
    expect_places_of_accumulators<kN, 64>({arch::CtaGroup::one, 64, kN}, most);
    expect_places_of_accumulators<kN, 128>({arch::CtaGroup::one, 128, kN}, most);
    expect_places_of_accumulators<kN, 128>({arch::CtaGroup::pair, 256, kN}, most);
  }
}

TEST(Fragment, TensorBlocksAreWhereTheMmaPutsThem) {
  expect_places_of_accumulators<8>();
  expect_places_of_accumulators<24>();
  expect_places_of_accumulators<64>();
  expect_places_of_accumulators<152>();
  expect_places_of_accumulators<192>();
  expect_places_of_accumulators<256>();
}

/// The halves of a pair's tile in pieces: together they hold every element once.
TEST(Fragment, PiecesOfHalvesMakeTheTile) {
  using F = Fragment<TensorHalfRows<128, 16>>;
  std::set<std::pair<int, int>> seen;
  for (int piece = 0; piece < 4; ++piece)
    for (int thread = 0; thread < 128; ++thread)
      for (int v = 0; v < F::kValues; ++v)
        EXPECT_TRUE(seen.insert({F::row(thread, v), 16 * piece + F::column(thread, v)}).second);
  EXPECT_EQ(seen.size(), 64u * 128u);
  EXPECT_EQ(*seen.rbegin(), (std::pair{63, 127}));
}

}  // namespace
}  // namespace ww::atom
