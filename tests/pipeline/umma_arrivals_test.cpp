// SPDX-License-Identifier: Apache-2.0
// Masks and arrival counts of MMAs of one CTA and of pairs: against a model that asks of every CTA which rows its MMA
// reads and who loads them, for every cluster of up to 16 CTAs; against tests/data/umma_cases.json, whose masks a
// public implementation's host functions printed; and against published values.
#include "warpwright/pipeline/umma_arrivals.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "warpwright/pipeline/accumulator_pipeline.hpp"

namespace ww::pipeline {
namespace {

struct Cluster {
  ClusterShape shape;
  CtaGroup group;
  std::string text() const {
    return "cluster " + std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k) + ", " +
           std::to_string(arch::ctas_of(group)) + " CTAs an MMA";
  }
};

/// All clusters of up to 16 CTAs, also those whose extents are no powers of two.
std::vector<Cluster> all_clusters() {
  std::vector<Cluster> clusters;
  for (int m = 1; m <= 16; ++m)
    for (int n = 1; m * n <= 16; ++n)
      for (int k = 1; m * n * k <= 16; ++k)
        for (const CtaGroup group : {CtaGroup::one, CtaGroup::pair})
          if (holds_groups({m, n, k}, group)) clusters.push_back({{m, n, k}, group});
  return clusters;
}

/// The rows of one operand that a CTA's shared memory must hold: a name that CTAs with the same rows share.
using Rows = std::tuple<char, int, int, int>;
Rows rows_of_a(const Cluster& c, int rank) {
  const ClusterCoord at = coord_of(c.shape, rank);
  return {'A', at.z, at.x, 0};
}
Rows rows_of_b(const Cluster& c, int rank) {
  const ClusterCoord at = coord_of(c.shape, rank);
  const bool pair = c.group == CtaGroup::pair;
  return {'B', at.z, at.y, pair ? rank & 1 : 0};  // each CTA of a pair has one half of the columns of its tile
}

TEST(UmmaArrivals, LoadsReachTheCtasThatNeedTheirRows) {
  int pairs = 0;
  for (const Cluster& c : all_clusters()) {
    pairs += c.group == CtaGroup::pair;
    for (int rank = 0; rank < c.shape.size(); ++rank) {
      u32 a = 0, b = 0;
      for (int other = 0; other < c.shape.size(); ++other) {
        if (rows_of_a(c, other) == rows_of_a(c, rank)) a |= 1u << other;
        if (rows_of_b(c, other) == rows_of_b(c, rank)) b |= 1u << other;
      }
      EXPECT_EQ(mask_of_a(c.shape, rank), a) << c.text() << ", rank " << rank;
      EXPECT_EQ(mask_of_b(c.shape, c.group, rank), b) << c.text() << ", rank " << rank;
    }
  }
  EXPECT_GE(pairs, 30);
}

TEST(UmmaArrivals, AnMmaReleasesToEveryCtaWhoseLoadsItReads) {
  for (const Cluster& c : all_clusters()) {
    std::vector<int> heard(static_cast<std::size_t>(c.shape.size()));
    for (int leader = 0; leader < c.shape.size(); leader += arch::ctas_of(c.group)) {
      u32 readers = 0, loaders = 0;
      for (int cta = leader; cta < leader + arch::ctas_of(c.group); ++cta) readers |= 1u << cta;
      for (int cta = 0; cta < c.shape.size(); ++cta) {
        bool loads = false;
        for (int reader = 0; reader < c.shape.size(); ++reader)
          if (readers >> reader & 1)
            loads |= rows_of_a(c, cta) == rows_of_a(c, reader) || rows_of_b(c, cta) == rows_of_b(c, reader);
        loaders |= static_cast<u32>(loads) << cta;
        heard[static_cast<std::size_t>(cta)] += loads;
      }
      EXPECT_EQ(mask_of_group(c.group, leader), readers) << c.text();
      EXPECT_EQ(mask_of_release(c.shape, c.group, leader), loaders) << c.text() << ", leader " << leader;
      for (int cta = leader; cta < leader + arch::ctas_of(c.group); ++cta) {
        EXPECT_EQ(leader_of(c.group, cta), leader) << c.text();
        EXPECT_EQ(mask_of_group(c.group, cta), readers) << c.text();
      }
    }
    for (int cta = 0; cta < c.shape.size(); ++cta)
      EXPECT_EQ(heard[static_cast<std::size_t>(cta)], umma_empty_arrivals(c.shape, c.group))
          << c.text() << ", CTA " << cta;
  }
}

TEST(UmmaArrivals, PairsNeedAnEvenExtentAlongM) {
  EXPECT_FALSE(holds_groups({3, 2}, CtaGroup::pair));
  EXPECT_FALSE(holds_groups({1, 2}, CtaGroup::pair));
  EXPECT_TRUE(holds_groups({2, 1}, CtaGroup::pair));
  EXPECT_TRUE(holds_groups({3, 5}, CtaGroup::one));
}

TEST(UmmaArrivals, ValuesOfTheArticle) {
  constexpr ClusterShape shape{4, 4};
  EXPECT_EQ(mask_of_a(shape, 0), 0x1111);
  EXPECT_EQ(mask_of_b(shape, CtaGroup::one, 0), 0x000F);
  EXPECT_EQ(mask_of_release(shape, CtaGroup::one, 0), 0x111F);
  constexpr int kOneTwo = 1 + 2 * shape.m;  // CTA (1, 2)
  EXPECT_EQ(mask_of_a(shape, kOneTwo), 0x2222);
  EXPECT_EQ(mask_of_b(shape, CtaGroup::one, kOneTwo), 0x0F00);
  EXPECT_EQ(mask_of_release(shape, CtaGroup::one, kOneTwo), 0x2F22);
  EXPECT_EQ(umma_empty_arrivals(shape, CtaGroup::one), 7);
  EXPECT_EQ(mask_of_b(shape, CtaGroup::pair, 0), 0x0005);
  EXPECT_EQ(mask_of_release(shape, CtaGroup::pair, 0), 0x333F);
  EXPECT_EQ(umma_empty_arrivals(shape, CtaGroup::pair), 5);
  EXPECT_EQ(mask_of_group(CtaGroup::pair, 7), 0x00C0);
}

TEST(UmmaArrivals, MasksOfThePublishedImplementation) {
  std::ifstream file(WW_UMMA_CASES);
  const nlohmann::json all = nlohmann::json::parse(file);
  const auto number = [](const nlohmann::json& text) {
    return std::strtoul(text.get<std::string>().c_str(), nullptr, 16);
  };
  int checked = 0;
  for (const auto& test : all["multicast_masks"]) {
    const ClusterShape shape{test["cluster"][0], test["cluster"][1]};
    const CtaGroup group = test["cta_group"] == 2 ? CtaGroup::pair : CtaGroup::one;
    const int rank = test["rank"], size = arch::ctas_of(group);
    const ClusterCoord at = coord_of(shape, rank);
    EXPECT_EQ(at.x % size, test["vmn"][0].get<int>()) << test;
    EXPECT_EQ(at.x / size, test["vmn"][1].get<int>()) << test;
    EXPECT_EQ(at.y, test["vmn"][2].get<int>()) << test;
    EXPECT_EQ(mask_of_a(shape, rank), number(test["tma_a"])) << test;
    EXPECT_EQ(mask_of_b(shape, group, rank), number(test["tma_b"])) << test;
    EXPECT_EQ(mask_of_release(shape, group, rank), number(test["release"])) << test;
    EXPECT_EQ(umma_empty_arrivals(shape, group), test["empty_count"].get<int>()) << test;
    ++checked;
  }
  EXPECT_EQ(checked, 97);
}

TEST(UmmaArrivals, APairsBarriersHearBothCtas) {
  EXPECT_EQ(umma_full_arrivals(CtaGroup::one, 0), 1);
  EXPECT_EQ(umma_full_arrivals(CtaGroup::pair, 0), 1) << "only the leader announces";
  EXPECT_EQ(umma_full_arrivals(CtaGroup::pair, 4), 9);
  EXPECT_EQ(umma_full_bytes(CtaGroup::one, 32768), 32768u);
  EXPECT_EQ(umma_full_bytes(CtaGroup::pair, 32768), 65536u) << "twice, whatever the cluster's size";
  EXPECT_EQ(accumulator_empty_arrivals(CtaGroup::one, 4), 4);
  EXPECT_EQ(accumulator_empty_arrivals(CtaGroup::pair, 4), 8);
}

// --- accumulators in tensor memory -----------------------------------------------------------------------------------
std::set<int> columns_from(int first, int count) {
  std::set<int> columns;
  for (int column = first; column < first + count; ++column) columns.insert(column);
  return columns;
}

/// Plays tiles through the accumulators: an epilogue reads pieces in its order and releases; the MMAs of a tile may
/// begin when as many tiles as there are barriers have been released before it. They must not meet unread columns.
void expect_no_unread_column_is_written(AccumulatorColumns c, int width) {
  SCOPED_TRACE(std::to_string(c.stages) + " x " + std::to_string(c.columns) + " columns, " + std::to_string(c.shared) +
               " shared, pieces of " + std::to_string(width));
  ASSERT_TRUE(c.valid());
  const int pieces = c.columns / width, period = c.overlaps() ? 2 : c.stages;
  std::vector<std::set<int>> unread;  // of each tile
  for (u32 tile = 0; tile < 12; ++tile) {
    const u32 index = tile % static_cast<u32>(period);
    EXPECT_LE(c.first(index) + c.columns, c.all());
    unread.push_back(columns_from(c.first(index), c.columns));
    for (int i = 0; i < pieces; ++i) {
      const int first = c.first(index) + c.piece(index, i, width) * width;
      for (const int column : columns_from(first, width)) EXPECT_EQ(unread[tile].erase(column), 1u);
      if (i + 1 == c.pieces_to_release(width)) {
        // From here on the MMAs of this tile may write. Tiles between this one and it are complete and unread.
        const u32 next = tile + static_cast<u32>(c.barriers());
        const auto written = columns_from(c.first(next % static_cast<u32>(period)), c.columns);
        for (const int column : unread[tile]) EXPECT_FALSE(written.count(column)) << "tile " << tile;
        for (u32 between = tile + 1; between < next; ++between)
          for (const int column : columns_from(c.first(between % static_cast<u32>(period)), c.columns))
            EXPECT_FALSE(written.count(column)) << "tile " << between;
      }
    }
    EXPECT_TRUE(unread[tile].empty());
  }
}

TEST(AccumulatorColumns, NoUnreadColumnIsWritten) {
  for (int stages = 1; stages <= 4; ++stages) expect_no_unread_column_is_written({stages, 128}, 32);
  for (const int shared : {16, 32, 64, 96, 128, 256})
    for (const int width : {16, 32, 64}) expect_no_unread_column_is_written({2, 256, shared}, width);
}

TEST(AccumulatorColumns, OverlappingOnesLeaveRoomForScales) {
  constexpr AccumulatorColumns kColumns{2, 256, 64};
  EXPECT_EQ(kColumns.all(), 448);
  EXPECT_EQ(kColumns.first(1), 192);
  EXPECT_EQ(kColumns.barriers(), 1);
  EXPECT_EQ(kColumns.piece(0, 0, 64), 3) << "the first accumulator is read from its end";
  EXPECT_EQ(kColumns.piece(1, 0, 64), 0);
  EXPECT_EQ(kColumns.pieces_to_release(32), 2);
  EXPECT_FALSE((AccumulatorColumns{3, 128, 32}.valid()));
  EXPECT_FALSE((AccumulatorColumns{2, 128, 192}.valid()));
  EXPECT_FALSE((AccumulatorColumns{0, 128}.valid()));
}

}  // namespace
}  // namespace ww::pipeline
