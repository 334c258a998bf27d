// SPDX-License-Identifier: Apache-2.0
// Tensor memory of emu:sm100: who may allocate, free, load and store what, and when loaded values are there.
#include "sm100_harness.hpp"

namespace ww::emu::test {
namespace {

constexpr Shape kPair{.grid = 2, .cluster = 2};
constexpr u32 kUnset = 0x7FFFDEAD;

struct Columns {
  u32 first = 32, second = 0;  // of two allocations, the second only if it is not 0
  bool relinquish_between = false;
  CtaGroup group = CtaGroup::one;
  u32* addresses = nullptr;
};

void allocates(const Columns& p) {
  if (warp_index() != 0) return;
  u().alloc(p.group, shared_base(), p.first, here());
  const u32 first = read_shared<u32>(shared_base());
  u32 second = 0;
  if (p.relinquish_between) u().relinquish(p.group, here());
  if (p.second != 0) {
    u().alloc(p.group, shared_base() + 4, p.second, here());
    second = read_shared<u32>(shared_base() + 4);
    u().dealloc(p.group, second, p.second, here());
  }
  u().dealloc(p.group, first, p.first, here());
  if (p.addresses && lane_index() == 0) {
    p.addresses[2 * cluster_rank()] = first;
    p.addresses[2 * cluster_rank() + 1] = second;
  }
}

TEST(TensorMemory, AllocationsArePowersOfTwoThatDoNotGrow) {
  for (const u32 columns : {32u, 64u, 128u, 256u, 512u}) EXPECT_RUNS(launch_sm100<allocates>(Columns{columns}, {}));
  for (const u32 columns : {0u, 16u, 33u, 48u, 96u, 1024u})
    EXPECT_REPORTS(launch_sm100<allocates>(Columns{columns}, {}), "expected a power of two from 32 to 512");
  EXPECT_RUNS(launch_sm100<allocates>(Columns{256, 256}, {}));
  EXPECT_RUNS(launch_sm100<allocates>(Columns{256, 32}, {}));
  EXPECT_REPORTS(launch_sm100<allocates>(Columns{64, 128}, {}), "successive allocations of a CTA must not grow");
  EXPECT_REPORTS(launch_sm100<allocates>(Columns{64, 64, true}, {}), "after the CTA has given up its permit");
}

TEST(TensorMemory, APairAllocatesTheSameColumnsInBothCtas) {
  bool differs = false;
  for (u64 seed = 0; seed < 24; ++seed) {
    u32 at[4] = {};
    EXPECT_RUNS(launch_sm100<allocates>(Columns{128, 64, false, CtaGroup::pair, at}, kPair, {.seed = seed}));
    EXPECT_EQ(at[0], at[2]);
    EXPECT_EQ(at[1], at[3]);
    EXPECT_TRUE(at[1] + 64 <= at[0] || at[1] >= at[0] + 128) << at[0] << " " << at[1];
    differs = differs || at[0] != 0;
  }
  EXPECT_TRUE(differs) << "no kernel may rely on column 0";
  EXPECT_REPORTS(launch_sm100<allocates>(Columns{32, 0, false, CtaGroup::pair}, {}), "expected an even number");
}

struct Mistake {
  int which = 0;
};

void breaks_allocation(const Mistake& p) {
  if (p.which == 1 && lane_index() != 0) return;  // not the whole warp
  if (warp_index() != 0) return;
  u().alloc(CtaGroup::one, shared_base(), p.which == 2 && lane_index() == 9 ? 64 : 32, here());
  t().sync_warp(~0u, here());
  const u32 address = read_shared<u32>(shared_base());
  if (p.which == 3) return;  // never freed
  if (p.which == 4) u().dealloc(CtaGroup::one, address + 1, 32, here());
  if (p.which == 5) u().dealloc(CtaGroup::one, address, 64, here());
  if (p.which == 8) u().dealloc(CtaGroup::one, address + (32u << 16), 32, here());
  if (p.which == 6) u().dealloc(CtaGroup::pair, address, 32, here());
  u().dealloc(CtaGroup::one, address, 32, here());
  if (p.which == 7) u().dealloc(CtaGroup::one, address, 32, here());
}

TEST(TensorMemory, MistakesOfAllocationAreReported) {
  EXPECT_RUNS(launch_sm100<breaks_allocation>(Mistake{0}, {}));
  EXPECT_REPORTS(launch_sm100<breaks_allocation>(Mistake{1}, {}), "the other lanes of its warp");
  EXPECT_REPORTS(launch_sm100<breaks_allocation>(Mistake{2}, {}), "lanes 0 and 9 of a warp have different operands");
  EXPECT_REPORTS(launch_sm100<breaks_allocation>(Mistake{3}, {}), "exits with 32 columns of tensor memory still");
  EXPECT_REPORTS(launch_sm100<breaks_allocation>(Mistake{4}, {}), "no allocation of 32 columns at address");
  EXPECT_REPORTS(launch_sm100<breaks_allocation>(Mistake{5}, {}), "no allocation of 64 columns at address");
  EXPECT_REPORTS(launch_sm100<breaks_allocation>(Mistake{6}, {}), "a kernel uses one of them");
  EXPECT_REPORTS(launch_sm100<breaks_allocation>(Mistake{7}, {}), "no allocation of 32 columns at address");
  EXPECT_REPORTS(launch_sm100<breaks_allocation>(Mistake{8}, {}), "no allocation of 32 columns at address");
}

TEST(TensorMemory, MistakesOfAllocationAreFindings) {
  const CheckReport clean = check_sm100<breaks_allocation>(Mistake{0}, {});
  EXPECT_TRUE(clean.findings.empty()) << all_of(clean);
  for (const int which : {3, 4, 5, 7, 8})
    EXPECT_TRUE(has(check_sm100<breaks_allocation>(Mistake{which}, {}), sm100::kTensorMemory)) << which;
}

// --- blocking -----------------------------------------------------------------------------------------------------

struct Contenders {
  u32 columns;
  bool frees;
};

/// Each of four warps takes columns, and gives them back or does not.
void contends(const Contenders& p) {
  const u32 place = shared_base() + 4 * warp_index();
  u().alloc(CtaGroup::one, place, p.columns, here());
  if (!p.frees) return;
  t().clock();
  u().dealloc(CtaGroup::one, read_shared<u32>(place), p.columns, here());
}

TEST(TensorMemory, AllocationWaitsUntilColumnsAreFree) {
  for (u64 seed = 0; seed < 20; ++seed) {
    EXPECT_RUNS(launch_sm100<contends>(Contenders{512, true}, {}, {.seed = seed}));
    EXPECT_RUNS(launch_sm100<contends>(Contenders{256, true}, {}, {.seed = seed}));
  }
  EXPECT_REPORTS(launch_sm100<contends>(Contenders{256, false}, {}), "tcgen05.alloc of 256 columns: 0 of 512 are free");
}

void allocates_alone(const Mistake& p) {
  if (warp_index() != 0 || (p.which == 0 && cluster_rank() == 1)) return;
  u().alloc(CtaGroup::pair, shared_base() + (p.which == 1 ? 4 * cluster_rank() : 0),
            p.which == 2 && cluster_rank() == 1 ? 64 : 32, here());
  const u32 address = read_shared<u32>(shared_base());
  if (p.which == 3 && cluster_rank() == 1) return sync_cluster();
  u().dealloc(CtaGroup::pair, address, 32, here());
}

TEST(TensorMemory, APairMustComeTogether) {
  EXPECT_REPORTS(launch_sm100<allocates_alone>(Mistake{0}, kPair), "a warp of the peer CTA has to allocate too");
  EXPECT_REPORTS(launch_sm100<allocates_alone>(Mistake{1}, kPair), "expected the same in both");
  EXPECT_REPORTS(launch_sm100<allocates_alone>(Mistake{2}, kPair), "expected the same in both");
  EXPECT_REPORTS(launch_sm100<allocates_alone>(Mistake{3}, kPair), "no warp of the peer CTA has come");
}

// --- loads and stores ---------------------------------------------------------------------------------------------

struct Form {
  TensorShape shape;
  u32 repetitions;
  bool packed;
  u32 split;
};

struct Round {
  Form form;
  u32 lane;  // of the quarter: 0 or 16
  u32 column;
  const u32* values;  // (128 threads, registers)
  u32* loaded;        // the same
  u32* cells;         // (128 lanes, 512 columns), as 32-lane loads see them
};

u32 registers_of(const Form& form) { return form.repetitions * static_cast<u32>(arch::registers_of(form.shape)); }

void stores_and_loads(const Round& p) {
  const u32 base = allocate(CtaGroup::one, kAllColumns), own = own_lanes(base), count = registers_of(p.form);
  u32 cells[kAllColumns] = {}, registers[128];
  for (u32 column = 0; column < kAllColumns; column += 128) store_columns(own + column, 128, cells + column);
  u().wait_store(here());
  const u32 address = own + (p.lane << 16) + p.column;
  u().store(p.form.shape, p.form.repetitions, p.form.packed, p.form.split, address, p.values + thread_index() * count,
            here());
  u().wait_store(here());
  u().load(p.form.shape, p.form.repetitions, p.form.packed, p.form.split, address, registers, here());
  for (u32 i = 0; i < count; ++i) EXPECT_EQ(registers[i], kUnset) << "a register before the wait";
  for (u32 column = 0; column < kAllColumns; column += 128) load_columns(own + column, 128, cells + column);
  u().wait_load(here());
  std::copy_n(registers, count, p.loaded + thread_index() * count);
  std::copy_n(cells, kAllColumns, p.cells + thread_index() * kAllColumns);
  u().fence(true, here());
  sync_cta();
  u().fence(false, here());
  if (warp_index() == 0) u().dealloc(CtaGroup::one, base, kAllColumns, here());
}

/// The lane and column of a register, as the PTX ISA draws the shapes.
std::pair<u32, u32> place_of(const Form& f, u32 t, u32 i) {
  const u32 wide = f.packed ? 2 : 1;
  switch (f.shape) {
    case TensorShape::lanes32_bits32: return {t, wide * i};
    case TensorShape::lanes16_bits64: return {t / 4 + 8 * (t % 2), wide * (t / 2 % 2 + 2 * i)};
    case TensorShape::lanes16_bits128: return {t / 4 + 8 * (i % 2), wide * (t % 4 + 4 * (i / 2))};
    case TensorShape::lanes16_bits256: return {t / 4 + 8 * (i / 2 % 2), wide * (2 * (t % 4) + i % 2 + 8 * (i / 4))};
    case TensorShape::lanes16_bits32_split: break;
  }
  return {t % 16, wide * i + (t / 16) * f.split};
}

TEST(TensorMemory, EveryShapeMovesWhatThePtxIsaSays) {
  std::mt19937_64 random(18);
  for (int round = 0; round < 60; ++round) {
    Form form{static_cast<TensorShape>(round % 5), 1u << random() % 8, random() % 3 == 0, 0};
    while (registers_of(form) > 128) form.repetitions /= 2;
    if (form.shape == TensorShape::lanes16_bits32_split)
      form.split = form.repetitions * (form.packed ? 2 : 1) + random() % 9;
    u32 columns = 0;
    for (u32 i = 0; i < registers_of(form); ++i)
      for (u32 thread = 0; thread < 32; ++thread)
        columns = max(columns, place_of(form, thread, i).second + (form.packed ? 2 : 1));
    const u32 lane = form.shape == TensorShape::lanes32_bits32 ? 0 : 16 * (random() % 2);
    const u32 column = static_cast<u32>(random() % (kAllColumns - columns + 1)), count = registers_of(form);
    const std::vector<u32> values = random_bytes<u32>(128 * count, random());
    std::vector<u32> loaded(128 * count), cells(128 * kAllColumns), expected(128 * kAllColumns);
    const Round p{form, lane, column, values.data(), loaded.data(), cells.data()};
    ASSERT_NO_FATAL_FAILURE(EXPECT_RUNS(launch_sm100<stores_and_loads>(p, {}, {.seed = random()})));
    EXPECT_EQ(loaded, values) << "round " << round;
    for (u32 thread = 0; thread < 128; ++thread)
      for (u32 i = 0; i < count; ++i) {
        const auto [l, c] = place_of(form, thread % 32, i);
        u32* at = &expected[(thread / 32 * 32 + lane + l) * kAllColumns + column + c];
        const u32 value = values[thread * count + i];
        at[0] = form.packed ? value & 0xFFFF : value;
        if (form.packed) at[1] = value >> 16;
      }
    EXPECT_EQ(cells, expected) << "round " << round << ", shape " << static_cast<int>(form.shape);
  }
}

void breaks_access(const Mistake& p) {
  const u32 base = allocate(CtaGroup::one, 64), own = own_lanes(base);
  u32 registers[64] = {};
  if (p.which == 1) load_columns(base, 32, registers);  // all warps: the lanes of warp 0
  if (p.which == 2) load_columns(own + 32, 64, registers);
  if (p.which == 3) load_columns(own + (16u << 16), 32, registers);
  if (p.which == 4) load_columns(own, lane_index() == 3 ? 16 : 32, registers);
  if (p.which == 5 && lane_index() == 0) load_columns(own, 32, registers);
  if (p.which == 6) load_columns(own, 3, registers);
  if (p.which == 7) load_columns(own + 512, 1, registers);
  u().wait_load(here());
  sync_cta();
  if (warp_index() == 0) u().dealloc(CtaGroup::one, base, 64, here());
}

TEST(TensorMemory, MistakesOfLoadsAreReported) {
  EXPECT_RUNS(launch_sm100<breaks_access>(Mistake{0}, {}));
  EXPECT_REPORTS(launch_sm100<breaks_access>(Mistake{1}, {}), "may access lanes");
  EXPECT_REPORTS(launch_sm100<breaks_access>(Mistake{2}, {}, {.schedule = EmuSchedule::fifo}),
                 "is in no allocation of the CTA");
  EXPECT_REPORTS(launch_sm100<breaks_access>(Mistake{3}, {}), "may access lanes");
  EXPECT_REPORTS(launch_sm100<breaks_access>(Mistake{4}, {}), "diverges in its warp");
  EXPECT_REPORTS(launch_sm100<breaks_access>(Mistake{5}, {}), "have not been issued by all 32 lanes");
  EXPECT_REPORTS(launch_sm100<breaks_access>(Mistake{6}, {}), ".x3 does not exist for this shape");
  EXPECT_REPORTS(launch_sm100<breaks_access>(Mistake{7}, {}), "reach past the 512 of tensor memory");
}

}  // namespace
}  // namespace ww::emu::test
