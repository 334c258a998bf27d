// SPDX-License-Identifier: Apache-2.0
// A printed config is closed: given back on any device, it is the kernel that was printed. Random resolved configs of
// all three groupings, every recipe and type, chosen on devices of 1, 4 and 132 SMs, go through their text to each of
// these devices. WARPWRIGHT_SEED draws other ones.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <random>
#include <set>
#include <string>

#include "config/config_text.hpp"
#include "launch/gemm_source.hpp"
#include "launch/grouped_source.hpp"
#include "ops/gemm_choice.hpp"
#include "ops/grouped_validation.hpp"
#include "select/grouped_configs.hpp"
#include "select/grouped_ranking.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/config/fields.hpp"
#include "warpwright/config/group_encoding.hpp"
#include "warpwright/config/resolve.hpp"
#include "warpwright/config/sizes.hpp"

namespace ww {
namespace {

constexpr ops::LaunchTarget kPlaces[] = {{1, true}, {4, true}, {132, false}};
constexpr int kConfigs = 2000;

std::uint64_t seed() {
  const char* text = std::getenv("WARPWRIGHT_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 1;
}

struct Draw {
  std::mt19937_64 rng;
  explicit Draw(std::uint64_t number) : rng(seed() * 1000003 + number) {}
  int below(int count) { return static_cast<int>(rng() % static_cast<std::uint64_t>(count)); }
  template <class T> T of(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<int>(values.size()))];
  }
};

struct Types {
  DType a, b, d;
  Scale scale;
};

Types draw_types(Draw& draw) {
  Types t{};
  t.a = draw.of({e4m3, e4m3, e5m2, bf16, f16, tf32});
  t.b = !is_fp8(t.a) ? t.a : draw.of({e4m3, e5m2});
  t.d = draw.of({bf16, f16, f32});
  t.scale = is_fp8(t.a) ? draw.of({Scale::none, Scale::tensor, Scale::row_column, Scale::block_1x128_128x128,
                                   Scale::block_1x128_1x128})
                        : draw.of({Scale::none, Scale::tensor, Scale::row_column});
  return t;
}

GemmProblem draw_gemm(Draw& draw) {
  const Types t = draw_types(draw);
  GemmProblem p{.a = t.a, .b = t.b, .d = t.d, .scale = t.scale};
  p.m = draw.of<std::int64_t>({1, 16, 64, 130, 512, 4096});
  p.n = 64 * (1 + draw.below(60));
  p.k = 128 * (1 + draw.below(40));
  p.batch = draw.of<std::int64_t>({1, 1, 1, 3});
  if (!is_fp8(t.a)) p.a_major = draw.of({Major::k, Major::mn}), p.b_major = draw.of({Major::k, Major::mn});
  if (p.a_major == Major::mn) p.m = round_up<std::int64_t>(p.m, 16);
  if (draw.below(4) == 0) p.epilogue = *parse_epilogue(draw.of({"silu(acc*alpha+bias)", "acc+c*beta", "swiglu(acc)"}));
  return p;
}

/// What a caller may ask for beside the problem.
GemmConfig draw_request(Draw& draw) {
  return *parse_config(
      draw.of({"", "", "", "tile=128x128x0", "tile=64x64x0", "cluster=2x1", "stages=3", "band=n", "schedule=pingpong",
               "schedule=multistage", "tile_scheduler=stream-k", "tile_scheduler=split-k", "tile_scheduler=dynamic",
               "tile_scheduler=single", "swap_ab=on", "raster=3", "producer_registers=40",
               "tile_scheduler=split-k,split=4,cluster=1x1x1"}));
}

/// The kernel of `config` given back as text to `place`, and what it was.
void expect_same(const GemmConfig& config,
                 const std::function<GemmConfig(const GemmConfig&, const ops::LaunchTarget&)>& choose,
                 const std::function<KernelSource(const GemmConfig&)>& source) {
  const std::string text = to_text(config);
  const auto parsed = parse_config(text);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, config) << text;
  const std::string kernel = source(config).text;
  for (const ops::LaunchTarget& place : kPlaces) {
    const GemmConfig again = choose(*parsed, place);
    EXPECT_EQ(to_text(again), text) << "on " << place.sms << " SMs";
    EXPECT_EQ(source(again).text, kernel) << "on " << place.sms << " SMs";
  }
}

/// 1: a config was drawn and compared; 0: no kernel takes what was drawn.
int dense(Draw& draw) {
  const GemmProblem problem = draw_gemm(draw);
  const GemmConfig request = draw_request(draw);
  const ops::LaunchTarget place = kPlaces[draw.below(3)];
  const auto decision = ops::decide(problem, {.config = request}, place);
  if (!decision) return 0;
  const auto choose = [&](const GemmConfig& given, const ops::LaunchTarget& there) {
    const auto decided = ops::decide(problem, {.config = given}, there);
    EXPECT_TRUE(decided) << decided.error().message;
    return decided ? decided->config : GemmConfig{};
  };
  expect_same(decision->config, choose, adapters::gemm_source);
  return 1;
}

int row_groups(Draw& draw) {
  const Types t = draw_types(draw);
  GroupedProblem p{.groups = 1 + draw.below(200), .n = 64 * (1 + draw.below(60)), .k = 128 * (1 + draw.below(40))};
  p.a = p.b = t.a, p.d = t.d, p.scale = t.scale;
  p.rows = p.groups * draw.of<std::int64_t>({2, 20, 60, 300});
  p.encoding = draw.of({GroupEncoding::offsets, GroupEncoding::indptr, GroupEncoding::masked});
  if (p.encoding == GroupEncoding::masked) p.rows = 128;
  if (bytes_of(t.a) == 2) p.b_major = draw.of({Major::k, Major::mn});
  const GemmConfig request = *parse_config(
      draw.of({"", "", "", "variant=descriptors", "variant=ragged", "variant=contiguous", "variant=masked",
               "occupancy=2", "occupancy=1", "tile_scheduler=split-k", "tile_scheduler=horizontal"}));
  const auto problem = ops::validate(p);
  if (!problem) return 0;
  const auto choose = [&](const GemmConfig& given, const ops::LaunchTarget& there) {
    return there.emulated ? select::choose_grouped(*problem, given, there.sms)
                          : select::best_grouped(*problem, {.config = given, .sms = there.sms});
  };
  const GemmConfig config = choose(request, kPlaces[draw.below(3)]);
  if (!ops::validate(config, *problem)) return 0;
  expect_same(config, choose, adapters::grouped_source);
  return 1;
}

int k_groups(Draw& draw) {
  GemmProblem p = draw_gemm(draw);
  p.batch = 1 + draw.below(200);
  p.epilogue = {};
  const GemmConfig request =
      *parse_config(draw.of({"", "", "tile=128x128x0", "cluster=2x1", "raster=2", "stages=3", "k_packing=per-group"}));
  const auto choose = [&](const GemmConfig& given, const ops::LaunchTarget&) {
    return select::choose_k_grouped(p, given);
  };
  const GemmConfig config = choose(request, kPlaces[0]);
  if (config::fault_of_k_grouped(config)) return 0;
  expect_same(config, choose, adapters::gemm_source);
  return 1;
}

TEST(ClosedText, ResolvedConfigsAreTheSameKernelOnEveryDevice) {
  int compared[3] = {};
  for (std::uint64_t number = 0; compared[0] + compared[1] + compared[2] < kConfigs; ++number) {
    ASSERT_LT(number, 20u * kConfigs) << "most of what is drawn has no kernel";
    Draw draw(number);
    const int kind = static_cast<int>(number % 3);
    compared[kind] += kind == 0 ? dense(draw) : kind == 1 ? row_groups(draw) : k_groups(draw);
    if (HasFailure()) FAIL() << "WARPWRIGHT_SEED=" << seed() << ", draw " << number;
  }
  for (int count : compared) EXPECT_GT(count, kConfigs / 10);
}

TEST(ClosedText, NothingIsOpenInAResolvedConfig) {
  const auto decision =
      ops::decide({.m = 512, .n = 7168, .k = 2048, .scale = Scale::block_1x128_128x128}, {}, {132, false});
  ASSERT_TRUE(decision);
  const std::string text = to_text(decision->config);
  for (const char* key : {"raster=", "band=", "schedule=", "stages=", "consumer_warpgroups=", "partial_accumulators=",
                          "tile_scheduler=", "a_source=", "swap_ab=", "occupancy="})
    EXPECT_NE(text.find(key), std::string::npos) << key << " in " << text;
  EXPECT_EQ(text.find("auto"), std::string::npos) << text;
}

// Only kernels with block scales have partial accumulators: elsewhere the field decides nothing and is not printed.
TEST(ClosedText, PartialAccumulatorsAreStatedWhereAKernelHasThem) {
  for (const Scale scale : {Scale::none, Scale::tensor, Scale::row_column, Scale::block_1x128_128x128}) {
    const auto decision = ops::decide({.m = 512, .n = 7168, .k = 2048, .scale = scale}, {}, {132, false});
    ASSERT_TRUE(decision);
    const std::string text = to_text(decision->config);
    EXPECT_EQ(text.find("partial_accumulators=") != std::string::npos, is_block(scale)) << text;
    const auto read = parse_config(text);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(config::resolve(*read), decision->config) << text;
    EXPECT_EQ(config::partial_accumulators(*read) > 0, is_block(scale)) << text;
  }
}

// Each field of the table goes to text and back by itself, so no key names another field's member.
TEST(ClosedText, EveryFieldRoundTripsByItself) {
  const GemmConfig defaults;
  std::set<std::string> keys, members;
  for_each_field(defaults, [&](const ConfigField& field, const auto&, const auto&) {
    EXPECT_TRUE(keys.insert(field.key).second) << field.key;
    EXPECT_TRUE(members.insert(field.member).second) << field.member;
    const std::string value = field_text(defaults, field.key);
    if (std::string(field.key) == "epilogue") return;
    const auto parsed = parse_config(std::string(field.key) + "=" + value);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(*parsed, defaults) << field.key;
  });
}

TEST(ClosedText, AKeyIsGivenOnce) {
  const auto parsed = parse_config("stages=3,tile=128x128x0,stages=3");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().argument, "config, key stages");
}

// Benchmarks of callers find a product's one kernel in a profile by these words, in the first 100 characters.
TEST(KernelNames, BeginWithTheOperandTypeAndGemm) {
  const std::pair<DType, const char*> types[] = {
      {e4m3, "ww_fp8_gemm_"}, {e5m2, "ww_fp8_gemm_"}, {bf16, "ww_bf16_gemm_"}, {f16, "ww_f16_gemm_"}};
  for (const auto& [type, begin] : types) {
    const auto dense = ops::decide({.m = 512, .n = 512, .k = 512, .a = type, .b = type}, {}, {132, false});
    ASSERT_TRUE(dense) << dense.error().message;
    EXPECT_TRUE(adapters::gemm_source(dense->config).name.starts_with(begin)) << begin;
    const GemmConfig of_k = select::choose_k_grouped(
        {.m = 512, .n = 512, .k = 512, .a = type, .b = type, .d = f32, .batch = 4}, GemmConfig{});
    EXPECT_TRUE(adapters::gemm_source(of_k).name.starts_with(std::string(begin) + "k_grouped_")) << begin;
    if (type == e5m2) continue;  // not for groups of rows
    for (const char* variant : {"variant=ragged", "variant=descriptors", "variant=contiguous"}) {
      const auto rows =
          ops::validate(GroupedProblem{.groups = 4, .rows = 512, .n = 512, .k = 512, .a = type, .b = type});
      ASSERT_TRUE(rows) << rows.error().message;
      const GemmConfig config = select::choose_grouped(*rows, *parse_config(variant), 132);
      EXPECT_TRUE(adapters::grouped_source(config).name.starts_with(std::string(begin) + "grouped_")) << begin;
    }
  }
  for (const KernelSource& helper :
       {adapters::pointer_maps_source(), adapters::descriptor_update_source(), adapters::zero_rows_source()})
    EXPECT_EQ(helper.name.find("gemm_"), std::string::npos) << helper.name << " is not the product's one kernel";
}

}  // namespace
}  // namespace ww
