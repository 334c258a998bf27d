// SPDX-License-Identifier: Apache-2.0
// Groups of K on the emulated devices, bit for bit against the exact reference of each group alone: tails, empty
// groups, NaN beyond a group's end, clusters, contradicting sizes, refusals of plan_k_grouped() and run().
#include <gtest/gtest.h>

#include "problems/random_k_grouped.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/host/config.hpp"

namespace ww {
namespace {

using namespace ww::testing;

Device open_emu(std::uint64_t seed = 0, Arch arch = Arch::sm90) {
  auto device = Device::open(fmt::format("emu:{}", name_of(arch)), {.cache_dir = {}, .emu = {.seed = seed}});
  if (!device) throw std::runtime_error(device.error().message);
  return *device;
}

GemmConfig tile(int m, int n, int cluster_m = 1, int cluster_n = 1) {
  return {.tile = {m, n}, .cluster = {cluster_m, cluster_n}};
}

/// Groups of `counts` rows of bf16, one after the other.
HostKGrouped make(KGroupedProblem p, const std::vector<std::int64_t>& counts, const GemmConfig& config,
                  std::uint64_t seed, std::int64_t granularity = 1) {
  std::mt19937_64 rng(seed);
  HostKGrouped h;
  h.problem = p, h.config = config, h.number = seed;
  encode_k_groups(h, rng, counts, granularity);
  KGroupedProblem& q = h.problem;
  const std::int64_t step = 16 / bytes_of(q.a);
  q.lda = h.packs(q.a_major) ? 0 : round_up(q.a_major == Major::mn ? q.m : q.total_k(), step);
  q.ldb = h.packs(q.b_major) ? 0 : round_up(q.b_major == Major::mn ? q.n : q.total_k(), step);
  q.ldd = q.n, q.stride_d_group = q.m * q.n;
  fill_k_grouped(h, rng);
  return h;
}

/// Runs on the device of the config's architecture.
void expect_exact(const HostKGrouped& h, std::uint64_t seed = 0) {
  const auto got = run_on(open_emu(seed, h.config.arch), h);
  ASSERT_TRUE(got) << got.error().message << "\n" << h.replay();
  EXPECT_EQ(difference(h, *got, reference(h)), "");
}

/// The tests of one architecture, with configs of it.
class KGroupedEmu : public ::testing::TestWithParam<Arch> {
 protected:
  static Device open_emu(std::uint64_t seed = 0) { return ww::open_emu(seed, GetParam()); }
  /// A cluster of two CTAs along M is a pair on Blackwell.
  static GemmConfig tile(int m, int n, int cluster_m = 1, int cluster_n = 1) {
    GemmConfig config = ww::tile(m, n, cluster_m, cluster_n);
    config.arch = GetParam();
    config.sm100.pair = GetParam() == Arch::sm100 && cluster_m == 2;
    return config;
  }
};
INSTANTIATE_TEST_SUITE_P(Archs, KGroupedEmu, ::testing::Values(Arch::sm90, Arch::sm100),
                         [](const auto& info) { return std::string(name_of(info.param)); });

KGroupedProblem plain(DType d = f32) {
  KGroupedProblem p{.m = 100, .n = 72, .d = d};
  p.encoding = GroupEncoding::starts_counts;
  return p;
}

TEST_P(KGroupedEmu, EveryRemainderOfKEndsWithItsGroup) {
  std::vector<std::int64_t> counts;
  for (std::int64_t k = 0; k <= 66; ++k) counts.push_back(k);
  counts.insert(counts.end(), {127, 128, 129, 191});
  expect_exact(make(plain(), counts, tile(128, 128), 1));
}

TEST_P(KGroupedEmu, EveryEncodingOnEveryCluster) {
  std::uint64_t seed = 10;
  for (int e = 0; e < 5; ++e)
    for (const auto& [m, n] : {std::pair(1, 1), {2, 1}, {1, 2}}) {
      KGroupedProblem p = plain();
      p.m = 200, p.n = 136, p.encoding = GroupEncoding(e);
      expect_exact(make(p, {70, 0, 1, 200, 64, 3}, tile(128, 128, m, n), ++seed));
    }
}

TEST_P(KGroupedEmu, EmptyGroupsAreZeroOrC) {
  for (bool accumulate : {false, true})
    for (bool in_place : {true, false}) {
      KGroupedProblem p = plain();
      p.accumulate = accumulate;
      for (const std::vector<std::int64_t>& counts :
           {std::vector<std::int64_t>{0, 0, 0}, {0, 37, 0}, {300, 0, 0}, {0, 0, 64}}) {
        HostKGrouped h = make(p, counts, tile(128, 128, 2, 1), 40);
        h.in_place = in_place;
        for (std::size_t i = 0; accumulate && i < h.c.size(); i += 64) {  // -0 stays -0 where nothing is added
          const std::uint32_t minus_zero = 0x80000000;
          std::memcpy(&h.c[i], &minus_zero, 4);
        }
        expect_exact(h);
      }
    }
}

TEST_P(KGroupedEmu, OneGroupIsTheDenseProduct) {
  for (std::int64_t k : {1, 63, 64, 200, 321}) {
    const HostKGrouped h = make(plain(), {k}, tile(128, 128, 2, 1), static_cast<std::uint64_t>(k));
    const Device device = open_emu();
    const auto got = run_on(device, h);
    ASSERT_TRUE(got) << got.error().message;
    HostProblem dense = problem_of_group(h, 0);
    dense.config = h.config;
    const auto want = run_on(device, dense);
    ASSERT_TRUE(want) << want.error().message;
    EXPECT_EQ(difference(h, *got, *want), "");
  }
}

TEST_P(KGroupedEmu, OneBlockScaledGroupIsTheDenseProduct) {
  KGroupedProblem p{.m = 100, .n = 72, .a = e4m3, .b = e4m3, .scale = Scale::block_1x128_1x128};
  p.a_major = p.b_major = Major::k;
  const HostKGrouped h = make(p, {5}, tile(128, 128, 1, 2), 3, 128);
  const Device device = open_emu();
  const auto got = run_on(device, h);
  ASSERT_TRUE(got) << got.error().message;
  HostProblem dense = problem_of_group(h, 0);
  dense.config = h.config;
  const auto want = run_on(device, dense);
  ASSERT_TRUE(want) << want.error().message;
  EXPECT_EQ(difference(h, *got, *want), "");
}

// The neighbours of a group hold NaN and infinity; its D has the bits that it has beside ordinary neighbours.
TEST_P(KGroupedEmu, NothingOfANeighbourReachesD) {
  const Device device = open_emu();
  for (std::uint32_t bits : {0xffffu, 0x7f80u}) {
    HostKGrouped h = make(plain(), {33, 47, 90}, tile(128, 128, 2, 1), 5);
    const auto want = run_on(device, h);
    ASSERT_TRUE(want) << want.error().message;
    for (std::vector<std::uint8_t>* operand : {&h.a, &h.b}) {
      const std::int64_t row = 2 * (operand == &h.a ? h.problem.lda : h.problem.ldb);
      for (std::size_t g : {std::size_t{0}, std::size_t{2}})
        for (std::int64_t i = h.ranges[g].first * row; i < (h.ranges[g].first + h.ranges[g].second) * row; i += 2)
          std::memcpy(&(*operand)[static_cast<std::size_t>(i)], &bits, 2);
    }
    const auto got = run_on(device, h);
    ASSERT_TRUE(got) << got.error().message;
    const auto group = static_cast<std::ptrdiff_t>(h.problem.stride_d_group * 4);
    EXPECT_TRUE(std::equal(got->begin() + group, got->begin() + 2 * group, want->begin() + group)) << h.replay();
    EXPECT_FALSE(std::equal(got->begin(), got->begin() + group, want->begin())) << "the NaN did not arrive";
  }
}

TEST_P(KGroupedEmu, ContradictingSizesAreCutAndReported) {
  HostKGrouped h = make(plain(), {40, 30, 50}, tile(128, 128), 6);
  ASSERT_EQ(h.ranges.size(), 3u);
  const auto third = static_cast<std::int32_t>(h.problem.k - h.ranges[2].first);
  h.sizes2 = {static_cast<std::int32_t>(h.ranges[1].first - h.ranges[0].first) + 10, 30, third + 100};
  std::fill(h.a.begin(), h.a.end(), std::uint8_t{0}), std::fill(h.b.begin(), h.b.end(), std::uint8_t{0});
  for (std::vector<std::uint8_t>* bytes : {&h.a, &h.b})
    for (std::size_t i = 0; i < bytes->size(); i += 2) (*bytes)[i + 1] = 0x3f;  // finite: no rows of NaN here
  const std::int64_t first = h.ranges[0].first + h.sizes2[0];
  h.ranges = {{h.ranges[0].first, h.sizes2[0]}, {first, h.ranges[1].first + 30 - first}, {h.ranges[2].first, third}};
  const auto got = run_on(open_emu(), h, GroupStatus::overlap | GroupStatus::overrun);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(difference(h, *got, reference(h)), "");
}

TEST_P(KGroupedEmu, MisalignedGroupsOfKMajorOperandsAreCutToWholeBlocks) {
  KGroupedProblem p{.m = 64, .n = 64, .a = e4m3, .b = e4m3, .scale = Scale::block_1x128_1x128};
  p.a_major = p.b_major = Major::k, p.encoding = GroupEncoding::offsets;
  HostKGrouped h = make(p, {2, 3, 1}, tile(64, 64), 7, 128);
  h.sizes[0] = 200;  // group 0: [0, 200) -> [0, 128); group 1: [200, 640) -> [256, 640)
  h.ranges[0].second = 128;
  const auto got = run_on(open_emu(), h, GroupStatus::misaligned);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(difference(h, *got, reference(h)), "");
}

// Hopper's tensor core reads FP8 K-major only.
TEST(KGroupedEmu, Fp8GroupsOfRowsAndTheirTails) {
  KGroupedProblem p = plain();
  p.a = p.b = e4m3, p.m = 144, p.n = 272, p.scale = Scale::row_column;
  GemmConfig config = tile(128, 256, 2, 1);
  config.arch = Arch::sm100;
  for (const bool pair : {false, true}) {
    config.sm100.pair = pair;
    expect_exact(make(p, {70, 0, 1, 200, 128, 3}, config, 30));
  }
}

TEST(KGroupedEmu, Fp8GroupsByColumnsWithScalesOfBlocks) {
  for (const Scale scale : {Scale::block_1x128_128x128, Scale::block_1x128_1x128})
    for (const auto order : {TileScheduler::fixed, TileScheduler::longest_k, TileScheduler::clc}) {
      KGroupedProblem p = plain();
      p.a = p.b = e4m3, p.m = 144, p.n = 272, p.scale = scale, p.encoding = GroupEncoding::offsets;
      GemmConfig config = tile(128, 128);
      config.arch = Arch::sm100, config.sm90.tile_scheduler = order;
      expect_exact(make(p, {1, 0, 3, 2}, config, 31, 128));
      HostKGrouped h = make(p, {2, 3, 1}, config, 32, 128);
      h.sizes[0] = 200;  // group 0: [0, 200) -> [0, 128); group 1: [200, 640) -> [256, 640)
      h.ranges[0].second = 128;
      const auto got = run_on(open_emu(0, Arch::sm100), h, GroupStatus::misaligned);
      ASSERT_TRUE(got) << got.error().message;
      EXPECT_EQ(difference(h, *got, reference(h)), "");
    }
}

/// What DeepGEMM's k_grouped_fp8_gemm_nt_contiguous computes: D[g] += A_g B_g^T in FP32, the groups one by one.
KGroupedProblem packed() {
  KGroupedProblem p{.m = 200, .n = 136, .a = e4m3, .b = e4m3, .scale = Scale::block_1x128_1x128};
  p.a_major = p.b_major = Major::k, p.packing = KPacking::per_group, p.accumulate = true;
  return p;
}

TEST_P(KGroupedEmu, GroupsPackedOneByOneInEveryEncodingOnEveryCluster) {
  std::uint64_t seed = 100;
  for (int e = 0; e < 5; ++e)
    for (const auto& [m, n] : {std::pair(1, 1), {2, 1}, {1, 2}}) {
      KGroupedProblem p = packed();
      p.encoding = GroupEncoding(e);
      expect_exact(make(p, {3, 0, 1, 5, 0, 2}, tile(128, 128, m, n), ++seed, 128));
    }
}

TEST_P(KGroupedEmu, GroupsPackedOneByOneOfEveryTypeAndMajor) {
  std::uint64_t seed = 200;
  for (const auto& [type, a, b] : {std::tuple(bf16, Major::k, Major::k),
                                   {f16, Major::k, Major::mn},
                                   {bf16, Major::mn, Major::k},
                                   {tf32, Major::k, Major::k}}) {
    KGroupedProblem p{.m = 72, .n = 88, .a = type, .b = type};
    p.a_major = a, p.b_major = b, p.packing = KPacking::per_group, p.encoding = GroupEncoding::offsets;
    expect_exact(make(p, {2, 0, 3, 1}, tile(64, 64), ++seed, 128));
  }
}

// The same operands joint and packed one by one have the same bits.
TEST_P(KGroupedEmu, PackingDoesNotChangeD) {
  KGroupedProblem p = packed();
  p.encoding = GroupEncoding::offsets;
  const HostKGrouped separate = make(p, {1, 4, 0, 2}, tile(128, 128, 2, 1), 5, 128);
  HostKGrouped joint = separate;
  joint.problem.packing = KPacking::joint;
  joint.problem.lda = joint.problem.ldb = p.k = separate.problem.k;
  for (const auto& [from, to, rows] : {std::tuple{&separate.a, &joint.a, p.m}, {&separate.b, &joint.b, p.n}})
    for (const auto& [first, count] : separate.ranges)
      for (std::int64_t row = 0; row < rows; ++row)
        std::copy_n(from->begin() + first * rows + row * count, count, to->begin() + row * p.k + first);
  const Device device = open_emu();
  const auto got = run_on(device, separate), want = run_on(device, joint);
  ASSERT_TRUE(got && want) << (got ? want : got).error().message;
  EXPECT_EQ(difference(separate, *got, *want), "");
}

TEST_P(KGroupedEmu, PackedGroupsThatAreEmptyOrMisaligned) {
  for (const std::vector<std::int64_t>& counts : {std::vector<std::int64_t>{0, 0, 0}, {0, 2, 0}, {3, 0, 0}})
    for (const bool in_place : {true, false}) {
      HostKGrouped h = make(packed(), counts, tile(128, 128), 9, 128);
      h.in_place = in_place;
      expect_exact(h);
    }
  KGroupedProblem p = packed();
  p.encoding = GroupEncoding::offsets;
  HostKGrouped h = make(p, {2, 3, 1}, tile(128, 128), 7, 128);
  h.sizes[0] = 200;  // group 0: [0, 200) -> [0, 128); group 1: [200, 640) -> [256, 640)
  h.ranges[0].second = 128;
  const auto got = run_on(open_emu(), h, GroupStatus::misaligned);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(difference(h, *got, reference(h)), "");
}

TEST_P(KGroupedEmu, ManyPackedGroups) {
  std::vector<std::int64_t> counts(700);
  for (std::size_t g = 0; g < counts.size(); ++g) counts[g] = g % 5 == 0 ? 1 : 0;
  KGroupedProblem p = packed();
  p.m = 24, p.n = 16, p.encoding = GroupEncoding::indptr;
  expect_exact(make(p, counts, tile(64, 64), 31, 128));
}

TEST(KGroupedEmu, PackedGroupsThatCannotBeAreRefused) {
  KGroupedProblem p = packed();
  p.groups = 4, p.k = 512;
  ASSERT_TRUE(can_implement(p));
  const auto argument = [](const KGroupedProblem& problem) { return can_implement(problem).error().argument; };
  KGroupedProblem wrong = p;
  wrong.lda = 512;
  EXPECT_EQ(argument(wrong), "lda");
  wrong = p, wrong.ldb = 512;
  EXPECT_EQ(argument(wrong), "ldb");
  wrong = p, wrong.k = 528;
  EXPECT_EQ(argument(wrong), "k");
  wrong = p, wrong.packing = static_cast<KPacking>(2);
  EXPECT_EQ(argument(wrong), "packing");

  const auto made = plan_k_grouped(open_emu(), p);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->workspace_bytes(), 4u * 2 * 128);
  EXPECT_EQ(made->problem().lda, 0);
  EXPECT_TRUE(can_implement(made->problem()));
  alignas(256) char memory[256];
  KGroupedOperands operands{.a = memory, .b = memory, .d = memory};
  operands.scale_a = operands.scale_b = memory, operands.sizes = reinterpret_cast<const std::int32_t*>(memory);
  EXPECT_EQ(made->run(operands).error().argument, "workspace");
  operands.workspace = memory, operands.workspace_bytes = 255;
  EXPECT_EQ(made->run(operands).error().argument, "workspace_bytes");
  p.packing = KPacking::joint;
  EXPECT_EQ(plan_k_grouped(open_emu(), p)->workspace_bytes(), 0u);
  p.a = p.b = bf16, p.scale = Scale::none, p.a_major = p.b_major = Major::mn, p.packing = KPacking::per_group;
  const auto same = plan_k_grouped(open_emu(), p);  // in memory the same as joint
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_EQ(same->workspace_bytes(), 0u);
  EXPECT_EQ(same->config().k_groups.packing, KPacking::joint);
}

TEST(KGroupedEmu, NothingToMultiplyOrToStore) {
  expect_exact(make(plain(), {0, 0, 0, 0}, tile(128, 128), 8));
  KGroupedProblem p = plain();
  p.encoding = GroupEncoding::offsets;
  expect_exact(make(p, {0, 0}, tile(128, 128), 8));  // K = 0 or a few rows of nobody
  const Device device = open_emu();
  for (int which = 0; which < 3; ++which) {
    KGroupedProblem none{.groups = 2, .m = 8, .n = 8, .k = 8};
    (which == 0 ? none.groups : which == 1 ? none.m : none.n) = 0;
    const auto made = plan_k_grouped(device, none);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_TRUE(made->run({}));  // nothing is launched, so nothing is asked for
  }
}

TEST(KGroupedEmu, WhatCannotBeIsRefused) {
  const auto error = [](const KGroupedProblem& p, const GemmOptions& options = {}) {
    const auto made = can_implement(p, options);
    return made ? std::string("none") : made.error().message;
  };
  KGroupedProblem p{.groups = 4, .m = 64, .n = 64, .k = 100};
  EXPECT_EQ(error(p), "none");
  p.groups = 5000;
  EXPECT_NE(error(p).find("groups"), std::string::npos) << error(p);
  p.groups = 4, p.a = p.b = e4m3;
  EXPECT_NE(error(p).find("K-major"), std::string::npos) << error(p);
  p.a = p.b = bf16, p.scale = Scale::block_1x128_1x128;
  EXPECT_NE(error(p).find("scale"), std::string::npos) << error(p);
  p.a = p.b = e4m3, p.a_major = p.b_major = Major::k, p.k = 256, p.scale_a_group = 8;
  EXPECT_NE(error(p).find("scale_a_group"), std::string::npos) << error(p);
  p.scale_a_group = 0, p.encoding = GroupEncoding::masked, p.k = 48;
  EXPECT_NE(error(p).find("argument k"), std::string::npos) << error(p);
  p = {.groups = 4, .m = 64, .n = 64, .k = 100};
  EXPECT_NE(error(p, {.config = {.row_groups = {.variant = GroupedVariant::ragged}}}).find("variant"),
            std::string::npos);
  EXPECT_NE(error(p, {.config = {.sm90 = {.tile_scheduler = TileScheduler::stream_k}}}).find("tile_scheduler"),
            std::string::npos);
  EXPECT_NE(error(p, {.config = {.tile = {128, 64}, .cluster = {2}}}).find("tile (n)"), std::string::npos);
  EXPECT_NE(error(p, {.config = {.sm90 = {.schedule = Schedule::pingpong}}}).find("schedule"), std::string::npos);
}

GemmConfig longest_first(GemmConfig config) { return config.sm90.tile_scheduler = TileScheduler::longest_k, config; }

TEST_P(KGroupedEmu, LongestKFirstHasTheBitsOfTheDefault) {
  std::uint64_t seed = 70;
  for (int e = 0; e < 5; ++e)
    for (const auto& [m, n] : {std::pair(1, 1), {2, 1}}) {
      KGroupedProblem p = plain();
      p.m = 200, p.n = 136, p.encoding = GroupEncoding(e), p.accumulate = e % 2 == 1;
      const HostKGrouped fixed = make(p, {70, 0, 1, 200, 64, 3, 64, 129}, tile(128, 128, m, n), ++seed);
      HostKGrouped longest = fixed;
      longest.config = longest_first(fixed.config);
      const auto a = run_on(open_emu(), fixed), b = run_on(open_emu(), longest);
      ASSERT_TRUE(a && b) << (a ? b : a).error().message;
      EXPECT_EQ(difference(longest, *b, *a), "") << longest.replay();
      EXPECT_EQ(difference(longest, *b, reference(longest)), "");
    }
}

/// The k-blocks of every CTA when each takes every `ctas`-th of `groups`, which have a tile each.
std::vector<std::uint64_t> work_of(const std::vector<std::int64_t>& groups, std::size_t ctas) {
  std::vector<std::uint64_t> work(std::min(ctas, groups.size()));
  for (std::size_t g = 0; g < groups.size(); ++g) work[g % ctas] += static_cast<std::uint64_t>(ceil_div(groups[g], 64));
  return work;
}

TEST(KGroupedEmu, LongestKComesFirst) {
  constexpr int kSms = 3;
  const Device device = *Device::open("emu:sm90", {.cache_dir = {}, .emu = {.sms = kSms}});
  std::mt19937_64 rng(80);
  for (int groups : {1, 2, 3, 9, 64, 130, 500}) {  // fewer and more than threads, powers of two and others
    std::vector<std::int64_t> counts;
    for (int g = 0; g < groups; ++g)
      counts.push_back(static_cast<std::int64_t>(rng() % 4) * 64 + (g % 7 == 0 ? 33 : 0));
    KGroupedProblem p = plain();
    p.m = 16, p.n = 8;
    for (bool longest : {false, true}) {
      const GemmConfig config = longest ? longest_first(tile(64, 64)) : tile(64, 64);
      std::optional<EmuStats> stats;
      ASSERT_TRUE(run_on(device, make(p, counts, config, 90), 0, &stats));
      ASSERT_TRUE(stats);
      std::vector<std::int64_t> order = counts;
      if (longest) std::stable_sort(order.begin(), order.end(), std::greater<>());
      std::vector<std::uint64_t> work;
      for (const CtaWork& cta : stats->work) work.push_back(cta.k_blocks);
      EXPECT_EQ(work, work_of(order, kSms)) << groups << (longest ? " groups, longest first" : " groups");
    }
  }
}

TEST(KGroupedEmu, LongestKIsRefusedElsewhereByName) {
  GemmConfig config = *parse_config("tile_scheduler=longest-k");
  EXPECT_STREQ(config::fault_of(config::resolve(config)).field, "tile_scheduler");
  for (GroupedVariant variant :
       {GroupedVariant::contiguous, GroupedVariant::masked, GroupedVariant::descriptors, GroupedVariant::ragged}) {
    config.row_groups = {variant, 8};
    EXPECT_STREQ(config::fault_of_grouped(config::resolve_grouped(config)).field, "tile_scheduler") << name_of(variant);
  }
  config.row_groups = {}, config.k_groups.capacity = 8, config.operands.a = config.operands.b = bf16;
  config.operands.layout = {Major::mn, Major::mn};
  EXPECT_EQ(config::fault_of_k_grouped(config::resolve_k_grouped(config)).field, nullptr);
}

TEST(KGroupedEmu, OneSmHasNoClusters) {
  const KGroupedProblem p{.groups = 4, .m = 256, .n = 64, .k = 100};  // two tiles of rows, which usually share B
  EXPECT_TRUE(can_implement(p, {.sms = 1}));
  const auto asked = can_implement(p, {.config = {.cluster = {2}}, .sms = 1});
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().argument, "sms");
}

TEST(KGroupedEmu, RunRefusesWrongPointers) {
  const auto made =
      plan_k_grouped(open_emu(), KGroupedProblem{.groups = 2, .m = 8, .n = 8, .k = 8}, {.config = tile(64, 64)});
  ASSERT_TRUE(made) << made.error().message;
  alignas(16) char memory[16];
  const auto* const sizes = reinterpret_cast<const std::int32_t*>(memory);
  const KGroupedOperands right{.a = memory, .b = memory, .d = memory, .sizes = sizes};
  const auto argument = [&](const KGroupedOperands& operands) { return made->run(operands).error().argument; };
  KGroupedOperands wrong = right;
  wrong.sizes = nullptr;
  EXPECT_EQ(argument(wrong), "sizes");
  wrong = right, wrong.a = memory + 1;
  EXPECT_EQ(argument(wrong), "a");
  wrong = right, wrong.d = nullptr;
  EXPECT_EQ(argument(wrong), "d");
}

}  // namespace
}  // namespace ww
