// SPDX-License-Identifier: Apache-2.0
// The shipped grouped products of one launch and of two are clean under every schedule, and correct. The library
// launches them, twice with one workspace, so that its final state is tested too. The compiler that WARPWRIGHT_CXX
// names compiles the kernels here, because header_mutants.py puts other headers before the library's.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "case.hpp"
#include "problems/random_k_grouped.hpp"
#include "runtime/backend.hpp"

namespace ww::check_test {
namespace {

using testing::HostGrouped;
using testing::HostKGrouped;

struct GroupedCase {
  const char* name;
  GroupedProblem problem;  // extents, types, encoding
  GemmConfig config;
  std::vector<std::int64_t> counts;
};

/// Tails before other groups, empty groups, groups of several tiles, more tiles than CTAs, more maps than warps.
std::vector<GroupedCase> grouped_cases() {
  const auto problem = [](GroupEncoding encoding, Scale scale, DType d, std::int64_t n, std::int64_t k) {
    GroupedProblem p{.n = n, .k = k, .a = e4m3, .b = e4m3, .d = d, .scale = scale};
    p.encoding = encoding;
    return p;
  };
  std::vector<std::int64_t> many(130);
  many[1] = 3, many[70] = 66, many[129] = 1;
  return {
      {"descriptors, block, horizontal",
       problem(GroupEncoding::indptr, Scale::block_1x128_128x128, bf16, 136, 272),
       {.tile = {16, 128},
        .sm90 = {.tile_scheduler = TileScheduler::horizontal},
        .row_groups = {.variant = GroupedVariant::descriptors}},
       {3, 0, 37, 1, 0, 9}},
      {"descriptors, tensor, f32, vertical",
       problem(GroupEncoding::starts_counts, Scale::tensor, f32, 264, 144),
       {.tile = {8, 256},
        .sm90 = {.tile_scheduler = TileScheduler::vertical},
        .row_groups = {.variant = GroupedVariant::descriptors}},
       {5, 20, 0, 1, 7, 0, 1, 2, 0, 0, 8, 3, 0, 9, 1, 1, 0, 2, 1, 4}},
      {"descriptors, no K",
       problem(GroupEncoding::offsets, Scale::tensor, bf16, 136, 0),
       {.tile = {16, 128},
        .sm90 = {.tile_scheduler = TileScheduler::vertical},
        .row_groups = {.variant = GroupedVariant::descriptors}},
       {3, 0, 20}},
      {"contiguous, block, 192 x 128 by three consumer warpgroups",
       problem(GroupEncoding::indptr, Scale::block_1x128_128x128, bf16, 136, 272),
       {.tile = {192, 128}, .row_groups = {.variant = GroupedVariant::contiguous}},
       {3, 0, 200, 1}},
      {"contiguous, block, 2x1, tiles that meet two scales of B",
       problem(GroupEncoding::indptr, Scale::block_1x128_128x128, bf16, 328, 272),
       {.tile = {128, 192},
        .cluster = {2},
        .sm90 = {.stages = 2},
        .row_groups = {.variant = GroupedVariant::contiguous}},
       {3, 0, 200, 1}},
      {"masked, tensor, f32, 2x1",
       problem(GroupEncoding::masked, Scale::tensor, f32, 136, 144),
       {.tile = {128, 128}, .cluster = {2}, .row_groups = {.variant = GroupedVariant::masked}},
       {5, 0, 130}},
      {"ragged, block",
       problem(GroupEncoding::row_ids, Scale::block_1x128_128x128, bf16, 136, 272),
       {.tile = {64, 128}, .row_groups = {.variant = GroupedVariant::ragged}},
       {3, 0, 70, 1, 9}},
      {"ragged, more groups than one warp lists, several CTAs of an SM",
       problem(GroupEncoding::offsets, Scale::block_1x128_128x128, bf16, 72, 144),
       {.sm90 = {.occupancy = 2}, .row_groups = {.variant = GroupedVariant::ragged}},
       many},
      {"ragged, several CTAs of an SM",
       problem(GroupEncoding::offsets, Scale::block_1x128_128x128, bf16, 136, 272),
       {.sm90 = {.occupancy = 2}, .row_groups = {.variant = GroupedVariant::ragged}},
       {3, 0, 60, 1, 9}},
      {"ragged, split-K, two rounds and a CTA without K",
       problem(GroupEncoding::offsets, Scale::block_1x128_128x128, bf16, 136, 400),
       {.tile = {64, 256},
        .sm90 = {.tile_scheduler = TileScheduler::split_k, .split = 8},
        .row_groups = {.variant = GroupedVariant::ragged}},
       {3, 0, 60, 1, 9}},
  };
}

HostGrouped host_of(const GroupedCase& c) {
  std::mt19937_64 rng(7);
  HostGrouped h;
  GroupedProblem& p = h.problem = c.problem;
  h.config = c.config;
  h.pdl = Pdl::on;
  p.groups = static_cast<std::int64_t>(c.counts.size());
  testing::encode_groups(h, rng, c.counts);
  p.lda = p.ldb = p.k, p.ldd = p.n, p.stride_b_group = p.n * p.k;
  testing::fill_grouped(h, rng);
  return h;
}

TEST(ShippedGrouped, IsCleanAndExactUnderEverySchedule) {
  const auto device = Device::open("emu:sm90", {.cache_dir = {}, .emu = {.check = true}});
  ASSERT_TRUE(device) << device.error().message;
  for (const GroupedCase& c : grouped_cases()) {
    const HostGrouped host = host_of(c);
    const std::vector<std::uint8_t> want = testing::reference(host);
    for (int i = 0; i < WW_CHECK_SCHEDULES; ++i) {
      EmuOptions options = schedule_of(i, base_seed());
      options.check = true;
      device->backend().set_emu_options(options);
      const auto got = testing::run_on(*device, host, nullptr, 2);
      const auto report = device->backend().last_check();
      ASSERT_TRUE(report) << (got ? "no report" : got.error().message);
      const std::string replay =
          fmt::format("{}, schedule {} seed {}; replay: WARPWRIGHT_CHECK_SEED={} ./check_grouped_test", c.name,
                      name_of(options.schedule), options.seed, base_seed());
      ASSERT_EQ(report->verdict, Verdict::clean) << replay << "\n" << summary(*report);
      ASSERT_TRUE(got) << got.error().message << "\n" << replay;
      ASSERT_EQ(testing::difference(host, *got, want), "") << "    wrong-result in D: " << replay;
    }
  }
}

/// Groups with tails, empty ones and several tiles each, on clusters whose CTAs share A or B.
std::vector<HostKGrouped> k_grouped_cases() {
  struct Case {
    KGroupedProblem problem;
    GemmConfig config;
    std::vector<std::int64_t> counts;  // of multiples of the granularity
  };
  const auto problem = [](DType type, Scale scale, GroupEncoding encoding, std::int64_t m, std::int64_t n) {
    KGroupedProblem p{.m = m, .n = n, .a = type, .b = type, .scale = scale};
    p.encoding = encoding;
    if (type == e4m3) p.a_major = p.b_major = Major::k;
    return p;
  };
  std::vector<Case> cases = {
      {problem(bf16, Scale::none, GroupEncoding::starts_counts, 72, 136),
       {.tile = {64, 128}, .cluster = {2}, .sm90 = {.stages = 2}},
       {70, 0, 1, 200, 64, 0}},
      {problem(bf16, Scale::none, GroupEncoding::row_ids, 136, 72),
       {.tile = {128, 64}, .cluster = {.n = 2}, .sm90 = {.stages = 2}},
       {3, 130, 0, 65}},
      {problem(e4m3, Scale::block_1x128_1x128, GroupEncoding::indptr, 130, 72),
       {.tile = {64, 64}, .cluster = {2}, .sm90 = {.stages = 2, .tile_scheduler = TileScheduler::longest_k}},
       {2, 0, 5, 1}},
      {problem(e4m3, Scale::block_1x128_1x128, GroupEncoding::offsets, 130, 72),
       {.tile = {64, 64}, .cluster = {2}, .sm90 = {.stages = 2}},
       {2, 0, 3, 1, 1}},
  };
  cases[1].problem.accumulate = true;
  cases[3].problem.accumulate = true, cases[3].problem.packing = KPacking::per_group;
  std::vector<HostKGrouped> hosts;
  for (const Case& c : cases) {
    std::mt19937_64 rng(11);
    HostKGrouped& h = hosts.emplace_back();
    KGroupedProblem& p = h.problem = c.problem;
    h.config = c.config;
    h.pdl = Pdl::on;
    testing::encode_k_groups(h, rng, c.counts, h.tails() ? 1 : 128);
    if (p.packing == KPacking::joint) p.lda = h.tails() ? p.m : p.total_k(), p.ldb = h.tails() ? p.n : p.total_k();
    p.ldd = p.n, p.stride_d_group = p.m * p.n;
    testing::fill_k_grouped(h, rng);
  }
  return hosts;
}

TEST(ShippedKGrouped, IsCleanAndExactUnderEverySchedule) {
  const auto device = Device::open("emu:sm90", {.cache_dir = {}, .emu = {.check = true}});
  ASSERT_TRUE(device) << device.error().message;
  for (const HostKGrouped& host : k_grouped_cases()) {
    const std::vector<std::uint8_t> want = testing::reference(host);
    for (int i = 0; i < WW_CHECK_SCHEDULES; ++i) {
      EmuOptions options = schedule_of(i, base_seed());
      options.check = true;
      device->backend().set_emu_options(options);
      const auto got = testing::run_on(*device, host);
      const auto report = device->backend().last_check();
      ASSERT_TRUE(report) << (got ? "no report" : got.error().message);
      const std::string replay =
          fmt::format("{}, schedule {} seed {}; replay: WARPWRIGHT_CHECK_SEED={} ./check_grouped_test", host.replay(),
                      name_of(options.schedule), options.seed, base_seed());
      ASSERT_EQ(report->verdict, Verdict::clean) << replay << "\n" << summary(*report);
      ASSERT_TRUE(got) << got.error().message << "\n" << replay;
      ASSERT_EQ(testing::difference(host, *got, want), "") << "    wrong-result in D: " << replay;
    }
  }
}

}  // namespace
}  // namespace ww::check_test
