// SPDX-License-Identifier: Apache-2.0
// The checker's rules of tcgen05, each by a kernel that is legal and the same kernel with one mistake.
#include "umma_kernel.hpp"

namespace ww::emu::test {
namespace {

/// What to leave out or to do instead.
enum class Slip {
  none,
  proxy_fence,          // operands are written without fence.proxy.async
  first_accumulates,    // the first MMA adds to what nothing has written
  early_read,           // D is loaded before the commit is waited for
  early_restart,        // D is overwritten before the epilogue has released it
  wait_load,            // D is released before tcgen05.wait::ld
  fences,               // D is released without tcgen05.fence
  fence_after,          // the fence is missing on the side of the MMA
  foreign_commit,       // another thread commits
  early_dealloc,        // columns are freed while other warps load
  unpublished,          // the address is read without a barrier
  shape,                // an MMA of another shape is assumed to follow in order
  kind,                 // an MMA of another kind and the same shape is
  overwritten_operand,  // shared memory is written again before the commit
  early_exit,           // the CTA exits with a commit in flight
  leak,
  invalidated,  // the mbarrier is invalidated with a commit in flight
  registers,    // the registers of a load are written before the wait
  count,        // the release barrier expects one arrival more than come
  overlap,      // another accumulator begins in the columns of the live one
};

constexpr int kTiles = 3;

/// Thread 128 multiplies kTiles tiles into one accumulator, which warps 0 to 3 drain.
void tiles(const Slip& slip) {
  init_barriers(slip == Slip::count ? 129 : 128);
  write_operands(slip != Slip::proxy_fence);
  u32 base = 0;
  if (slip == Slip::unpublished) {
    if (warp_index() == 0) u().alloc(CtaGroup::one, shared_base(), kColumns, here());
    read_shared<u32>(shared_base());
    sync_cta();
    base = read_shared<u32>(shared_base());
  } else {
    base = allocate(CtaGroup::one, kColumns);
  }
  sync_cta();
  if (thread_index() == 128) {
    for (int tile = 0; tile < kTiles; ++tile) {
      const bool early = slip == Slip::early_restart;
      if (tile > 0) wait_for(early ? kFull : kEmpty, (tile - 1) % 2);
      if (slip != Slip::fences && slip != Slip::fence_after) u().fence(false, here());
      u().mma(mma_of(base, 64, tile == 0 && slip == Slip::first_accumulates), here());
      if (slip == Slip::overlap) u().mma(mma_of(base + 32, 32, false), here());
      u().mma(slip == Slip::kind ? other_kind(base, 64) : mma_of(base, slip == Slip::shape ? 32 : 64, true), here());
      if (tile > 0 && early) wait_for(kEmpty, (tile - 1) % 2);
      if (slip != Slip::foreign_commit) u().commit(CtaGroup::one, shared_base() + kFull, 0, here());
    }
  }
  if (thread_index() == 129 && slip == Slip::foreign_commit)
    for (int tile = 0; tile < kTiles; ++tile) {
      if (tile > 0) wait_for(kEmpty, (tile - 1) % 2);
      u().commit(CtaGroup::one, shared_base() + kFull, 0, here());
    }
  if (thread_index() == 130 && slip == Slip::overwritten_operand)
    std::memset(t().shared_access(shared_base() + kA, 16, arch::Access::write, arch::kWeak, here()), 1, 16);
  if (warp_index() < 4)
    for (int tile = 0; tile < kTiles; ++tile) {
      u32 registers[kColumns];
      if (slip != Slip::early_read) wait_for(kFull, tile % 2);
      u().fence(false, here());
      load_columns(own_lanes(base), kColumns, registers);
      if (slip == Slip::registers) registers[5] = 0;
      if (slip != Slip::wait_load) u().wait_load(here());
      if (slip != Slip::fences) u().fence(true, here());
      t().mbarrier_arrive(shared_base() + kEmpty, 1, arch::kReleaseCta, here());
      if (slip == Slip::wait_load) u().wait_load(here());
    }
  if (slip == Slip::early_read) wait_for(kFull, (kTiles - 1) % 2);
  if (slip != Slip::early_dealloc) {
    u().fence(true, here());
    sync_cta();
    u().fence(false, here());
  }
  if (thread_index() == 128 && (slip == Slip::early_exit || slip == Slip::invalidated)) {
    u().mma(mma_of(base, 64, false), here());
    u().commit(CtaGroup::one, shared_base() + kOther, 0, here());
    if (slip == Slip::invalidated) t().mbarrier_invalidate(shared_base() + kOther, here());
  }
  if (warp_index() == 0 && slip != Slip::leak) u().dealloc(CtaGroup::one, base, kColumns, here());
}

struct Expected {
  Slip slip;
  Rule rule;
  const char* words;
};

/// Expects that the kernel is legal under many schedules, and that each slip is found under each of some.
template <auto kKernel> void expect_slips(const Shape& shape, std::initializer_list<Expected> slips) {
  constexpr EmuSchedule kSchedules[] = {EmuSchedule::random, EmuSchedule::fifo, EmuSchedule::pct,
                                        EmuSchedule::adversarial};
  for (u64 seed = 0; seed < 200; ++seed) {
    const CheckReport clean = check_sm100<kKernel>(Slip::none, shape, {.seed = seed, .schedule = kSchedules[seed % 4]});
    ASSERT_TRUE(clean.findings.empty()) << "seed " << seed << "\n" << all_of(clean);
  }
  for (const Expected& expected : slips)
    for (u64 seed = 0; seed < 4; ++seed) {
      const CheckReport broken =
          check_sm100<kKernel>(expected.slip, shape, {.seed = seed, .schedule = kSchedules[seed]});
      EXPECT_TRUE(has(broken, expected.rule)) << "slip " << static_cast<int>(expected.slip) << ", seed " << seed
                                              << ", expected " << rule_name(expected.rule) << "\n"
                                              << all_of(broken);
      EXPECT_NE(all_of(broken).find(expected.words), std::string::npos)
          << "slip " << static_cast<int>(expected.slip) << "\n"
          << all_of(broken);
    }
}

TEST(CheckTensor, MistakesAroundOneAccumulator) {
  expect_slips<tiles>(
      kCta, {
                {Slip::proxy_fence, Rule::proxy_fence, "tcgen05.mma (read of operand A)"},
                {Slip::first_accumulates, Rule::uninitialised_read, "let the first MMA of an accumulator overwrite it"},
                {Slip::early_read, Rule::data_race, "tcgen05.ld"},
                {Slip::early_restart, Rule::data_race, "tcgen05.mma"},
                {Slip::wait_load, Rule::data_race, "let tcgen05.wait::ld or wait::st complete"},
                {Slip::fences, sm100::kTensorFence, "umma::fence_before()"},
                {Slip::fence_after, sm100::kTensorFence, "umma::fence_after()"},
                {Slip::foreign_commit, Rule::data_race, "tcgen05.mma"},
                {Slip::early_dealloc, sm100::kTensorMemory, "columns are freed that may still be in use"},
                {Slip::unpublished, Rule::data_race, "st.shared"},
                {Slip::shape, Rule::data_race, "tcgen05.mma (accumulation onto D)"},
                {Slip::kind, Rule::data_race, "tcgen05.mma (accumulation onto D)"},
                {Slip::overwritten_operand, Rule::data_race, "tcgen05.mma (read of operand A)"},
                {Slip::early_exit, Rule::exited_cta, "exit"},
                {Slip::leak, sm100::kTensorMemory, "exits with 64 columns of tensor memory still allocated"},
                {Slip::invalidated, Rule::phase_misuse, "mbarrier"},
                {Slip::count, Rule::deadlock, "mbarrier at offset"},
                {Slip::overlap, Rule::data_race, "tcgen05.mma (write of D)"},
                {Slip::registers, Rule::accumulator_in_flight, "between a tcgen05.ld and its wait"},
            });
}

// --- block scales -------------------------------------------------------------------------------------------------

enum class ScaleSlip { none, no_wait, no_copy, proxy_fence };

/// Copies scales and multiplies, twice in the same columns.
void scales(const ScaleSlip& slip) {
  init_barriers(1);
  write_operands(slip != ScaleSlip::proxy_fence);
  const u32 base = allocate(CtaGroup::one, 128);
  MmaInstruction i{.kind = MmaKind::mxf8f6f4, .a = MmaFormat::e4m3, .b = MmaFormat::e4m3, .m = 128, .n = 64};
  arch::UmmaCall call = mma_of(base, 64, false);
  call.kind = MmaKind::mxf8f6f4, call.instruction = arch::sm100::encode(i).bits, call.scale_vector = 1;
  call.scale_a = base + 64, call.scale_b = base + 68;
  if (thread_index() == 128) {
    for (u32 step = 0; step < 2; ++step) {
      const u64 from = arch::sm100::make_descriptor({shared_base() + kScales}, MatrixSwizzle::none, 0, 128).bits;
      for (u32 operand = 0; operand < 2; ++operand)
        if (slip != ScaleSlip::no_copy || operand == 0)
          u().copy(CtaGroup::one, arch::CopyShape::rows32_bits128_all, arch::CopyUnpack::none, base + 64 + 4 * operand,
                   from, here());
      u().mma(call, here());
      call.accumulate = true;
      u().commit(CtaGroup::one, shared_base() + kFull, 0, here());
      if (slip != ScaleSlip::no_wait) wait_for(kFull, step);
      u().fence(false, here());
    }
    if (slip == ScaleSlip::no_wait) wait_for(kFull, 1);
  }
  u().fence(true, here());
  sync_cta();
  u().fence(false, here());
  if (warp_index() == 0) u().dealloc(CtaGroup::one, base, 128, here());
}

TEST(CheckTensor, MistakesAroundScales) {
  for (u64 seed = 0; seed < 200; ++seed) {
    const CheckReport clean = check_sm100<scales>(ScaleSlip::none, kCta, {.seed = seed});
    ASSERT_TRUE(clean.findings.empty()) << all_of(clean);
    if (seed >= 12) continue;  // enough for the mistakes
    const CheckReport race = check_sm100<scales>(ScaleSlip::no_wait, kCta, {.seed = seed});
    EXPECT_NE(finding_of(race, Rule::data_race).text.find("tcgen05.mma (read of scales)"), std::string::npos)
        << all_of(race);
    const CheckReport unfenced = check_sm100<scales>(ScaleSlip::proxy_fence, kCta, {.seed = seed});
    EXPECT_NE(all_of(unfenced).find("tcgen05.cp (read of shared memory)"), std::string::npos) << all_of(unfenced);
    EXPECT_TRUE(has(unfenced, Rule::proxy_fence));
    const CheckReport none = check_sm100<scales>(ScaleSlip::no_copy, kCta, {.seed = seed});
    EXPECT_NE(finding_of(none, Rule::uninitialised_read).text.find("tcgen05.mma (read of scales)"), std::string::npos)
        << all_of(none);
  }
}

// --- stages that TMA fills ----------------------------------------------------------------------------------------

constexpr u32 kStageBytes = 6144;  // of A and B, in rows of 64
alignas(128) u8 operands[kStageBytes] = {};

enum class StageSlip {
  none,
  early_refill,  // TMA writes the stage after an arrival of the issuer instead of a commit
  early_mma,     // the MMA waits for the copy's issue instead of its bytes
  bytes,         // twice the bytes are announced
};
struct Refills {
  arch::TensorMap map;
  StageSlip slip;
};

void refills(const Refills& p) {
  init_barriers(1);
  const u32 base = allocate(CtaGroup::one, kColumns);
  for (u32 tile = 0; tile < 3; ++tile) {
    if (thread_index() == 32) {
      const bool early = p.slip == StageSlip::early_refill;
      if (tile > 0) wait_for(early ? kOther : kEmpty, (tile - 1) % 2);
      t().mbarrier_arrive_expect_tx(shared_base() + kFull, kStageBytes * (p.slip == StageSlip::bytes ? 2 : 1), here());
      t().tma_load(&p.map, 2, shared_base() + kFull, shared_base() + kA, {}, 0, here());
      if (p.slip == StageSlip::early_mma) t().mbarrier_arrive(shared_base() + kOther, 1, arch::kReleaseCta, here());
    }
    if (thread_index() == 128) {
      wait_for(p.slip == StageSlip::early_mma ? kOther : kFull, tile % 2);
      u().fence(false, here());
      u().mma(mma_of(base, 64, tile > 0), here());
      u().commit(CtaGroup::one, shared_base() + kEmpty, 0, here());
      if (p.slip == StageSlip::early_refill) t().mbarrier_arrive(shared_base() + kOther, 1, arch::kReleaseCta, here());
    }
  }
  if (thread_index() == 128) wait_for(kEmpty, 0);
  u().fence(true, here());
  sync_cta();
  u().fence(false, here());
  if (warp_index() == 0) u().dealloc(CtaGroup::one, base, kColumns, here());
}

TEST(CheckTensor, StagesAreFilledAgainOnlyBehindACommit) {
  const TensorMapSpec spec{.base = operands,
                           .rank = 2,
                           .extent = {64, 96},
                           .stride_bytes = {0, 64},
                           .box = {64, 96},
                           .swizzle = SmemSwizzle::none};
  const auto check = [&](StageSlip slip, u64 seed) {
    return check_launch<refills>(Refills{*encode(spec), slip}, kCta, {{"operands", operands, sizeof operands, false}},
                                 {.seed = seed}, sm100::kModel);
  };
  for (u64 seed = 0; seed < 200; ++seed) {
    const CheckReport clean = check(StageSlip::none, seed);
    ASSERT_TRUE(clean.findings.empty()) << all_of(clean);
    if (seed >= 12) continue;  // enough for the mistakes
    const std::string reuse = finding_of(check(StageSlip::early_refill, seed), Rule::stage_reuse).text;
    EXPECT_NE(reuse.find("tcgen05.mma (read of operand"), std::string::npos) << reuse;
    const std::string early = finding_of(check(StageSlip::early_mma, seed), Rule::data_race).text;
    EXPECT_NE(early.find("tcgen05.mma (read of operand"), std::string::npos) << early;
    EXPECT_TRUE(has(check(StageSlip::bytes, seed), Rule::transaction_count));
  }
}

// --- overlapping accumulators -------------------------------------------------------------------------------------

/// Two accumulators share 32 columns, which the epilogue reads first, so that it can release them early.
void overlapping(const bool& mistake) {
  init_barriers(128);
  write_operands(true);
  const u32 base = allocate(CtaGroup::one, 128);
  if (thread_index() == 128)
    for (u32 tile = 0; tile < 2; ++tile) {
      if (tile > 0) wait_for(kEmpty, 0);
      u().fence(false, here());
      u().mma(mma_of(base + 32 * tile, 64, false), here());
      u().commit(CtaGroup::one, shared_base() + (tile == 0 ? kFull : kOther), 0, here());
    }
  if (warp_index() < 4) {
    u32 registers[64];
    const u32 own = own_lanes(base);
    wait_for(kFull, 0);
    u().fence(false, here());
    load_columns(own + (mistake ? 0 : 32), 32, registers);
    u().wait_load(here());
    u().fence(true, here());
    t().mbarrier_arrive(shared_base() + kEmpty, 1, arch::kReleaseCta, here());
    load_columns(own + (mistake ? 32 : 0), 32, registers);
    u().wait_load(here());
    wait_for(kOther, 0);
    u().fence(false, here());
    load_columns(own + 32, 64, registers);
    u().wait_load(here());
  }
  u().fence(true, here());
  sync_cta();
  u().fence(false, here());
  if (warp_index() == 0) u().dealloc(CtaGroup::one, base, 128, here());
}

TEST(CheckTensor, OverlappingAccumulatorsAreReleasedWhenTheSharedColumnsAreRead) {
  expect_rule<overlapping>(Rule::data_race, kCta, sm100::kModel);
}

// --- pairs --------------------------------------------------------------------------------------------------------

enum class PairSlip {
  none,
  early_alloc,    // without a cluster barrier before it
  early_dealloc,  // without one before it
  both_issue,     // both CTAs multiply
  half_mask,      // the commit reaches one CTA
  early_exit,     // the peer does not wait for the commit
  open_alloc,     // columns are freed without a cluster barrier after the allocation
  group,          // the commit is of another CTA group
};

void pairs(const PairSlip& slip) {
  init_barriers(128);
  write_operands(true);
  if (slip == PairSlip::early_alloc) sync_cta();
  else sync_cluster();
  const u32 base = allocate(CtaGroup::pair, kColumns);
  if (slip == PairSlip::open_alloc) {
    if (warp_index() == 0) u().dealloc(CtaGroup::pair, base, kColumns, here());
    return sync_cluster();
  }
  sync_cluster();
  if (thread_index() == 128 && (cluster_rank() == 0 || slip == PairSlip::both_issue)) {
    u().fence(false, here());
    u().mma(mma_of(base, 64, false, CtaGroup::pair), here());
    const u32 barrier = shared_base() + (cluster_rank() == 0 ? kFull : kOther);
    u().commit(slip == PairSlip::group ? CtaGroup::one : CtaGroup::pair, barrier, slip == PairSlip::half_mask ? 1 : 3,
               here());
  }
  u32 registers[kColumns];
  if (warp_index() < 4 && !(slip == PairSlip::early_exit && cluster_rank() == 1)) {
    wait_for(kFull, 0);
    if (slip == PairSlip::both_issue) wait_for(kOther, 0);
    u().fence(false, here());
    load_columns(own_lanes(base), kColumns, registers);
    u().wait_load(here());
  }
  u().fence(true, here());
  if (slip == PairSlip::early_dealloc) sync_cta();
  else sync_cluster();
  u().fence(false, here());
  if (warp_index() == 0) u().dealloc(CtaGroup::pair, base, kColumns, here());
}

TEST(CheckTensor, MistakesOfPairs) {
  const auto check = [](PairSlip slip, u64 seed) { return check_sm100<pairs>(slip, kPair, {.seed = seed}); };
  for (u64 seed = 0; seed < 200; ++seed) {
    const CheckReport clean = check(PairSlip::none, seed);
    ASSERT_TRUE(clean.findings.empty()) << all_of(clean);
    if (seed >= 12) continue;  // enough for the mistakes
    EXPECT_NE(finding_of(check(PairSlip::early_alloc, seed), sm100::kTensorMemory).text.find("peer has started"),
              std::string::npos);
    EXPECT_NE(finding_of(check(PairSlip::early_dealloc, seed), sm100::kTensorMemory).text.find("peer CTA"),
              std::string::npos);
    EXPECT_TRUE(has(check(PairSlip::both_issue, seed), Rule::data_race));
    EXPECT_NE(finding_of(check(PairSlip::early_exit, seed), Rule::exited_cta).text.find("may exit before"),
              std::string::npos);
    EXPECT_NE(
        finding_of(check(PairSlip::open_alloc, seed), sm100::kTensorMemory).text.find("allocation of the peer CTA"),
        std::string::npos);
    EXPECT_NE(all_of(check(PairSlip::group, seed)).find("tcgen05.commit has .cta_group::1"), std::string::npos);
    EXPECT_NE(finding_of(check(PairSlip::half_mask, seed), Rule::deadlock).text.find("mbarrier at offset"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace ww::emu::test
