// SPDX-License-Identifier: Apache-2.0
// Products whose scales the tensor core of sm_100 applies, on the emulated device: every output within its own bound
// of FP64 (docs/numerics.md section 7). Extents have tails of tiles, of chunks of scales and of K.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "operations/groups.hpp"
#include "operations/operation.hpp"
#include "problems/test_name.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/core/scale_chunks.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww {
namespace {

struct Case {
  DType a, b;
  Scale scale;
  std::int64_t m, n, k, batch;
  Tile tile = {};  // chosen if empty
  bool pair = false, halves = false;
  Major a_major = Major::k, b_major = Major::k;
  SwapAb swap = SwapAb::automatic;
};

/// Returns a row's elements with a gap behind them: of K, or of the `rows` of an MN-major operand.
std::int64_t row_of(Major major, std::int64_t rows, std::int64_t k) {
  return major == Major::k ? round_up(k, std::int64_t{128}) : round_up(rows, std::int64_t{16}) + 16;
}

Result<void> run(operations::Operation& product, const Device& device) {
  WW_CHECK(product.can_implement());
  WW_CHECK(product.plan(device));
  WW_CHECK(product.make_tensors());
  WW_CHECK(product.upload());
  WW_CHECK(product.run());
  return product.download();
}

/// Runs on generated operands and asks ww::verify(), which takes scales as a caller has them.
void expect_verified(operations::Operation& product, const Device& device) {
  const auto set = operations::allocate(device, product.operand_bytes());
  ASSERT_TRUE(set) << set.error().message;
  for (const auto& step : {product.fill(*set), product.set_up(), product.run(*set, {})})
    ASSERT_TRUE(step) << step.error().message;
  const auto verified = product.verify(*set, EmuMath::exact, nullptr);
  ASSERT_TRUE(verified) << verified.error().message;
  EXPECT_GT(verified->elements, 0);
  EXPECT_EQ(verified->wrong, 0);
}

class BlockScaled : public testing::TestWithParam<Case> {};

std::string name_of_case(const testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  return test_name(fmt::format("{} {} {} {} {}x{}x{} batch {}", name_of(c.a), name_of(c.b), name_of(c.scale),
                               name_of(MatrixLayout{c.a_major, c.b_major}), c.m, c.n, c.k, c.batch));
}

TEST_P(BlockScaled, EveryOutputIsWithinItsBound) {
  const Case c = GetParam();
  const auto device = Device::open("emu:sm100");
  ASSERT_TRUE(device) << device.error().message;
  GemmProblem p{.m = c.m, .n = c.n, .k = c.k, .a = c.a, .b = c.b, .scale = c.scale, .batch = c.batch};
  p.a_major = c.a_major, p.b_major = c.b_major;
  p.lda = row_of(c.a_major, c.m, c.k), p.ldb = row_of(c.b_major, c.n, c.k);
  if (c.halves) p.epilogue = evt::swiglu_halves(evt::acc);
  const std::int64_t columns = config::output_columns(p.epilogue, p.n);
  if (c.batch > 1) {
    p.batch_a = (c.a_major == Major::k ? p.m : p.k) * p.lda, p.batch_b = (c.b_major == Major::k ? p.n : p.k) * p.ldb;
    p.batch_d = p.m * columns;
    p.batch_scale_a = scale_bytes(p.m, p.k, scale_vector(p.scale));
    p.batch_scale_b = scale_bytes(p.n, p.k, scale_vector(p.scale));
  }
  operations::Inputs inputs;
  inputs.options.config = {.arch = Arch::sm100, .tile = c.tile, .cluster = {c.pair ? 2 : 0}};
  inputs.options.config.sm100.pair = c.pair, inputs.options.config.sm90.swap_ab = c.swap;
  const auto product = operations::make_operation(p, std::move(inputs));
  const auto ran = run(*product, *device);
  ASSERT_TRUE(ran) << ran.error().message;
  const auto judged = product->judge(EmuMath::exact, nullptr);
  ASSERT_TRUE(judged) << judged.error().message;
  EXPECT_EQ(judged->elements, c.batch * c.m * columns);
  EXPECT_EQ(judged->verdict.wrong, 0) << judged->verdict.max_error_of_bound;
}

INSTANTIATE_TEST_SUITE_P(Formats, BlockScaled,
                         testing::Values(Case{e4m3, e4m3, Scale::mx, 200, 136, 320, 1},
                                         Case{e4m3, e2m1, Scale::mx, 64, 64, 128, 1},
                                         Case{e3m2, e2m3, Scale::mx, 128, 64, 256, 1},
                                         Case{e2m1, e2m1, Scale::mx, 130, 72, 256, 1},
                                         Case{e2m1, e2m1, Scale::nv, 100, 128, 320, 2}),
                         name_of_case);

// K that ends within an instruction, of which the scales behind K are NaN; within a block of scales; in its first.
INSTANTIATE_TEST_SUITE_P(EndsOfK, BlockScaled,
                         testing::Values(Case{e2m1, e2m1, Scale::nv, 150, 72, 16, 1, {128, 64}},
                                         Case{e2m1, e2m1, Scale::nv, 300, 72, 336, 2, {128, 64}, true},
                                         Case{e2m1, e2m1, Scale::nv, 130, 256, 560, 1, {128, 256}},
                                         Case{e2m1, e2m1, Scale::mx, 300, 136, 288, 1, {128, 96}, true},
                                         Case{e2m1, e2m1, Scale::mx, 1, 8, 144, 3, {128, 32}},
                                         Case{e4m3, e5m2, Scale::mx, 130, 72, 32, 2, {128, 64}},
                                         Case{e4m3, e4m3, Scale::mx, 130, 72, 208, 1, {128, 64}, true}),
                         name_of_case);

// Gates and ups begin at any 32 rows of their chunks, for pairs at whole ones.
INSTANTIATE_TEST_SUITE_P(Halves, BlockScaled,
                         testing::Values(Case{e4m3, e4m3, Scale::mx, 130, 320, 208, 1, {128, 64}, false, true},
                                         Case{e2m1, e2m1, Scale::nv, 130, 576, 336, 2, {128, 256}, false, true},
                                         Case{e2m1, e2m1, Scale::mx, 130, 448, 288, 1, {128, 192}, false, true},
                                         Case{e4m3, e2m1, Scale::mx, 300, 512, 256, 2, {128, 256}, true, true},
                                         Case{e2m1, e2m1, Scale::nv, 300, 64, 80, 1, {}, false, true}),
                         name_of_case);

// Operands of 8 bits in every layout, as a cast by columns leaves them: tails of M, N and K, batches, pairs, swap-AB.
constexpr Major kK = Major::k, kMn = Major::mn;
INSTANTIATE_TEST_SUITE_P(
    Majors, BlockScaled,
    testing::Values(Case{e4m3, e4m3, Scale::mx, 208, 136, 336, 1, {}, false, false, kMn, kMn},
                    Case{e5m2, e4m3, Scale::mx, 130, 400, 72, 2, {}, false, false, kK, kMn},
                    Case{e4m3, e4m3, Scale::mx, 1, 8, 16, 1, {128, 128}, false, false, kK, kMn},
                    Case{e4m3, e5m2, Scale::mx, 304, 72, 208, 2, {128, 64}, true, false, kMn, kK},
                    Case{e4m3, e4m3, Scale::mx, 304, 272, 464, 1, {128, 256}, true, false, kMn, kMn},
                    Case{e4m3, e2m1, Scale::mx, 144, 72, 256, 1, {128, 96}, false, false, kMn, kK},
                    Case{e2m3, e4m3, Scale::mx, 144, 144, 256, 1, {128, 128}, false, false, kK, kMn},
                    Case{e4m3, e4m3, Scale::mx, 130, 448, 176, 1, {128, 256}, false, true, kK, kMn},
                    Case{e4m3, e4m3, Scale::mx, 300, 512, 80, 1, {128, 256}, true, true, kK, kMn},
                    Case{e4m3, e4m3, Scale::mx, 32, 272, 208, 1, {128, 32}, false, false, kK, kMn, SwapAb::on}),
    name_of_case);

const std::vector<std::int64_t> kRows = {1, 9, 0, 200, 130, 3};  // of groups

struct GroupedCase {
  DType a, b;
  Scale scale;
  GroupEncoding encoding;
  std::int64_t n, k;
  int cluster = 1;
  bool zero_outside = false;
  bool pair = false, halves = false;
  int tile_n = 64;
  Major b_major = Major::k;
};

class BlockScaledRows : public testing::TestWithParam<GroupedCase> {};

std::string name_of_groups(const testing::TestParamInfo<GroupedCase>& info) {
  const GroupedCase& c = info.param;
  return test_name(
      fmt::format("{} {} {} {} {}x{}", name_of(c.a), name_of(c.b), name_of(c.scale), name_of(c.encoding), c.n, c.k));
}

// Groups whose scales begin a chunk each, with tails of rows, of columns and of K; rows in no group, and their scales,
// are NaN.
TEST_P(BlockScaledRows, EveryOutputIsWithinItsBound) {
  const GroupedCase c = GetParam();
  const auto device = Device::open("emu:sm100");
  ASSERT_TRUE(device) << device.error().message;
  GroupedCheck check{.groups = {.counts = kRows}};
  GroupedProblem& p = check.problem;
  p.n = c.n, p.k = c.k, p.a = c.a, p.b = c.b, p.scale = c.scale, p.encoding = c.encoding;
  p.b_major = c.b_major;
  p.lda = row_of(Major::k, 0, c.k), p.ldb = row_of(c.b_major, c.n, c.k);
  p.zero_outside = c.zero_outside;
  if (c.encoding == GroupEncoding::starts_counts) check.groups.gap = 7;
  if (c.halves) p.epilogue = evt::swiglu_halves(evt::acc);
  check.options.config = {.arch = Arch::sm100, .tile = {128, c.tile_n}, .cluster = {c.cluster, 1}};
  check.options.config.sm100.pair = c.pair;
  const auto product = operations::make_operation(check);
  ASSERT_TRUE(product) << product.error().message;
  const auto ran = run(**product, *device);
  ASSERT_TRUE(ran) << ran.error().message;
  const auto judged = (*product)->judge(EmuMath::exact, nullptr);
  ASSERT_TRUE(judged) << judged.error().message;
  EXPECT_EQ(judged->verdict.wrong, 0) << judged->verdict.max_error_of_bound;
  EXPECT_EQ(judged->verdict.outside_wrong, 0);
  expect_verified(**product, *device);
}

INSTANTIATE_TEST_SUITE_P(
    Pairs, BlockScaledRows,
    testing::Values(GroupedCase{e4m3, e4m3, Scale::mx, GroupEncoding::offsets, 136, 336, 2, false, true},
                    GroupedCase{e2m1, e2m1, Scale::nv, GroupEncoding::masked, 72, 400, 2, true, true},
                    GroupedCase{e2m1, e2m1, Scale::nv, GroupEncoding::starts_counts, 520, 336, 2, true, true, false,
                                256},
                    GroupedCase{e2m1, e2m1, Scale::mx, GroupEncoding::indptr, 512, 288, 2, false, true, true, 256},
                    GroupedCase{e4m3, e5m2, Scale::mx, GroupEncoding::row_ids, 320, 80, 2, false, false, true, 128}),
    name_of_groups);

INSTANTIATE_TEST_SUITE_P(Formats, BlockScaledRows,
                         testing::Values(GroupedCase{e4m3, e4m3, Scale::mx, GroupEncoding::offsets, 136, 320},
                                         GroupedCase{e5m2, e4m3, Scale::mx, GroupEncoding::masked, 72, 128, 2},
                                         GroupedCase{e4m3, e2m1, Scale::mx, GroupEncoding::row_ids, 64, 256, 2, true},
                                         GroupedCase{e2m1, e2m1, Scale::nv, GroupEncoding::starts_counts, 128, 320, 2}),
                         name_of_groups);

INSTANTIATE_TEST_SUITE_P(NMajorWeights, BlockScaledRows,
                         testing::Values(GroupedCase{e4m3, e4m3, Scale::mx, GroupEncoding::masked, 144, 336, 1, false,
                                                     false, false, 128, kMn},
                                         GroupedCase{e2m1, e4m3, Scale::mx, GroupEncoding::row_ids, 144, 256, 2, true,
                                                     false, false, 256, kMn},
                                         GroupedCase{e5m2, e4m3, Scale::mx, GroupEncoding::offsets, 512, 80, 2, false,
                                                     true, true, 256, kMn}),
                         name_of_groups);

struct KGroupedCase {
  DType a, b;
  Scale scale;
  GroupEncoding encoding;
  std::int64_t m, n, step;
  bool pair = false, accumulate = false;
  Major a_major = Major::k, b_major = Major::k;
  int tile_n = 96;
};

class BlockScaledK : public testing::TestWithParam<KGroupedCase> {};

// Groups of K, of which each has scales of its own, with tails of M and N; K in no group, and its scales, are NaN.
TEST_P(BlockScaledK, EveryOutputIsWithinItsBound) {
  const KGroupedCase c = GetParam();
  const auto device = Device::open("emu:sm100");
  ASSERT_TRUE(device) << device.error().message;
  KGroupedCheck check;
  for (const std::int64_t blocks : {1, 0, 3, 2}) check.groups.counts.push_back(blocks * c.step);
  if (c.encoding == GroupEncoding::starts_counts) check.groups.gap = c.step;
  KGroupedProblem& p = check.problem;
  p.m = c.m, p.n = c.n, p.a = c.a, p.b = c.b, p.scale = c.scale, p.encoding = c.encoding;
  p.a_major = c.a_major, p.b_major = c.b_major, p.accumulate = c.accumulate;
  check.options.config = {.arch = Arch::sm100, .tile = {128, c.tile_n}, .cluster = {c.pair ? 2 : 1, 1}};
  check.options.config.sm100.pair = c.pair;
  auto groups = operations::lay_out(check);
  ASSERT_TRUE(groups) << groups.error().message;
  p.lda = row_of(p.a_major, p.m, p.total_k()), p.ldb = row_of(p.b_major, p.n, p.total_k());
  operations::Inputs inputs;
  inputs.options = check.options;
  const auto product = operations::make_operation(p, std::move(*groups), std::move(inputs), std::nullopt);
  const auto ran = run(*product, *device);
  ASSERT_TRUE(ran) << ran.error().message;
  const auto judged = product->judge(EmuMath::exact, nullptr);
  ASSERT_TRUE(judged) << judged.error().message;
  EXPECT_EQ(judged->elements, 4 * c.m * c.n);
  EXPECT_EQ(judged->verdict.wrong, 0) << judged->verdict.max_error_of_bound;
  if (!c.accumulate) expect_verified(*product, *device);
}

INSTANTIATE_TEST_SUITE_P(
    Formats, BlockScaledK,
    testing::Values(
        KGroupedCase{e4m3, e5m2, Scale::mx, GroupEncoding::starts_counts, 300, 200, 128, true},
        KGroupedCase{e3m2, e4m3, Scale::mx, GroupEncoding::masked, 64, 64, 128, false, true},
        KGroupedCase{e2m1, e2m1, Scale::nv, GroupEncoding::starts_counts, 136, 128, 256, false, true},
        KGroupedCase{e4m3, e4m3, Scale::mx, GroupEncoding::starts_counts, 304, 272, 128, true, false, kMn, kMn, 256},
        KGroupedCase{e4m3, e5m2, Scale::mx, GroupEncoding::masked, 144, 72, 128, false, true, kMn, kK},
        KGroupedCase{e3m2, e4m3, Scale::mx, GroupEncoding::indptr, 64, 144, 128, false, false, kK, kMn, 128}),
    [](const auto& info) {
      const KGroupedCase& c = info.param;
      return test_name(fmt::format("{} {} {} {} {} {}x{}", name_of(c.a), name_of(c.b), name_of(c.scale),
                                   name_of(MatrixLayout{c.a_major, c.b_major}), name_of(c.encoding), c.m, c.n));
    });

TEST(BlockScaledGroups, WhatCannotBeIsRefusedByName) {
  const auto argument = [](const auto& p, Arch arch = Arch::sm100, GroupedVariant variant = GroupedVariant::automatic) {
    GemmOptions options;
    options.config.arch = arch, options.config.row_groups.variant = variant;
    const auto made = can_implement(p, options);
    return made ? std::string("none") : made.error().argument;
  };
  const GroupedProblem rows{.groups = 2, .rows = 256, .n = 64, .k = 256, .a = e4m3, .b = e4m3, .scale = Scale::mx};
  EXPECT_EQ(argument(rows), "none");
  EXPECT_EQ(argument(rows, Arch::sm90), "config, scale");
  EXPECT_EQ(argument(rows, Arch::sm100, GroupedVariant::ragged), "config, variant");
  GroupedProblem p = rows;
  p.a = bf16;
  EXPECT_EQ(argument(p), "a (type)");
  p = rows, p.scale = Scale::nv;
  EXPECT_EQ(argument(p), "a (type)");
  p = rows, p.b_major = Major::mn;
  EXPECT_EQ(argument(p), "none");
  p.b = e2m1;
  EXPECT_EQ(argument(p), "b (layout)");
  p = rows, p.scale_a_row = 1;
  EXPECT_EQ(argument(p), "scale_a_row");
  p = rows, p.scale_b_group = 512;  // two chunks are needed
  EXPECT_EQ(argument(p), "scale_b_group");
  p = rows, p.encoding = GroupEncoding::masked, p.scale_a_group = 1000;
  EXPECT_EQ(argument(p), "scale_a_group");
  p = rows, p.b = e2m1, p.k = 192;  // TMA widens e2m1 by units of 128
  EXPECT_EQ(argument(p), "k");
  p = rows, p.a = p.b = e2m1, p.scale = Scale::nv, p.k = 16, p.lda = p.ldb = 32;
  EXPECT_EQ(argument(p), "none");
  p.k = 24;
  EXPECT_EQ(argument(p), "k");
  p.k = 16, p.lda = 16;  // rows of 8 bytes
  EXPECT_EQ(argument(p), "lda");
  p = rows, p.n = 96, p.epilogue = evt::swiglu_halves(evt::acc);
  EXPECT_EQ(argument(p), "n");
  p = rows, p.scale_type = ScaleType::e4m3;
  EXPECT_EQ(argument(p), "scale_type");
  KGroupedProblem k{.groups = 2, .m = 64, .n = 64, .k = 512, .a = e4m3, .b = e4m3, .scale = Scale::mx};
  k.a_major = k.b_major = Major::k;
  EXPECT_EQ(argument(k), "none");
  EXPECT_EQ(argument(k, Arch::sm90), "config, scale");
  KGroupedProblem q = k;
  q.packing = KPacking::per_group;
  EXPECT_EQ(argument(q), "packing");
  q = k, q.a_major = q.b_major = Major::mn;
  EXPECT_EQ(argument(q), "none");
  q.encoding = GroupEncoding::masked, q.k = 192;  // scales of 128 of K lie together
  EXPECT_EQ(argument(q), "k");
  q = k, q.a = e3m2, q.a_major = Major::mn;
  EXPECT_EQ(argument(q), "a (layout)");
  q = k, q.scale_a_group = 512;
  EXPECT_EQ(argument(q), "scale_a_group");
  q = k, q.a = q.b = e2m1, q.encoding = GroupEncoding::masked, q.k = 384;  // groups of e2m1 are multiples of 256
  EXPECT_EQ(argument(q), "k");
  q = k, q.a = q.b = e2m1, q.scale = Scale::none;
  EXPECT_EQ(argument(q), "a (type)");
}

}  // namespace
}  // namespace ww
