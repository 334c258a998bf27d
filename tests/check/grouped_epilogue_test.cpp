// SPDX-License-Identifier: Apache-2.0
// Grouped products with epilogues are clean under every schedule, and correct: each variant with operands and stores of
// every kind or with SwiGLU, with an accumulation in place, and without K; two runs with one workspace. The compiler
// that WARPWRIGHT_CXX names compiles the kernels here, because header_mutants.py puts other headers before the
// library's.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "case.hpp"
#include "problems/random_grouped_epilogue.hpp"
#include "runtime/backend.hpp"

namespace ww::check_test {
namespace {

using testing::GroupedEpilogueCase;

/// Problem number `i` with few and small groups that have gaps: a tail, an empty group, a group of several tiles.
GroupedEpilogueCase small_case(std::uint64_t i, std::vector<std::int64_t> counts, bool in_place, std::int64_t k) {
  GroupedEpilogueCase c = testing::numbered_grouped_epilogue(i);
  testing::HostGrouped& h = c.host;
  GroupedProblem& p = h.problem;
  std::mt19937_64 rng(i);
  p.groups = static_cast<std::int64_t>(counts.size());
  p.n = 144, p.k = k;
  p.encoding = GroupEncoding::starts_counts, p.alignment = 1;
  p.zero_outside = h.config.row_groups.variant == GroupedVariant::ragged || k == 0 || in_place;
  c.pad = 4, c.shared = false, c.group_scalars = true;
  h.sizes.clear(), h.sizes2.clear();
  testing::encode_groups(h, rng, counts);
  p.lda = p.ldb = p.k, p.ldd = config::output_columns(p.epilogue, p.n) + 16 / bytes_of(p.d);
  p.stride_b_group = p.n * p.k;
  testing::fill_grouped(h, rng);
  c.in_place = in_place;
  h.pdl = Pdl::on;
  if (in_place) c.pad = p.ldd - p.n;
  return c;
}

TEST(ShippedGroupedEpilogue, IsCleanAndRightUnderEverySchedule) {
  const auto device = Device::open("emu:sm90", {.cache_dir = {}, .emu = {.check = true}});
  ASSERT_TRUE(device) << device.error().message;
  // see numbered_grouped_epilogue(): stores and SwiGLU, then accumulation
  const std::uint64_t first = testing::kFirstGroupedEpilogue + 2 * testing::kGroupedEpilogueKinds;
  for (const auto& [kind, k] : {std::pair{12, 272}, {13, 272}, {14, 272}, {8, 272}, {9, 272}, {10, 272}, {9, 0}}) {
    const bool in_place = kind < 12 && k > 0;
    const GroupedEpilogueCase c = small_case(first + static_cast<std::uint64_t>(kind), {3, 0, 70, 1, 9}, in_place, k);
    for (int i = 0; i < WW_CHECK_SCHEDULES; ++i) {
      EmuOptions options = schedule_of(i, base_seed());
      options.check = true;
      device->backend().set_emu_options(options);
      const auto run = testing::run_on(*device, c);
      const auto report = device->backend().last_check();
      ASSERT_TRUE(report) << (run ? "no report" : run.error().message);
      const std::string replay = fmt::format(
          "kind {} k {}, schedule {} seed {}; replay: WARPWRIGHT_CHECK_SEED={} ./check_grouped_epilogue_test", kind, k,
          name_of(options.schedule), options.seed, base_seed());
      ASSERT_EQ(report->verdict, Verdict::clean) << replay << "\n" << summary(*report);
      ASSERT_TRUE(run) << run.error().message << "\n" << replay;
      ASSERT_EQ(testing::wrong(c, *run), "") << "    wrong-result in D: " << replay;
    }
  }
}

}  // namespace
}  // namespace ww::check_test
