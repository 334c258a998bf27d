// SPDX-License-Identifier: Apache-2.0
// TMA loads and stores against the swizzle formula and plain copies; limits of tensor maps; multicast; bulk groups.
#include "harness.hpp"
#include "warpwright/atom/layouts.hpp"
#include "warpwright/atom/tma_atom.hpp"

namespace ww::emu::test {
namespace {

constexpr u32 kBox = 16384;

struct Params {
  arch::TensorMap map, target;
  u8* out;
  arch::TmaCoordinates at, store_at;
  u32 rank, bytes, multicast;
};

/// Every CTA loads (or rank 0 multicasts), copies the raw shared bytes out, then rank 0 stores the box.
void load_and_store(const Params& p) {
  const u32 box = shared_base(), barrier = shared_base() + kBox;
  if (thread_index() == 0) {
    t().mbarrier_init(barrier, 1, here());
    t().fence(arch::Fence::mbarrier_init, here());
  }
  sync_cluster();
  if (thread_index() == 0) {
    const bool receives = p.multicast == 0 || (p.multicast >> cluster_rank() & 1);
    if (receives) t().mbarrier_arrive_expect_tx(barrier, p.bytes, here());
    if (p.multicast == 0 || cluster_rank() == 0)
      t().tma_load(&p.map, static_cast<int>(p.rank), barrier, box, p.at, p.multicast, here());
    if (receives) t().mbarrier_wait(barrier, 0, arch::kAcquireCta, here());
  }
  sync_cta();
  for (u32 i = thread_index(); i < p.bytes; i += 32)
    write_global<u8>(p.out + cluster_rank() * kBox + i, shared<u8>(box + i));
  sync_cluster();
  if (thread_index() == 0 && cluster_rank() == 0) {
    t().tma_store(&p.target, static_cast<int>(p.rank), box, p.store_at, here());
    t().bulk_commit(here());
    t().bulk_wait(0, false, here());
  }
}

struct Case {
  SmemSwizzle swizzle;
  u32 bits, columns, rows;  // bytes, box
};

TEST(EmuTma, LoadsSwizzleOnAddressBitsAndStoresUndoIt) {
  constexpr u32 kWidth = 512, kHeight = 64;
  auto in = random_bytes<u8>(kWidth * kHeight, 2);
  for (const Case& c : {Case{SmemSwizzle::none, 0, 64, 24},
                        {SmemSwizzle::b32, 1, 32, 32},
                        {SmemSwizzle::b64, 2, 64, 20},
                        {SmemSwizzle::b128, 3, 128, 40}})
    for (const auto& [x, y] : {std::pair{32, 5}, {-16, -3}, {480, 50}, {496, 70}}) {
      std::vector<u8> raw(kBox), out(kWidth * kHeight, 0xAA), stored = out;
      TensorMapSpec spec{.base = in.data(),
                         .rank = 2,
                         .extent = {kWidth - 5, kHeight},
                         .stride_bytes = {0, kWidth},
                         .box = {c.columns, c.rows},
                         .swizzle = c.swizzle};
      const int store_x = x < 0 ? 0 : x, store_y = y < 0 ? 0 : y;  // a store may not begin before the tensor
      Params p{*encode(spec), {}, raw.data(), {{x, y}}, {{store_x, store_y}}, 2, c.columns * c.rows, 0};
      spec.base = out.data();
      p.target = *encode(spec);
      const auto stats = launch<load_and_store>(p, {.threads = 32, .shared_bytes = kBox + 8},
                                                {range("in", in, false), range("raw", raw), range("out", out)});
      ASSERT_TRUE(stats) << message(stats);
      u64 inside = 0, written = 0;
      for (int r = 0; r < static_cast<int>(c.rows); ++r)
        for (int i = 0; i < static_cast<int>(c.columns); ++i) {
          const int gx = x + i, gy = y + r;
          const bool in_tensor =
              gx >= 0 && gx < static_cast<int>(kWidth) - 5 && gy >= 0 && gy < static_cast<int>(kHeight);
          u32 offset = static_cast<u32>(r) * c.columns + static_cast<u32>(i);
          offset ^= (offset & (((1u << c.bits) - 1) << 7)) >> 3;
          const u8 expected = in_tensor ? in[static_cast<u32>(gy) * kWidth + static_cast<u32>(gx)] : 0;
          ASSERT_EQ(raw[offset], expected)
              << "bits " << c.bits << " at " << x << "," << y << " row " << r << " byte " << i;
          inside += in_tensor;
          // A store clips rows at 16 bytes: here at the pitch.
          const u32 to_x = static_cast<u32>(store_x + i), to_y = static_cast<u32>(store_y + r);
          if (to_x >= kWidth || to_y >= kHeight) continue;
          stored[to_y * kWidth + to_x] = expected;
          ++written;
        }
      EXPECT_EQ(out, stored) << "a store must clip";
      if (inside) {
        EXPECT_EQ(stats->l2_read_bytes.at("in"), inside);
        EXPECT_EQ(stats->l2_write_bytes.at("out"), written);
      }
      EXPECT_EQ(stats->shared_write_bytes.at("in"), u64{c.columns} * c.rows);
    }
}

struct TileParams {
  arch::TensorMap map;
  u8* out;
  int row, column;
};

/// Copies a tile of kRows rows and 128 bytes of K, or for MN-major as many k as 128 bytes hold, and writes out its raw
/// bytes.
template <DType kType, int kRows, Major kMajor> void copy_a_tile(const TileParams& p) {
  constexpr u32 kBytes = kRows * atom::kSwizzleSpan;
  const arch::SharedAddress tile = arch::dynamic_shared();
  const arch::MBarrier full{tile + kBytes};
  if (thread_index() == 0) {
    arch::mbarrier::init(full, 1);
    t().fence(arch::Fence::mbarrier_init, here());
    arch::mbarrier::arrive_expect_tx(full, kBytes);
    atom::copy_tile<kType, kRows>(atom::TmaLoadAtom{p.map}.with(full), atom::Box<false>{p.row, p.column},
                                  atom::SharedTile<kMajor>{tile});
    arch::mbarrier::wait(full, 0);
  }
  sync_cta();
  for (u32 i = thread_index(); i < kBytes; i += 32) write_global<u8>(p.out + i, shared<u8>(tile.value + i));
}

/// Compares each element of a tile from (48, 32) on, which reaches beyond the matrix, with its place in the layout that
/// MMAs read.
template <DType kType, int kRows, Major kMajor> void expect_tile() {
  constexpr int kBytes = bytes_of(kType), kK = atom::kSwizzleSpan / kBytes, kRow = 48, kColumn = 32;
  constexpr u32 kM = 208, kDepth = kColumn + kK - 16, kTileBytes = kRows * atom::kSwizzleSpan;
  constexpr bool kContiguousK = kMajor == Major::k;
  auto in = random_bytes<u8>(kM * kDepth * kBytes, 7);
  std::vector<u8> raw(kTileBytes);
  const u32 width = kContiguousK ? kDepth : kM, height = kContiguousK ? kM : kDepth;
  const TensorMapSpec spec =
      TensorMapSpec::matrix(in.data(), kType, height, width, width, kContiguousK ? kRows : kK, kK, SmemSwizzle::b128);
  const auto map = encode(spec);
  ASSERT_TRUE(map) << map.error().message;
  EXPECT_RUNS((launch<copy_a_tile<kType, kRows, kMajor>>(TileParams{*map, raw.data(), kRow, kColumn},
                                                         {.threads = 32, .shared_bytes = kTileBytes + 8},
                                                         {range("in", in, false), range("raw", raw)})));
  const auto layout = make_tensor(arch::SharedPtr<storage_t<kType>>{arch::SharedAddress{0}},
                                  atom::OperandLayout<kType, kRows, 1, kMajor>{});  // (kRows, K, 1)
  for (u32 m = 0; m < kRows; ++m)
    for (u32 k = 0; k < kK; ++k) {
      const u32 row = kRow + m, column = kColumn + k;
      const u32 at = layout(static_cast<int>(m), static_cast<int>(k), 0).address.value;
      for (u32 byte = 0; byte < kBytes; ++byte) {
        const u8 expected = row < kM && column < kDepth
                                ? in[(kContiguousK ? row * width + column : column * width + row) * kBytes + byte]
                                : u8{0};
        ASSERT_EQ(raw[at + byte], expected) << "row " << m << " k " << k << " byte " << byte;
      }
    }
}

TEST(EmuTma, ATiledCopyFillsTheLayoutOfItsTile) {
  arch::install(*table());
  expect_tile<DType::e4m3, 192, Major::k>();
  expect_tile<DType::bf16, 64, Major::k>();
  expect_tile<DType::bf16, 192, Major::mn>();  // three boxes
  expect_tile<DType::f16, 64, Major::mn>();
  expect_tile<DType::e4m3, 256, Major::mn>();  // two boxes
  expect_tile<DType::e5m2, 128, Major::mn>();
}

TEST(EmuTma, RankThreeWalksItsStrides) {
  auto in = random_bytes<u16>(8 * 6 * 32, 2);
  std::vector<u8> raw(kBox);
  std::vector<u16> out(in.size());
  TensorMapSpec spec{.base = in.data(),
                     .element = bf16,
                     .rank = 3,
                     .extent = {32, 6, 8},
                     .stride_bytes = {0, 64, 384},
                     .box = {16, 4, 3},
                     .swizzle = SmemSwizzle::none};
  Params p{*encode(spec), {}, raw.data(), {{8, 1, 2}}, {{8, 1, 2}}, 3, 16 * 4 * 3 * 2, 0};
  spec.base = out.data();
  p.target = *encode(spec);
  EXPECT_RUNS((launch<load_and_store>(p, {.threads = 32, .shared_bytes = kBox + 8},
                                      {range("in", in, false), range("raw", raw), range("out", out)})));
  for (u32 z = 0; z < 3; ++z)
    for (u32 y = 0; y < 4; ++y)
      for (u32 x = 0; x < 16; ++x) {
        const u32 from = (z + 2) * 192 + (y + 1) * 32 + x + 8;
        u16 got;
        std::memcpy(&got, &raw[((z * 4 + y) * 16 + x) * 2], 2);
        EXPECT_EQ(got, in[from]);
        EXPECT_EQ(out[from], in[from]);
      }
}

TEST(EmuTma, ModesOfOneStrideAddUpToOneRow) {
  // A batch of matrices of one row each: both outer modes step by a row.
  auto in = random_bytes<u16>(4 * 32, 2);
  std::vector<u8> raw(kBox);
  std::vector<u16> out(in.size());
  TensorMapSpec spec{.base = in.data(),
                     .element = bf16,
                     .rank = 3,
                     .extent = {32, 1, 4},
                     .stride_bytes = {0, 64, 64},
                     .box = {16, 8, 1},
                     .swizzle = SmemSwizzle::none};
  const Shape shape{.threads = 32, .shared_bytes = kBox + 8};
  Params p{*encode(spec), {}, raw.data(), {{8, 0, 2}}, {{8, 0, 3}}, 3, 16 * 8 * 2, 0};
  spec.base = out.data();
  p.target = *encode(spec);
  const auto memory = [&](u64 bytes) {
    return std::vector<MemoryRange>{range("in", in, false), range("raw", raw), {"out", out.data(), bytes, true}};
  };
  EXPECT_RUNS((launch<load_and_store>(p, shape, memory(256))));
  for (u32 i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], i >= 3 * 32 + 8 && i < 3 * 32 + 24 ? in[i - 32] : 0) << i;
  EXPECT_REPORTS((launch<load_and_store>(p, shape, memory(192))), "in no operand of the launch");
  Params outside = p;
  outside.store_at = {{8, 0, 4}};
  EXPECT_RUNS((launch<load_and_store>(outside, shape, memory(256))));  // past the batch: nothing is written
  spec.extent[1] = 2, spec.extent[2] = 3, spec.box[2] = 2;
  p.target = *encode(spec), p.map = p.target, p.at = p.store_at = {{8, 0, 0}}, p.bytes = 16 * 8 * 2 * 2;
  EXPECT_REPORTS((launch<load_and_store>(p, shape, memory(256))), "not emulated");
}

TEST(EmuTma, MulticastReachesExactlyTheMaskAndCountsItsReadOnce) {
  auto in = random_bytes<u8>(128 * 8, 2);
  for (u32 mask : {0b0001u, 0b1010u, 0b1111u})
    for (u64 seed = 0; seed < 4; ++seed) {
      std::vector<u8> raw(4 * kBox), out(128 * 8);
      TensorMapSpec spec{.base = in.data(),
                         .rank = 2,
                         .extent = {128, 8},
                         .stride_bytes = {0, 128},
                         .box = {128, 8},
                         .swizzle = SmemSwizzle::b128};
      Params p{*encode(spec), {}, raw.data(), {}, {}, 2, 1024, mask};
      spec.base = out.data();
      p.target = *encode(spec);
      const auto stats =
          launch<load_and_store>(p, {.threads = 32, .grid = 4, .cluster = 4, .shared_bytes = kBox + 8},
                                 {range("in", in, false), range("raw", raw), range("out", out)}, {.seed = seed});
      ASSERT_TRUE(stats) << message(stats);
      for (u32 rank = 0; rank < 4; ++rank)
        EXPECT_EQ(raw[rank * kBox] == in[0] && raw[rank * kBox + 1] == in[1], (mask >> rank & 1) != 0);
      EXPECT_EQ(stats->l2_read_bytes.at("in"), 1024u);
      EXPECT_EQ(stats->shared_write_bytes.at("in"), 1024u * static_cast<u32>(__builtin_popcount(mask)));
      EXPECT_EQ(stats->tma_loads, 1u);
    }
}

struct Wrong {
  const char* report;
  int x = 0;
  u32 rank = 2, offset = 0, multicast = 0;
  bool no_range = false, no_map = false, read_only = false;
};

struct WrongParams {
  Params p;
  u32 offset;
};

void load_wrongly(const WrongParams& w) {
  const u32 barrier = shared_base() + kBox;
  if (thread_index() != 0) return;
  t().mbarrier_init(barrier, 1, here());
  t().tma_load(&w.p.map, static_cast<int>(w.p.rank), barrier, shared_base() + w.offset, w.p.at, w.p.multicast, here());
  t().mbarrier_arrive_expect_tx(barrier, w.p.bytes, here());
  t().mbarrier_wait(barrier, 0, arch::kAcquireCta, here());
  t().tma_store(&w.p.map, static_cast<int>(w.p.rank), shared_base() + w.offset, w.p.at, here());
  t().bulk_commit(here());
  t().bulk_wait(0, true, here());
}

TEST(EmuTma, WrongInstructionsAreReported) {
  auto in = random_bytes<float>(64 * 8, 2);
  TensorMapSpec spec{.base = in.data(),
                     .element = f32,
                     .rank = 2,
                     .extent = {64, 8},
                     .stride_bytes = {0, 256},
                     .box = {32, 8},
                     .swizzle = SmemSwizzle::b128};
  for (const Wrong& w : {Wrong{"no multiple of 16 bytes", 3},
                         {"rank 3 with a tensor map of rank 2", 0, 3},
                         {"misaligned", 0, 2, 64},
                         {"out of bounds", 0, 2, kBox},
                         {"names CTAs outside", 0, 2, 0, 2},
                         {"in no operand of the launch", 0, 2, 0, 0, true},
                         {"no tensor map", 0, 2, 0, 0, false, true},
                         {"read-only operand in", 0, 2, 0, 0, false, false, true},
                         {""}}) {
    WrongParams params{
        {w.no_map ? arch::TensorMap{} : *encode(spec), {}, nullptr, {{w.x}}, {}, w.rank, 1024, w.multicast}, w.offset};
    std::vector<MemoryRange> memory;
    if (!w.no_range) memory.push_back(range("in", in, !w.read_only));
    const auto result = launch<load_wrongly>(params, {.threads = 32, .shared_bytes = kBox + 8}, memory);
    if (*w.report) {
      EXPECT_REPORTS(result, w.report);
    } else {
      EXPECT_RUNS(result);
    }
  }
}

TEST(EmuTma, AStoreThatOverwritesWhatFollowsItsOperandIsReported) {
  alignas(16) u8 data[64] = {};
  const TensorMapSpec spec{.base = data, .rank = 1, .extent = {60}, .box = {64}, .swizzle = SmemSwizzle::none};
  const WrongParams params{{*encode(spec), {}, nullptr, {}, {}, 1, 64, 0}, 0};
  for (u64 bytes : {60, 63, 64}) {
    const auto result =
        launch<load_wrongly>(params, {.threads = 32, .shared_bytes = kBox + 8}, {{"data", data, bytes, true}});
    if (bytes < 64) {
      EXPECT_REPORTS(result, "rows are clipped at 16 bytes");
    } else {
      EXPECT_RUNS(result);
    }
  }
}

TEST(EmuTma, EncodeRefusesWhatTheDriverRefuses) {
  alignas(16) static u8 data[4096];
  const TensorMapSpec good{.base = data, .rank = 2, .extent = {128, 8}, .stride_bytes = {0, 128}, .box = {128, 8}};
  ASSERT_TRUE(encode(good));
  const auto refuses = [&](auto change, const char* argument) {
    TensorMapSpec spec = good;
    change(spec);
    const auto result = encode(spec);
    ASSERT_FALSE(result) << argument;
    EXPECT_EQ(result.error().argument, argument);
  };
  refuses([](auto& s) { s.base = data + 8; }, "tensor map base");
  refuses([](auto& s) { s.rank = 6; }, "tensor map rank");
  refuses([](auto& s) { s.extent[1] = 0; }, "tensor map extent[1]");
  refuses([](auto& s) { s.extent[1] = (u64{1} << 32) + 1; }, "tensor map extent[1]");
  refuses([](auto& s) { s.stride_bytes[1] = 120; }, "tensor map stride_bytes[1]");
  refuses([](auto& s) { s.stride_bytes[1] = u64{1} << 40; }, "tensor map stride_bytes[1]");
  refuses([](auto& s) { s.box[1] = 257; }, "tensor map box[1]");
  refuses([](auto& s) { s.box[0] = 24; }, "tensor map box[0]");
  refuses([](auto& s) { s.box[0] = 144; }, "tensor map box[0]");
}

struct GroupParams {
  arch::TensorMap map;
  u32 mode;
};

/// Stores a box and overwrites its source after a wait (or without one).
void bulk_groups(const GroupParams& p) {
  if (thread_index() != 0) return;
  for (u32 i = 0; i < 8; ++i) {
    for (u32 word = 0; word < 32; ++word) shared<u32>(shared_base() + 128 * (i % 2) + 4 * word) = i + 1;
    t().tma_store(&p.map, 2, shared_base() + 128 * (i % 2), {{0, static_cast<int>(i)}}, here());
    t().bulk_commit(here());
    if (p.mode == 0) t().bulk_wait(1, true, here());
  }
  if (p.mode != 2) t().bulk_wait(0, true, here());
}

TEST(EmuTma, BulkWaitLetsTheNewestGroupsRunOn) {
  int wrong = 0, unfinished = 0;
  for (u64 seed = 0; seed < 20; ++seed)
    for (u32 mode = 0; mode < 3; ++mode) {
      std::vector<u32> out(32 * 8);
      const TensorMapSpec spec{.base = out.data(),
                               .element = f32,
                               .rank = 2,
                               .extent = {32, 8},
                               .stride_bytes = {0, 128},
                               .box = {32, 1},
                               .swizzle = SmemSwizzle::none};
      const auto stats =
          launch<bulk_groups>(GroupParams{*encode(spec), mode}, {.threads = 32}, {range("out", out)}, {.seed = seed});
      bool right = true;
      for (u32 i = 0; i < out.size(); ++i) right = right && out[i] == i / 32 + 1;
      if (mode == 0) {
        EXPECT_TRUE(stats && right) << "replay with seed " << seed << " " << message(stats);
      }
      if (mode == 1) wrong += !right;
      if (mode == 2) unfinished += !stats && message(stats).find("bulk stores still read") != std::string::npos;
    }
  EXPECT_GT(wrong, 0) << "a source reused without a wait should show under some seed";
  EXPECT_GT(unfinished, 0);
}

}  // namespace
}  // namespace ww::emu::test
