// SPDX-License-Identifier: Apache-2.0
// Packs are made from configs as text or from problems, without a device, and plans find their kernels in them by the
// same key. NVRTC is a stand-in whose cubins are their sources.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <set>
#include <string>

#include "jit/jit.hpp"
#include "jit/keys.hpp"
#include "jit/pack.hpp"
#include "support.hpp"
#include "warpwright/host/config.hpp"
#include "warpwright/host/kernel.hpp"
#include "warpwright/host/prepare.hpp"

namespace ww {
namespace {

using jit::test::Scratch;
using jit::test::Variable;

constexpr const char *kHopper = "pack_configs.txt", *kBlackwell = "sm100_pack_configs.txt";

/// The lines of a list of src/launch.
std::vector<std::string> listed_configs(const std::string& name = kHopper) {
  std::vector<std::string> lines;
  std::ifstream file(std::string(WW_TEST_PACK_CONFIGS) + "/" + name);
  for (std::string line; std::getline(file, line);)
    if (!line.starts_with("#")) lines.push_back(line.substr(0, line.find("  # ")));
  return lines;
}

PrepareCase case_of(const std::string& line) {
  const auto made = parse_prepare_case(line);
  EXPECT_TRUE(made) << line << ": " << made.error().message;
  return made ? *made : PrepareCase{GemmConfig{}};
}

std::string key_of(const GemmConfig& config) { return jit::cubin_source_key(kernel_source(config).text, config.arch); }

/// The keys of the kernels that the packs of both lists hold.
const std::set<std::string>& listed_keys() {
  static const std::set<std::string> keys = [] {
    std::set<std::string> made;
    std::vector<std::string> lines = listed_configs(kHopper);
    for (std::string& line : listed_configs(kBlackwell)) lines.push_back(std::move(line));
    for (const std::string& line : lines) {
      const PrepareCase one[] = {case_of(line)};
      if (std::holds_alternative<GemmConfig>(one[0].problem)) made.insert(key_of(plan_kernels(one).kernels[0].config));
    }
    return made;
  }();
  return keys;
}

TEST(Packs, ListsResolvedConfigs) {
  for (const char* name : {kHopper, kBlackwell}) {
    const auto lines = listed_configs(name);
    ASSERT_GT(lines.size(), 20u);
    for (const std::string& line : lines) {
      const PrepareCase one[] = {case_of(line)};
      const Prepared planned = plan_kernels(one);
      ASSERT_EQ(planned.failed, 0u) << planned.kernels[0].error->message;
      EXPECT_EQ(planned.kernels[0].text, line) << "nothing is left open";
      if (!std::holds_alternative<GemmConfig>(one[0].problem)) continue;
      EXPECT_EQ(planned.kernels[0].config.arch, name == kHopper ? Arch::sm90 : Arch::sm100) << line;
    }
  }
}

TEST(Packs, HoldThePackingOfScales) {
  const auto lines = listed_configs();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "pack=ue8m0"), 1);
  const PrepareCase problem[] = {{PackScalesProblem{.m = 300, .k = 7}}, case_of("pack=ue8m0")};
  const Prepared planned = plan_kernels(problem);
  ASSERT_EQ(planned.kernels.size(), 1u);
  EXPECT_EQ(planned.kernels[0].text, "pack=ue8m0");
}

/// How many of the cases find their kernel in the list.
std::size_t held_of(const std::vector<PrepareCase>& cases) {
  const Prepared planned = plan_kernels(cases);
  EXPECT_EQ(planned.failed, 0u);
  std::size_t held = 0;
  for (const PreparedKernel& kernel : planned.kernels)
    if (listed_keys().contains(key_of(kernel.config))) held += kernel.cases.size();
  return held;
}

// Layers of DeepSeek-V3, Qwen3 and Llama 3.1, which bench/cases/models.json has. The list has what two or more of the
// layers run; the rest is compiled on demand.
TEST(Packs, HoldMostConfigsOfRandomLayers) {
  constexpr std::int64_t kLayers[][2] = {{2112, 7168},  {24576, 1536}, {7168, 16384}, {6144, 4096},  {28672, 4096},
                                         {4096, 14336}, {10240, 8192}, {8192, 28672}, {7168, 18432}, {36864, 7168}};
  constexpr std::int64_t kExperts[][4] = {
      {256, 4096, 7168, 8}, {32, 7168, 2048, 8}, {16, 3072, 4096, 8}, {8, 28672, 4096, 2}};
  constexpr std::int64_t kRows[] = {1, 16, 64, 128, 256, 1024, 4096};
  constexpr std::int64_t kTokens[] = {32, 128, 512, 2048, 8192};
  constexpr unsigned kSeed = 20261122;
  std::mt19937 random(kSeed);
  const auto pick = [&](const auto& list) -> const auto& { return list[random() % std::size(list)]; };
  std::vector<PrepareCase> cases;
  for (int i = 0; i < 60; ++i) {
    const auto& [n, k] = pick(kLayers);
    const int family = static_cast<int>(random() % 3);
    const DType type = family == 2 ? bf16 : e4m3;
    const Scale scale = family == 0 ? Scale::block_1x128_128x128 : family == 1 ? Scale::tensor : Scale::none;
    cases.push_back({GemmProblem{.m = pick(kRows), .n = n, .k = k, .a = type, .b = type, .scale = scale}});
  }
  for (int i = 0; i < 30; ++i) {
    const auto& [groups, n, k, top] = pick(kExperts);
    const bool bf = random() % 2 != 0;
    const std::int64_t parallel = groups == 32 || groups == 16 ? 8 : 1;
    cases.push_back({GroupedProblem{.groups = groups,
                                    .rows = std::max<std::int64_t>(1, pick(kTokens) * top / parallel),
                                    .n = n,
                                    .k = k,
                                    .a = bf ? bf16 : e4m3,
                                    .b = bf ? bf16 : e4m3,
                                    .scale = bf ? Scale::none : Scale::block_1x128_128x128}});
  }
  EXPECT_GE(held_of(cases), 85u) << "of 90 problems (seed " << kSeed
                                 << "); tools/pack_configs.py writes src/launch/pack_configs.txt anew";
}

// Of Blackwell the list has what the model expects for four or more of the layers; the rest is compiled on demand.
TEST(Packs, HoldMostConfigsOfRandomLayersOfBlackwell) {
  constexpr std::int64_t kLayers[][2] = {{24576, 1536}, {7168, 16384}, {6144, 4096},  {28672, 4096}, {4096, 14336},
                                         {10240, 8192}, {8192, 28672}, {7168, 18432}, {36864, 7168}};
  constexpr std::int64_t kRows[] = {1, 16, 64, 128, 256, 1024, 4096};
  constexpr std::pair<DType, Scale> kTypes[] = {{e4m3, Scale::mx}, {e2m1, Scale::nv}, {bf16, Scale::none}};
  constexpr unsigned kSeed = 20261123;
  std::mt19937 random(kSeed);
  const auto pick = [&](const auto& list) -> const auto& { return list[random() % std::size(list)]; };
  const GemmOptions blackwell{.config = *parse_config("arch=sm100")};
  std::vector<PrepareCase> cases;
  for (int i = 0; i < 100; ++i) {
    const auto& [n, k] = pick(kLayers);
    const auto& [type, scale] = pick(kTypes);
    cases.push_back({GemmProblem{.m = pick(kRows), .n = n, .k = k, .a = type, .b = type, .scale = scale}, blackwell});
  }
  EXPECT_GE(held_of(cases), 85u)
      << "of 100 problems (seed " << kSeed
      << "); tools/pack_configs.py --arch sm100 writes src/launch/sm100_pack_configs.txt anew";
}

class KernelPack : public testing::Test {
 protected:
  void SetUp() override {
    const auto pack = write_kernel_pack(scratch_ / "probe.wwpack", {});
    if (!pack && pack.error().message.find("WARPWRIGHT_HAS_CUDA=0") != std::string::npos)
      GTEST_SKIP() << "a library without CUDA";
  }
  const Scratch scratch_;
  const Variable nvrtc_{"WARPWRIGHT_NVRTC", WW_TEST_NVRTC};
  const Variable builtins_{"FAKE_NVRTC_WITHOUT_BUILTINS", "1"};
};

TEST_F(KernelPack, HoldsWhatPlansNeed) {
  const GemmConfig dense = *parse_config("scale=block,tile=128x128x128");
  const PrepareCase cases[] = {
      {GemmProblem{.m = 64, .n = 4096, .k = 4096, .scale = Scale::block_1x128_128x128}},
      {GroupedProblem{
          .groups = 8, .rows = 512, .n = 1024, .k = 1024, .scale = Scale::block_1x128_128x128, .zero_outside = true}},
      {GroupedProblem{.groups = 8, .rows = 512, .n = 1024, .k = 1024, .scale = Scale::block_1x128_128x128}},
      {GemmProblem{.m = 0, .n = 64, .k = 64}},
      {dense},
      {*parse_config("scale=block,tile=128x100x128")},
      case_of("quantize=1x128")};
  int told = 0;
  const auto prepared =
      write_kernel_pack(scratch_ / "folder/a.wwpack", cases,
                        {.progress = [&](std::size_t, std::size_t, const PreparedKernel&) { ++told; }});
  ASSERT_TRUE(prepared) << prepared.error().message;
  ASSERT_EQ(prepared->kernels.size(), 5u);
  EXPECT_EQ(told, 5);
  EXPECT_EQ(prepared->failed, 1u);
  EXPECT_EQ(prepared->kernels[1].cases, (std::vector<std::size_t>{1, 2}));
  ASSERT_TRUE(prepared->kernels[3].error);
  EXPECT_EQ(prepared->kernels[3].error->code, ErrorCode::unsupported);
  const auto pack = jit::Pack::open(scratch_ / "folder/a.wwpack");
  ASSERT_TRUE(pack) << pack.error().message;
  EXPECT_EQ(pack->size(), 5u) << "three products, the kernel that zeros rows, and a cast";
  for (int i = 0; i < 3; ++i) {
    const KernelSource source = kernel_source(prepared->kernels[i].config);
    const auto kernel = pack->read(jit::cubin_source_key(source.text));
    ASSERT_TRUE(kernel) << kernel.error().message;
    EXPECT_EQ(kernel->payload, source.text);
  }
  const std::string before = jit::test::read_text(scratch_ / "folder/a.wwpack");
  ASSERT_TRUE(write_kernel_pack(scratch_ / "folder/a.wwpack", cases));
  EXPECT_EQ(jit::test::read_text(scratch_ / "folder/a.wwpack"), before);

  const Variable packs("WARPWRIGHT_PACK_DIR", scratch_ / "folder");
  const Variable off("WARPWRIGHT_JIT", "off");
  const auto found = jit::compile_cubin(kernel_source(prepared->kernels[0].config).text, scratch_ / "cache");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->origin, KernelOrigin::pack);
}

// A pack for Blackwell: the same file format, other keys, and found when a device of that architecture compiles.
TEST_F(KernelPack, IsForOneArchitecture) {
  const GemmProblem mx{.m = 512, .n = 512, .k = 1024, .scale = Scale::mx};
  const GemmOptions blackwell{.config = *parse_config("arch=sm100")};
  const PrepareCase cases[] = {case_of("cast=mx,x=f32,q=e2m1"),
                               {mx, blackwell},
                               {*parse_config("arch=sm100,a=e2m1,b=e2m1,scale=nv")},
                               {*parse_config("arch=sm90,a=bf16,b=bf16,tile=64x64x64")}};
  const auto prepared = write_kernel_pack(scratch_ / "folder/sm100.wwpack", cases);
  ASSERT_TRUE(prepared) << prepared.error().message;
  ASSERT_EQ(prepared->kernels.size(), 4u);
  EXPECT_EQ(prepared->failed, 1u);
  ASSERT_TRUE(prepared->kernels[3].error);
  EXPECT_EQ(prepared->kernels[3].error->argument, "config, arch");
  const auto pack = jit::Pack::open(scratch_ / "folder/sm100.wwpack");
  ASSERT_TRUE(pack) << pack.error().message;
  EXPECT_EQ(pack->target(), "sm_100a");
  EXPECT_EQ(pack->size(), 3u);

  const Variable packs("WARPWRIGHT_PACK_DIR", scratch_ / "folder");
  const Variable off("WARPWRIGHT_JIT", "off");
  const std::string text = kernel_source(prepared->kernels[1].config).text;
  const auto found = jit::compile_cubin(text, scratch_ / "cache", true, Arch::sm100);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->origin, KernelOrigin::pack);
  EXPECT_FALSE(jit::compile_cubin(text, scratch_ / "cache")) << "on Hopper";
}

// The text of a cast is that of its problem, and a plan finds its kernel in the pack by the same source.
TEST(Packs, NameCastsAndTransposes) {
  std::vector<PrepareCase> cases;
  std::set<std::string> texts;
  for (const QuantizeBlock block : {QuantizeBlock::b1x128, QuantizeBlock::b128x128})
    for (const DType x : {DType::bf16, DType::f16, DType::f32})
      for (const DType q : {DType::e4m3, DType::e5m2})
        for (int outputs = 1; outputs < 4; ++outputs)
          cases.push_back({QuantizeProblem{.block = block,
                                           .m = 300,
                                           .k = 500,
                                           .x = x,
                                           .q = q,
                                           .rows = (outputs & 1) != 0,
                                           .transposed = (outputs & 2) != 0}});
  for (const DType type : {DType::e4m3, DType::e5m2}) cases.push_back({TransposeProblem{.n = 5, .k = 7, .type = type}});
  for (const DType x : {DType::bf16, DType::f16, DType::f32}) {
    for (const DType q : {DType::e4m3, DType::e5m2, DType::e3m2, DType::e2m3, DType::e2m1})
      cases.push_back({MicroscaleProblem{.m = 300, .k = 500, .x = x, .q = q}});
    cases.push_back({MicroscaleProblem{.m = 300, .k = 500, .x = x, .q = DType::e2m1, .scale = Scale::nv}});
  }
  const Prepared planned = plan_kernels(cases);
  ASSERT_EQ(planned.failed, 0u);
  ASSERT_EQ(planned.kernels.size(), cases.size());
  for (const PreparedKernel& kernel : planned.kernels) {
    const PrepareCase one[] = {case_of(kernel.text)};
    EXPECT_EQ(plan_kernels(one).kernels[0].text, kernel.text);
    EXPECT_TRUE(texts.insert(kernel.text).second) << kernel.text;
  }
  EXPECT_EQ(plan_kernels(std::vector<PrepareCase>{{QuantizeProblem{.m = 0, .k = 128}}}).kernels.size(), 0u);
}

TEST(Packs, RefuseTextsThatAreNoCast) {
  for (const auto& [text, argument] : {std::pair{"quantize=1x64", "quantize, key quantize"},
                                       {"quantize=1x128,x=bf16,x=f32", "quantize, key x"},
                                       {"quantize=1x128,rows=2", "quantize, key rows"},
                                       {"quantize=1x128,rows", "quantize"},
                                       {"quantize=1x128,y=bf16", "quantize, key y"},
                                       {"quantize=1x128,q=bf15", "quantize, key q"},
                                       {"quantize=1x128,", "quantize"},
                                       {"cast=block", "cast, key cast"},
                                       {"cast=mx,rows=1", "cast, key rows"},
                                       {"cast=mx,q=e2m1,q=e4m3", "cast, key q"},
                                       {"cast=nv,", "cast"},
                                       {"transpose=e3m4", "transpose"}}) {
    const auto made = parse_prepare_case(text);
    ASSERT_FALSE(made) << text;
    EXPECT_EQ(made.error().argument, argument) << text;
  }
  const std::string rest = ",rows=1,transposed=0";
  for (const auto& [text, argument] : {std::pair{"quantize=1x128,x=e4m3,q=e4m3" + rest, "quantize, x (type)"},
                                       {"quantize=1x128,x=bf16,q=bf16" + rest, "quantize, q (type)"},
                                       {"quantize=1x128,x=bf16,q=e4m3,rows=0,transposed=0", "quantize, rows"},
                                       {"cast=mx,x=e4m3,q=e4m3", "cast, x (type)"},
                                       {"cast=nv,x=bf16,q=e4m3", "cast, q (type)"},
                                       {"transpose=bf16", "transpose, type"}}) {
    const PrepareCase one[] = {case_of(text)};
    const Prepared planned = plan_kernels(one);
    ASSERT_EQ(planned.failed, 1u) << text;
    EXPECT_EQ(planned.kernels[0].text, text);
    EXPECT_EQ(planned.kernels[0].error->argument, argument) << text;
  }
}

TEST_F(KernelPack, SaysWhatItIsNotMadeFor) {
  const auto named = write_kernel_pack(scratch_ / "a.bin", {});
  ASSERT_FALSE(named);
  EXPECT_EQ(named.error().argument, "file");
  const auto unwritable = write_kernel_pack("/proc/none/a.wwpack", {});
  ASSERT_FALSE(unwritable);
  EXPECT_EQ(unwritable.error().code, ErrorCode::could_not_finish);
}

}  // namespace
}  // namespace ww
