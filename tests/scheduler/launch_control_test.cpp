// SPDX-License-Identifier: Apache-2.0
// The tile source of cluster launch control on the emulated Blackwell device: whatever the device gives and refuses,
// and in whatever order, every reader of every CTA gets the same tiles, and every tile is taken once.
#include <gtest/gtest.h>

#include <set>

#include "check_launch.hpp"
#include "emu/sm100/model.hpp"
#include "warpwright/arch/common/global.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/config/resolve.hpp"
#include "warpwright/pipeline/tma_pipeline.hpp"
#include "warpwright/scheduler/cluster_launch_control.hpp"
#include "warpwright/scheduler/dense_tiles.hpp"

namespace ww::scheduler {
namespace {

constexpr int kReaders = 4;  // warps 0 and 1 read by one thread each, warps 2 and 4 by all
constexpr u32 kThreads = 160;

struct Visit {
  u32 times = 0, cta = 0, turn = 0;  // of one reader at one tile
  bool operator==(const Visit&) const = default;
};
struct Params {
  config::GemmArguments gemm;
  SchedulerParams scheduler;
  Visit* visits;  // [kReaders][tiles of D]
};

constexpr GemmConfig config_of(Cluster cluster) {
  GemmConfig c{.arch = Arch::sm100, .tile = {128, 64, 128}, .cluster = cluster};
  c.sm90.tile_scheduler = TileScheduler::clc;
  return config::resolve(c);
}

template <GemmConfig kConfig> void take_tiles(const Params& p) {
  using Source = DenseTiles<kConfig, DenseOrder<kConfig, kReaders>>;
  constexpr auto kCluster = config::cluster_of(kConfig);
  const arch::SharedAddress shared = arch::dynamic_shared();
  Source source(p, shared);
  if (arch::thread_index() == 0) Source::initialize(shared);
  pipeline::make_barriers_visible<kCluster>();
  source.prepare();
  const auto read = [&](u32 number, Reader reader) {
    typename Source::Walk walk(source, reader);
    u32 turn = 0;
    for (Tile tile; walk.next(tile); ++turn) {
      const TileCoord at = source.at(tile);
      const int all_m = p.scheduler.grid.cluster_tiles_m * kCluster.m,
                all_n = p.scheduler.grid.cluster_tiles_n * kCluster.n;
      Visit* const visit = &p.visits[(static_cast<int>(number) * all_m + at.m) * all_n + at.n];
      if (reader == Reader::warp && arch::lane_index() != 0) continue;
      arch::global::store(&visit->times, arch::global::load(&visit->times) + 1);
      arch::global::store(&visit->cta, arch::block_index());
      arch::global::store(&visit->turn, turn);
    }
  };
  const u32 warp = arch::warp_index();
  if (warp == kServiceWarp) source.serve();
  else if (warp == 2 || warp == 4) read(warp == 2 ? 2 : 3, Reader::warp);
  else if (arch::lane_index() == 0) read(warp, Reader::thread);
  arch::warp::sync();
  if constexpr (kCluster.size() > 1) arch::cluster::sync();
}

constexpr EmuSchedule kSchedules[] = {EmuSchedule::random, EmuSchedule::pct, EmuSchedule::adversarial,
                                      EmuSchedule::fifo};

/// Runs `seeds` schedules of a grid of cluster tiles, of which `resident` clusters fit the device at a time.
template <Cluster kCluster> void expect_every_tile_once(int cluster_tiles_m, int cluster_tiles_n, int resident) {
  static constexpr GemmConfig kConfig = config_of(kCluster);
  constexpr config::SharedPlan kPlan = config::shared_plan(kConfig);
  static_assert(kPlan.work_tiles % 16 == 0 && kPlan.work_tiles >= kPlan.work_tile_barriers + 32);
  arch::install(*emu::table());
  const u32 ctas = static_cast<u32>(kCluster.m * kCluster.n);
  const u32 clusters = static_cast<u32>(cluster_tiles_m * cluster_tiles_n), tiles = clusters * ctas;
  Params p{};
  p.gemm.k_blocks = 3;
  p.scheduler.grid = {cluster_tiles_m, cluster_tiles_n, 2};
  const emu::test::Shape shape{.threads = kThreads,
                               .grid = tiles,
                               .cluster = ctas,
                               .shared_bytes = static_cast<u32>(kPlan.total),
                               .sms = resident * static_cast<int>(ctas)};
  std::set<u32> most_turns;
  for (u64 seed = 0; seed < 200; ++seed) {
    std::vector<Visit> visits(kReaders * tiles);
    p.visits = visits.data();
    const CheckReport report = emu::test::check_launch<take_tiles<kConfig>>(
        p, shape, {emu::test::range("visits", visits)}, {.seed = seed, .schedule = kSchedules[seed % 4]},
        emu::sm100::kModel);
    ASSERT_TRUE(report.findings.empty()) << "seed " << seed << "\n" << emu::test::all_of(report);
    u32 turns = 0;
    for (u32 tile = 0; tile < tiles; ++tile) {
      const Visit& first = visits[tile];
      ASSERT_EQ(first.times, 1u) << "tile " << tile << ", seed " << seed;
      for (u32 reader = 1; reader < kReaders; ++reader)
        ASSERT_EQ(visits[reader * tiles + tile], first)
            << "tile " << tile << ", reader " << reader << ", seed " << seed;
      turns = max(turns, first.turn);
      const u32 m = tile / static_cast<u32>(cluster_tiles_n * kCluster.n), n = tile % (cluster_tiles_n * kCluster.n);
      const u32 corner = m / kCluster.m * kCluster.m * (cluster_tiles_n * kCluster.n) + n / kCluster.n * kCluster.n;
      ASSERT_EQ(first.cta / ctas, visits[corner].cta / ctas) << "a cluster takes whole cluster tiles";
      ASSERT_EQ(first.turn, visits[corner].turn);
    }
    most_turns.insert(turns);
  }
  EXPECT_GT(most_turns.size(), 2u) << "requests are refused at different moments";
  EXPECT_GT(*most_turns.rbegin(), 3u) << "the ring of answers wraps around";
}

TEST(LaunchControl, EveryTileOnce) { expect_every_tile_once<Cluster{1, 1}>(4, 3, 3); }
TEST(LaunchControl, EveryTileOnceInClustersOfTwo) { expect_every_tile_once<Cluster{2, 1}>(3, 3, 2); }
TEST(LaunchControl, EveryTileOnceInClustersOfFour) { expect_every_tile_once<Cluster{2, 2}>(4, 2, 2); }
TEST(LaunchControl, EveryTileOnceInClustersOfSixteen) { expect_every_tile_once<Cluster{4, 4}>(5, 1, 1); }

TEST(LaunchControl, NeedsSm100) {
  GemmConfig hopper;
  hopper.sm90.tile_scheduler = TileScheduler::clc;
  const config::ConfigFault fault = config::fault_of(config::resolve(hopper));
  ASSERT_TRUE(fault);
  EXPECT_STREQ(fault.field, "tile_scheduler");
  EXPECT_NE(std::string(fault.expected).find("on Hopper, which has no cluster launch control"), std::string::npos)
      << fault.expected;
  const config::ConfigFault grouped = config::fault_of_k_grouped(config::resolve_k_grouped(hopper));
  ASSERT_TRUE(grouped);
  EXPECT_STREQ(grouped.field, "tile_scheduler");
  hopper.row_groups.variant = GroupedVariant::contiguous;
  const config::ConfigFault rows = config::fault_of_grouped(config::resolve_grouped(hopper));
  ASSERT_TRUE(rows);
  EXPECT_STREQ(rows.field, "tile_scheduler");
}

}  // namespace
}  // namespace ww::scheduler
