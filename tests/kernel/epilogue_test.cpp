// SPDX-License-Identifier: Apache-2.0
// Epilogue trees on the emulated device: each kind of node, edges, and what is refused. Random trees: epilogue_parity.
#include <gtest/gtest.h>

#include "random_epilogue.hpp"

namespace ww {
namespace {

using namespace ww::testing;

Device open_emu() {
  auto device = Device::open("emu:sm90");
  if (!device) throw std::runtime_error(device.error().message);
  return *device;
}

void expect_right(const EpilogueCase& c) {
  const auto run = run_on(open_emu(), c);
  ASSERT_TRUE(run) << run.error().message << "\n" << c.replay();
  const cli::EpilogueVerdict v = verify(c, *run);
  EXPECT_EQ(v.verdict.wrong, 0) << v.where << " (" << v.verdict.first->row << ", " << v.verdict.first->column
                                << "): got " << v.verdict.first->got << ", expected " << v.verdict.first->expected
                                << " +- " << v.verdict.first->bound << "\n"
                                << c.replay();
}

EpilogueCase text_case(const char* epilogue, DType d = bf16, std::int64_t m = 130, std::int64_t n = 136) {
  EpilogueCase c;
  c.problem = {.m = m, .n = n, .k = 64, .a = bf16, .b = bf16, .d = d};
  const auto tree = parse_epilogue(epilogue);
  if (!tree) throw std::runtime_error(tree.error().message);
  c.problem.epilogue = *tree;
  c.config.tile_m = 128, c.config.tile_n = 64;
  return c;
}

TEST(Epilogue, BiasAndActivation) { expect_right(text_case("silu(acc*alpha+bias)")); }

// clamp(x, -2, acc * 0.5), and an x of -2 but for a rounding where the bounds have crossed.
TEST(Epilogue, ClampStepsWhereItsBoundsCross) { expect_right(numbered_epilogue(440, 500)); }

TEST(Epilogue, EveryReductionAndStore) {
  expect_right(text_case("column_amax(column_sum(row_sum(row_amax(acc,out0),out1),out2),out3)", f32));
  expect_right(text_case("relu(store(acc+col0,out0:f16))", f16));
}

TEST(Epilogue, AccumulatesInPlace) {
  EpilogueCase c = text_case("acc*alpha+c*beta");
  c.in_place = true;
  c.pad = 8, c.problem.ldd = c.problem.n + 8;
  expect_right(c);
}

TEST(Epilogue, WithoutProductsTheTreeStillCounts) {
  EpilogueCase c = text_case("acc+bias");
  c.problem.k = 0;
  expect_right(c);
}

TEST(Epilogue, SwigluOfPairsAndOfHalves) {
  expect_right(text_case("swiglu(acc)", bf16, 130, 160));
  EpilogueCase halves = text_case("swiglu_halves(acc*alpha)", f32, 70, 96);
  halves.config.tile_n = 96;
  expect_right(halves);
}

TEST(Epilogue, Quantises) {
  expect_right(text_case("quantise(acc*alpha)", e4m3, 130, 144));
  EpilogueCase blocks = text_case("quantise_block(acc)", e4m3, 130, 272);
  blocks.config.tile_n = 128;
  expect_right(blocks);
  blocks = text_case("quantise_block_pow2(swiglu(acc))", e4m3, 70, 320);
  blocks.config.tile_n = 256;
  expect_right(blocks);
}

TEST(Epilogue, AZeroBlockHasScaleOne) {
  EpilogueCase c = text_case("quantise_block(acc*0)", e4m3, 70, 128);
  c.config.tile_n = 128;
  const auto run = run_on(open_emu(), c);
  ASSERT_TRUE(run) << run.error().message;
  for (std::int64_t m = 0; m < 70; ++m) {
    EXPECT_EQ(run->tensors.out_scales.floats()[m], 1.0f) << m;
    for (std::int64_t n = 0; n < 128; ++n) EXPECT_EQ(static_cast<int>(run->d.row(m)[n]) & 0x7f, 0) << m << ", " << n;
  }
}

TEST(Epilogue, RefusalsNameWhatIsWrong) {
  const Device device = open_emu();
  const auto refused = [&](EpilogueCase c, const char* part) {
    const auto run = run_on(device, c);
    ASSERT_FALSE(run) << c.replay();
    EXPECT_NE(run.error().message.find(part), std::string::npos) << run.error().message;
  };
  refused(text_case("quantise(acc)", bf16), "the epilogue quantises");
  refused(text_case("acc", e4m3), "bf16, f16 or f32");
  refused(text_case("swiglu(acc)", bf16, 64, 24), "SwiGLU halves it");
  refused(text_case("swiglu_halves(acc)", bf16, 64, 192), "one tile that owns both halves");
  refused(text_case("quantise_block(acc)", e4m3, 64, 128), "whole 128 columns");
}

TEST(Epilogue, MissingAndMisplacedOperandsAreNamed) {
  const Device device = open_emu();
  const EpilogueCase c = text_case("row_sum(acc+c,out1)");
  const auto made = plan(device, c.problem, {.config = c.config});
  ASSERT_TRUE(made) << made.error().message;
  const auto memory = device.allocate(1 << 20);
  ASSERT_TRUE(memory);
  auto* const bytes = static_cast<std::byte*>(memory->data());
  GemmOperands o{.a = bytes, .b = bytes, .d = bytes, .workspace = bytes, .workspace_bytes = made->workspace_bytes()};
  const auto expect_named = [&](const char* part) {
    const auto done = made->run(o);
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().message.find(part), std::string::npos) << done.error().message;
  };
  expect_named("argument c: expected a device pointer");
  o.epilogue.c = bytes + 2;
  expect_named("argument c: expected");
  o.epilogue.c = bytes, o.epilogue.ldc = 135;
  expect_named("c (row stride)");
  o.epilogue.ldc = 0;
  expect_named("out1");
  o.epilogue.out[1] = bytes;
  o.workspace_bytes = 0;
  expect_named("workspace_bytes");
}

}  // namespace
}  // namespace ww
