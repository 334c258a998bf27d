// SPDX-License-Identifier: Apache-2.0
// Outputs with scales of mx and nv, on the emulated device: bit for bit the cast of the FP32 outputs of the same
// product, by a reference that shares no code with the kernels. Extents have tails of tiles, blocks and chunks.
#include <gtest/gtest.h>

#include <random>

#include "operations/operation.hpp"
#include "problems/test_name.hpp"
#include "reference/microscale.hpp"
#include "warpwright/core/scale_chunks.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww {
namespace {

struct Case {
  const char* epilogue;
  DType d;
  std::int64_t m, n, columns, batch;
  GemmConfig config;
};

class QuantisedOutput : public testing::TestWithParam<Case> {};

using Bytes = std::vector<std::uint8_t>;

/// A product of operands in e4m3 with scales of mx, whose rows differ in size by powers of two.
class Product {
 public:
  explicit Product(const Case& c) : device_(*Device::open("emu:sm100")), case_(c) {
    std::mt19937_64 random(7);
    for (auto& [bytes, count] : {std::pair{&a_, c.batch * c.m * kK}, std::pair{&b_, c.n * kK}}) {
      bytes->resize(static_cast<std::size_t>(count));
      for (std::uint8_t& byte : *bytes) byte = static_cast<std::uint8_t>(random() & 0xbf);  // below 2 in magnitude
    }
    scale_a_.resize(static_cast<std::size_t>(c.batch * scale_bytes(c.m, kK, 32)));
    scale_b_.resize(static_cast<std::size_t>(scale_bytes(c.n, kK, 32)));
    for (std::uint8_t& byte : scale_a_) byte = static_cast<std::uint8_t>(110 + random() % 24);
    for (std::uint8_t& byte : scale_b_) byte = static_cast<std::uint8_t>(122 + random() % 8);
  }

  /// Runs with `epilogue`; D and its scales begin as 0x5a.
  void run(const std::string& epilogue, DType type, Bytes& d, Bytes& scales) {
    const Case& c = case_;
    GemmProblem p{.m = c.m, .n = c.n, .k = kK, .a = e4m3, .b = e4m3, .d = type, .scale = Scale::mx, .batch = c.batch};
    p.epilogue = *parse_epilogue(epilogue);
    p.ldd = round_up(c.columns, std::int64_t{32});
    p.batch_a = c.m * kK, p.batch_d = c.m * p.ldd, p.batch_scale_a = scale_bytes(c.m, kK, 32);
    GemmOptions options;
    options.config = c.config;
    options.config.arch = Arch::sm100;
    if (type == f32) options.config.tile.n = 128;  // sums do not depend on it, and wider tiles of FP32 do not fit
    const auto plan = plan_gemm(device_, p, options);
    ASSERT_TRUE(plan) << plan.error().message;
    d.assign(static_cast<std::size_t>(bytes_in(type, c.batch * c.m * p.ldd)), 0x5a);
    scales.assign(static_cast<std::size_t>(c.batch * scale_bytes(c.m, c.columns, 16)), 0x5a);
    GemmOperands o{.a = put(a_), .b = put(b_), .d = put(d), .scale_a = put(scale_a_), .scale_b = put(scale_b_)};
    o.epilogue.scalar[kScalarOutScale] = 0.25f;
    o.epilogue.out_scale_chunks = put(scales);
    const auto ran = plan->run(o);
    ASSERT_TRUE(ran) << ran.error().message;
    ASSERT_TRUE(device_.download(d.data(), o.d, d.size()));
    ASSERT_TRUE(device_.download(scales.data(), o.epilogue.out_scale_chunks, scales.size()));
  }

 private:
  static constexpr std::int64_t kK = 192;

  void* put(const Bytes& bytes) {
    buffers_.push_back(*device_.allocate(bytes.size() + 16));
    EXPECT_TRUE(device_.upload(buffers_.back().data(), bytes.data(), bytes.size()));
    return buffers_.back().data();
  }

  Device device_;
  Case case_;
  Bytes a_, b_, scale_a_, scale_b_;
  std::vector<Buffer> buffers_;
};

TEST_P(QuantisedOutput, IsTheCastOfTheSameProduct) {
  const Case c = GetParam();
  const bool nv = std::string_view(c.epilogue).starts_with("quantise_nv");
  const int vector = nv ? 16 : 32;
  Product product(c);
  Bytes plain, unused, d, scales;
  // The values that are quantised: the tree without its last node.
  const std::string tree(c.epilogue);
  product.run(tree.substr(12, tree.size() - 13), f32, plain, unused);
  product.run(c.epilogue, c.d, d, scales);
  if (HasFatalFailure()) return;
  const std::int64_t ld = round_up(c.columns, std::int64_t{32}), each = scale_bytes(c.m, c.columns, vector);
  MicroscaleProblem cast{.m = c.m, .k = c.columns, .batch = c.batch, .x = f32, .q = c.d};
  cast.scale = nv ? Scale::nv : Scale::mx;
  cast.ldx = cast.ldq = ld, cast.batch_x = cast.batch_q = c.m * ld, cast.batch_scales = each;
  const float tensor_scale = 4;
  Bytes expected(d.size(), 0x5a), expected_scales(scales.size(), 0x5a);
  ref::microscale(cast, {.x = plain.data(),
                         .q = expected.data(),
                         .scales = expected_scales.data(),
                         .tensor_scale = nv ? &tensor_scale : nullptr});
  EXPECT_EQ(d, expected);
  const std::int64_t chunks = scale_chunks(c.columns, vector);
  for (std::int64_t l = 0; l < c.batch; ++l)
    for (std::int64_t row = 0; row < c.m; ++row)
      for (std::int64_t block = 0; block < chunks * kScaleChunkScales; ++block) {
        const auto at = static_cast<std::size_t>(l * each + scale_place(row, block, chunks));
        ASSERT_EQ(scales[at], expected_scales[at]) << "matrix " << l << ", row " << row << ", block " << block;
      }
}

INSTANTIATE_TEST_SUITE_P(
    Formats, QuantisedOutput,
    testing::Values(Case{"quantise_mx(acc)", e4m3, 200, 336, 336, 2, {.tile = {128, 128}, .cluster = {1, 1}}},
                    Case{"quantise_mx(acc*acc)", e2m1, 150, 352, 352, 1, {.tile = {128, 256}, .cluster = {2, 1}}},
                    Case{"quantise_mx(swiglu(acc))", e5m2, 70, 288, 144, 1, {.tile = {128, 256}, .cluster = {1, 1}}},
                    Case{"quantise_nv(acc)", e2m1, 130, 224, 224, 2, {.tile = {128, 192}, .cluster = {1, 1}}}),
    [](const auto& one) { return test_name(fmt::format("{} {}", one.param.epilogue, name_of(one.param.d))); });

// Each group's scales are a matrix of their own, as the next product takes them.
TEST(QuantisedGroups, EveryOutputIsWithinItsBound) {
  const auto device = Device::open("emu:sm100");
  ASSERT_TRUE(device) << device.error().message;
  for (const bool masked : {false, true}) {
    GroupedCheck check{.groups = {.counts = {1, 130, 0, 60}}};
    GroupedProblem& p = check.problem;
    p.n = 320, p.k = 128, p.scale = Scale::mx, p.d = masked ? e2m1 : e4m3;
    p.encoding = masked ? GroupEncoding::masked : GroupEncoding::offsets;
    p.lda = p.ldb = p.k;
    p.epilogue = masked ? evt::quantise_mx(evt::acc) : evt::quantise_mx(evt::swiglu(evt::acc));
    check.options.config = {.arch = Arch::sm100, .tile = {128, 256}, .cluster = {1, 1}};
    const auto product = operations::make_operation(check);
    ASSERT_TRUE(product) << product.error().message;
    const auto step = [&](const Result<void>& result) { ASSERT_TRUE(result) << result.error().message; };
    step((*product)->can_implement());
    step((*product)->plan(*device));
    step((*product)->make_tensors());
    step((*product)->upload());
    step((*product)->run());
    step((*product)->download());
    const auto judged = (*product)->judge(EmuMath::exact, nullptr);
    ASSERT_TRUE(judged) << judged.error().message;
    EXPECT_EQ(judged->verdict.wrong, 0) << judged->where;
    EXPECT_GT(judged->elements, 191 * 160);
  }
}

TEST(QuantisedOutputs, WhatCannotBeIsRefusedByName) {
  const auto argument = [](const char* epilogue, DType d, const GemmConfig& config = {.arch = Arch::sm100}) {
    GemmProblem p{.m = 128, .n = 128, .k = 128, .a = e4m3, .b = e4m3, .d = d};
    p.epilogue = *parse_epilogue(epilogue);
    const auto made = can_implement(p, {.config = config});
    return made ? std::string("none") : made.error().argument;
  };
  EXPECT_EQ(argument("quantise_mx(acc)", e4m3), "none");
  EXPECT_EQ(argument("quantise_mx(acc)", e2m1), "none");
  EXPECT_EQ(argument("quantise_nv(acc)", e2m1), "none");
  EXPECT_EQ(argument("quantise_mx(acc)", e4m3, {}), "config, epilogue");  // Hopper
  EXPECT_EQ(argument("quantise_mx(acc)", bf16), "d (type)");
  EXPECT_EQ(argument("quantise_mx(acc)", e3m2), "d (type)");
  EXPECT_EQ(argument("quantise_nv(acc)", e4m3), "d (type)");
  EXPECT_EQ(argument("quantise_block(acc)", e2m1), "d (type)");
  EXPECT_EQ(argument("acc", e2m1), "d (type)");
  EXPECT_EQ(argument("quantise_mx(acc)", e4m3, {.arch = Arch::sm100, .tile = {128, 64}}), "config, tile (n)");
  EXPECT_EQ(argument("quantise_mx(acc)", e4m3, {.arch = Arch::sm100, .sm90 = {.swap_ab = SwapAb::on}}),
            "config, swap_ab");
  GroupedProblem p{.groups = 2, .rows = 256, .n = 128, .k = 128, .a = bf16, .b = bf16, .d = e4m3};
  p.epilogue = evt::quantise_mx(evt::acc);
  const auto groups = can_implement(p, {.config = {.arch = Arch::sm100}});
  ASSERT_FALSE(groups);
  EXPECT_EQ(groups.error().argument, "config, scale");
}

}  // namespace
}  // namespace ww
