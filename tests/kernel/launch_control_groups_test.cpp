// SPDX-License-Identifier: Apache-2.0
// Groups of rows and of K whose tiles cluster launch control gives out: every tile once, with the bits of the dense
// product, and faults of sizes reported whichever CTAs start. Random groups: grouped_parity and k_grouped_parity.
#include <gtest/gtest.h>

#include "grouped_bits.hpp"
#include "problems/random_k_grouped.hpp"

namespace ww {
namespace {

using namespace ww::testing;

constexpr int kColumns = 32;

GemmConfig config_of(bool pair, GroupedVariant variant) {
  return {.arch = Arch::sm100,
          .tile = {pair ? 128 : 64, kColumns},
          .cluster = {pair ? 2 : 1, 1},
          .sm90 = {.tile_scheduler = TileScheduler::clc},
          .sm100 = {.pair = pair},
          .row_groups = {.variant = variant}};
}

/// What the CTAs of several runs had.
struct Taken {
  bool took_more = false;      // a CTA had the tiles of others
  bool fewer_started = false;  // there were fewer CTAs than tiles

  /// Expects that the CTAs of a run had `tiles` tiles in all.
  void expect(const EmuStats& stats, std::uint64_t tiles, const std::string& what) {
    std::uint64_t all = 0, most = 0;
    for (const CtaWork& work : stats.work) all += work.tiles, most = std::max(most, work.tiles);
    EXPECT_EQ(all, tiles) << what;
    took_more = took_more || most > 1;
    fewer_started = fewer_started || stats.ctas < tiles;
  }
};

TEST(LaunchControlOfGroups, TakesEveryTileOfRowsOnce) {
  for (const GroupEncoding encoding : {GroupEncoding::offsets, GroupEncoding::masked})
    for (const bool pair : {false, true}) {
      const GemmConfig config = config_of(pair, normal_variant(encoding));
      const HostGrouped host = make_grouped(problem_for(encoding), kCounts, 0, 11);
      const std::int64_t columns = ceil_div(host.problem.n, std::int64_t{kColumns});
      std::int64_t tiles = 0;
      for (const std::int64_t count : kCounts)
        tiles += columns * (pair ? 2 * ceil_div(count, std::int64_t{256}) : ceil_div(count, std::int64_t{64}));
      Taken taken;
      for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const Device device = open_emu(seed, 4, Arch::sm100);
        const auto plan = plan_grouped(device, host.problem, {.config = config});
        ASSERT_TRUE(plan) << plan.error().message;
        DeviceGrouped memory(device, host, plan->workspace_bytes());
        const auto ran = plan->run(memory.operands());
        ASSERT_TRUE(ran) << ran.error().message;
        const std::string what = fmt::format("{}, seed {}", to_text(plan->config()), seed);
        taken.expect(plan->last_stats().value(), static_cast<std::uint64_t>(tiles), what);
        EXPECT_EQ(difference(host, memory.d(), dense_answer(device, host, dense_like(plan->config()), 0xa5)), "")
            << what;
      }
      EXPECT_TRUE(taken.took_more && taken.fewer_started) << to_text(config);
    }
}

TEST(LaunchControlOfGroups, ReportsFaultsOfSizesWhicheverCtasStart) {
  struct Fault {
    GroupEncoding encoding;
    std::uint32_t status;
    std::size_t at;  // the entry of sizes that is wrong
    std::int32_t value;
  };
  for (const Fault& fault : {Fault{GroupEncoding::offsets, GroupStatus::overrun, 5, 1 << 30},
                             Fault{GroupEncoding::masked, GroupStatus::overrun, 2, 1000},
                             Fault{GroupEncoding::row_ids, GroupStatus::bad_id, 0, 99}})
    for (const bool pair : {false, true})
      for (std::uint64_t seed = 0; seed < 6; ++seed) {
        HostGrouped host = make_grouped(problem_for(fault.encoding), {1, 9, 0, 40, 130, 60}, 0, 90);
        host.sizes.at(fault.at) = fault.value;
        const Device device = open_emu(seed, 2, Arch::sm100);
        const auto plan =
            plan_grouped(device, host.problem, {.config = config_of(pair, normal_variant(fault.encoding))});
        ASSERT_TRUE(plan) << plan.error().message;
        DeviceGrouped memory(device, host, plan->workspace_bytes());
        const auto ran = plan->run(memory.operands());
        ASSERT_TRUE(ran) << ran.error().message;
        EXPECT_EQ(memory.status(), fault.status) << name_of(fault.encoding) << ", seed " << seed;
      }
}

TEST(LaunchControlOfGroups, TakesEveryTileOfKOnce) {
  Taken taken;
  for (const std::uint64_t number : {2000180, 2000190, 2000240, 2000250}) {
    HostKGrouped host = numbered_k_grouped(number);
    host.config.sm90.tile_scheduler = TileScheduler::clc;
    const KGroupedProblem& p = host.problem;
    const Cluster& cluster = host.config.cluster;
    const Tile& tile = host.config.tile;
    const std::int64_t tiles = p.groups * cluster.m * cluster.n * ceil_div(p.m, std::int64_t{tile.m * cluster.m}) *
                               ceil_div(p.n, std::int64_t{tile.n * cluster.n});
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      std::optional<EmuStats> stats;
      const auto got = run_on(open_emu(seed, 4, Arch::sm100), host, 0, &stats);
      ASSERT_TRUE(got) << got.error().message;
      EXPECT_EQ(difference(host, *got, reference(host)), "") << "seed " << seed;
      taken.expect(stats.value(), static_cast<std::uint64_t>(tiles), fmt::format("problem {}, seed {}", number, seed));
    }
  }
  EXPECT_TRUE(taken.took_more && taken.fewer_started);
}

}  // namespace
}  // namespace ww
