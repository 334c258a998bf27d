// SPDX-License-Identifier: Apache-2.0
// The checker's rules of other memory around tcgen05: barriers of accumulators, outputs in global memory, scales and
// tensor maps that TMA reads, staging in shared memory. Each is shown by a kernel that is legal and by the same kernel
// with one mistake.
#include <functional>

#include "emu/caller.hpp"
#include "emu/tma_engine.hpp"
#include "umma_kernel.hpp"

namespace ww::emu::test {
namespace {

constexpr EmuSchedule kSchedules[] = {EmuSchedule::random, EmuSchedule::fifo, EmuSchedule::pct,
                                      EmuSchedule::adversarial};

/// Checks one launch of a kernel, with its mistake or without.
using Check = std::function<CheckReport(bool mistake, const EmuOptions& options)>;

/// Expects that the legal kernel is clean under 200 schedules, and that the mistake is found in at least `least` of 12,
/// with all `texts` in the report.
void expect_mistake(const Check& check, Rule rule, std::initializer_list<const char*> texts, int least = 12) {
  int found = 0;
  std::string last;
  for (u64 seed = 0; seed < 200; ++seed) {
    const EmuOptions options{.seed = seed, .schedule = kSchedules[seed % 4]};
    const CheckReport clean = check(false, options);
    ASSERT_TRUE(clean.findings.empty()) << "seed " << seed << "\n" << all_of(clean);
    if (seed >= 12) continue;
    const CheckReport broken = check(true, options);
    last = all_of(broken);
    bool complete = has(broken, rule);
    for (const char* text : texts) complete = complete && last.find(text) != std::string::npos;
    found += complete;
  }
  EXPECT_GE(found, least) << "expected " << rule_name(rule) << "; the last report:\n" << last;
}

/// Frees the columns once all warps of the CTA are done with them.
void free_columns(CtaGroup group, u32 base, u32 columns) {
  u().fence(true, here());
  if (group == CtaGroup::pair) sync_cluster();
  else sync_cta();
  u().fence(false, here());
  if (warp_index() == 0) u().dealloc(group, base, columns, here());
}

// --- accumulators of several stages -------------------------------------------------------------------------------

constexpr u32 kStages = 3, kStageColumns = 32, kStageFull = 64, kStageEmpty = 96;

/// Three accumulators in turn. With the mistake all commits arrive at one barrier, so that the thread that multiplies
/// may be two phases ahead of one that waits: its parity then means another tile.
void three_stages(const bool& one_barrier) {
  if (thread_index() == 0)
    for (u32 stage = 0; stage < kStages; ++stage) {
      t().mbarrier_init(shared_base() + kStageFull + 8 * stage, 1, here());
      t().mbarrier_init(shared_base() + kStageEmpty + 8 * stage, 128, here());
      t().fence(arch::Fence::mbarrier_init, here());
    }
  write_operands(true);
  const u32 base = allocate(CtaGroup::one, 128);
  for (u32 tile = 0; tile < 3 * kStages; ++tile) {
    const u32 stage = tile % kStages, turn = tile / kStages, columns = base + kStageColumns * stage;
    const u32 full = kStageFull + (one_barrier ? 0 : 8 * stage), empty = kStageEmpty + 8 * stage;
    if (thread_index() == 128) {
      if (turn > 0) wait_for(empty, (turn - 1) % 2);
      u().fence(false, here());
      u().mma(mma_of(columns, kStageColumns, false), here());
      u().commit(CtaGroup::one, shared_base() + full, 0, here());
    }
    if (warp_index() < 4) {
      u32 registers[kStageColumns];
      wait_for(full, (one_barrier ? tile : turn) % 2);
      u().fence(false, here());
      load_columns(own_lanes(columns), kStageColumns, registers);
      u().wait_load(here());
      u().fence(true, here());
      t().mbarrier_arrive(shared_base() + empty, 1, arch::kReleaseCta, here());
    }
  }
  free_columns(CtaGroup::one, base, 128);
}

TEST(CheckTensorMemory, OneBarrierHasTooFewPhasesBetweenThreeStages) {
  expect_mistake(
      [](bool mistake, const EmuOptions& options) { return check_sm100<three_stages>(mistake, kCta, options); },
      Rule::phase_misuse, {"its parity means another phase by now"}, 6);
}

// --- outputs of a pair --------------------------------------------------------------------------------------------

struct Stores {
  u32* out;  // (256, 4)
  bool mistake;
};

/// A pair's accumulator, of which each CTA has 128 rows. With the mistake both store them as those of the first.
void store_of_pair(const Stores& p) {
  init_barriers(128);
  write_operands(true);
  sync_cluster();
  const u32 base = allocate(CtaGroup::pair, kColumns);
  sync_cluster();
  if (thread_index() == 128 && cluster_rank() == 0) {
    u().mma(mma_of(base, kColumns, false, CtaGroup::pair), here());
    u().commit(CtaGroup::pair, shared_base() + kFull, 3, here());
  }
  if (warp_index() < 4) {
    u32 registers[4];
    wait_for(kFull, 0);
    u().fence(false, here());
    load_columns(own_lanes(base), 4, registers);
    u().wait_load(here());
    const u32 row = thread_index() + (p.mistake ? 0 : 128 * cluster_rank());
    for (u32 i = 0; i < 4; ++i) write_global(p.out + 4 * row + i, registers[i]);
  }
  free_columns(CtaGroup::pair, base, kColumns);
}

TEST(CheckTensorMemory, BothCtasOfAPairStoreOneTile) {
  std::vector<u32> out(256 * 4);
  Shape shape = kPair;
  shape.cross_cta = true;
  expect_mistake(
      [&](bool mistake, const EmuOptions& options) {
        return check_launch<store_of_pair>(Stores{out.data(), mistake}, shape, {range("out", out)}, options,
                                           sm100::kModel);
      },
      Rule::data_race, {"operand out", "st.global"});
}

// --- scales -------------------------------------------------------------------------------------------------------

alignas(128) u8 scale_chunks[1024] = {};

struct Scales {
  arch::TensorMap map;
  bool mistake;
};

/// TMA brings the scales of both operands, tcgen05.cp copies them to tensor memory, and an MMA takes them. With the
/// mistake the copy of TMA starts before the kernels before this one have ended.
void load_scales(const Scales& p) {
  init_barriers(1);
  write_operands(true);
  const u32 base = allocate(CtaGroup::one, 128);
  if (thread_index() == 128) {
    if (!p.mistake) t().pdl_wait(here());
    t().mbarrier_arrive_expect_tx(shared_base() + kFull, sizeof scale_chunks, here());
    t().tma_load(&p.map, 2, shared_base() + kFull, shared_base() + kScales, {}, 0, here());
    wait_for(kFull, 0);
    if (p.mistake) t().pdl_wait(here());
    for (u32 operand = 0; operand < 2; ++operand) {
      const u32 from = shared_base() + kScales + 512 * operand;
      u().copy(CtaGroup::one, arch::CopyShape::rows32_bits128_all, arch::CopyUnpack::none, base + 64 + 4 * operand,
               arch::sm100::make_descriptor({from}, MatrixSwizzle::none, 0, 128).bits, here());
    }
    const MmaInstruction i{.kind = MmaKind::mxf8f6f4, .a = MmaFormat::e4m3, .b = MmaFormat::e4m3, .m = 128, .n = 64};
    arch::UmmaCall call = mma_of(base, 64, false);
    call.kind = i.kind, call.instruction = arch::sm100::encode(i).bits, call.scale_vector = 1;
    call.scale_a = base + 64, call.scale_b = base + 68;
    u().mma(call, here());
    u().commit(CtaGroup::one, shared_base() + kOther, 0, here());
    wait_for(kOther, 0);
  }
  free_columns(CtaGroup::one, base, 128);
}

TEST(CheckTensorMemory, ScalesAreLoadedBehindTheWaitForPrecedingKernels) {
  const Result<arch::TensorMap> map = encode({.base = scale_chunks,
                                              .rank = 2,
                                              .extent = {16, 64},
                                              .stride_bytes = {0, 16},
                                              .box = {16, 64},
                                              .swizzle = SmemSwizzle::none});
  ASSERT_TRUE(map);
  Shape shape = kCta;
  shape.pdl = true;
  expect_mistake(
      [&](bool mistake, const EmuOptions& options) {
        return check_launch<load_scales>(Scales{*map, mistake}, shape,
                                         {{"scales", scale_chunks, sizeof scale_chunks, false}}, options,
                                         sm100::kModel);
      },
      Rule::early_access, {"operand scales", "no griddepcontrol.wait happens before it"});
}

// --- tensor maps --------------------------------------------------------------------------------------------------

constexpr u32 kMapCopy = 128, kBox = 1024;

struct Maps {
  arch::TensorMap first;
  arch::TensorMap* used;  // in global memory
  const u8* other;        // operands for which the map is rewritten
  bool mistake;
};

/// The leader of a pair changes a map in global memory for the second of two loads, with which both CTAs fetch a box
/// each. With the mistake it changes the map while loads of the first may be in flight.
void change_map(const Maps& p) {
  const u32 barrier = shared_base() + kFull, leaders = barrier & ~(1u << arch::kSharedRankShift), lane = lane_index();
  const bool leads = cluster_rank() == 0;
  init_barriers(1);
  if (warp_index() == 0)
    std::memcpy(t().shared_access(shared_base() + kMapCopy + 4 * lane, 4, arch::Access::write, arch::kWeak, here()),
                reinterpret_cast<const u8*>(&p.first) + 4 * lane, 4);
  t().sync_warp(~0u, here());
  const auto release = [&] {
    if (leads && warp_index() == 0) t().tensor_map_release(p.used, shared_base() + kMapCopy, here());
  };
  release();
  sync_cluster();
  for (u32 load = 0; load < 2; ++load) {
    if (thread_index() == 0) {
      t().tensor_map_acquire(p.used, here());
      if (leads) t().mbarrier_arrive_expect_tx(barrier, 2 * kBox, here());
      tma_load(WW_CALLER,
               {p.used, 2, leaders, shared_base() + kA, {{0, static_cast<int>(8 * cluster_rank())}}, 0, true}, here());
      if (leads && !p.mistake) wait_for(kFull, load);
    }
    t().sync_warp(~0u, here());
    if (load == 0) {
      if (leads && thread_index() == 0)
        t().tensor_map_replace(shared_base() + kMapCopy, arch::TensorMapField::address, 0,
                               reinterpret_cast<u64>(p.other), here());
      t().sync_warp(~0u, here());
      sync_cluster();  // the peer has issued its load
      release();
      if (p.mistake && leads && thread_index() == 0) wait_for(kFull, 0);
    } else if (p.mistake && leads && thread_index() == 0) {
      wait_for(kFull, 1);
    }
    t().sync_warp(~0u, here());
    sync_cluster();
  }
}

TEST(CheckTensorMemory, AMapIsRewrittenBehindTheLoadsOfBothCtas) {
  alignas(128) static u8 boxes[2][2 * kBox] = {};
  alignas(128) static arch::TensorMap used = {};
  const Result<arch::TensorMap> map = encode({.base = boxes[0],
                                              .rank = 2,
                                              .extent = {128, 16},
                                              .stride_bytes = {0, 128},
                                              .box = {128, 8},
                                              .swizzle = SmemSwizzle::none});
  ASSERT_TRUE(map);
  Shape shape = kPair;
  shape.threads = 32, shape.cross_cta = true;
  expect_mistake(
      [&](bool mistake, const EmuOptions& options) {
        return check_launch<change_map>(Maps{*map, &used, boxes[1], mistake}, shape,
                                        {{"boxes", boxes, sizeof boxes, false}, {"map", &used, sizeof used, true}},
                                        options, sm100::kModel);
      },
      Rule::stale_descriptor, {"changed while a TMA operation that was issued with it may still have to read it"});
}

// --- staging of outputs -------------------------------------------------------------------------------------------

/// Two accumulators in turn: the epilogue of the first tile stages its rows in shared memory while the second tile is
/// multiplied. With the mistake it stages them where A is.
void staging(const bool& mistake) {
  init_barriers(128);
  write_operands(true);
  const u32 base = allocate(CtaGroup::one, 2 * kColumns);
  if (thread_index() == 128)
    for (u32 tile = 0; tile < 2; ++tile) {
      u().mma(mma_of(base + tile * kColumns, kColumns, false), here());
      u().commit(CtaGroup::one, shared_base() + (tile == 0 ? kFull : kOther), 0, here());
    }
  if (warp_index() < 4)
    for (u32 tile = 0; tile < 2; ++tile) {
      u32 registers[4];
      wait_for(tile == 0 ? kFull : kOther, 0);
      u().fence(false, here());
      load_columns(own_lanes(base + tile * kColumns), 4, registers);
      u().wait_load(here());
      const u32 at = shared_base() + (mistake ? kA : kScales + 512) + 16 * thread_index();
      std::memcpy(t().shared_access(at, 16, arch::Access::write, arch::kWeak, here()), registers, 16);
    }
  free_columns(CtaGroup::one, base, 2 * kColumns);
}

TEST(CheckTensorMemory, OutputsAreNotStagedOverLiveOperands) {
  expect_mistake([](bool mistake, const EmuOptions& options) { return check_sm100<staging>(mistake, kCta, options); },
                 Rule::data_race, {"tcgen05.mma (read of operand A)", "st.shared"});
}

}  // namespace
}  // namespace ww::emu::test
