// SPDX-License-Identifier: Apache-2.0
// What TMA does on sm_100 beyond Hopper: loads of a CTA pair, whose bytes count on the barrier of either CTA, and boxes
// of 4- and 6-bit elements.
#include "check_launch.hpp"
#include "emu/caller.hpp"
#include "emu/sm100/model.hpp"
#include "emu/tma_engine.hpp"

namespace ww::emu::test {
namespace {

constexpr u32 kBox = 1024, kLeader = ~(1u << arch::kSharedRankShift);

enum class Mistake { none, own_barrier, other_pair, twice_the_cluster, no_wait };

struct PairParams {
  arch::TensorMap map;
  u8* out;
  bool multicast;
  Mistake mistake;
};

/// Each CTA loads its own box, or the first pair loads a box for all CTAs of its parity; the bytes of both CTAs count
/// at the even one's barrier.
void load_of_pairs(const PairParams& p) {
  const u32 rank = cluster_rank(), ctas = t().special(arch::Special::cluster_size);
  const u32 box = shared_base(), barrier = shared_base() + kBox;
  const bool leads = rank % 2 == 0;
  if (thread_index() == 0) {
    t().mbarrier_init(barrier, 1, here());
    t().fence(arch::Fence::mbarrier_init, here());
  }
  sync_cluster();
  if (thread_index() == 0) {
    if (leads)
      t().mbarrier_arrive_expect_tx(barrier, (p.mistake == Mistake::twice_the_cluster ? ctas : 2) * kBox, here());
    u32 counted = p.mistake == Mistake::own_barrier ? barrier : barrier & kLeader;
    if (p.mistake == Mistake::other_pair) counted = t().cluster_map(barrier, rank ^ 2, here());
    u32 mask = 0;
    for (u32 r = rank; p.multicast && r < ctas; r += 2) mask |= 1u << r;
    const int row = static_cast<int>(p.multicast ? rank : rank % 8) * 8;
    if (!p.multicast || rank < 2) tma_load(WW_CALLER, {&p.map, 2, counted, box, {{0, row}}, mask, true}, here());
    if (leads && p.mistake != Mistake::no_wait) t().mbarrier_wait(barrier, 0, arch::kAcquireCta, here());
  }
  t().sync_warp(~0u, here());
  sync_cluster();  // the odd CTA learns of its bytes from the even one
  for (u32 i = thread_index(); i < kBox; i += 32) write_global(p.out + rank * kBox + i, shared<u8>(box + i));
  sync_cluster();
}

struct PairRun {
  std::vector<u8> in = random_bytes<u8>(8 * kBox, 2), out = std::vector<u8>(16 * kBox);
  PairParams params;
  Shape shape;
  PairRun(u32 ctas, bool multicast, Mistake mistake)
      : params{{}, out.data(), multicast, mistake},
        shape{.threads = 32, .grid = ctas, .cluster = ctas, .shared_bytes = kBox + 8} {
    params.map = *encode({.base = in.data(),
                          .rank = 2,
                          .extent = {128, 64},
                          .stride_bytes = {0, 128},
                          .box = {128, 8},
                          .swizzle = SmemSwizzle::none});
  }
  std::vector<MemoryRange> memory() { return {range("in", in, false), range("out", out)}; }
  Result<EmuStats> run(u64 seed) {
    return launch<load_of_pairs>(params, shape, memory(), {.seed = seed}, sm100::kModel);
  }
  CheckReport check(u64 seed) {
    return check_launch<load_of_pairs>(params, shape, memory(), {.seed = seed}, sm100::kModel);
  }
};

TEST(EmuPairTma, BytesOfBothCtasCountAtTheLeaderOfEachPair) {
  for (const u32 ctas : {2u, 4u, 8u, 16u})
    for (const bool multicast : {false, true})
      for (u64 seed = 0; seed < 6; ++seed) {
        PairRun run(ctas, multicast, Mistake::none);
        const auto stats = run.run(seed);
        EXPECT_RUNS(stats);
        for (u32 rank = 0; rank < ctas; ++rank)
          ASSERT_EQ(std::memcmp(&run.out[rank * kBox], &run.in[(multicast ? rank % 2 : rank % 8) * kBox], kBox), 0)
              << "rank " << rank << " of " << ctas;
        EXPECT_EQ(stats->l2_read_bytes.at("in"), (multicast ? 2u : ctas) * kBox);
        const CheckReport report = run.check(seed);
        EXPECT_TRUE(report.findings.empty()) << all_of(report);
      }
}

TEST(EmuPairTma, MistakesAreFound) {
  EXPECT_REPORTS((PairRun(4, false, Mistake::other_pair).run(0)), "expected CTAs of one pair");
  EXPECT_REPORTS((PairRun(3, false, Mistake::none).run(0)), "expected an even number of CTAs");
  EXPECT_REPORTS((PairRun(4, true, Mistake::twice_the_cluster).run(0)), "deadlock");
  EXPECT_REPORTS((PairRun(2, false, Mistake::own_barrier).run(0)), "deadlock");
  for (u64 seed = 0; seed < 4; ++seed)
    EXPECT_TRUE(has(PairRun(2, false, Mistake::no_wait).check(seed), Rule::data_race));
}

// --- narrow elements ------------------------------------------------------------------------------

struct NarrowParams {
  arch::TensorMap map, target;
  u8* out;
  arch::TmaCoordinates at;
  u32 counted, shared_bytes;
  bool stores;
};

void load_narrow(const NarrowParams& p) {
  const u32 box = shared_base(), barrier = shared_base() + 8192;
  if (thread_index() != 0) return;
  t().mbarrier_init(barrier, 1, here());
  t().fence(arch::Fence::mbarrier_init, here());
  t().mbarrier_arrive_expect_tx(barrier, p.counted, here());
  t().tma_load(&p.map, 2, barrier, box, p.at, 0, here());
  t().mbarrier_wait(barrier, 0, arch::kAcquireCta, here());
  for (u32 i = 0; i < p.shared_bytes; ++i) write_global(p.out + i, shared<u8>(box + i));
  if (!p.stores) return;
  t().tma_store(&p.target, 2, box, p.at, here());
  t().bulk_commit(here());
  t().bulk_wait(0, false, here());
}

struct NarrowCase {
  NarrowElements narrow;
  u32 bits, container;  // of an element; bytes of 16 of them in shared memory
  u32 box;              // elements
};
constexpr NarrowCase kNarrow[] = {{NarrowElements::bits4, 4, 8, 256},
                                  {NarrowElements::bits4_padded, 4, 16, 128},
                                  {NarrowElements::bits6_padded, 6, 16, 128}};

constexpr u32 kElements = 512, kRows = 20, kBoxRows = 8;

TensorMapSpec narrow_spec(const NarrowCase& c, void* data, SmemSwizzle swizzle) {
  return {.base = data,
          .rank = 2,
          .extent = {kElements, kRows},
          .stride_bytes = {0, kElements * c.bits / 8},
          .box = {c.box, kBoxRows},
          .swizzle = swizzle,
          .narrow = c.narrow};
}

/// Returns bit field number `i` of a row, by its definition: elements follow each other without gaps.
u32 field(const u8* row, u32 i, u32 bits) {
  u32 value = 0;
  for (u32 b = 0; b < bits; ++b) value |= (row[(i * bits + b) / 8] >> (i * bits + b) % 8 & 1u) << b;
  return value;
}

/// Returns where a launch puts element (row, i) of the box: units of 16 follow each other, padded to their container.
u32 place_of(const NarrowCase& c, SmemSwizzle swizzle, u32 row, u32 unit) {
  const u32 row_bytes = c.box / 16 * c.container, offset = row * row_bytes + unit * c.container;
  return swizzle == SmemSwizzle::b128 ? offset ^ (offset >> 7 & 7) << 4 : offset;
}

void expect_loaded(const NarrowCase& c, SmemSwizzle swizzle, const arch::TmaCoordinates& at) {
  alignas(1024) static u8 in[kElements * kRows];
  const auto bytes = random_bytes<u8>(sizeof in, 5);
  std::memcpy(in, bytes.data(), sizeof in);
  std::vector<u8> out(8192);
  const u32 packed = c.box * kBoxRows * c.bits / 8, shared = c.box / 16 * c.container * kBoxRows;
  const NarrowParams p{*encode(narrow_spec(c, in, swizzle)), {}, out.data(), at, packed, shared, false};
  EXPECT_RUNS(
      (launch<load_narrow>(p, {.threads = 32, .shared_bytes = 8192 + 8},
                           {{"in", in, kElements * kRows * c.bits / 8, false}, range("out", out)}, {}, sm100::kModel)));
  for (u32 row = 0; row < kBoxRows; ++row)
    for (u32 i = 0; i < c.box; ++i) {
      const int x = at.at[0] + static_cast<int>(i), y = at.at[1] + static_cast<int>(row);
      const bool inside = x >= 0 && x < static_cast<int>(kElements) && y >= 0 && y < static_cast<int>(kRows);
      const u32 expected =
          inside ? field(in + static_cast<u32>(y) * kElements * c.bits / 8, static_cast<u32>(x), c.bits) : 0;
      ASSERT_EQ(field(&out[place_of(c, swizzle, row, i / 16)], i % 16, c.bits), expected)
          << c.bits << " bits, row " << row << ", element " << i << " at " << x << "," << y;
    }
}

TEST(EmuNarrowTma, BoxesArriveAtThePlacesOfTheirUnits) {
  for (const NarrowCase& c : kNarrow)
    for (const SmemSwizzle swizzle : {SmemSwizzle::none, SmemSwizzle::b128})
      for (const auto& [x, y] : {std::pair{0, 0}, {128, 3}, {384, 15}, {-128, -2}, {512, 0}})
        expect_loaded(c, swizzle, {{x, y}});
}

/// Returns where a load puts byte `byte` of row `row` of a box of 128-byte rows: units of 32 bytes exchange places by
/// the row modulo 4.
u32 place_of_units(u32 row, u32 byte) { return row * 128 + (byte / 32 ^ row % 4) * 32 + byte % 32; }

TEST(EmuTma, UnitsOf32BytesExchangePlacesByTheirRow) {
  constexpr u32 kColumns = 70, kPitch = 72, kBoxColumns = 32;
  alignas(1024) static u32 in[kPitch * kRows], target[kPitch * kRows];
  const auto words = random_bytes<u32>(sizeof in / 4, 6);
  std::memcpy(in, words.data(), sizeof in);
  const auto map_of = [&](void* data) {
    return *encode(TensorMapSpec::matrix(data, DType::tf32, kRows, kColumns, kPitch, kBoxRows, kBoxColumns,
                                         SmemSwizzle::b128_unit32));
  };
  for (const auto& [x, y] : {std::pair{0, 0}, {32, 3}, {64, 15}, {8, 19}}) {
    std::vector<u8> out(8192);
    std::memset(target, 0, sizeof target);
    constexpr u32 kBytes = 128 * kBoxRows;
    const NarrowParams p{map_of(in), map_of(target), out.data(), {{x, y}}, kBytes, kBytes, true};
    EXPECT_RUNS(
        (launch<load_narrow>(p, {.threads = 32, .shared_bytes = 8192 + 8},
                             {{"in", in, sizeof in, false}, {"target", target, sizeof target, true}, range("out", out)},
                             {}, sm100::kModel)));
    for (u32 row = 0; row < kBoxRows; ++row)
      for (u32 i = 0; i < kBoxColumns; ++i) {
        const u32 at_x = static_cast<u32>(x) + i, at_y = static_cast<u32>(y) + row;
        const bool inside = at_x < kColumns && at_y < kRows;
        const u32 expected = inside ? in[at_y * kPitch + at_x] : 0;
        u32 got = 0;
        std::memcpy(&got, &out[place_of_units(row, 4 * i)], 4);
        ASSERT_EQ(got, expected) << "row " << row << ", element " << i << " at " << x << "," << y;
        if (!inside) continue;
        ASSERT_EQ(target[at_y * kPitch + at_x], expected) << "row " << at_y << ", column " << at_x;
      }
  }
}

TEST(EmuNarrowTma, CoordinatesAndStoresHaveTheirLimits) {
  alignas(1024) static u8 in[kElements * kRows], target[kElements * kRows];
  const auto result = [&](const NarrowCase& c, int x, bool stores) {
    std::vector<u8> out(8192);
    NarrowParams p{*encode(narrow_spec(c, in, SmemSwizzle::none)),
                   *encode(narrow_spec(c, target, SmemSwizzle::none)),
                   out.data(),
                   {{x, 0}},
                   c.box * kBoxRows * c.bits / 8,
                   c.box / 16 * c.container * kBoxRows,
                   stores};
    return launch<load_narrow>(
        p, {.threads = 32, .shared_bytes = 8192 + 8},
        {{"in", in, sizeof in, false}, {"target", target, sizeof target, true}, range("out", out)}, {}, sm100::kModel);
  };
  EXPECT_REPORTS(result(kNarrow[0], 16, false), "coordinate 16 of narrow elements; expected a multiple of 32");
  EXPECT_RUNS(result(kNarrow[0], 32, false));
  EXPECT_REPORTS(result(kNarrow[1], 64, false), "expected a multiple of 128");
  EXPECT_REPORTS(result(kNarrow[2], 64, false), "expected a multiple of 128");
  EXPECT_REPORTS(result(kNarrow[1], 128, true), "for loads only");
  EXPECT_REPORTS(result(kNarrow[2], 128, true), "for loads only");
  for (u32 i = 0; i < sizeof in; ++i) in[i] = static_cast<u8>(i * 7);
  EXPECT_RUNS(result(kNarrow[0], 32, true));
  for (u32 row = 0; row < kRows; ++row)
    for (u32 i = 0; i < kElements / 2; ++i)
      ASSERT_EQ(target[row * kElements / 2 + i],
                row < kBoxRows && i >= 16 && i < 144 ? in[row * kElements / 2 + i] : 0);
}

}  // namespace
}  // namespace ww::emu::test
