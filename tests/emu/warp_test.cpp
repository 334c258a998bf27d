// SPDX-License-Identifier: Apache-2.0
// Warp-wide operations: shuffles, votes, partial syncs, elect, matrix loads and stores.
#include "harness.hpp"

#include <set>

#include "warpwright/arch/common/warp.hpp"

namespace ww::emu::test {
namespace {

struct Params {
  u32* out;
  bool transposed;
};

void exchange(const Params& p) {
  const u32 lane = thread_index() % 32;
  u32 sum = thread_index();
  for (u32 step = 16; step > 0; step /= 2) sum += t().shuffle(sum, step, arch::ShuffleMode::butterfly, here());
  const u32 up = t().shuffle(lane, 3, arch::ShuffleMode::up, here()),
            down = t().shuffle(lane, 3, arch::ShuffleMode::down, here());
  const u32 from = t().shuffle(lane * 10, lane + 1, arch::ShuffleMode::index, here());
  const u32 odd = t().vote(lane % 2 == 1, arch::VoteMode::ballot, here());
  const u32 any = t().vote(lane == 7, arch::VoteMode::any, here()),
            all = t().vote(lane == 7, arch::VoteMode::all, here());
  const u32 results[] = {sum, up, down, from, odd, any, all};
  for (u32 i = 0; i < 7; ++i) write_global(p.out + thread_index() * 8 + i, results[i]);
}

TEST(EmuWarp, ShufflesAndVotes) {
  for (u64 seed = 0; seed < 8; ++seed) {
    std::vector<u32> out(64 * 8);
    EXPECT_RUNS((launch<exchange>(Params{out.data(), false}, {.threads = 64}, {range("out", out)}, {.seed = seed})));
    for (u32 i = 0; i < 64; ++i) {
      const u32 lane = i % 32, expected[] = {(i / 32) * 1024 + 496,
                                             lane < 3 ? lane : lane - 3,
                                             lane > 28 ? lane : lane + 3,
                                             (lane + 1) % 32 * 10,
                                             0xAAAAAAAA,
                                             1,
                                             0};
      for (u32 j = 0; j < 7; ++j) EXPECT_EQ(out[i * 8 + j], expected[j]) << "thread " << i << " result " << j;
    }
  }
}

void make_uniform(const Params& p) {
  write_global(p.out + thread_index(), arch::warp::uniform(100 * thread_index() + 7));
}

TEST(EmuWarp, UniformGivesEveryLaneTheValueOfLaneZero) {
  arch::install(*table());
  for (u64 seed = 0; seed < 8; ++seed) {
    std::vector<u32> out(96);
    EXPECT_RUNS(
        (launch<make_uniform>(Params{out.data(), false}, {.threads = 96}, {range("out", out)}, {.seed = seed})));
    for (u32 i = 0; i < 96; ++i) EXPECT_EQ(out[i], 100 * (i / 32 * 32) + 7) << "thread " << i << " seed " << seed;
  }
}

void partial_sync(const Params& p) {
  const u32 lane = thread_index();
  const u32 mask = lane < 8 ? 0xFFu : 0xFFFFFF00u;
  for (u32 i = 0; i < 5; ++i) {
    if (lane % 8 == 0) shared<u32>(shared_base() + (lane < 8 ? 0 : 4)) = i;
    t().sync_warp(mask, here());
    if (shared<u32>(shared_base() + (lane < 8 ? 0 : 4)) != i) write_global(p.out, 1u);
    t().sync_warp(mask, here());
  }
  t().sync_warp(~0u, here());
}

void foreign_sync(const Params&) { t().sync_warp(0xFF, here()); }
void divergent_exchange(const Params&) {
  if (thread_index() == 4) t().vote(true, arch::VoteMode::all, here());
  else t().shuffle(0, 0, arch::ShuffleMode::index, here());
}
void missing_lane(const Params&) {
  if (thread_index() != 4) t().sync_warp(~0u, here());
}

void parted_lanes(const Params&) {
  if (thread_index() < 16) t().named_barrier_sync(0, 32, here());
  else t().sync_warp(~0u, here());
}

TEST(EmuWarp, SyncHoldsItsLanesAndReportsMisuse) {
  for (u64 seed = 0; seed < 8; ++seed) {
    std::vector<u32> out(4);
    EXPECT_RUNS(
        (launch<partial_sync>(Params{out.data(), false}, {.threads = 32}, {range("out", out)}, {.seed = seed})));
    EXPECT_EQ(out[0], 0u);
  }
  EXPECT_REPORTS((launch<foreign_sync>(Params{}, {.threads = 32})), "is not one of them");
  EXPECT_REPORTS((launch<divergent_exchange>(Params{}, {.threads = 32})), "another warp-wide operation");
  EXPECT_REPORTS((launch<missing_lane>(Params{}, {.threads = 32})), "warp 0 (31 threads)");
  EXPECT_REPORTS((launch<parted_lanes>(Params{}, {.threads = 32})),
                 "CTA 0, warp 0: its lanes wait for each other at different places, lanes 0x0000ffff at ");
}

void elect_twice(const Params& p) {
  for (u32 i = 0; i < 2; ++i)
    if (t().elect(here())) write_global(p.out + thread_index() / 32 * 2 + i, thread_index() % 32 + 1);
}

TEST(EmuWarp, ElectPicksOneLaneAnyLaneTheSameEachTime) {
  std::set<u32> lanes;
  for (u64 seed = 0; seed < 16; ++seed) {
    std::vector<u32> out(8);
    EXPECT_RUNS(
        (launch<elect_twice>(Params{out.data(), false}, {.threads = 128}, {range("out", out)}, {.seed = seed})));
    for (u32 warp = 0; warp < 4; ++warp) {
      EXPECT_NE(out[2 * warp], 0u);
      EXPECT_EQ(out[2 * warp], out[2 * warp + 1]) << "the leader of a mask is the same at every call";
      lanes.insert(out[2 * warp]);
    }
  }
  EXPECT_GT(lanes.size(), 10u);
}

void matrices(const Params& p) {
  const u32 lane = thread_index() % 32;
  u32 registers[4], back[4];
  for (u32 i = 0; i < 4; ++i) registers[i] = (i << 8 | lane * 2) | (i << 8 | (lane * 2 + 1)) << 16;
  const u32 row = shared_base() + lane * 16;  // matrix lane / 8, row lane % 8
  t().stmatrix(row, registers, 4, p.transposed, here());
  t().sync_warp(~0u, here());
  t().ldmatrix(row, back, 4, p.transposed, here());
  for (u32 i = 0; i < 4; ++i) {
    write_global(p.out + lane * 4 + i, shared<u32>(shared_base() + (lane * 4 + i) * 4));
    write_global(p.out + 128 + lane * 4 + i, back[i] ^ registers[i]);
  }
}

TEST(EmuWarp, MatrixStoresPutEightByEightItemsAtTheLanesRows) {
  for (bool transposed : {false, true})
    for (u64 seed = 0; seed < 4; ++seed) {
      std::vector<u32> out(256);
      EXPECT_RUNS(
          (launch<matrices>(Params{out.data(), transposed}, {.threads = 32}, {range("out", out)}, {.seed = seed})));
      for (u32 matrix = 0; matrix < 4; ++matrix)
        for (u32 row = 0; row < 8; ++row)
          for (u32 column = 0; column < 8; ++column) {
            u16 item;
            std::memcpy(&item, reinterpret_cast<u8*>(out.data()) + matrix * 128 + row * 16 + column * 2, 2);
            EXPECT_EQ(item, matrix << 8 | (transposed ? column * 8 + row : row * 8 + column));
          }
      for (u32 i = 128; i < 256; ++i) EXPECT_EQ(out[i], 0u) << "ldmatrix gives back what stmatrix stored";
    }
}

}  // namespace
}  // namespace ww::emu::test
