// SPDX-License-Identifier: Apache-2.0
// Epilogue trees on the emulated device: each kind of node, edges, and what is refused. Random trees: epilogue_parity.
#include <gtest/gtest.h>

#include "problems/random_epilogue.hpp"
#include "warpwright/epilogue/functions.hpp"

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
  const ref::EpilogueComparison v = verify(c, *run);
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
  c.config.tile.m = 128, c.config.tile.n = 64;
  return c;
}

TEST(Epilogue, BiasAndActivation) { expect_right(text_case("silu(acc*alpha+bias)")); }

TEST(Epilogue, SquaredRelu) {
  for (DType d : {bf16, f32}) expect_right(text_case("relu2(acc*alpha+bias)", d));
}

TEST(Epilogue, GeluByOneSigmoid) {
  for (DType d : {bf16, f32}) expect_right(text_case("quick_gelu(acc*alpha+bias)", d));
}

TEST(Epilogue, QuotientsAndExtremes) {
  expect_right(text_case("acc/(2+sigmoid(bias))", f32));
  expect_right(text_case("max(min(acc*alpha,col0),c)", f32));
  expect_right(text_case("exp(min(acc,1))*gelu_erf(acc)", f32));
  expect_right(text_case("softcap(acc,max(bias,0.5))"));
}

/// The same value in two ways, each operation of which rounds alike.
TEST(Epilogue, EqualTreesGiveEqualBits) {
  const std::pair<const char*, const char*> same[] = {
      {"softcap(acc,30)", "tanh(acc/30)*30"},
      {"acc/2", "acc*0.5"},
      {"max(acc,0)", "relu(acc)"},
      {"relu2(acc)", "relu(acc)*relu(acc)"},
      {"quick_gelu(acc)", "acc*sigmoid(acc*1.702)"},
      {"min(max(acc,-1),1)", "clamp(acc,-1,1)"},
      {"-max(-acc,-c)", "min(acc,c)"},
      {"exp(acc)/exp(acc)*acc", "acc*1"},
  };
  for (const auto& [one, other] : same) {
    const auto x = run_on(open_emu(), text_case(one, f32, 70, 72)),
               y = run_on(open_emu(), text_case(other, f32, 70, 72));
    ASSERT_TRUE(x && y) << one << (x ? y.error().message : x.error().message);
    EXPECT_EQ(bytes_of(*x), bytes_of(*y)) << one << " and " << other;
  }
}

TEST(Epilogue, ExtremesOfZerosAndNan) {
  using epilogue::functions::max, epilogue::functions::min, arch::bits_of;
  const float inf = std::numeric_limits<float>::infinity(), edges[] = {0.0f, 0x1p-149f, 1.0f, 0x1.fffffep127f, inf};
  for (const float nan : {arch::float_of(0xffc00001u), arch::float_of(0x7f800001u)})
    for (const float x : edges)
      for (const u32 got : {bits_of(max(nan, x)), bits_of(max(x, nan)), bits_of(min(nan, -x)), bits_of(min(x, nan))})
        EXPECT_EQ(got, arch::kNanBits) << x;
  EXPECT_EQ(bits_of(max(0.0f, -0.0f)), 0u);
  EXPECT_EQ(bits_of(max(-0.0f, 0.0f)), 0u);
  EXPECT_EQ(bits_of(max(-0.0f, -0.0f)), arch::kSignBit);
  EXPECT_EQ(bits_of(min(0.0f, -0.0f)), arch::kSignBit);
  EXPECT_EQ(bits_of(min(-0.0f, 0.0f)), arch::kSignBit);
  EXPECT_EQ(bits_of(min(0.0f, 0.0f)), 0u);
  for (float x : edges)
    for (float y : edges)
      for (const auto& [a, b] : {std::pair{x, y}, std::pair{-x, y}, std::pair{x, -y}, std::pair{-x, -y}}) {
        EXPECT_EQ(max(a, b), a > b ? a : b) << a << ", " << b;
        EXPECT_EQ(bits_of(min(a, b)), bits_of(-max(-a, -b))) << a << ", " << b;
      }
}

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

/// Three matrices with a tree, each with operands of its own or all with one set.
EpilogueCase batch_case(const char* epilogue, DType d = bf16, std::int64_t m = 70, std::int64_t n = 136) {
  EpilogueCase c = text_case(epilogue, d, m, n);
  c.problem.batch = 3, c.problem.batch_a = m * 64, c.problem.batch_b = n * 64;
  c.problem.batch_d = m * config::output_columns(c.problem.epilogue, n);
  return c;
}

TEST(Epilogue, EachMatrixOfABatchHasItsOperands) {
  for (const bool shared : {false, true}) {
    EpilogueCase c = batch_case("silu(acc*alpha+bias)+c*beta+col1*aux2");
    c.shared = shared;
    expect_right(c);
    c = batch_case("store(acc*alpha+c:f32,out3:f16)", f32);
    c.shared = shared, c.pad = 4;
    expect_right(c);
  }
}

TEST(Epilogue, EachMatrixOfABatchIsReducedForItself) {
  expect_right(batch_case("column_amax(column_sum(row_sum(row_amax(acc,out0),out1),out2),out3)", f32));
  expect_right(batch_case("quantise(acc*alpha)", e4m3, 70, 144));
  EpilogueCase blocks = batch_case("quantise_block(swiglu(acc))", e4m3, 70, 320);
  blocks.config.tile.n = 256;
  expect_right(blocks);
}

TEST(Epilogue, BatchesAreReducedInEveryOrderThatTakesKWhole) {
  for (const TileScheduler order : {TileScheduler::fixed, TileScheduler::dynamic}) {
    EpilogueCase c = batch_case("column_sum(row_sum(acc*alpha+c,out0),out1)", f32, 70, 136);
    c.config.sm90.tile_scheduler = order, c.config.cluster.m = 2;  // the second CTA has a tile past the edge
    expect_right(c);
  }
}

TEST(Epilogue, ABatchAccumulatesInPlace) {
  for (DType d : {bf16, f32}) {
    EpilogueCase c = batch_case(d == f32 ? "acc*alpha+c:f32*beta" : "acc*alpha+c*beta", d);
    c.in_place = true;
    c.pad = 8, c.problem.ldd = c.problem.n + 8, c.problem.batch_d = c.problem.m * c.problem.ldd;
    expect_right(c);
  }
}

TEST(Epilogue, CInPlaceThatLiesUnlikeDIsRefusedWithBothPlaces) {
  const Device device = open_emu();
  const EpilogueCase c = batch_case("acc+c", bf16, 8, 8);
  const auto made = plan_gemm(device, c.problem, {.config = c.config});
  ASSERT_TRUE(made) << made.error().message;
  const Buffer memory = device.allocate(1 << 16).value();
  const auto refused = [&](std::int64_t ldc, std::int64_t batch_c) {
    GemmOperands o{.a = memory.data(), .b = memory.data(), .d = memory.data()};
    o.epilogue.c = memory.data(), o.epilogue.ldc = ldc, o.epilogue.batch_c = batch_c;
    const auto answer = made->run(o);
    return answer ? make_error(ErrorCode::invalid, "", "", "") : answer.error();
  };
  for (const Error& error : {refused(8, 128), refused(16, 64)}) {
    EXPECT_EQ(error.argument, "c");
    EXPECT_NE(error.expected.substr(0, error.actual.size()), error.actual) << error.message;
    EXPECT_NE(error.expected.find("matrices 64 apart"), std::string::npos) << error.message;
  }
  EXPECT_NE(refused(8, 128).actual.find("matrices 128 apart"), std::string::npos);
}

TEST(Epilogue, AScalarOfEachMatrixOfABatchAndWhatIsRefused) {
  const Device device = open_emu();
  EpilogueCase c = batch_case("acc*alpha", f32, 8, 8);
  const auto made = plan_gemm(device, c.problem, {.config = c.config});
  ASSERT_TRUE(made) << made.error().message;
  const auto upload = [&](const auto& values) {
    const auto buffer = device.allocate(sizeof(values));
    EXPECT_TRUE(buffer && device.upload(buffer->data(), &values, sizeof(values)));
    return *buffer;
  };
  std::uint16_t ones[3 * 8 * 64];
  std::fill(std::begin(ones), std::end(ones), std::uint16_t{0x3f80});
  float d[3 * 8 * 8] = {};
  const float alpha[] = {1, 0, 2, 0, 4};
  const Buffer operand = upload(ones), out = upload(d), scalars = upload(alpha);
  GemmOperands o{.a = operand.data(), .b = operand.data(), .d = out.data()};
  o.epilogue.scalar_pointer[kScalarAlpha] = static_cast<const float*>(scalars.data());
  o.epilogue.batch_scalar[kScalarAlpha] = 2;
  ASSERT_TRUE(made->run(o));
  ASSERT_TRUE(device.synchronize());
  ASSERT_TRUE(device.download(d, out.data(), sizeof(d)));
  for (int i = 0; i < 3 * 64; ++i) EXPECT_EQ(d[i], 64.0f * static_cast<float>(1 << i / 64)) << i;
  o.epilogue.batch_scalar[kScalarAlpha] = -1;
  const auto refused = made->run(o);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("alpha (batch stride)"), std::string::npos) << refused.error().message;

  c = batch_case("row_sum(acc,out1)", f32, 8, 8);
  const auto sums = plan_gemm(device, c.problem, {.config = c.config});
  ASSERT_TRUE(sums) << sums.error().message;
  const Buffer workspace = *device.allocate(sums->workspace_bytes());
  o.workspace = workspace.data(), o.workspace_bytes = sums->workspace_bytes();
  o.epilogue.out[1] = out.data(), o.epilogue.batch_out[1] = 7;
  const auto overlap = sums->run(o);
  ASSERT_FALSE(overlap);
  EXPECT_NE(overlap.error().message.find("at least the 8 of one matrix"), std::string::npos) << overlap.error().message;
}

TEST(Epilogue, TreesOfOutputsByColumnGiveTheSameBits) {
  for (const char* tree : {"silu(acc*alpha+bias)+c", "swiglu(acc+col0)", "row_sum(column_amax(acc,out0),out1)"})
    for (DType d : {bf16, f32}) {
      EpilogueCase c = batch_case(tree, d, 72, 160);
      const auto by_row = run_on(open_emu(), c);
      c.problem.d_layout = OutputLayout::column;
      const std::int64_t columns = config::output_columns(c.problem.epilogue, c.problem.n);
      c.problem.batch_d = 72 * columns;
      const auto by_column = run_on(open_emu(), c);
      ASSERT_TRUE(by_row && by_column) << c.replay() << (by_column ? "" : by_column.error().message);
      for (std::int64_t l = 0; l < 3; ++l)
        for (std::int64_t m = 0; m < 72; ++m)
          for (std::int64_t n = 0; n < columns; ++n)
            ASSERT_EQ(std::memcmp(by_row->d.row(l * 72 + m) + n * bytes_of(d),
                                  by_column->d.data() + ((l * columns + n) * 72 + m) * bytes_of(d),
                                  static_cast<std::size_t>(bytes_of(d))),
                      0)
                << l << ", " << m << ", " << n << "\n"
                << c.replay();
      for (int i = 0; i < kEpilogueSlots; ++i)
        EXPECT_EQ(std::memcmp(by_row->tensors.out[i].data(), by_column->tensors.out[i].data(),
                              by_row->tensors.out[i].bytes()),
                  0);
    }
}

TEST(Epilogue, MatricesByColumnGiveTheSameBits) {
  for (bool shared : {false, true}) {
    EpilogueCase c = batch_case("column_sum(relu(store(acc+c,out0:f32)*aux1)+bias,out2)", bf16, 71, 136);
    c.shared = shared;
    const auto by_row = run_on(open_emu(), c);
    c.problem.c_layout = OutputLayout::column;
    const auto by_column = run_on(open_emu(), c);
    ASSERT_TRUE(by_row && by_column) << c.replay() << (by_column ? "" : by_column.error().message);
    EXPECT_EQ(bytes_of(*by_column), bytes_of(*by_row)) << c.replay();
  }
}

TEST(Epilogue, CInPlaceLiesAsDDoes) {
  EpilogueCase c = text_case("acc+c");
  const Device device = open_emu();
  const auto memory = device.allocate(1 << 20);
  ASSERT_TRUE(memory);
  auto* const bytes = static_cast<std::byte*>(memory->data());
  const auto said = [&](std::int64_t ldc) {
    const auto made = plan_gemm(device, c.problem, {.config = c.config});
    const auto done = made->run({.a = bytes + (1 << 18),
                                 .b = bytes + (1 << 19),
                                 .d = bytes,
                                 .scale_a = reinterpret_cast<float*>(bytes + (1 << 17)),
                                 .scale_b = reinterpret_cast<float*>(bytes + (1 << 17)),
                                 .epilogue = {.c = bytes, .ldc = ldc}});
    return done ? std::string("none") : done.error().message;
  };
  EXPECT_EQ(said(0), "none");
  EXPECT_NE(said(c.problem.n + 2).find("because C is D"), std::string::npos) << said(c.problem.n + 2);
  c.problem.c_layout = OutputLayout::column;
  EXPECT_NE(said(0).find("because C is D"), std::string::npos) << said(0);
  c = text_case("acc+c", f32);  // C is bf16
  EXPECT_NE(said(0).find("because C is D"), std::string::npos) << said(0);
}

TEST(Epilogue, OutputsThatATreeDoesNotWriteAreTheSameInEveryRun) {
  const EpilogueCase c = batch_case("acc*alpha", f32, 8, 8);
  const auto run = run_on(open_emu(), c);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->tensors.amax, std::vector<float>(3, 0.0f)) << "nothing quantises";
}

TEST(Epilogue, WithoutProductsTheTreeStillCounts) {
  EpilogueCase c = text_case("acc+bias");
  c.problem.k = 0;
  expect_right(c);
}

TEST(Epilogue, ReductionsOfNoElementsAreZero) {
  const char* const every = "column_amax(column_sum(row_sum(row_amax(acc+col0,out0),out1),out2),out3)";
  for (const auto& [m, n] : {std::pair{0, 144}, {136, 0}, {0, 0}}) {
    expect_right(text_case(every, f32, m, n));
    expect_right(text_case("quantise(column_sum(acc*alpha,out2))", e4m3, m, n));
    EpilogueCase c = text_case("quantise_block(row_sum(acc,out1))", e4m3, m, n);
    c.config.tile.n = 128;
    expect_right(c);
    expect_right(batch_case(every, f32, m, n));
    expect_right(batch_case("quantise(acc*alpha)", e4m3, m, n));
    c = text_case(every, f32, m, n);
    c.problem.k = 0;
    expect_right(c);
    c = text_case(every, bf16, m, n);
    c.problem.c_layout = c.problem.d_layout = OutputLayout::column;
    expect_right(c);
    c = text_case(every, bf16, m, n);
    c.config = {}, c.config.sm90.swap_ab = SwapAb::on;
    expect_right(c);
  }
}

TEST(Epilogue, RandomReductionsOfNoElementsAreZero) {
  int reduced = 0;
  for (const std::uint64_t first : {std::uint64_t{0}, kFirstBatchedEpilogue, kFirstNewerEpilogue})
    for (std::uint64_t i = 0; i < 100; ++i) {
      EpilogueCase c = numbered_epilogue(first + i, 500);
      GemmProblem& p = c.problem;
      if (!config::reduces(p.epilogue)) continue;
      ++reduced;
      (i % 2 == 0 ? p.m : p.n) = 0;
      p.batch_d = 0, p.ldd = 0, c.in_place = false;
      expect_right(c);
    }
  EXPECT_GT(reduced, 100);
}

TEST(Epilogue, ReductionsOfNoElementsFollowTheirStrides) {
  const Device device = open_emu();
  const EpilogueCase c = batch_case("column_sum(acc,out2)", f32, 0, 16);
  const auto made = plan_gemm(device, c.problem, {.config = c.config});
  ASSERT_TRUE(made) << made.error().message;
  std::vector<float> out(3 * 20, 7.0f);
  GemmOperands operands;
  const auto refused = made->run(operands);
  ASSERT_FALSE(refused) << "an output that is missing";
  EXPECT_EQ(refused.error().argument, "out2");
  operands.epilogue.out[2] = out.data(), operands.epilogue.batch_out[2] = 20;
  const auto done = made->run(operands);
  ASSERT_TRUE(done) << done.error().message;
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], i % 20 < 16 ? 0.0f : 7.0f) << i;
}

TEST(Epilogue, SwigluOfPairsAndOfHalves) {
  expect_right(text_case("swiglu(acc)", bf16, 130, 160));
  EpilogueCase halves = text_case("swiglu_halves(acc*alpha)", f32, 70, 96);
  halves.config.tile.n = 96;
  expect_right(halves);
}

/// A tile with both halves, and many: with gates and ups apart no bit changes, and every tail is right.
TEST(Epilogue, SwigluOfHalvesOfAnyN) {
  const char* const tree = "swiglu_halves(store(column_amax(row_amax(acc*alpha+bias+c,out0),out1)*col1+aux2,out3))";
  std::vector<std::uint8_t> of_one_tile;
  for (const int tile_n : {176, 16, 48, 64, 112}) {
    EpilogueCase c = text_case(tree, bf16, 70, 176);
    c.config.tile.n = tile_n;
    const auto run = run_on(open_emu(), c);
    ASSERT_TRUE(run) << run.error().message << "\n" << c.replay();
    EXPECT_EQ(verify(c, *run).verdict.wrong, 0) << c.replay();
    if (tile_n == 176) of_one_tile = bytes_of(*run);
    EXPECT_EQ(bytes_of(*run), of_one_tile) << c.replay();
  }
}

TEST(Epilogue, SwigluOfHalvesUnderEverySchedule) {
  EpilogueCase c = text_case("swiglu_halves(column_sum(row_sum(acc+bias,out0),out1))", f32, 130, 592);
  for (const int cluster_m : {1, 2, 4})
    for (const Schedule schedule : {Schedule::cooperative, Schedule::pingpong, Schedule::multistage}) {
      c.config = {.tile = {128, 64}, .cluster = {cluster_m}, .sm90 = {.schedule = schedule}};
      expect_right(c);
    }
  c = text_case("quantise_block(swiglu_halves(acc))", e4m3, 70, 544);
  c.config.tile.n = 256;
  expect_right(c);
  c = batch_case("swiglu_halves(acc*alpha+c)", bf16, 70, 272);
  c.config.tile.n = 96;
  expect_right(c);
}

TEST(Epilogue, Quantises) {
  expect_right(text_case("quantise(acc*alpha)", e4m3, 130, 144));
  EpilogueCase blocks = text_case("quantise_block(acc)", e4m3, 130, 272);
  blocks.config.tile.n = 128;
  expect_right(blocks);
  blocks = text_case("quantise_block_pow2(swiglu(acc))", e4m3, 70, 320);
  blocks.config.tile.n = 256;
  expect_right(blocks);
}

/// Random trees that quantise, with the other FP8 type: rounding, saturation and scales are its own.
TEST(Epilogue, RandomTreesQuantiseToE5m2) {
  for (const std::uint64_t first : {std::uint64_t{0}, kFirstBatchedEpilogue, kFirstNewerEpilogue}) {
    int quantised = 0;
    for (std::uint64_t i = 0; quantised < 2 && i < 200; ++i) {
      EpilogueCase c = numbered_epilogue(first + i, 500);
      if (c.problem.d != e4m3) continue;
      ++quantised;
      c.problem.d = e5m2;
      expect_right(c);
    }
    EXPECT_EQ(quantised, 2);
  }
}

TEST(Epilogue, QuantisesToE5m2) {
  expect_right(text_case("quantise(acc*alpha)", e5m2, 130, 144));
  expect_right(text_case("quantise(convert(acc,e5m2)+convert(c,e4m3))", e5m2, 70, 144));
  for (const char* tree : {"quantise_block(acc*4096)", "quantise_block_pow2(acc*0.0001)"}) {
    EpilogueCase blocks = batch_case(tree, e5m2, 70, 272);
    blocks.config.tile.n = 128;
    expect_right(blocks);
  }
  EpilogueCase halves = text_case("quantise_block(swiglu(acc))", e5m2, 70, 320);
  halves.config.tile.n = 256;
  expect_right(halves);
  for (const Schedule schedule : {Schedule::pingpong, Schedule::multistage}) {
    EpilogueCase c = text_case("quantise(acc*alpha)", e5m2, 130, 144);
    c.config.sm90.schedule = schedule;
    expect_right(c);
  }
}

/// A scale is amax / 57344 of its block, and its largest element becomes 57344 where that is exact.
TEST(Epilogue, ScalesOfE5m2MapTheLargestToItsLargest) {
  EpilogueCase c = text_case("quantise_block(acc*0+896)", e5m2, 70, 256);
  c.config.tile.n = 128;
  const auto run = run_on(open_emu(), c);
  ASSERT_TRUE(run) << run.error().message;
  for (std::int64_t m = 0; m < 70; ++m) {
    for (std::int64_t block = 0; block < 2; ++block)
      EXPECT_EQ(run->tensors.out_scales.floats()[2 * m + block], 896.0f / 57344.0f) << m;
    for (std::int64_t n = 0; n < 256; ++n) EXPECT_EQ(static_cast<int>(run->d.row(m)[n]), 0x7b) << m << ", " << n;
  }
}

TEST(Epilogue, AZeroBlockHasScaleOne) {
  EpilogueCase c = text_case("quantise_block(acc*0)", e4m3, 70, 128);
  c.config.tile.n = 128;
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
  for (const DType d : {e4m3, e5m2}) refused(text_case("acc", d), "bf16, f16 or f32");
  refused(text_case("swiglu(acc)", bf16, 64, 24), "SwiGLU halves it");
  refused(text_case("quantise_block(acc)", e4m3, 64, 128), "whole 128 columns");
}

TEST(Epilogue, MissingAndMisplacedOperandsAreNamed) {
  const Device device = open_emu();
  const EpilogueCase c = text_case("row_sum(acc+c,out1)");
  const auto made = plan_gemm(device, c.problem, {.config = c.config});
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
