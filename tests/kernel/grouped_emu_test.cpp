// SPDX-License-Identifier: Apache-2.0
// Grouped products on the emulated devices, bit for bit against the dense plan on each group: encodings, variants,
// recipes, empty problems, rows outside groups, refusals of run().
#include <gtest/gtest.h>

#include "grouped_bits.hpp"
#include "select/grouped_configs.hpp"

namespace ww {
namespace {

using namespace ww::testing;

TEST(GroupedEmu, RaggedTakesEveryEncoding) {
  std::uint64_t seed = 1;
  for (GroupEncoding encoding : kEncodings)
    expect_dense_bits(make_grouped(problem_for(encoding), kCounts, 5, ++seed),
                      {.row_groups = {.variant = GroupedVariant::ragged}});
}

TEST(GroupedEmu, RaggedBlockScalesInEveryEncoding) {
  std::uint64_t seed = 10;
  for (GroupEncoding encoding : kEncodings)
    expect_dense_bits(make_grouped(problem_for(encoding, Scale::block_1x128_128x128, e4m3), kCounts, 5, ++seed),
                      {.row_groups = {.variant = GroupedVariant::ragged}});
}

// B [G, K, N]: every variant and encoding, with tails of M, N and K.
TEST(GroupedEmu, AnNMajorBInEveryVariantAndEncoding) {
  std::uint64_t seed = 600;
  for (GroupEncoding encoding : kEncodings)
    for (GroupedVariant variant : {normal_variant(encoding), GroupedVariant::ragged, GroupedVariant::descriptors}) {
      const bool half = seed % 2 == 0;
      GroupedProblem p = problem_for(encoding, Scale::none, half ? f16 : bf16, half ? f16 : bf16);
      p.b_major = Major::mn;
      expect_dense_bits(make_grouped(p, kCounts, 5, ++seed), {.row_groups = {.variant = variant}});
    }
}

TEST(GroupedEmu, AnNMajorBInEveryTile) {
  GroupedProblem p = problem_for(GroupEncoding::indptr, Scale::row_column);
  p.b_major = Major::mn;
  std::uint64_t seed = 620;
  for (const GemmConfig& config :
       {GemmConfig{.tile = {128, 64}, .cluster = {1}, .row_groups = {.variant = GroupedVariant::contiguous}},
        GemmConfig{.tile = {64, 128}, .cluster = {2}, .row_groups = {.variant = GroupedVariant::contiguous}},
        GemmConfig{.tile = {192, 128}, .cluster = {1}, .row_groups = {.variant = GroupedVariant::contiguous}},
        GemmConfig{.tile = {128, 256}, .row_groups = {.variant = GroupedVariant::ragged}},
        GemmConfig{.sm90 = {.occupancy = 3}, .row_groups = {.variant = GroupedVariant::ragged}},
        GemmConfig{.sm90 = {.tile_scheduler = TileScheduler::split_k, .split = 2},
        .row_groups = {.variant = GroupedVariant::ragged}},
        GemmConfig{.tile = {16, 256}, .row_groups = {.variant = GroupedVariant::descriptors}}, GemmConfig{}})
    expect_dense_bits(make_grouped(p, kCounts, 0, ++seed), config);
}

TEST(GroupedEmu, AnNMajorBThatCannotBeIsRefused) {
  const auto argument = [](const GroupedProblem& p, const GemmConfig& config = {}) {
    const auto made = can_implement(p, {.config = config});
    return made ? std::string("none") : made.error().argument;
  };
  GroupedProblem p = problem_for(GroupEncoding::offsets);
  p.b_major = Major::mn;
  EXPECT_EQ(argument(p), "none");
  EXPECT_EQ(argument(p, {.tile = {128, 32}, .row_groups = {.variant = GroupedVariant::contiguous}}),
            "config, tile (n)");
  p.ldb = 128;
  EXPECT_EQ(argument(p), "ldb");
  p.ldb = 0, p.k = 100, p.lda = 104;  // rows of K need not be whole units of 16 bytes
  EXPECT_EQ(argument(p), "none");
  p = problem_for(GroupEncoding::offsets, Scale::none, e4m3);
  p.b_major = Major::mn;
  EXPECT_EQ(argument(p), "b (layout)");
}

// Row ids by tiles: the first id of every 128 rows decides, whatever the others say; rows of -1 in a tile that has a
// group are computed, and tiles that begin with -1 are left alone. DeepGEMM's contiguous layout.
TEST(GroupedEmu, TheFirstIdOfATileIsThatOfItsRows) {
  for (GroupedVariant variant : {GroupedVariant::contiguous, GroupedVariant::ragged, GroupedVariant::descriptors})
    for (const bool zero_outside : {false, true}) {
      GroupedProblem p{.groups = 4, .rows = 700, .n = 72, .k = 128, .a = e4m3, .b = e4m3, .d = bf16};
      p.scale = Scale::block_1x128_128x128, p.encoding = GroupEncoding::row_ids, p.zero_outside = zero_outside;
      HostGrouped host = make_grouped(p, {256, 128, 0, 188}, 0, 640);
      host.problem.alignment = 128;
      // Tiles of 128 rows: groups 0, 0, none, 1, 3 and 3, of which the last has 60 rows.
      host.ranges = {{0, 256}, {384, 128}, {0, 0}, {512, 188}};
      std::mt19937_64 rng(641);
      fill_grouped(host, rng);
      const std::int32_t first[] = {0, 0, -1, 1, 3, 3};
      for (std::size_t row = 0; row < host.sizes.size(); ++row)
        host.sizes[row] = row % 128 == 0 ? first[row / 128] : static_cast<std::int32_t>(rng() % 9) - 4;
      expect_dense_bits(host, {.row_groups = {.variant = variant}});
    }
}

// Every group has its own scales of B, and a tile passes from one to the next inside it. N ends inside a tile, inside
// the second 128 columns of one, and a few columns into a scale; K ends inside a block of scales.
TEST(GroupedEmu, TilesThatMeetSeveralScalesOfB) {
  std::uint64_t seed = 660;
  for (GroupEncoding encoding : kEncodings)
    for (const auto& [tile, cluster] :
         {std::pair{Tile{128, 192}, 2}, {Tile{128, 192}, 1}, {Tile{192, 96}, 1}, {Tile{64, 160}, 2}}) {
      const GemmConfig config{.tile = tile, .cluster = {cluster}, .row_groups = {.variant = normal_variant(encoding)}};
      constexpr std::int64_t kColumns[] = {136, 328, 520, 8, 384};
      GroupedProblem p = problem_for(encoding, Scale::block_1x128_128x128, e4m3, seed % 3 == 0 ? f32 : bf16);
      p.n = kColumns[seed % 5], p.zero_outside = seed % 2 == 0;
      expect_dense_bits(make_grouped(p, kCounts, 5, ++seed), config);
    }
}

TEST(GroupedEmu, OneRowNoRowsAndNoKOfTilesThatMeetSeveralScalesOfB) {
  std::uint64_t seed = 690;
  for (GroupEncoding encoding : {GroupEncoding::offsets, GroupEncoding::masked})
    for (int cluster : {1, 2}) {
      const GemmConfig config{
          .tile = {128, 192}, .cluster = {cluster}, .row_groups = {.variant = normal_variant(encoding)}};
      GroupedProblem p = problem_for(encoding, Scale::block_1x128_128x128, e4m3);
      p.n = 328, p.k = 784, p.zero_outside = true;  // more k-blocks than stages
      expect_dense_bits(make_grouped(p, {1, 0, 0, 0, 0, 0}, 0, ++seed), config);
      expect_dense_bits(make_grouped(p, {0, 0, 0, 0, 0, 0}, 0, ++seed), config);
      expect_dense_bits(make_grouped(p, {1, 1, 1, 1, 1, 1}, 3, ++seed), config);
      p.k = 0;
      expect_dense_bits(make_grouped(p, kCounts, 5, ++seed), config);
    }
}

TEST(GroupedEmu, RaggedTensorScalesOfEachGroup) {
  for (GroupEncoding encoding : {GroupEncoding::offsets, GroupEncoding::masked})
    expect_dense_bits(make_grouped(problem_for(encoding, Scale::tensor, e4m3), kCounts, 0, 20),
                      {.row_groups = {.variant = GroupedVariant::ragged}});
}

TEST(GroupedEmu, RowAndColumnScales) {
  for (GroupEncoding encoding : {GroupEncoding::indptr, GroupEncoding::masked})
    for (GroupedVariant variant : {GroupedVariant::ragged, normal_variant(encoding)})
      expect_dense_bits(make_grouped(problem_for(encoding, Scale::row_column), kCounts, 0, 25),
                        {.row_groups = {.variant = variant}});
}

class GroupedEmuArch : public ::testing::TestWithParam<Arch> {};
INSTANTIATE_TEST_SUITE_P(Archs, GroupedEmuArch, ::testing::Values(Arch::sm90, Arch::sm100),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(GroupedEmuArch, NormalOrientationTakesEveryEncoding) {
  std::uint64_t seed = 100;
  for (GroupEncoding encoding : kEncodings) {
    GroupedProblem p = problem_for(encoding, Scale::block_1x128_128x128, e4m3);
    p.zero_outside = seed % 2 == 0;
    expect_dense_bits(make_grouped(p, kCounts, 5, ++seed),
                      {.arch = GetParam(), .row_groups = {.variant = normal_variant(encoding)}});
  }
}

TEST_P(GroupedEmuArch, EveryTypeRecipeAndTile) {
  std::uint64_t seed = 120;
  const std::tuple<DType, Scale, DType, Tile, Cluster> cases[] = {
      {bf16, Scale::none, bf16, {128, 128}, {2, 1}},
      {f16, Scale::row_column, f16, {64, 64}, {1, 1}},
      {e4m3, Scale::tensor, f32, {128, 64}, {2, 1}},
      {e4m3, Scale::block_1x128_128x128, f32, {64, 32}, {1, 1}},
      {bf16, Scale::tensor, f32, {128, 256}, {1, 1}}};
  for (const auto& [a, scale, d, tile, cluster] : cases)
    for (GroupEncoding encoding : {kEncodings[seed % 4], GroupEncoding::masked}) {
      GroupedProblem p = problem_for(encoding, scale, a, d);
      if (a == bf16) p.b_major = Major::mn;
      p.zero_outside = seed % 2 == 0;
      const GemmConfig config{
          .arch = GetParam(), .tile = tile, .cluster = cluster, .row_groups = {.variant = normal_variant(encoding)}};
      expect_dense_bits(make_grouped(p, kCounts, 5, ++seed), config);
      p.k = 0;
      expect_dense_bits(make_grouped(p, kCounts, 5, ++seed), config);
    }
}

TEST_P(GroupedEmuArch, EmptyGroupsLaunchWhatIsThere) {
  for (GroupEncoding encoding : {GroupEncoding::offsets, GroupEncoding::masked}) {
    const GemmConfig config{.arch = GetParam(), .row_groups = {.variant = normal_variant(encoding)}};
    GroupedProblem p = problem_for(encoding, Scale::block_1x128_128x128, e4m3);
    p.zero_outside = true;
    expect_dense_bits(make_grouped(p, {0, 0, 0, 0, 0, 0}, 5, 140), config);
    expect_dense_bits(make_grouped(p, {0, 0, 131, 0, 0, 0}, 5, 141), config);
  }
}

// Lanes with 1 to 4 groups, with fewer than others and none; 129 is too many.
TEST(GroupedEmu, ListsByOneWarpAndByAll) {
  std::mt19937 rng(5);
  std::uint64_t seed = 400;
  for (int groups : {1, 31, 32, 33, 97, 128, 129}) {
    GroupedProblem p = problem_for(kEncodings[seed % 5]);
    std::vector<std::int64_t> counts(static_cast<std::size_t>(groups));
    for (auto& count : counts)
      count = static_cast<std::int64_t>(rng() % 3 == 0 ? 0 : rng() % 5 == 0 ? rng() % 150 : rng() % 9);
    p.groups = groups, p.n = 40, p.k = 64, p.rows = 0;
    for (std::int64_t count : counts)
      p.rows = p.encoding == GroupEncoding::masked ? max<std::int64_t>(p.rows, count + 1) : p.rows + count + 1;
    expect_dense_bits(make_grouped(p, counts, 1, ++seed),
                      {.tile = {64, 128}, .row_groups = {.variant = GroupedVariant::ragged}});
    expect_dense_bits(make_grouped(p, counts, 1, ++seed),
                      {.sm90 = {.occupancy = 2}, .row_groups = {.variant = GroupedVariant::ragged}});
  }
}

TEST(GroupedEmu, TilesOfSeveralCtasOfAnSm) {  // groups of more rows than a tile has; all recipes
  std::uint64_t seed = 500;
  const std::tuple<DType, Scale, DType> types[] = {{e4m3, Scale::block_1x128_128x128, bf16},
                                                   {e4m3, Scale::row_column, f16},
                                                   {e4m3, Scale::tensor, f32},
                                                   {bf16, Scale::none, bf16}};
  for (const auto& [a, scale, d] : types)
    for (const auto& [tile_n, warpgroups, ctas] : {std::tuple{64, 1, 2}, {64, 1, 3}, {128, 1, 2}, {256, 2, 0}}) {
      const TileScheduler order = seed % 2 == 0 ? TileScheduler::fixed : TileScheduler::dynamic;
      const HostGrouped host = make_grouped(problem_for(kEncodings[seed % 5], scale, a, d), kCounts, 5, seed);
      expect_dense_bits(host, {.tile = {32, tile_n},
                               .sm90 = {.consumer_warpgroups = warpgroups, .tile_scheduler = order, .occupancy = ctas},
                               .row_groups = {.variant = GroupedVariant::ragged}});
      ++seed;
    }
}

TEST(GroupedEmu, TheCounterIsUsedAndPutBackOnlyWhereTilesAreMoreThanCtas) {
  const Device device = open_emu(0, 4);
  HostGrouped host = make_grouped(problem_for(GroupEncoding::indptr), kCounts, 0, 530);
  const auto made = plan_grouped(device, host.problem,
                                 {.config = {.sm90 = {.tile_scheduler = TileScheduler::dynamic, .occupancy = 2},
                                             .row_groups = {.variant = GroupedVariant::ragged}}});
  ASSERT_TRUE(made) << made.error().message;
  DeviceGrouped memory(device, host, made->workspace_bytes());
  const auto counters = [&] {
    std::array<std::uint32_t, 2> words{};  // next_tile, finished
    DeviceGrouped::check(device.download(words.data(), memory.operands().workspace, sizeof words));
    return words;
  };
  using Words = std::array<std::uint32_t, 2>;
  const Words marks = {1000, 0};  // a launch that used the counter would take other tiles, and reset it to zero
  for (const std::vector<std::int64_t>& counts :  // three weight tiles each: 3, 30, 3, 0 and 30 tiles on 4 CTAs
       {std::vector<std::int64_t>{0, 9, 0, 0, 0, 0}, kCounts, {0, 0, 0, 0, 30, 0}, {0, 0, 0, 0, 0, 0}, kCounts}) {
    lay_out(host, counts, 0);
    memory.put_sizes(host);
    const bool many = counts == kCounts;
    const Words before = many ? Words{0, 0} : marks;
    DeviceGrouped::check(device.upload(memory.operands().workspace, before.data(), sizeof before));
    ASSERT_TRUE(made->run(memory.operands()));
    EXPECT_EQ(difference(host, memory.d(), dense_answer(device, host, dense_config(), 0xa5)), "") << host.replay();
    EXPECT_EQ(counters(), before) << host.replay();
  }
  const Words taken = {1, 0};  // a number that no CTA takes: the tile behind it is not computed
  DeviceGrouped::check(device.upload(memory.operands().workspace, taken.data(), sizeof taken));
  memory.put_sizes(host);
  ASSERT_TRUE(made->run(memory.operands()));
  EXPECT_NE(difference(host, memory.d(), dense_answer(device, host, dense_config(), 0xa5)), "");
  EXPECT_EQ(counters(), (Words{0, 0}));
}

/// Returns the emulator's statistics of a product of `counts` rows in tiles of `tile_m` x 128 outside clusters on `sms`
/// SMs, after checking every bit of D.
EmuStats normal_stats(const std::vector<std::int64_t>& counts, int tile_m, int sms, GroupEncoding encoding,
                      std::uint64_t seed) {
  GroupedProblem p =
      problem_for(encoding, tile_m == 192 ? Scale::block_1x128_128x128 : Scale::none, tile_m == 192 ? e4m3 : bf16);
  p.groups = static_cast<std::int64_t>(counts.size());
  p.rows = 0;
  for (std::int64_t count : counts)
    p.rows = encoding == GroupEncoding::masked ? max<std::int64_t>(p.rows, count) : p.rows + count + 5;
  const HostGrouped host = make_grouped(p, counts, 5, seed);
  const Device device = open_emu(seed, sms);
  const GemmConfig config{.tile = {tile_m, 128}, .cluster = {1}, .row_groups = {.variant = normal_variant(encoding)}};
  const auto made = plan_grouped(device, host.problem, {.config = config});
  if (!made) throw std::runtime_error(made.error().message);
  DeviceGrouped memory(device, host, made->workspace_bytes());
  const auto ran = made->run(memory.operands());
  if (!ran) throw std::runtime_error(ran.error().message);
  const EmuStats stats = made->last_stats().value();
  EXPECT_EQ(difference(host, memory.d(), dense_answer(device, host, dense_config(), 0xa5)), "")
      << to_text(made->config()) << " on " << sms << " SMs, " << host.replay();
  return stats;
}

TEST(GroupedEmu, ConsumerWarpgroupsWithoutRowsMultiplyNothing) {
  for (int tile_m : {128, 192, 256}) {
    const int part_rows = tile_m == 192 ? 64 : tile_m / 2;  // of one consumer warpgroup
    const std::uint64_t one_part = normal_stats({1}, tile_m, 4, GroupEncoding::indptr, 300).wgmmas;
    ASSERT_GT(one_part, 0u);
    for (const std::vector<std::int64_t>& counts :
         {kCounts, {192, 1, 65, 64, 0, 129, 5}, {300, 0, 640, 385}, {0, 0, 700}, std::vector<std::int64_t>(9, 70)})
      for (int sms : {3, 8, 40}) {
        std::uint64_t parts = 0;
        for (std::int64_t count : counts) parts += static_cast<std::uint64_t>(ceil_div(count, part_rows));
        const GroupEncoding encoding = kEncodings[(sms + tile_m / 64) % 5];
        EXPECT_EQ(normal_stats(counts, tile_m, sms, encoding, 301).wgmmas, parts * one_part)
            << tile_m << " rows a tile, " << sms << " SMs, " << name_of(encoding);
      }
  }
}

TEST(GroupedEmu, TilesOfAGroupTakeEquallyLong) {  // two columns of tiles
  struct Group {
    std::int64_t rows;
    std::uint64_t tiles, parts;  // parts: tiles with consumer warpgroups that have no rows
  };
  // 192 rows a tile: 2 and 2 warpgroups, not 3 and 1; 3, 2 and 2; 3 and 2; all of 3
  for (const Group& g : {Group{200, 2, 2}, Group{400, 3, 2}, Group{300, 2, 1}, Group{560, 3, 0}}) {
    const EmuStats stats = normal_stats({g.rows}, 192, 3, GroupEncoding::offsets, 310);
    std::uint64_t tiles = 0, parts = 0;
    for (const CtaWork& work : stats.work) tiles += work.tiles, parts += work.parts;
    EXPECT_EQ(tiles, 2 * g.tiles) << g.rows;
    EXPECT_EQ(parts, 2 * g.parts) << g.rows;
  }
}

TEST(GroupedEmu, CtasTakeTurnsAtShortTiles) {  // every second tile along the rows is one, and CTAs are even
  const EmuStats stats = normal_stats(std::vector<std::int64_t>(24, 300), 192, 4, GroupEncoding::offsets, 320);
  for (const CtaWork& work : stats.work) EXPECT_EQ(work.parts, 12u) << "of " << work.tiles;
}

TEST(GroupedEmu, SplitKSumsAsTheDenseKernelDoes) {  // K is 2 or 4 blocks: CTAs with less than others, and with none
  struct Split {
    DType a;
    Scale scale;
    DType d;
    int tile_m, tile_n, splits;
  };
  const Split splits[] = {{e4m3, Scale::block_1x128_128x128, bf16, 64, 128, 2},
                          {bf16, Scale::none, bf16, 64, 256, 4},
                          {e4m3, Scale::tensor, f32, 128, 256, 8},
                          {e4m3, Scale::block_1x128_128x128, f32, 64, 64, 4}};
  std::uint64_t seed = 200;
  for (const Split& s : splits) {
    GroupedProblem p = problem_for(kEncodings[seed % 5], s.scale, s.a, s.d);
    p.zero_outside = seed % 2 == 0;
    const GemmConfig config{.tile = {s.tile_m, s.tile_n},
                            .sm90 = {.tile_scheduler = TileScheduler::split_k, .split = s.splits},
                            .row_groups = {.variant = GroupedVariant::ragged}};
    expect_dense_bits(make_grouped(p, kCounts, 5, ++seed), config);
    p.k = 0;
    expect_dense_bits(make_grouped(p, kCounts, 5, ++seed), config);
  }
}

TEST(GroupedEmu, OneConsumerWarpgroup) {
  for (int tile_n : {64, 128})
    expect_dense_bits(
        make_grouped(problem_for(GroupEncoding::indptr, Scale::block_1x128_128x128, e4m3), kCounts, 0, 220),
        {.tile = {tile_n, tile_n},
         .sm90 = {.consumer_warpgroups = 1},
         .row_groups = {.variant = GroupedVariant::ragged}});
}

TEST(GroupedEmu, FewTilesOfShortGroupsShareSms) {
  const GroupedProblem p{.groups = 6, .rows = 110, .n = 4096, .k = 2048, .a = e4m3, .b = e4m3, .d = bf16};
  const auto chosen = [&](auto change, int sms = 132) {
    GroupedProblem other = p;
    change(other);
    return select::choose_grouped(other, {}, sms).sm90.occupancy;
  };
  EXPECT_EQ(chosen([](GroupedProblem&) {}), 3);                                  // 384 tiles of 64 weights
  EXPECT_EQ(chosen([](GroupedProblem& o) { o.groups = 4; }), 2);                 // 256: a place for each with two
  EXPECT_EQ(chosen([](GroupedProblem& o) { o.groups = 31, o.rows = 900; }), 1);  // 1984: a long launch
  EXPECT_EQ(chosen([](GroupedProblem& o) { o.groups = 31, o.rows = 900, o.n = 2048; }), 3);
  EXPECT_EQ(chosen([](GroupedProblem& o) { o.rows = 193; }), 1);  // more than 32 rows a group
  EXPECT_EQ(chosen([](GroupedProblem& o) { o.encoding = GroupEncoding::masked, o.rows = 20; }), 1);
  EXPECT_EQ(chosen([](GroupedProblem& o) { o.groups = 513, o.n = 64; }), 1);               // tables instead of rings
  EXPECT_EQ(chosen([](GroupedProblem&) {}, 4), 1);                                         // 60 tiles at most
  EXPECT_EQ(chosen([](GroupedProblem& o) { o.groups = 1, o.rows = 20, o.n = 1024; }), 1);  // 16 tiles on 132 SMs
  EXPECT_EQ(chosen([](GroupedProblem& o) { o.groups = 2, o.rows = 20, o.n = 3200; }), 2);  // 100
  const GemmConfig config = select::choose_grouped(p, {}, 132);
  EXPECT_EQ(config.sm90.tile_scheduler, TileScheduler::fixed);
  EXPECT_EQ(config.tile.m, 32);
  EXPECT_EQ(config.tile.n, 64);
  EXPECT_GE(config.sm90.stages, 5);
}

TEST(GroupedEmu, FewTilesOfALongKAreSplit) {
  GroupedProblem p{.groups = 6, .rows = 300, .n = 4096, .k = 2048, .a = e4m3, .b = e4m3, .d = bf16};
  const auto order_of = [&](const GroupedProblem& problem, const GemmConfig& config = {}) {
    return select::choose_grouped(problem, config, 132).sm90.tile_scheduler;
  };
  EXPECT_EQ(order_of(p), TileScheduler::split_k);
  EXPECT_EQ(order_of(p, {.row_groups = {.variant = GroupedVariant::ragged}}),
            TileScheduler::dynamic);  // what is asked for stays
  GroupedProblem other = p;
  other.k = 512;  // nothing to split
  EXPECT_EQ(order_of(other), TileScheduler::dynamic);
  other = p, other.groups = 32, other.rows = 1600;  // tiles enough
  EXPECT_EQ(order_of(other), TileScheduler::dynamic);
  other = p, other.encoding = GroupEncoding::masked;  // nobody knows how many rows
  EXPECT_EQ(order_of(other), TileScheduler::dynamic);
  EXPECT_EQ(select::choose_grouped(p, {}, 1).sm90.tile_scheduler, TileScheduler::dynamic);  // no SM for a peer
}

TEST(GroupedEmu, BatchInvariantGroupsAreNotSplit) {  // the bits of a row would follow how many rows there are
  const GroupedProblem p{.groups = 1, .rows = 50, .n = 512, .k = 2048, .a = e4m3, .b = e4m3, .d = bf16};
  const Device device = open_emu();
  const auto usual = plan_grouped(device, p), invariant = plan_grouped(device, p, {.batch_invariant = true});
  ASSERT_TRUE(usual && invariant);
  EXPECT_EQ(usual->config().sm90.tile_scheduler, TileScheduler::split_k);
  EXPECT_EQ(invariant->config().sm90.tile_scheduler, TileScheduler::dynamic);
}

TEST(GroupedEmu, DescriptorsTakeEveryEncoding) {
  std::uint64_t seed = 110;
  for (GroupEncoding encoding : kEncodings) {
    GroupedProblem p = problem_for(encoding, Scale::block_1x128_128x128, e4m3);
    p.zero_outside = seed % 2 == 0;
    expect_dense_bits(make_grouped(p, kCounts, 5, ++seed),
                      {.tile = {16}, .row_groups = {.variant = GroupedVariant::descriptors}});
    expect_dense_bits(make_grouped(p, {0, 0, 0, 0, 0, 0}, 5, ++seed),
                      {.tile = {16}, .row_groups = {.variant = GroupedVariant::descriptors}});
  }
}

TEST(GroupedEmu, DescriptorsInEveryWidthOrderAndType) {
  struct Types {
    DType a;
    Scale scale;
    DType d;
  };
  const Types types[4] = {{e4m3, Scale::block_1x128_128x128, f32},
                          {e4m3, Scale::tensor, bf16},
                          {bf16, Scale::none, f32},
                          {f16, Scale::row_column, f16}};
  for (int i = 0; i < 8; ++i) {  // 8, 16, ... 64 tokens
    const Types& t = types[i % 4];
    const TileScheduler order = i % 3 == 0 ? TileScheduler::horizontal : TileScheduler::vertical;
    expect_dense_bits(make_grouped(problem_for(GroupEncoding::starts_counts, t.scale, t.a, t.d), kCounts, 1, 130 + i),
                      {.tile = {8 * (i + 1), i % 2 == 0 ? 128 : 256},
                       .sm90 = {.tile_scheduler = order},
                       .row_groups = {.variant = GroupedVariant::descriptors}});
  }
}

TEST(GroupedEmu, DescriptorsOfOneGroupAreTheDenseProduct) {
  GroupedProblem p = problem_for(GroupEncoding::indptr);
  p.groups = 1, p.rows = 77;
  expect_dense_bits(make_grouped(p, {77}, 0, 140), {.row_groups = {.variant = GroupedVariant::descriptors}});
}

TEST(GroupedEmu, DescriptorsOfManyGroups) {  // more than one update CTA, and more groups than its threads
  GroupedProblem p = problem_for(GroupEncoding::starts_counts);
  p.groups = 600, p.rows = 1400, p.n = 8, p.k = 16;
  std::vector<std::int64_t> counts(600);
  for (std::size_t g = 0; g < counts.size(); ++g) counts[g] = static_cast<std::int64_t>(g * 7 % 4);
  counts[599] = 9;
  expect_dense_bits(make_grouped(p, counts, 0, 150),
                    {.tile = {8}, .row_groups = {.variant = GroupedVariant::descriptors}});
}

TEST(GroupedEmu, AlignedStartsOfOffsets) {
  GroupedProblem p = problem_for(GroupEncoding::offsets);
  p.alignment = 16, p.zero_outside = true;
  expect_dense_bits(make_grouped(p, {1, 33, 0, 40, 16, 3}, 0, 30), {.row_groups = {.variant = GroupedVariant::ragged}});
}

TEST(GroupedEmu, RowsOutsideGroupsAreZeroedOnRequest) {
  std::uint64_t seed = 40;
  for (GroupEncoding encoding : kEncodings) {
    GroupedProblem p = problem_for(encoding);
    p.zero_outside = true;
    expect_dense_bits(make_grouped(p, kCounts, 5, ++seed), {.row_groups = {.variant = GroupedVariant::ragged}});
    expect_dense_bits(make_grouped(p, {0, 0, 0, 0, 0, 0}, 5, ++seed),
                      {.row_groups = {.variant = GroupedVariant::ragged}});
  }
}

TEST(GroupedEmu, ManyGroupsWithGapsAreZeroedBetween) {  // more groups than lanes of a warp
  GroupedProblem p = problem_for(GroupEncoding::starts_counts);
  p.groups = 40, p.rows = 160, p.n = 40, p.zero_outside = true;
  std::vector<std::int64_t> counts(40);
  for (std::size_t g = 0; g < counts.size(); ++g) counts[g] = static_cast<std::int64_t>(g * 7 % 4);
  expect_dense_bits(make_grouped(p, counts, 2, 50), {.row_groups = {.variant = GroupedVariant::ragged}});
}

TEST(GroupedEmu, NothingToMultiply) {
  for (GroupEncoding encoding : kEncodings) {
    GroupedProblem p = problem_for(encoding);
    p.k = 0, p.zero_outside = encoding != GroupEncoding::indptr;
    expect_dense_bits(make_grouped(p, kCounts, 5, 60), {.row_groups = {.variant = GroupedVariant::ragged}});
    expect_dense_bits(make_grouped(p, kCounts, 5, 62), {.row_groups = {.variant = GroupedVariant::descriptors}});
    for (int which = 0; which < 3; ++which) {  // no groups, no rows, no columns
      p = problem_for(encoding);
      p.zero_outside = true;
      (which == 0 ? p.groups : which == 1 ? p.rows : p.n) = 0;
      const std::vector<std::int64_t> counts(static_cast<std::size_t>(p.groups), 0);
      expect_dense_bits(make_grouped(p, counts, 0, 61));
      expect_dense_bits(make_grouped(p, counts, 0, 63), {.row_groups = {.variant = GroupedVariant::descriptors}});
    }
  }
}

class GroupedEmuRuns : public ::testing::TestWithParam<GroupedVariant> {};

TEST_P(GroupedEmuRuns, OnePlanOneWorkspaceOtherSizes) {
  const HostGrouped first = make_grouped(problem_for(GroupEncoding::indptr), kCounts, 0, 70);
  HostGrouped second = first;
  const Device device = open_emu();
  const auto made = plan_grouped(device, first.problem, {.config = {.row_groups = {.variant = GetParam()}}});
  ASSERT_TRUE(made) << made.error().message;
  DeviceGrouped memory(device, first, made->workspace_bytes());
  ASSERT_TRUE(made->run(memory.operands()));
  lay_out(second, {0, 100, 1, 0, 7, 60}, 0);
  // rows 183 and later hold NaN; the sizes here stay below
  memory.put_sizes(second);
  ASSERT_TRUE(made->run(memory.operands()));
  EXPECT_EQ(difference(second, memory.d(), dense_answer(device, second, dense_config(), 0xa5)), "");
}

TEST(GroupedEmu, WidthsOfTheLastRunAreReported) {
  GroupedProblem p = problem_for(GroupEncoding::offsets);
  p.groups = 5, p.rows = 500;
  const HostGrouped host = make_grouped(p, {1, 9, 40, 130, 256}, 0, 80);
  const Device device = open_emu();
  const auto made = plan_grouped(device, p, {.config = {.row_groups = {.variant = GroupedVariant::ragged}}});
  ASSERT_TRUE(made) << made.error().message;
  DeviceGrouped memory(device, host, made->workspace_bytes());
  for (int run = 0; run < 2; ++run) {  // counts of one run, not of all
    const auto ran = made->run(memory.operands());
    ASSERT_TRUE(ran) << ran.error().message;
    const auto widths = made->widths(memory.operands().workspace);
    ASSERT_TRUE(widths) << widths.error().message;
    std::string text;
    for (const TileWidth& w : *widths) text += fmt::format("{}{}x{} ", w.swapped ? "s" : "n", w.width, w.tiles);
    // 130 rows are two tiles of 65 (80 wide), 256 rows two of 128
    EXPECT_EQ(text, "s8x1 s16x1 s40x1 s80x2 n128x2 ");
  }
}

TEST_P(GroupedEmuRuns, SizesThatOverrunAreCutAndReported) {
  HostGrouped host = make_grouped(problem_for(GroupEncoding::offsets), {1, 9, 0, 40, 130, 60}, 0, 90);
  const Device device = open_emu();
  const auto made = plan_grouped(device, host.problem, {.config = {.row_groups = {.variant = GetParam()}}});
  ASSERT_TRUE(made) << made.error().message;
  const auto want = dense_answer(device, host, dense_config(), 0xa5);
  host.sizes.back() = 1 << 30;
  DeviceGrouped memory(device, host, made->workspace_bytes());
  const auto ran = made->run(memory.operands());
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(difference(host, memory.d(), want), "");  // 240 rows: the last group is what is left
  EXPECT_EQ(memory.status(), GroupStatus::overrun);
}

INSTANTIATE_TEST_SUITE_P(Variants, GroupedEmuRuns,
                         ::testing::Values(GroupedVariant::ragged, GroupedVariant::descriptors),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(GroupedEmu, RunRefusesWrongPointers) {
  const HostGrouped host = make_grouped(problem_for(GroupEncoding::starts_counts, Scale::tensor, e4m3), kCounts, 1, 95);
  const Device device = open_emu();
  const auto made = plan_grouped(device, host.problem, {.config = {.row_groups = {.variant = GroupedVariant::ragged}}});
  ASSERT_TRUE(made) << made.error().message;
  DeviceGrouped memory(device, host, made->workspace_bytes());
  const GroupedOperands good = memory.operands();
  const auto refused = [&](auto spoil) {
    GroupedOperands operands = good;
    spoil(operands);
    const auto answer = made->run(operands);
    return answer ? std::string("accepted") : answer.error().argument;
  };
  const auto shifted = [](const auto* p, int bytes) {
    return const_cast<std::decay_t<decltype(*p)>*>(p) == nullptr
               ? nullptr
               : reinterpret_cast<std::decay_t<decltype(*p)>*>(reinterpret_cast<std::uintptr_t>(p) +
                                                               static_cast<std::uintptr_t>(bytes));
  };
  using O = GroupedOperands;
  EXPECT_EQ(refused([](O&) {}), "accepted");
  EXPECT_EQ(refused([](O& o) { o.a = nullptr; }), "a");
  EXPECT_EQ(refused([](O& o) { o.b = nullptr; }), "b");
  EXPECT_EQ(refused([](O& o) { o.d = nullptr; }), "d");
  EXPECT_EQ(refused([](O& o) { o.d = static_cast<char*>(o.d) + 8; }), "d");
  EXPECT_EQ(refused([](O& o) { o.scale_a = nullptr; }), "scale_a");
  EXPECT_EQ(refused([](O& o) { o.scale_b = nullptr; }), "scale_b");
  EXPECT_EQ(refused([](O& o) { o.sizes = nullptr; }), "sizes");
  EXPECT_EQ(refused([&](O& o) { o.sizes = shifted(o.sizes, 2); }), "sizes");
  EXPECT_EQ(refused([](O& o) { o.sizes2 = nullptr; }), "sizes2");
  EXPECT_EQ(refused([&](O& o) { o.status = shifted(o.status, 1); }), "status");
  EXPECT_EQ(refused([](O& o) { o.status = nullptr; }), "accepted");
  EXPECT_EQ(refused([](O& o) { o.workspace = nullptr; }), "workspace");
  EXPECT_EQ(refused([](O& o) { o.workspace = static_cast<char*>(o.workspace) + 16; }), "workspace");
  EXPECT_EQ(refused([](O& o) { o.workspace_bytes -= 1; }), "workspace_bytes");
}

}  // namespace
}  // namespace ww
