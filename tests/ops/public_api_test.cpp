// SPDX-License-Identifier: Apache-2.0
// The public headers alone, as a binding would use them: plans that cannot be empty, scales of other types, kernels of
// the caller's own, the choice of a config as data.
#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

#include <warpwright/warpwright.hpp>

namespace {

template <class Plan> constexpr bool is_a_value() {
  return !std::is_default_constructible_v<Plan> && std::is_copy_constructible_v<Plan> &&
         std::is_copy_assignable_v<Plan> && std::is_nothrow_move_constructible_v<Plan>;
}

TEST(PublicApi, PlansAndKernelsAreNeverEmpty) {
  static_assert(is_a_value<ww::GemmPlan>() && is_a_value<ww::GroupedPlan>() && is_a_value<ww::KGroupedPlan>());
  static_assert(is_a_value<ww::Kernel>() && is_a_value<ww::QuantizePlan>() && is_a_value<ww::TransposePlan>());
  static_assert(!std::is_default_constructible_v<ww::Device>);
}

TEST(PublicApi, TwoValuesMayBeTriedOnOneLine) {
  const auto sum = [](ww::Result<int> a, ww::Result<int> b) -> ww::Result<int> {
    // clang-format off
    WW_TRY(const int x, a); WW_TRY(const int y, b);
    // clang-format on
    return x + y;
  };
  const auto refused = ww::failure(ww::ErrorCode::invalid, "b", "a number", "none");
  EXPECT_EQ(sum(1, 2).value(), 3);
  EXPECT_EQ(sum(1, refused).error().argument, "b");
}

TEST(PublicApi, ADesignatedProblemIsNotAmbiguous) {
  const ww::Device device = ww::Device::open("emu:sm90").value();
  EXPECT_TRUE(ww::plan_gemm(device, {.m = 64, .n = 64, .k = 128}));
  EXPECT_TRUE(ww::plan_grouped(device, {.groups = 2, .rows = 8, .n = 64, .k = 128, .a = ww::bf16, .b = ww::bf16}));
  EXPECT_TRUE(ww::plan_k_grouped(device, {.groups = 2, .m = 64, .n = 64, .k = 0}));
  EXPECT_TRUE(ww::plan_quantize(device, {.m = 64, .k = 128}));
  EXPECT_TRUE(ww::plan_transpose(device, {.n = 64, .k = 128}));
}

TEST(PublicApi, ScalesOfOtherTypesAreUnsupportedByName) {
  const auto argument = [](const auto& refused) { return refused ? std::string() : refused.error().argument; };
  for (const ww::ScaleType type : {ww::ScaleType::e8m0, ww::ScaleType::e4m3}) {
    const ww::Scale block = ww::Scale::block_1x128_1x128;
    const auto dense = ww::can_implement(ww::GemmProblem{.m = 8, .n = 8, .k = 128, .scale = block, .scale_type = type});
    EXPECT_EQ(argument(dense), "scale_type");
    EXPECT_EQ(dense.error().code, ww::ErrorCode::unsupported);
    EXPECT_NE(dense.error().message.find(ww::name_of(type)), std::string::npos) << dense.error().message;
    EXPECT_EQ(argument(ww::can_implement(ww::GroupedProblem{
                  .groups = 1, .rows = 8, .n = 8, .k = 128, .scale = ww::Scale::tensor, .scale_type = type})),
              "scale_type");
    ww::KGroupedProblem along_k{.groups = 1, .m = 8, .n = 8, .k = 128, .a = ww::e4m3, .b = ww::e4m3};
    along_k.a_major = along_k.b_major = ww::Major::k;
    along_k.scale = block, along_k.scale_type = type;
    EXPECT_EQ(argument(ww::can_implement(along_k)), "scale_type");
  }
  const ww::Device device = ww::Device::open("emu:sm90").value();
  const ww::Buffer memory = device.allocate(1 << 16).value();
  const float one = 1;
  ww::GemmOperands operands{.a = memory.data(), .b = memory.data(), .d = memory.data(), .global_scale = &one};
  EXPECT_EQ(argument(ww::plan_gemm(device, {.m = 64, .n = 64, .k = 128})->run(operands)), "global_scale");
}

constexpr const char* kTimesTwo = R"(
#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/special.hpp"
using namespace ww;
struct Params { const u32* in; u32* out; };
WW_KERNEL(times_two, 32, Params, params) {
  const u32 i = arch::thread_index();
  arch::global::store(params.out + i, 2 * arch::global::load(params.in + i));
}
WW_MODULE()
)";

struct Params {
  const void* in;
  void* out;
};

TEST(PublicApi, AKernelOfOnesOwnRunsAndIsCheckedAtItsMemory) {
  const ww::Device device = ww::Device::open("emu:sm90").value();
  const ww::Result<ww::Kernel> kernel = ww::Kernel::compile(device, {"times_two", kTimesTwo});
  ASSERT_TRUE(kernel) << kernel.error().message;
  EXPECT_EQ(kernel->name(), "times_two");
  std::vector<std::uint32_t> values(32, 21), twice(32);
  const ww::Buffer in = device.allocate(128).value(), out = device.allocate(128).value();
  ASSERT_TRUE(device.upload(in.data(), values.data(), 128));
  const Params params{in.data(), out.data()};
  const ww::MemoryRange memory[] = {{"in", in.data(), 128, false}, {"out", out.data(), 128, true}};
  const auto launched = kernel->launch(params, {.threads = 32, .memory = memory});
  ASSERT_TRUE(launched) << launched.error().message;
  ASSERT_TRUE(device.download(twice.data(), out.data(), 128));
  EXPECT_EQ(twice, std::vector<std::uint32_t>(32, 42));
  EXPECT_EQ(kernel->last_stats()->ctas, 1u);

  const auto refused = [&](const ww::KernelLaunch& launch, std::size_t bytes = sizeof params) {
    return kernel->launch(&params, bytes, launch).error().argument;
  };
  EXPECT_EQ(refused({.threads = 33, .memory = memory}), "launch.threads");
  EXPECT_EQ(refused({.threads = 64, .memory = memory}), "launch.threads");
  EXPECT_EQ(refused({.grid = 3, .cluster = 2, .threads = 32, .memory = memory}), "launch.grid");
  EXPECT_EQ(refused({.threads = 32, .memory = memory}, 8), "launch.params_bytes");
  const ww::MemoryRange read_only[] = {memory[0], {"out", out.data(), 128, false}};
  EXPECT_NE(kernel->launch(params, {.threads = 32, .memory = read_only}).error().message.find("read-only"),
            std::string::npos);
  EXPECT_FALSE(ww::Kernel::compile(device, {"", kTimesTwo}));
  EXPECT_FALSE(ww::read_kernel_source("/nonexistent/kernel.hpp", "x"));
}

TEST(PublicApi, WhatWasMovedFromStillWorks) {
  const ww::EmuOptions one_thread{.threads = 1};
  ww::Device device = ww::Device::open("emu:sm90", {.cache_dir = {}, .emu = one_thread}).value();
  const ww::Device taken = std::move(device);
  const ww::Buffer memory = device.allocate(1 << 16).value();  // NOLINT: moving copies
  ww::GemmPlan dense = ww::plan_gemm(device, {.m = 64, .n = 64, .k = 128}).value();
  const ww::GemmPlan moved = std::move(dense);
  EXPECT_EQ(dense.config(), moved.config());  // NOLINT
  EXPECT_FALSE(dense.run({}));                // NOLINT
  ww::GroupedPlan rows = ww::plan_grouped(device, {.groups = 1, .rows = 8, .n = 64, .k = 128}).value();
  const ww::GroupedPlan moved_rows = std::move(rows);
  EXPECT_FALSE(rows.run({}));  // NOLINT
  ww::Kernel kernel = ww::Kernel::compile(device, {"times_two", kTimesTwo}).value();
  const ww::Kernel moved_kernel = std::move(kernel);
  EXPECT_EQ(kernel.name(), "times_two");  // NOLINT
}

TEST(PublicApi, AConfigOfTextIsTheConfigOfItsText) {
  const ww::GemmConfig config = ww::parse_config("tile=128x64x128,cluster=2x1,stages=4").value();
  EXPECT_EQ(ww::parse_config(ww::to_text(config)).value(), config);
  EXPECT_EQ(ww::parse_config("tile=1").error().code, ww::ErrorCode::invalid);
}

TEST(PublicApi, ExclusionsOfGroupsNameTheField) {
  const ww::Explanation choice =
      ww::explain(
          ww::GroupedProblem{.groups = 4, .rows = 50, .n = 512, .k = 512, .scale = ww::Scale::block_1x128_128x128})
          .value();
  ASSERT_FALSE(choice.excluded.empty());
  for (const ww::ExcludedConfigs& excluded : choice.excluded)
    EXPECT_EQ(excluded.reason.find("config,"), std::string::npos) << excluded.reason;
}

TEST(PublicApi, AChoiceIsExplainedAsData) {
  const ww::GemmProblem problem{.m = 4096, .n = 4096, .k = 4096, .scale = ww::Scale::tensor};
  const ww::Explanation choice = ww::explain(problem).value();
  EXPECT_EQ(choice.sms, 132);
  ASSERT_GT(choice.ranking.size(), 10u);
  EXPECT_EQ(choice.chosen.config, choice.ranking.front().config);
  double before = 0;
  for (const ww::RankedConfig& candidate : choice.ranking) {
    EXPECT_LE(before, candidate.us);
    before = candidate.us;
    double sum = 0;
    for (const ww::CostTerm& term : candidate.terms) sum += term.us;
    EXPECT_NEAR(sum, candidate.us, 1e-9 * candidate.us);
  }
  const ww::Device device = ww::Device::open("emu:sm90").value();
  const ww::GemmProblem small{.m = 64, .n = 64, .k = 128};
  const ww::Explanation here = ww::explain(device, small).value();
  EXPECT_TRUE(here.emulated);
  EXPECT_EQ(here.chosen.config, ww::plan_gemm(device, small)->config());
  EXPECT_EQ(ww::explain(ww::GemmProblem{.m = -1}).error().argument, "m");
}

}  // namespace
