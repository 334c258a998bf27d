// SPDX-License-Identifier: Apache-2.0
// Every refusal of a GEMM problem names its argument, the expected value and the actual one, before any device is
// touched.
#include "warpwright/host/gemm.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "config/config_text.hpp"
#include "ops/gemm_validation.hpp"
#include "warpwright/host/epilogue.hpp"
#include "warpwright/host/explain.hpp"
#include "warpwright/host/grouped.hpp"
#include "warpwright/host/k_grouped.hpp"
#include "warpwright/host/prepare.hpp"

namespace ww {
namespace {

GemmProblem good() { return {.m = 256, .n = 128, .k = 256, .scale = Scale::block_1x128_128x128}; }

struct Case {
  const char* argument;
  ErrorCode code;
  void (*spoil)(GemmProblem&);
};

TEST(GemmValidation, RefusalsNameTheArgument) {
  const Case cases[] = {
      {"m", ErrorCode::invalid, [](GemmProblem& p) { p.m = -1; }},
      {"n", ErrorCode::invalid, [](GemmProblem& p) { p.n = -8; }},
      {"k", ErrorCode::invalid, [](GemmProblem& p) { p.k = INT64_MIN; }},
      {"m", ErrorCode::unsupported, [](GemmProblem& p) { p.m = INT64_MAX; }},
      {"n", ErrorCode::unsupported, [](GemmProblem& p) { p.n = 132; }},
      {"k", ErrorCode::unsupported, [](GemmProblem& p) { p.k = 250; }},
      {"lda", ErrorCode::invalid, [](GemmProblem& p) { p.lda = 128; }},
      {"ldb", ErrorCode::unsupported, [](GemmProblem& p) { p.ldb = 257; }},
      {"ldd", ErrorCode::invalid, [](GemmProblem& p) { p.ldd = 8; }},
      {"ldd", ErrorCode::unsupported, [](GemmProblem& p) { p.ldd = 129; }},
      {"lda", ErrorCode::invalid, [](GemmProblem& p) { p.lda = INT64_MAX - 15; }},
      {"a (type)", ErrorCode::unsupported, [](GemmProblem& p) { p.a = p.b = f32; }},
      {"b (type)", ErrorCode::unsupported, [](GemmProblem& p) { p.b = bf16; }},
      {"a (type)", ErrorCode::unsupported, [](GemmProblem& p) { p.a = p.b = e8m0; }},
      {"a (type)", ErrorCode::unsupported, [](GemmProblem& p) { p.a = p.b = bf16, p.scale = Scale::mx; }},
      {"a (type)", ErrorCode::unsupported, [](GemmProblem& p) { p.scale = Scale::nv; }},
      {"b (type)", ErrorCode::unsupported, [](GemmProblem& p) { p.a = e2m1, p.scale = Scale::nv; }},
      {"b (type)", ErrorCode::unsupported, [](GemmProblem& p) { p.a = e2m1, p.b = bf16, p.scale = Scale::mx; }},
      {"d (type)", ErrorCode::unsupported, [](GemmProblem& p) { p.d = e2m1; }},
      {"scale", ErrorCode::unsupported, [](GemmProblem& p) { p.a = p.b = e2m1; }},
      {"scale", ErrorCode::unsupported, [](GemmProblem& p) { p.b = e2m3; }},
      {"scale_type", ErrorCode::unsupported,
       [](GemmProblem& p) { p.scale = Scale::mx, p.scale_type = ScaleType::e4m3; }},
      {"scale_a_row", ErrorCode::unsupported, [](GemmProblem& p) { p.scale = Scale::mx, p.scale_a_row = 4; }},
      {"scale_b_k", ErrorCode::unsupported, [](GemmProblem& p) { p.scale = Scale::mx, p.scale_b_k = 1; }},
      {"batch_scale_a", ErrorCode::invalid,
       [](GemmProblem& p) { p.scale = Scale::mx, p.batch = 2, p.batch_d = p.m * p.n, p.batch_scale_a = 256; }},
      {"a (layout)", ErrorCode::unsupported,
       [](GemmProblem& p) { p.scale = Scale::mx, p.a = p.b = e2m1, p.a_major = Major::mn; }},
      {"k", ErrorCode::unsupported, [](GemmProblem& p) { p.scale = Scale::nv, p.a = p.b = e2m1, p.k = 144; }},
      {"k", ErrorCode::unsupported, [](GemmProblem& p) { p.scale = Scale::mx, p.b = e2m1, p.k = 160; }},
      {"ldb", ErrorCode::unsupported,
       [](GemmProblem& p) { p.scale = Scale::mx, p.a = p.b = e3m2, p.k = 256, p.lda = 256, p.ldb = 320; }},
      {"d (type)", ErrorCode::unsupported, [](GemmProblem& p) { p.d = e4m3; }},
      {"d (type)", ErrorCode::unsupported, [](GemmProblem& p) { p.d = e5m2; }},
      {"d (type)", ErrorCode::unsupported, [](GemmProblem& p) { p.d = f32, p.epilogue = evt::quantise(evt::acc); }},
      {"d (type)", ErrorCode::unsupported, [](GemmProblem& p) { p.d = tf32; }},
      {"b (type)", ErrorCode::unsupported, [](GemmProblem& p) { p.a = e5m2, p.b = bf16; }},
      {"b (type)", ErrorCode::unsupported, [](GemmProblem& p) { p.a = tf32, p.b = bf16; }},
      {"scale", ErrorCode::unsupported, [](GemmProblem& p) { p.a = p.b = tf32; }},
      {"a (layout)", ErrorCode::unsupported, [](GemmProblem& p) { p.a_major = Major::mn; }},
      {"b (layout)", ErrorCode::unsupported, [](GemmProblem& p) { p.b_major = Major::mn; }},
      {"lda", ErrorCode::invalid,
       [](GemmProblem& p) { p.a = p.b = bf16, p.scale = Scale::none, p.a_major = Major::mn, p.lda = 248; }},
      {"ldb", ErrorCode::unsupported,
       [](GemmProblem& p) { p.a = p.b = bf16, p.scale = Scale::none, p.b_major = Major::mn, p.ldb = 129; }},
      {"scale", ErrorCode::unsupported, [](GemmProblem& p) { p.a = p.b = bf16; }},
      {"scale", ErrorCode::unsupported, [](GemmProblem& p) { p.a = p.b = bf16, p.scale = Scale::block_1x128_1x128; }},
      {"scale_b (strides)", ErrorCode::invalid,
       [](GemmProblem& p) { p.scale = Scale::block_1x128_1x128, p.scale_b_n = std::int64_t{1} << 54; }},
      {"ldd", ErrorCode::invalid, [](GemmProblem& p) { p.d_layout = OutputLayout::column, p.ldd = 248; }},
      {"m", ErrorCode::unsupported, [](GemmProblem& p) { p.d_layout = OutputLayout::column, p.m = 250; }},
      {"ldd", ErrorCode::unsupported, [](GemmProblem& p) { p.d_layout = OutputLayout::column, p.ldd = 257; }},
      {"d (layout)", ErrorCode::unsupported,
       [](GemmProblem& p) { p.d_layout = OutputLayout::column, p.d = e4m3, p.epilogue = evt::quantise(evt::acc); }},
      {"d (layout)", ErrorCode::unsupported,
       [](GemmProblem& p) { p.d_layout = OutputLayout::column, p.d = e5m2, p.epilogue = evt::quantise(evt::acc); }},
      {"batch_d", ErrorCode::invalid,
       [](GemmProblem& p) { p.d_layout = OutputLayout::column, p.batch = 2, p.batch_d = 127 * 256; }},
      {"scale_a (strides)", ErrorCode::invalid, [](GemmProblem& p) { p.scale_a_row = -1; }},
      {"scale_b (strides)", ErrorCode::invalid, [](GemmProblem& p) { p.scale_b_k = INT64_MAX; }},
      {"scale_a (strides)", ErrorCode::invalid,
       [](GemmProblem& p) { p.scale = Scale::row_column, p.scale_a_row = -1; }},
      {"scale_b (strides)", ErrorCode::invalid,
       [](GemmProblem& p) { p.scale = Scale::row_column, p.scale_b_n = INT64_MAX; }},
      {"batch", ErrorCode::invalid, [](GemmProblem& p) { p.batch = -1; }},
      {"batch", ErrorCode::unsupported, [](GemmProblem& p) { p.batch = INT64_MAX; }},
      {"batch_a", ErrorCode::invalid, [](GemmProblem& p) { p.batch = 2, p.batch_d = 1 << 20, p.batch_a = -16; }},
      {"batch_b", ErrorCode::unsupported, [](GemmProblem& p) { p.batch = 2, p.batch_d = 1 << 20, p.batch_b = 8; }},
      {"batch_a", ErrorCode::invalid,
       [](GemmProblem& p) { p.batch = 2, p.batch_d = 1 << 20, p.batch_a = INT64_MAX - 15; }},
      {"batch_d", ErrorCode::invalid, [](GemmProblem& p) { p.batch = 2; }},                         // one D for two
      {"batch_d", ErrorCode::invalid, [](GemmProblem& p) { p.batch = 2, p.batch_d = 255 * 128; }},  // the last row
      {"batch_d", ErrorCode::invalid, [](GemmProblem& p) { p.batch = 3, p.batch_d = 128, p.ldd = 256; }},
      {"batch_scale_a (strides)", ErrorCode::invalid,
       [](GemmProblem& p) { p.batch = 2, p.batch_d = 1 << 20, p.batch_scale_a = -1; }},
      {"m, n", ErrorCode::unsupported, [](GemmProblem& p) { p.batch = 1 << 30, p.batch_d = 1 << 20; }},
  };
  ASSERT_TRUE(can_implement(good()));
  for (const Case& c : cases) {
    GemmProblem p = good();
    c.spoil(p);
    const Result<void> answer = can_implement(p);
    ASSERT_FALSE(answer) << c.argument;
    EXPECT_EQ(answer.error().argument, c.argument) << answer.error().message;
    EXPECT_EQ(answer.error().code, c.code) << answer.error().message;
    EXPECT_FALSE(answer.error().expected.empty()) << answer.error().message;
    EXPECT_FALSE(answer.error().actual.empty()) << answer.error().message;
  }
}

TEST(GemmValidation, EmptyProblemsAreLegal) {
  for (int which = 0; which < 3; ++which) {
    GemmProblem p = good();
    (which == 0 ? p.m : which == 1 ? p.n : p.k) = 0;
    const Result<void> answer = can_implement(p);
    EXPECT_TRUE(answer) << which << ": " << answer.error().message;
  }
}

TEST(GemmValidation, RowsOfAPackedOutputAreWholeUnitsOf16Bytes) {
  GemmProblem p = good();
  p.d = e4m3, p.epilogue = evt::quantise(evt::acc), p.n = 120;
  for (const std::int64_t ldd : {0, 120}) {
    p.ldd = ldd;
    const Result<void> refused = can_implement(p);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().argument, ldd == 0 ? "n" : "ldd") << refused.error().message;
  }
  p.ldd = 128;
  EXPECT_TRUE(can_implement(p)) << can_implement(p).error().message;
  p.m = 0, p.ldd = 0;  // there are no rows
  EXPECT_TRUE(can_implement(p)) << can_implement(p).error().message;
}

TEST(GemmValidation, ConfigFaultsShowTheValueAndTheWholeConfig) {
  GemmOptions options;
  options.config.sm90.stages = 1;
  const Result<void> answer = can_implement(good(), options);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::unsupported);
  EXPECT_EQ(answer.error().argument, "config, stages");
  EXPECT_EQ(answer.error().actual, "1");
  EXPECT_NE(answer.error().message.find("stages=1"), std::string::npos);
}

TEST(GemmValidation, RowColumnScalesTakeEveryOperandTypeAndVectors) {
  for (DType type : {e4m3, bf16, f16}) {
    GemmProblem p = good();
    p.a = p.b = type, p.scale = Scale::row_column;
    const Result<void> answer = can_implement(p);
    EXPECT_TRUE(answer) << name_of(type) << ": " << answer.error().message;
    const Result<GemmProblem> filled = ops::validate(p);
    ASSERT_TRUE(filled);
    EXPECT_EQ(filled->scale_a_row, 1);
    EXPECT_EQ(filled->scale_b_n, 1);
  }
}

TEST(GemmValidation, ConfigsOfGroupedProductsAreRefused) {
  GemmOptions options;
  options.config.row_groups.variant = GroupedVariant::ragged;
  const Result<void> answer = can_implement(good(), options);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::unsupported);
  EXPECT_EQ(answer.error().argument, "config, variant");
  EXPECT_EQ(answer.error().actual, "ragged");
  options.config.row_groups = {};
  options.config.k_groups.capacity = 128;
  const Result<void> of_k = can_implement(good(), options);
  ASSERT_FALSE(of_k);
  EXPECT_EQ(of_k.error().argument, "config, k_groups");
  EXPECT_EQ(of_k.error().actual, "128");
}

TEST(GemmValidation, NegativeSmsAreInvalid) {
  const Result<void> answer = can_implement(good(), {.sms = -1});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().argument, "sms");
}

TEST(GemmValidation, ConfigsOfAnotherArchitectureAreRefused) {
  const Device device = Device::open("emu:sm100").value();
  GemmOptions options;
  options.config.tile.m = 128;
  const Error errors[] = {plan_gemm(device, good(), options).error(), plan_grouped(device, {}, options).error(),
                          plan_k_grouped(device, {}, options).error(), explain(device, good(), options).error(),
                          *prepare(device, std::vector<PrepareCase>{{good(), options}}, {}).kernels.at(0).error};
  for (const Error& error : errors) {
    EXPECT_EQ(error.code, ErrorCode::unsupported);
    EXPECT_EQ(error.argument, "config, arch");
    EXPECT_EQ(error.expected, "sm100, the device's");
    EXPECT_EQ(error.actual, "sm90");
  }
}

TEST(GemmValidation, AnOpenConfigTakesTheArchitectureOfTheDevice) {
  const Device device = Device::open("emu:sm100").value();
  EXPECT_EQ(plan_gemm(device, good(), {}).value().config().arch, Arch::sm100);
  EXPECT_EQ(explain(device, good(), {}).value().chosen.config.arch, Arch::sm100);
}

}  // namespace
}  // namespace ww
