// SPDX-License-Identifier: Apache-2.0
// The checker's rules of execution: exchanges that order no memory, .aligned instructions, registers nobody set.
#include "check_launch.hpp"

namespace ww::emu::test {
namespace {

void exchange_as_barrier(const int& how) {
  const u32 base = shared_base(), i = thread_index();
  shared<u32>(base + 4 * i) = i;
  switch (how) {
    case 0: t().sync_warp(~0u, here()); break;
    case 1: t().shuffle(i, 0, arch::ShuffleMode::index, here()); break;
    case 2: t().vote(true, arch::VoteMode::ballot, here()); break;
    case 3: t().sync_warp(i < 16 ? 0xFFFFu : 0xFFFF0000u, here()); break;
  }
  t().shared_access(base + 4 * ((i + 17) % 32), 4, arch::Access::read, arch::kWeak, here());
}
TEST(CheckExecution, ShufflesAndVotesOrderNoMemory) {
  for (u64 seed = 0; seed < 4; ++seed) {
    const auto check = [&](int how) {
      return check_launch<exchange_as_barrier>(how, {.threads = 32}, {}, {.seed = seed});
    };
    EXPECT_TRUE(check(0).findings.empty()) << all_of(check(0));
    for (const int how : {1, 2, 3}) EXPECT_TRUE(has(check(how), Rule::data_race)) << how << "\n" << all_of(check(how));
  }
}

enum Where { same, branches };
void half_warps(const Where& where) {
  if (where == branches && thread_index() % 32 < 16) t().named_barrier_sync(1, 64, here());
  else t().named_barrier_sync(1, 64, here());
}
void half_warps_arrive(const Where& where) {
  if (where == branches && thread_index() % 32 < 16) t().named_barrier_arrive(1, 64, here());
  else t().named_barrier_arrive(1, 64, here());
}
void half_warps_of_cluster(const Where& where) {
  if (where == branches && thread_index() % 32 < 16) t().cluster_arrive(false, here());
  else t().cluster_arrive(false, here());
  t().cluster_wait(here());
}
void half_warps_of_registers(const Where& where) {
  if (where == branches && thread_index() % 32 < 16) t().set_max_registers(40, false, here());
  else t().set_max_registers(40, false, here());
}
void half_warps_of_wgmma(const Where& where) {
  if (where == branches && thread_index() % 32 < 16) sm90::instructions().fence(here());
  else sm90::instructions().fence(here());
}
template <auto kKernel> void expect_aligned(const Shape& shape) {
  for (u64 seed = 0; seed < 4; ++seed) {
    const CheckReport clean = check_launch<kKernel>(same, shape, {}, {.seed = seed});
    EXPECT_TRUE(clean.findings.empty()) << all_of(clean);
    const CheckReport broken = check_launch<kKernel>(branches, shape, {}, {.seed = seed});
    ASSERT_TRUE(has(broken, Rule::divergent_call)) << all_of(broken);
    const Finding& finding = broken.findings[0];
    EXPECT_EQ(abs(finding.first.line - finding.second.line), 1) << "both places\n" << all_of(broken);
    EXPECT_EQ(finding.first.warp, finding.second.warp);
  }
}
TEST(CheckExecution, AlignedInstructionsHaveOnePlaceInAWarp) {
  expect_aligned<half_warps>({.threads = 64});
  expect_aligned<half_warps_arrive>({.threads = 64});
  expect_aligned<half_warps_of_cluster>({.threads = 64});
  expect_aligned<half_warps_of_registers>({.threads = 128});
  expect_aligned<half_warps_of_wgmma>({.threads = 128});
}

enum Half { all_lanes, skips, exits };
void half_skips_arrive(const Half& half) {
  if (half == all_lanes || thread_index() % 32 < 16) t().named_barrier_arrive(1, 64, here());
  t().sync_warp(~0u, here());
}
void half_skips_registers(const Half& half) {
  if (half == all_lanes || thread_index() % 32 < 16) t().set_max_registers(40, false, here());
  t().shuffle(1, 0, arch::ShuffleMode::index, here());
}
void half_skips_wgmma(const Half& half) {
  if (half == all_lanes || thread_index() % 32 < 16) sm90::instructions().fence(here());
}
void half_exits(const Half& half) {
  if (half == exits && thread_index() % 32 >= 16) return;
  t().named_barrier_sync(1, half == exits ? 32 : 64, here());
}
void half_exits_for_ever(const Half& half) {
  if (half == exits && thread_index() % 32 >= 16) return;
  t().named_barrier_sync(1, 64, here());
}
template <auto kKernel> void expect_skipped(Half half, const Shape& shape) {
  for (u64 seed = 0; seed < 4; ++seed) {
    const CheckReport clean = check_launch<kKernel>(all_lanes, shape, {}, {.seed = seed});
    EXPECT_TRUE(clean.findings.empty()) << all_of(clean);
    const CheckReport broken = check_launch<kKernel>(half, shape, {}, {.seed = seed});
    const Finding& finding = finding_of(broken, Rule::divergent_call);
    EXPECT_LT(finding.first.lane, 16) << all_of(broken);
    EXPECT_GE(finding.second.lane, 16) << all_of(broken);
    EXPECT_EQ(finding.first.warp, finding.second.warp);
  }
}
TEST(CheckExecution, NoLaneSkipsAnAlignedInstruction) {
  expect_skipped<half_skips_arrive>(skips, {.threads = 64});
  expect_skipped<half_skips_registers>(skips, {.threads = 128});
  expect_skipped<half_skips_wgmma>(skips, {.threads = 128});
  expect_skipped<half_exits>(exits, {.threads = 64});
  expect_skipped<half_exits_for_ever>(exits, {.threads = 64});
}

// Counts of the lanes may differ while they run; whole warps may skip an instruction, and lanes what is not .aligned.
void warps_skip(const int&) {
  if (thread_index() < 32) t().named_barrier_arrive(1, 64, here());
  else t().named_barrier_sync(1, 64, here());
  if (thread_index() >= 32) t().named_barrier_sync(2, 32, here());
  if (thread_index() % 32 < 16) t().sync_warp(0xFFFFu, here());
  t().sync_warp(~0u, here());
  if (thread_index() % 2 == 0) t().fence(arch::Fence::acq_rel_cta, here());
  if (thread_index() < 32) return;
  t().named_barrier_sync(3, 32, here());
}
TEST(CheckExecution, WholeWarpsMaySkipAlignedInstructions) {
  for (u64 seed = 0; seed < 4; ++seed) {
    const CheckReport report = check_launch<warps_skip>(0, {.threads = 64}, {}, {.seed = seed});
    EXPECT_TRUE(report.findings.empty()) << all_of(report);
  }
}

// Warps may take different branches, and one place may be reached after different ones.
void warps_differ(const int&) {
  if (thread_index() < 32) t().named_barrier_sync(1, 64, here());
  else t().named_barrier_sync(1, 64, here());
  if (thread_index() % 2 == 0) t().vote(true, arch::VoteMode::all, here());
  else t().vote(true, arch::VoteMode::all, here());
  sync_cta();
}
TEST(CheckExecution, WarpsOfABarrierMayComeFromDifferentPlaces) {
  const CheckReport report = check_launch<warps_differ>(0, {.threads = 64});
  EXPECT_TRUE(report.findings.empty()) << all_of(report);
}

enum First { set, not_accumulated, unset, half_set };
void multiplies(const First& first) {
  const u32 base = shared_base();
  for (u32 i = thread_index(); i < 1024; i += 128) std::memset(&shared<u8[16]>(base + 16 * i), 0, 16);
  t().fence(arch::Fence::proxy_async_shared, here());
  sync_cta();
  float acc[8];
  float* volatile registers = acc;  // the compiler must not know what is stored
  for (int i = 0; i < 8; ++i)
    if (first == set || (first == half_set && i < 4)) registers[i] = 0;
  float* accumulators[] = {registers};
  const u64 tile = (base & 0x3FFFF) >> 4 | u64{1024 >> 4} << 32 | u64{1} << 62;
  for (int k = 0; k < 2; ++k) {
    const bool accumulate = first != not_accumulated || k != 0;
    sm90::instructions().fence(here());
    wgmma({{DType::e4m3, DType::e4m3, Major::k, Major::k, 16, 1, 1}, tile, tile + 512, accumulate, nullptr}, registers,
          here());
    sm90::instructions().commit(here());
    sm90::instructions().wait(0, accumulators, 1, here());
  }
}
TEST(CheckExecution, AccumulatorsAreSetBeforeTheyAreAddedTo) {
  for (const EmuMath math : {EmuMath::exact, EmuMath::off})
    for (const First first : {set, not_accumulated, unset, half_set}) {
      const CheckReport report = check_launch<multiplies>(first, {.shared_bytes = 16384}, {}, {.math = math});
      EXPECT_EQ(has(report, Rule::uninitialised_read), first == unset || first == half_set) << first << all_of(report);
      EXPECT_EQ(report.findings.empty(), first == set || first == not_accumulated) << first << all_of(report);
    }
}

}  // namespace
}  // namespace ww::emu::test
