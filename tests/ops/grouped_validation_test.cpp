// SPDX-License-Identifier: Apache-2.0
// Every refusal of a grouped problem names its argument, the expected value and the actual one, before any device is
// touched; and the choice of a config, by shape.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "config/config_text.hpp"
#include "launch/epilogue_adapter.hpp"
#include "launch/grouped_adapter.hpp"
#include "ops/grouped_validation.hpp"
#include "select/grouped_configs.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/config/group_encoding.hpp"
#include "warpwright/config/resolve.hpp"
#include "warpwright/host/k_grouped.hpp"

namespace ww {
namespace {

GroupedProblem good() { return {.groups = 8, .rows = 256, .n = 128, .k = 256, .scale = Scale::block_1x128_128x128}; }

struct Case {
  const char* argument;
  ErrorCode code;
  void (*spoil)(GroupedProblem&, GemmOptions&);
};

constexpr ErrorCode kInvalid = ErrorCode::invalid, kUnsupported = ErrorCode::unsupported;

void expect_refused(const Case& c, int index) {
  GroupedProblem p = good();
  GemmOptions options;
  c.spoil(p, options);
  const Result<void> answer = can_implement(p, options);
  ASSERT_FALSE(answer) << "case " << index << ", " << c.argument;
  EXPECT_EQ(answer.error().argument, c.argument) << "case " << index << ": " << answer.error().message;
  EXPECT_EQ(answer.error().code, c.code) << "case " << index << ": " << answer.error().message;
  EXPECT_FALSE(answer.error().expected.empty()) << answer.error().message;
  EXPECT_FALSE(answer.error().actual.empty()) << answer.error().message;
}

TEST(GroupedValidation, RefusalsNameTheArgument) {
  using P = GroupedProblem;
  using O = GemmOptions;
  const Case cases[] = {
      {"groups", kInvalid, [](P& p, O&) { p.groups = -1; }},
      {"groups", kUnsupported, [](P& p, O&) { p.groups = 4097; }},
      {"groups", kUnsupported, [](P& p, O&) { p.groups = INT64_MAX; }},
      {"rows", kInvalid, [](P& p, O&) { p.rows = -1; }},
      {"rows", kUnsupported, [](P& p, O&) { p.rows = std::int64_t{1} << 31; }},
      {"rows", kUnsupported, [](P& p, O&) { p.rows = INT64_MAX; }},
      {"rows", kUnsupported,
       [](P& p, O&) { p.encoding = GroupEncoding::masked, p.rows = std::int64_t{1} << 28; }},  // 8 groups: 2^31 in all
      {"n", kInvalid, [](P& p, O&) { p.n = -8; }},
      {"n", kUnsupported, [](P& p, O&) { p.n = 132; }},
      {"k", kInvalid, [](P& p, O&) { p.k = INT64_MIN; }},
      {"k", kUnsupported, [](P& p, O&) { p.k = 250; }},
      {"rows, n", kUnsupported, [](P& p, O&) { p.rows = 1 << 30, p.n = 1 << 20, p.k = 16; }},
      {"a (type)", kUnsupported, [](P& p, O&) { p.a = p.b = f32; }},
      {"b (type)", kUnsupported, [](P& p, O&) { p.b = bf16; }},
      {"d (type)", kUnsupported, [](P& p, O&) { p.d = e4m3; }},
      {"b (layout)", kUnsupported, [](P& p, O&) { p.b_major = Major::mn; }},
      {"scale", kUnsupported, [](P& p, O&) { p.a = p.b = bf16; }},
      {"scale", kUnsupported, [](P& p, O&) { p.a = p.b = f16; }},
      {"alignment", kInvalid, [](P& p, O&) { p.alignment = 0; }},
      {"alignment", kUnsupported, [](P& p, O&) { p.alignment = std::int64_t{1} << 32; }},
      {"alignment", kInvalid, [](P& p, O&) { p.alignment = 8, p.encoding = GroupEncoding::indptr; }},
      {"alignment", kInvalid, [](P& p, O&) { p.alignment = 8, p.encoding = GroupEncoding::starts_counts; }},
      {"alignment", kInvalid, [](P& p, O&) { p.alignment = 8, p.encoding = GroupEncoding::masked; }},
      {"encoding", kInvalid, [](P& p, O&) { p.encoding = static_cast<GroupEncoding>(9); }},
      {"lda", kInvalid, [](P& p, O&) { p.lda = 128; }},
      {"lda", kUnsupported, [](P& p, O&) { p.lda = 257; }},
      {"lda", kInvalid, [](P& p, O&) { p.lda = INT64_MAX - 15; }},
      {"ldb", kInvalid, [](P& p, O&) { p.ldb = -256; }},
      {"ldb", kUnsupported, [](P& p, O&) { p.ldb = 257; }},
      {"ldd", kInvalid, [](P& p, O&) { p.ldd = 8; }},
      {"ldd", kUnsupported, [](P& p, O&) { p.ldd = 129; }},
      {"stride_b_group", kInvalid, [](P& p, O&) { p.stride_b_group = -16; }},
      {"stride_b_group", kUnsupported, [](P& p, O&) { p.stride_b_group = 128 * 256 + 8; }},
      {"stride_b_group", kInvalid, [](P& p, O&) { p.stride_b_group = std::int64_t{1} << 40; }},
      {"expected_sizes", kInvalid, [](P& p, O&) { p.expected_sizes = {1, 2}; }},
      {"expected_sizes", kInvalid, [](P& p, O&) { p.groups = 0, p.expected_sizes = {1, 2}; }},
      {"expected_sizes[0]", kInvalid, [](P& p, O&) { p.expected_sizes = {257}; }},
      {"expected_sizes[1]", kInvalid, [](P& p, O&) { p.expected_sizes = {0, -1, 0, 0, 0, 0, 0, 0}; }},
      {"expected_sizes[7]", kInvalid, [](P& p, O&) { p.expected_sizes = {100, 0, 100, 0, 0, 0, 50, 7}; }},
      {"expected_sizes[2]", kInvalid,
       [](P& p, O&) {
         p.encoding = GroupEncoding::masked;
         p.expected_sizes = {256, 0, INT64_MAX, 0, 0, 0, 0, 0};
       }},
      {"scale_a (strides)", kInvalid, [](P& p, O&) { p.scale_a_row = -1; }},
      {"scale_a (strides)", kInvalid, [](P& p, O&) { p.scale_a_row = INT64_MAX / 2; }},
      {"scale_b (strides)", kInvalid, [](P& p, O&) { p.scale_b_group = -1; }},
      {"scale_b (strides)", kInvalid, [](P& p, O&) { p.scale_b_k = INT64_MAX; }},
      {"scale_a (strides)", kInvalid, [](P& p, O&) { p.scale = Scale::tensor, p.scale_a_group = -1; }},
      {"scale_b (strides)", kInvalid, [](P& p, O&) { p.scale = Scale::tensor, p.scale_b_group = INT64_MAX; }},
      {"scale_a (strides)", kInvalid, [](P& p, O&) { p.scale = Scale::row_column, p.scale_a_row = -1; }},
      {"scale_b (strides)", kInvalid, [](P& p, O&) { p.scale = Scale::row_column, p.scale_b_n = -1; }},
      {"sms", kInvalid, [](P&, O& o) { o.sms = -1; }},
      {"sms", kInvalid,
       [](P&, O& o) { o.sms = 1, o.config.row_groups.variant = GroupedVariant::contiguous, o.config.cluster.m = 2; }},
      {"config, variant", kUnsupported, [](P&, O& o) { o.config.row_groups.variant = GroupedVariant::masked; }},
      {"config, variant", kUnsupported,
       [](P& p, O& o) {
         p.encoding = GroupEncoding::masked, o.config.row_groups.variant = GroupedVariant::contiguous;
       }},
      {"config, groups", kUnsupported, [](P&, O& o) { o.config.row_groups.capacity = 7; }},
      {"config, epilogue", kUnsupported,
       [](P&, O& o) {
         o.config.epilogue.set_node(0, {EpilogueOp::accumulator, 0, DType::f32});
       }},
      {"config, groups", kUnsupported, [](P&, O& o) { o.config.row_groups.capacity = 5000; }},
      {"config, tile (n)", kUnsupported, [](P&, O& o) { o.config.tile.n = 96; }},
      {"config, tile (n)", kUnsupported, [](P&, O& o) { o.config.tile.n = 64, o.config.sm90.consumer_warpgroups = 2; }},
      {"config, split", kUnsupported,
       [](P&, O& o) {
         o.config.sm90.tile_scheduler = TileScheduler::split_k, o.config.sm90.split = 3;
       }},
      {"config, split", kUnsupported,
       [](P&, O& o) {
         o.config.sm90.split = 2, o.config.row_groups.variant = GroupedVariant::ragged;
       }},
      {"config, cluster (k)", kUnsupported,
       [](P&, O& o) {
         o.config.sm90.tile_scheduler = TileScheduler::split_k, o.config.sm90.split = 4, o.config.cluster.k = 2;
       }},
      {"config, tile_scheduler", kUnsupported,
       [](P&, O& o) {
         o.config.row_groups.variant = GroupedVariant::contiguous;
         o.config.sm90.tile_scheduler = TileScheduler::split_k;
       }},
      {"config, tile_scheduler", kUnsupported,
       [](P&, O& o) {
         o.batch_invariant = true, o.config.sm90.tile_scheduler = TileScheduler::split_k;
       }},
      {"config, swap_ab", kUnsupported, [](P&, O& o) { o.config.sm90.swap_ab = SwapAb::on; }},
      {"config, swap_ab", kUnsupported,
       [](P&, O& o) { o.config.row_groups.variant = GroupedVariant::contiguous, o.config.sm90.swap_ab = SwapAb::on; }},
      {"config, a_source", kUnsupported, [](P&, O& o) { o.config.sm90.a_source = OperandSource::registers; }},
      {"config, layout", kUnsupported, [](P&, O& o) { o.config.operands.layout.b = Major::mn; }},
      {"config, layout", kUnsupported,
       [](P&, O& o) {
         o.config.row_groups.variant = GroupedVariant::contiguous, o.config.operands.layout.a = Major::mn;
       }},
      {"config, batched", kUnsupported, [](P&, O& o) { o.config.operands.batched = true; }},
      {"config, pointers", kUnsupported, [](P&, O& o) { o.config.operands.pointer_array = true; }},
      {"config, tile_scheduler", kUnsupported,
       [](P&, O& o) {
         o.config.row_groups.variant = GroupedVariant::ragged, o.config.sm90.tile_scheduler = TileScheduler::horizontal;
       }},
      {"config, tile_scheduler", kUnsupported,
       [](P&, O& o) {
         o.config.row_groups.variant = GroupedVariant::contiguous;
         o.config.sm90.tile_scheduler = TileScheduler::dynamic;
       }},
      {"config, cluster", kUnsupported,
       [](P&, O& o) { o.config.row_groups.variant = GroupedVariant::contiguous, o.config.cluster.n = 2; }},
  };
  ASSERT_TRUE(can_implement(good()));
  for (std::size_t i = 0; i < std::size(cases); ++i) expect_refused(cases[i], static_cast<int>(i));
}

TEST(GroupedValidation, EpiloguesThatGroupsCannotHave) {
  using namespace evt;
  using P = GroupedProblem;
  using O = GemmOptions;
  const Case cases[] = {
      {"epilogue", kInvalid,
       [](P& p, O&) {
         p.epilogue.set_node(0, {EpilogueOp::add, 0, f32});
       }},
      {"epilogue", kInvalid, [](P& p, O&) { p.epilogue = swiglu(acc) + 1.0f; }},
      {"config, epilogue", kUnsupported, [](P& p, O&) { p.epilogue = row_sum(acc, 0); }},
      {"config, epilogue", kUnsupported, [](P& p, O&) { p.epilogue = column_amax(acc, 1); }},
      {"config, epilogue", kUnsupported, [](P& p, O&) { p.d = e4m3, p.epilogue = quantise(acc); }},
      {"config, epilogue", kUnsupported,
       [](P& p, O& o) {
         p.epilogue = acc * alpha, o.config.row_groups.variant = GroupedVariant::ragged, o.config.epilogue = acc;
       }},
      {"d (type)", kUnsupported, [](P& p, O&) { p.epilogue = quantise_block(acc); }},
      {"d (type)", kUnsupported, [](P& p, O&) { p.d = e4m3, p.epilogue = acc * alpha; }},
      {"d (type)", kUnsupported, [](P& p, O&) { p.d = e5m2, p.epilogue = acc * alpha; }},
      {"d (type)", kUnsupported, [](P& p, O&) { p.d = e5m2; }},
      {"d (type)", kUnsupported, [](P& p, O&) { p.d = tf32; }},
      {"n", kUnsupported, [](P& p, O&) { p.n = 136, p.epilogue = swiglu(acc); }},
      {"n", kUnsupported, [](P& p, O&) { p.n = 136, p.d = e4m3, p.epilogue = quantise_block(acc); }},
      {"ldd", kInvalid, [](P& p, O&) { p.epilogue = swiglu(acc), p.ldd = 56; }},
      {"config, variant", kUnsupported,
       [](P& p, O& o) { p.epilogue = swiglu(acc), o.config.row_groups.variant = GroupedVariant::ragged; }},
      {"config, variant", kUnsupported,
       [](P& p, O& o) { p.epilogue = swiglu(acc), o.config.row_groups.variant = GroupedVariant::descriptors; }},
      {"config, variant", kUnsupported,
       [](P& p, O& o) { p.epilogue = swiglu(acc), o.config.sm90.tile_scheduler = TileScheduler::dynamic; }},
      {"config, variant", kUnsupported,
       [](P& p, O& o) {
         p.d = e4m3, p.epilogue = quantise_block(acc), o.config.row_groups.variant = GroupedVariant::ragged;
       }},
      {"epilogue, swiglu_halves", kUnsupported,
       [](P& p, O& o) { p.n = 144, p.epilogue = swiglu_halves(acc), o.config.tile.n = 32; }},
      {"config, c_layout", kUnsupported, [](P&, O& o) { o.config.operands.c_layout = OutputLayout::column; }},
      {"config, swap_ab", kUnsupported, [](P&, O& o) { o.config.sm90.swap_ab = SwapAb::on; }},
  };
  for (std::size_t i = 0; i < std::size(cases); ++i) expect_refused(cases[i], static_cast<int>(i));

  GroupedProblem p = good();
  p.epilogue = swiglu(acc);
  const Result<void> refused = can_implement(p, {.config = {.row_groups = {.variant = GroupedVariant::ragged}}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().expected,
            "contiguous, or masked for masked groups, with SwiGLU, which combines columns of D");
  EXPECT_EQ(refused.error().actual, "ragged");
  EXPECT_NE(refused.error().message.find("config arch=sm90,"), std::string::npos) << refused.error().message;

  const Result<void> masked = can_implement(good(), {.config = {.row_groups = {.variant = GroupedVariant::masked}}});
  ASSERT_FALSE(masked);
  EXPECT_EQ(masked.error().actual, "masked");
}

TEST(GroupedValidation, EpiloguesThatGroupsHave) {
  using namespace evt;
  for (GroupedVariant variant : {GroupedVariant::automatic, GroupedVariant::ragged, GroupedVariant::descriptors,
                                 GroupedVariant::contiguous, GroupedVariant::masked}) {
    GroupedProblem p = good();
    if (variant == GroupedVariant::masked) p.encoding = GroupEncoding::masked;
    p.epilogue = silu(acc * alpha + bias(bf16)) * column(0) + c() * beta + aux(3, f16);
    EXPECT_TRUE(can_implement(p, {.config = {.row_groups = {.variant = variant}}})) << name_of(variant);
    const bool combines = variant != GroupedVariant::ragged && variant != GroupedVariant::descriptors;
    p.epilogue = swiglu(acc + bias());
    EXPECT_EQ(can_implement(p, {.config = {.row_groups = {.variant = variant}}}).has_value(), combines)
        << name_of(variant);
    EXPECT_EQ(ops::validate(p)->ldd, 64);
    p.d = e4m3, p.epilogue = quantise_block(acc);
    EXPECT_EQ(can_implement(p, {.config = {.row_groups = {.variant = variant}}}).has_value(), combines)
        << name_of(variant);
  }
}

TEST(GroupedValidation, EmptyProblemsAreLegal) {
  for (GroupEncoding encoding : {GroupEncoding::offsets, GroupEncoding::indptr, GroupEncoding::starts_counts,
                                 GroupEncoding::row_ids, GroupEncoding::masked})
    for (int which = 0; which < 4; ++which) {
      GroupedProblem p = good();
      p.encoding = encoding;
      (which == 0 ? p.groups : which == 1 ? p.rows : which == 2 ? p.n : p.k) = 0;
      const Result<void> answer = can_implement(p);
      EXPECT_TRUE(answer) << name_of(encoding) << ", " << which << ": " << answer.error().message;
    }
}

TEST(GroupedValidation, EveryEncodingRunsRaggedAndWithDescriptors) {
  for (GroupEncoding encoding : {GroupEncoding::offsets, GroupEncoding::indptr, GroupEncoding::starts_counts,
                                 GroupEncoding::row_ids, GroupEncoding::masked})
    for (GroupedVariant variant :
         {GroupedVariant::ragged, GroupedVariant::descriptors, GroupedVariant::contiguous, GroupedVariant::masked}) {
      GroupedProblem p = good();
      p.encoding = encoding;
      GemmOptions options;
      options.config.row_groups.variant = variant;
      const bool masked = encoding == GroupEncoding::masked;
      const bool any = variant == GroupedVariant::ragged || variant == GroupedVariant::descriptors;
      const bool takes = any || (variant == GroupedVariant::masked) == masked;
      EXPECT_EQ(can_implement(p, options).has_value(), takes) << name_of(encoding) << " " << name_of(variant);
    }
}

TEST(GroupedValidation, StridesOfZeroAreFilledForTheRecipe) {
  GroupedProblem p = good();
  p.n = 264, p.k = 400, p.lda = 512;
  GroupedProblem filled = *ops::validate(p);
  EXPECT_EQ(filled.lda, 512);
  EXPECT_EQ(filled.ldb, 400);
  EXPECT_EQ(filled.ldd, 264);
  EXPECT_EQ(filled.stride_b_group, 264 * 400);
  EXPECT_EQ(filled.scale_a_row, 4);  // ceil(400 / 128)
  EXPECT_EQ(filled.scale_a_k, 1);
  EXPECT_EQ(filled.scale_b_group, 3 * 4);  // ceil(264 / 128) x ceil(400 / 128)
  EXPECT_EQ(filled.scale_b_n, 4);
  EXPECT_EQ(filled.scale_b_k, 1);

  p.scale_b_n = 1, p.scale_b_k = 3;  // one scale matrix for all groups, column-major
  filled = *ops::validate(p);
  EXPECT_EQ(filled.scale_b_group, 0);
  EXPECT_EQ(filled.scale_b_n, 1);
  EXPECT_EQ(filled.scale_b_k, 3);

  p = good();
  p.scale = Scale::row_column;
  filled = *ops::validate(p);
  EXPECT_EQ(filled.scale_a_row, 1);
  EXPECT_EQ(filled.scale_b_group, 128);
  EXPECT_EQ(filled.scale_b_n, 1);

  p.scale = Scale::tensor;
  p.scale_b_group = 1;
  filled = *ops::validate(p);
  EXPECT_EQ(filled.scale_a_group, 0);
  EXPECT_EQ(filled.scale_b_group, 1);
}

TEST(GroupedValidation, WeightsMayInterleaveGroups) {  // B stored as (N, G, K)
  GroupedProblem p = good();
  p.ldb = p.groups * p.k;
  p.stride_b_group = p.k;
  EXPECT_TRUE(can_implement(p));
}

GemmConfig chosen(std::int64_t groups, std::int64_t rows, GroupEncoding encoding = GroupEncoding::offsets,
                  Scale scale = Scale::none, GemmConfig requested = {}) {
  GroupedProblem p = good();
  p.groups = groups, p.rows = rows, p.encoding = encoding, p.scale = scale;
  return select::choose_grouped(*ops::validate(p), requested, 132);
}

TEST(MemoryRanges, HoldsAnyNumber) {
  std::vector<std::byte> places(100);
  for (const std::size_t count : {0u, 1u, 39u, 40u, 41u, 100u}) {
    adapters::MemoryRanges memory;
    for (std::size_t i = 0; i < count; ++i) memory.add({"operand", &places[i], i + 1, true});
    if (count > 2) memory[2].unwritten = true;
    const std::span<const runtime::MemoryRange> ranges = memory;
    ASSERT_EQ(ranges.size(), count);
    ASSERT_EQ(memory.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(ranges[i].base, &places[i]);
      EXPECT_EQ(ranges[i].bytes, i + 1);
      EXPECT_EQ(ranges[i].unwritten, i == 2);
    }
  }
}

TEST(GroupedChoice, FollowsTheAverageRowsOfAGroup) {
  constexpr Scale kBlock = Scale::block_1x128_128x128;
  for (std::int64_t rows : {16 * 33, 16 * 223, 16 * 224, 1 << 20})
    for (GroupEncoding encoding : {GroupEncoding::offsets, GroupEncoding::masked})
      for (Scale scale : {Scale::none, kBlock}) {
        const GemmConfig config = chosen(16, rows, encoding, scale);
        const bool many = rows >= 16 * 224 && encoding == GroupEncoding::offsets && scale == kBlock;
        EXPECT_EQ(config.row_groups.variant, many ? GroupedVariant::contiguous : GroupedVariant::ragged);
        EXPECT_EQ(config.tile.m, many ? 192 : 128);
        EXPECT_EQ(config.tile.n, many ? 128 : 256);
      }
}

TEST(GroupedChoice, NormalOrientationWhereAnEpilogueCombinesColumns) {
  GroupedProblem p = good();
  for (const EpilogueTree& tree : {EpilogueTree(evt::swiglu(evt::acc)), EpilogueTree(evt::swiglu_halves(evt::acc))})
    for (GroupEncoding encoding : {GroupEncoding::offsets, GroupEncoding::masked}) {
      p.epilogue = tree, p.encoding = encoding;
      const GemmConfig config = select::choose_grouped(*ops::validate(p), {}, 132);
      EXPECT_EQ(config.row_groups.variant,
                encoding == GroupEncoding::masked ? GroupedVariant::masked : GroupedVariant::contiguous);
      EXPECT_EQ(config.epilogue, tree);
      EXPECT_EQ(config.tile.n, 128);  // all of N
    }
}

TEST(GroupedChoice, RequestedVariantsGetTheirTiles) {
  const GemmConfig masked =
      chosen(16, 1 << 16, GroupEncoding::masked, Scale::none, {.row_groups = {.variant = GroupedVariant::masked}});
  EXPECT_EQ(masked.tile.n, 256);
  EXPECT_EQ(masked.cluster.m, 2);
  EXPECT_EQ(
      chosen(16, 1 << 16, GroupEncoding::offsets, Scale::none, {.sm90 = {.tile_scheduler = TileScheduler::dynamic}})
          .row_groups.variant,
      GroupedVariant::ragged);
}

TEST(GroupedChoice, TablesComeInThreeSizes) {
  for (const auto& [groups, capacity] :
       {std::pair{0, 128}, {1, 128}, {128, 128}, {129, 512}, {513, 4096}, {4096, 4096}})
    EXPECT_EQ(chosen(groups, 100).row_groups.capacity, capacity) << groups;
}

TEST(GroupedChoice, RequestedFieldsAreKept) {
  GemmConfig requested{.sm90 = {.stages = 3}, .row_groups = {.variant = GroupedVariant::contiguous, .capacity = 200}};
  GemmConfig got = chosen(16, 64, GroupEncoding::offsets, Scale::none, requested);
  EXPECT_EQ(got.sm90.stages, 3);
  EXPECT_EQ(got.row_groups.variant, GroupedVariant::contiguous);
  EXPECT_EQ(got.row_groups.capacity, 200);
  got = chosen(16, 1 << 16, GroupEncoding::offsets, Scale::none, {.sm90 = {.tile_scheduler = TileScheduler::dynamic}});
  EXPECT_EQ(got.row_groups.variant, GroupedVariant::ragged);
}

TEST(GroupedChoice, DescriptorsAreAsWideAsTheAverageGroup) {
  const GemmConfig requested{.row_groups = {.variant = GroupedVariant::descriptors}};
  const auto width = [&](std::int64_t groups, std::int64_t rows, GroupEncoding encoding = GroupEncoding::offsets) {
    return chosen(groups, rows, encoding, Scale::none, requested).tile.m;
  };
  EXPECT_EQ(width(16, 0), 8);
  EXPECT_EQ(width(16, 16 * 8), 8);
  EXPECT_EQ(width(16, 16 * 8 + 1), 16);
  EXPECT_EQ(width(16, 16 * 33), 40);
  EXPECT_EQ(width(16, 16 * 64), 64);
  EXPECT_EQ(width(16, 16 * 1000), 64);
  EXPECT_EQ(width(16, 20, GroupEncoding::masked), 24);  // room for 20 rows in each group
  EXPECT_EQ(chosen(4096, 16, GroupEncoding::offsets, Scale::none, requested).row_groups.capacity, 4096);
  GemmConfig given = requested;
  given.tile.m = 32, given.sm90.tile_scheduler = TileScheduler::vertical;
  EXPECT_EQ(chosen(16, 16, GroupEncoding::offsets, Scale::none, given).tile.m, 32);
  EXPECT_EQ(chosen(16, 16, GroupEncoding::offsets, Scale::none, given).sm90.tile_scheduler, TileScheduler::vertical);
}

TEST(GroupedChoice, DescriptorsKeepWeightTilesOfAGroupTogetherWhereTheyAreFewOrShort) {
  for (const auto& [n, k, order] : {std::tuple{1024, 7168, TileScheduler::horizontal},
                                    {4096, 1024, TileScheduler::horizontal},
                                    {4096, 7168, TileScheduler::vertical}}) {
    GroupedProblem p = good();
    p.n = n, p.k = k, p.lda = p.ldb = p.ldd = p.stride_b_group = 0;
    EXPECT_EQ(select::choose_grouped(*ops::validate(p), {.row_groups = {.variant = GroupedVariant::descriptors}}, 132)
                  .sm90.tile_scheduler,
              order);
  }
}

TEST(GroupedChoice, DescriptorsHaveEightStagesWhereTheyFit) {
  for (int width : {8, 16, 32, 64})
    for (int weights : {128, 256})
      for (int capacity : {128, 512, 4096}) {
        const GemmConfig config =
            config::resolve_grouped({.operands = {.a = e4m3, .b = e4m3, .d = bf16, .scale = Scale::block_1x128_128x128},
                                     .tile = {width, weights},
                                     .row_groups = {.variant = GroupedVariant::descriptors, .capacity = capacity}});
        EXPECT_EQ(config::fault_of_grouped(config).field, nullptr) << to_text(config);
        if (weights == 128 && capacity <= 512) {
          EXPECT_EQ(config.sm90.stages, 8) << to_text(config);
        }
      }
}

TEST(GroupedChoice, EveryDefaultConfigHasNoFaultAndRoundTrips) {
  for (DType a : {e4m3, bf16, f16})
    for (Scale scale : {Scale::none, Scale::tensor, Scale::row_column, Scale::block_1x128_128x128})
      for (DType d : {bf16, f16, f32}) {
        const auto configs = select::default_grouped_configs(a, d, scale);
        const bool none = a != e4m3 && scale == Scale::block_1x128_128x128;
        EXPECT_EQ(configs.size(), none ? 0u : 5u) << name_of(a) << " " << name_of(d) << " " << name_of(scale);
        for (const GemmConfig& config : configs) {
          EXPECT_EQ(config::fault_of_grouped(config).field, nullptr) << to_text(config);
          const auto parsed = parse_config(to_text(config));
          ASSERT_TRUE(parsed) << parsed.error().message;
          EXPECT_EQ(*parsed, config) << to_text(config);
        }
      }
  for (int capacity : {512, 4096})
    for (const GemmConfig& config : select::default_grouped_configs(e4m3, bf16, Scale::block_1x128_128x128)) {
      if (config.sm90.occupancy == 3 && capacity > 512) continue;  // its tables would leave no ring; auto does not ask
      GemmConfig larger = config;
      larger.row_groups.capacity = capacity;
      larger.sm90.stages = 0;
      EXPECT_EQ(config::fault_of_grouped(config::resolve_grouped(larger)).field, nullptr) << to_text(larger);
    }
}

TEST(GroupedChoice, BoundsTheTilesOfAnyGroups) {
  std::mt19937_64 rng(3);
  for (int tile_m : {32, 64, 128, 192})
    for (int trial = 0; trial < 200; ++trial) {
      GroupedProblem p{.groups = 1 + static_cast<std::int64_t>(rng() % 40), .n = 100};
      std::int64_t tiles = 0;
      for (std::int64_t g = 0; g < p.groups; ++g) {
        const std::int64_t rows = rng() % 3 == 0 ? 0 : static_cast<std::int64_t>(rng() % 300);
        p.rows += rows;
        tiles += ceil_div(rows, tile_m);
      }
      const GemmConfig config{.tile = {tile_m, 64}, .row_groups = {.variant = GroupedVariant::ragged}};
      EXPECT_GE(adapters::tile_bound(p, config), 2 * tiles) << p.groups << " groups, " << p.rows << " rows, " << tile_m;
    }
  const GemmConfig config{.tile = {32, 64}, .row_groups = {.variant = GroupedVariant::ragged}};
  EXPECT_EQ(adapters::tile_bound({.groups = 6, .rows = 110, .n = 4096}, config), 9 * 64);  // (110 + 6 * 31) / 32
  EXPECT_EQ(adapters::tile_bound({.groups = 4096, .rows = 5, .n = 64}, config), 5);
  EXPECT_EQ(adapters::tile_bound({.groups = 4, .rows = 0, .n = 64}, config), 0);
}

TEST(GroupedChoice, BoundsTheClusterTilesOfAnyGroups) {
  std::mt19937_64 rng(5);
  for (int trial = 0; trial < 800; ++trial) {
    const bool masked = trial % 4 == 0, pair = trial % 3 == 0;
    const int tile_m = pair || rng() % 2 == 0 ? 128 : 64, cluster_m = pair ? 2 : 1 + static_cast<int>(rng() % 2);
    const GemmConfig config{.arch = Arch::sm100, .tile = {tile_m, 64}, .cluster = {cluster_m}, .sm100 = {.pair = pair}};
    GroupedProblem p{.groups = 1 + static_cast<std::int64_t>(rng() % 40), .n = 100};
    if (masked) p.encoding = GroupEncoding::masked, p.rows = 300;
    std::int64_t tiles = 0;
    for (std::int64_t g = 0; g < p.groups; ++g) {
      const std::int64_t rows = rng() % 3 == 0 ? 0 : static_cast<std::int64_t>(rng() % 301);
      if (!masked) p.rows += rows;
      tiles += round_up(ceil_div(rows, tile_m), pair ? 2 : 1);
    }
    EXPECT_GE(adapters::cluster_tile_bound(p, config), 2 * ceil_div(tiles, cluster_m))
        << p.groups << " groups, " << p.rows << " rows, " << to_text(config);
  }
  GemmConfig config{.arch = Arch::sm100, .tile = {128, 64}, .cluster = {2}};
  const GroupedProblem masked{.groups = 3, .rows = 129, .n = 64, .encoding = GroupEncoding::masked};
  EXPECT_EQ(adapters::cluster_tile_bound(masked, config), 3);  // six tiles of three groups
  config.sm100.pair = true;
  EXPECT_EQ(adapters::cluster_tile_bound(masked, config), 3);  // a pair for each group
  EXPECT_EQ(adapters::cluster_tile_bound({.groups = 2, .rows = 2, .n = 65}, config), 4);
}

TEST(GroupedChoice, SeveralCtasOfAnSmAreRaggedAndOfTheWholeDevice) {
  const GemmConfig asked =
      chosen(16, 1 << 20, GroupEncoding::offsets, Scale::block_1x128_128x128, {.sm90 = {.occupancy = 2}});
  EXPECT_EQ(asked.row_groups.variant, GroupedVariant::ragged);
  EXPECT_EQ(asked.tile.m, 32);
  EXPECT_EQ(chosen(16, 100, GroupEncoding::offsets, Scale::none, {.sm90 = {.occupancy = 1}}).tile.m, 128);
  for (const auto& [text, field] : {std::pair{"variant=ragged,occupancy=4", "occupancy"},
                                    {"variant=ragged,occupancy=3,tile=32x128x0", "occupancy"},
                                    {"variant=ragged,occupancy=2,tile=64x64x0", "occupancy"},
                                    {"variant=ragged,occupancy=2,tile_scheduler=split-k,split=2", "occupancy"},
                                    {"variant=descriptors,occupancy=2", "occupancy"},
                                    {"variant=contiguous,occupancy=2", "occupancy"}}) {
    GemmConfig config = *parse_config(text, {.operands = {.a = e4m3, .b = e4m3, .scale = Scale::block_1x128_128x128}});
    config.row_groups.capacity = 128;
    const auto fault = config::fault_of_grouped(config::resolve_grouped(config));
    EXPECT_EQ(fault.field ? std::string(fault.field) : "", field) << text;
  }
}

TEST(ConfigText, GroupKeysAreOfGroupedConfigsOnly) {
  const GemmConfig dense{.tile = {128, 128, 64}, .cluster = {2, 1}, .sm90 = {.stages = 4}};
  EXPECT_EQ(to_text(dense),
            "arch=sm90,a=e4m3,b=e4m3,d=bf16,scale=none,tile=128x128x64,cluster=2x1,raster=0,band=auto,stages=4,"
            "consumer_warpgroups=0");
  GemmConfig grouped = dense;
  grouped.operands.scale = Scale::row_column;
  grouped.row_groups.variant = GroupedVariant::descriptors;
  grouped.sm90.tile_scheduler = TileScheduler::horizontal;
  grouped.row_groups.capacity = 512;
  EXPECT_EQ(to_text(grouped),
            "arch=sm90,a=e4m3,b=e4m3,d=bf16,scale=row-column,tile=128x128x64,cluster=2x1,raster=0,band=auto,stages=4,"
            "consumer_warpgroups=0,tile_scheduler=horizontal,variant=descriptors,groups=512");
  for (GroupedVariant m : {GroupedVariant::automatic, GroupedVariant::contiguous, GroupedVariant::masked,
                           GroupedVariant::descriptors, GroupedVariant::ragged})
    for (TileScheduler o : {TileScheduler::automatic, TileScheduler::fixed, TileScheduler::dynamic,
                            TileScheduler::horizontal, TileScheduler::vertical}) {
      GemmConfig config = dense;
      config.row_groups.variant = m, config.sm90.tile_scheduler = o, config.row_groups.capacity = 3;
      EXPECT_EQ(*parse_config(to_text(config)), config) << to_text(config);
    }
}

TEST(ConfigText, AKeyIsGivenOnce) {
  for (const char* text :
       {"stages=3,stages=3", "a=e4m3,tile=64x64x128,a=bf16", "epilogue=relu(acc),stages=2,epilogue="}) {
    const auto parsed = parse_config(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(parsed.error().message.find("one value"), std::string::npos) << parsed.error().message;
  }
  EXPECT_TRUE(names_key("a=e4m3,epilogue=store(acc,out0),tile=1x1x1", "tile"));
  EXPECT_FALSE(names_key("a=e4m3,epilogue=store(acc,out0)", "out0)"));
}

TEST(KGroupedValidation, ErrorsNameTheArgumentsOfGroups) {
  const KGroupedProblem p{
      .groups = 4, .m = 64, .n = 64, .k = 256, .a = bf16, .b = bf16, .d = f32, .scale = Scale::tensor};
  const auto argument = [&](auto spoil) {
    KGroupedProblem wrong = p;
    spoil(wrong);
    const Result<void> answer = can_implement(wrong, {});
    return answer ? std::string("accepted") : answer.error().argument;
  };
  EXPECT_EQ(argument([](KGroupedProblem&) {}), "accepted");
  EXPECT_EQ(argument([](KGroupedProblem& w) { w.stride_d_group = 63; }), "stride_d_group");
  EXPECT_EQ(argument([](KGroupedProblem& w) { w.stride_d_group = 1000; }), "stride_d_group");
  EXPECT_EQ(argument([](KGroupedProblem& w) { w.stride_d_group = -4; }), "stride_d_group");
  EXPECT_EQ(argument([](KGroupedProblem& w) { w.scale_a_group = -1; }), "scale_a_group (strides)");
  EXPECT_EQ(argument([](KGroupedProblem& w) { w.scale_b_group = -1; }), "scale_b_group (strides)");
  const Result<void> answer = can_implement({.groups = 4,
                                             .m = 64,
                                             .n = 64,
                                             .k = 256,
                                             .a = bf16,
                                             .b = bf16,
                                             .d = f32,
                                             .scale = Scale::tensor,
                                             .stride_d_group = 63},
                                            {});
  EXPECT_EQ(answer.error().message.find("batch_d"), std::string::npos) << answer.error().message;
}

TEST(ConfigText, WrongValuesOfGroupKeysAreRefused) {
  for (const char* text :
       {"variant=sorted", "tile_scheduler=fixed", "groups=-1", "groups=4096x1", "scale=row_column"}) {
    const auto parsed = parse_config(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid) << text;
    EXPECT_NE(parsed.error().argument.find("config, key"), std::string::npos) << parsed.error().message;
  }
}

}  // namespace
}  // namespace ww
