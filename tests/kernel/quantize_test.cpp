// SPDX-License-Identifier: Apache-2.0
// Casts to FP8 and transposes on the emulated device: chosen shapes and values bit for bit, groups that a weight
// gradient then sums over, the checker, refusals.
#include <gtest/gtest.h>

#include "problems/random_quantize.hpp"
#include "reference/element.hpp"
#include "runtime/backend.hpp"
#include "warpwright/host/k_grouped.hpp"
#include "warpwright/host/verify.hpp"

namespace ww {
namespace {

using namespace ww::testing;

Device open_emu(std::uint64_t seed = 0, bool check = false) {
  auto device = Device::open("emu:sm90", {.cache_dir = {}, .emu = {.seed = seed, .check = check}});
  if (!device) throw std::runtime_error(device.error().message);
  return *device;
}

/// `p`, or the transpose that it describes if x is FP8, with operands of noise.
HostQuantize make(const QuantizeProblem& p, std::uint64_t seed, const std::vector<std::int32_t>& sizes = {}) {
  HostQuantize h;
  h.number = seed, h.sizes = sizes;
  auto valid = is_fp8(p.x) ? ops::validate(ops::as_transpose(p)) : ops::validate(p);
  if (!valid) throw std::runtime_error(valid.error().message);
  h.problem = *valid;
  std::mt19937_64 rng(seed);
  fill_quantize(h, rng, false);
  return h;
}

void expect_exact(const Device& device, const HostQuantize& h) {
  const auto got = run_on(device, h);
  ASSERT_TRUE(got) << got.error().message << "\n" << h.replay();
  EXPECT_EQ(difference(h, *got, reference(h)), "");
}

/// The first few kinds of kernels: what is quantised, which outputs.
std::vector<QuantizeProblem> kinds() {
  std::vector<QuantizeProblem> all;
  for (const auto& [rows, transposed] : {std::pair{true, false}, {false, true}, {true, true}})
    for (QuantizeBlock block : {QuantizeBlock::b1x128, QuantizeBlock::b128x128}) {
      QuantizeProblem p;
      p.block = block, p.rows = rows, p.transposed = transposed;
      all.push_back(p);
    }
  QuantizeProblem transpose;
  transpose.x = transpose.q = e4m3, transpose.block = QuantizeBlock::b128x128;
  transpose.rows = false, transpose.transposed = true;
  all.push_back(transpose);
  return all;
}

TEST(Quantize, ChosenShapesAreExact) {
  const Device device = open_emu();
  std::uint64_t seed = 0;
  for (QuantizeProblem p : kinds())
    for (const auto& [m, k] :
         {std::pair{1, 1}, {1, 7168}, {129, 1}, {128, 128}, {127, 129}, {5, 0}, {0, 5}, {256, 40}, {33, 272}}) {
      p.m = m, p.k = k;
      expect_exact(device, make(p, ++seed));
    }
}

TEST(Quantize, EmptyGroupsTakeNoColumns) {
  const Device device = open_emu();
  QuantizeProblem p;
  p.k = 72, p.transposed = true;
  for (const std::vector<std::int32_t>& ends : std::vector<std::vector<std::int32_t>>{
           {0}, {0, 0, 0}, {0, 1, 1}, {128, 128, 256}, {1, 129, 129, 258}, {130, 0, 200}, {-4, 70, 1000}})
    for (bool one_by_one : {false, true}) {
      p.groups = static_cast<std::int64_t>(ends.size()), p.one_by_one = one_by_one;
      p.m = std::min(260, std::max(0, ends.back()));
      expect_exact(device, make(p, 50, ends));
    }
}

TEST(Quantize, PaddingIsZeroInBlocksOfNan) {
  const Device device = open_emu();
  QuantizeProblem p;
  p.m = 140, p.k = 16, p.rows = false, p.transposed = true, p.groups = 2, p.padding = 256;
  HostQuantize h = make(p, 3, {3, 140});
  const std::uint16_t nan = 0x7fc0;
  for (std::size_t row : {1, 100}) std::memcpy(&h.x[2 * 16 * row], &nan, 2);
  const auto got = run_on(device, h);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(difference(h, *got, reference(h)), "");
  EXPECT_EQ(got->transposed[2], 0x7f);  // a number beside the NaN
  EXPECT_EQ(got->transposed[3], 0);     // padding behind it
  std::int32_t ends[2];
  std::memcpy(ends, got->padded_ends.data(), sizeof ends);
  EXPECT_EQ(ends[0], 256);
  EXPECT_EQ(ends[1], 512);
  float scales[4];
  std::memcpy(scales, got->transposed_scales.data(), sizeof scales);
  EXPECT_TRUE(std::isnan(scales[0]));
  EXPECT_EQ(scales[1], 1.0f);  // a block of padding alone
}

/// Scale and first element of a row of f32 that starts with `values`; the rest is 0.
struct Row {
  std::vector<float> values;
  float scale;
  std::uint8_t first;
};

void expect_rows(QuantizeProblem p, const std::vector<Row>& rows) {
  p.x = f32, p.m = static_cast<std::int64_t>(rows.size()), p.k = 128;
  HostQuantize h = make(p, 1);
  std::fill(h.x.begin(), h.x.end(), std::uint8_t{0});
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::memcpy(&h.x[512 * i], rows[i].values.data(), 4 * rows[i].values.size());
  const auto got = run_on(open_emu(), h);
  ASSERT_TRUE(got) << got.error().message;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(i);
    float scale;
    std::memcpy(&scale, &got->scales[4 * i], 4);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(scale), std::bit_cast<std::uint32_t>(rows[i].scale));
    EXPECT_EQ(int{got->q[128 * i]}, int{rows[i].first});
  }
}

TEST(Quantize, ScalesAndValuesAsDocumented) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::bit_cast<float>(0x7fffffffu);
  const float step = 0x1.24924ap-9f;
  QuantizeProblem p;
  expect_rows(p, {{{448}, 1, 0x7e},
                  {{-448, 1}, 1, 0xfe},
                  {{1, 448}, 1, 0x38},
                  {{0}, 1e-4f * step, 0},  // min_amax counts
                  {{-0.0f}, 1e-4f * step, 0x80},
                  {{1e-5f}, 1e-4f * step, 0x63},
                  {{3}, 3 * step, 0x7e},
                  {{inf, 1}, inf, 0x7f},  // Inf * (1 / Inf)
                  {{1, inf}, inf, 0},
                  {{1, nan}, nan, 0x7f},
                  {{0x1.fffffep127f}, 0x1.fffffep127f * step, 0x7e}});
  p.min_amax = 0;
  expect_rows(p, {{{0}, 1, 0}, {{0x1p-149f}, 0x1p-126f, 0}, {{0x1p-126f}, 0x1p-126f, 0x38}});
  p.power_of_two = true;
  expect_rows(p, {{{448}, 1, 0x7e}, {{449}, 2, 0x76}, {{224}, 0.5f, 0x7e}, {{0}, 1, 0}, {{1, nan}, nan, 0x7f}});
  p.q = e5m2, p.power_of_two = false;
  expect_rows(p, {{{57344}, 1, 0x7b}, {{1, 57344}, 1, 0x3c}, {{1, nan}, nan, 0x7f}});
}

TEST(Quantize, IsCleanUnderTheChecker) {
  for (std::uint64_t seed : {1, 2}) {
    const Device device = open_emu(seed, true);
    for (QuantizeProblem p : kinds()) {
      p.m = 150, p.k = 136;
      HostQuantize h = make(p, seed);
      const bool grouped = p.transposed && p.block == QuantizeBlock::b1x128;
      if (grouped) p.groups = 4, h = make(p, seed, {10, 10, 30, 150});
      expect_exact(device, h);
      const auto report = device.backend().last_check();
      ASSERT_TRUE(report);
      EXPECT_EQ(report->verdict, Verdict::clean) << h.replay() << "\n" << report->findings.size() << " findings";
    }
  }
}

TEST(Quantize, FewerSmsChangeNothing) {
  const Device device = open_emu();
  QuantizeProblem p;
  p.m = 700, p.k = 300, p.transposed = true;
  const HostQuantize h = make(p, 9);
  const QuantizeOutputs want = reference(h);
  QuantizeOutputs got = h.blank();  // emulated memory is host memory
  for (int sms : {1, 3}) {
    const auto plan = plan_quantize(device, p, {.sms = sms, .pdl = Pdl::on});
    ASSERT_TRUE(plan) << plan.error().message;
    const auto ran = plan->run({.x = h.x.data(),
                                .q = got.q.data(),
                                .scales = reinterpret_cast<float*>(got.scales.data()),
                                .transposed = got.transposed.data(),
                                .transposed_scales = reinterpret_cast<float*>(got.transposed_scales.data())});
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_EQ(difference(h, got, want), "");
  }
}

/// dW[g] [M, N] = sum over the rows of group g of dy [rows, M] and x [rows, N], both quantised along the rows.
TEST(Quantize, PaddedGroupsFeedTheWeightGradient) {
  const Device device = open_emu();
  const std::vector<std::int32_t> ends = {70, 70, 200, 456};
  QuantizeProblem q;
  q.m = 460, q.rows = false, q.transposed = true, q.groups = 4;
  QuantizeProblem left = q, right = q;
  left.k = 64, right.k = 128;
  const HostQuantize dy = make(left, 5, ends), x = make(right, 6, ends);
  const auto a = run_on(device, dy), b = run_on(device, x);
  ASSERT_TRUE(a) << a.error().message;
  ASSERT_TRUE(b) << b.error().message;
  EXPECT_EQ(a->padded_ends, b->padded_ends);
  KGroupedProblem p{.groups = 4, .m = 64, .n = 128, .k = transposed_columns(q), .a = e4m3, .b = e4m3};
  p.scale = Scale::block_1x128_1x128, p.alignment = q.padding;
  p.a_major = p.b_major = Major::k;
  const auto plan = plan_k_grouped(device, p);
  ASSERT_TRUE(plan) << plan.error().message;
  std::vector<float> d(4 * 64 * 128, -1);
  std::uint32_t status = 0;
  // What lies behind the last group has not been written, and 0xa5 is a number.
  KGroupedOperands o{.a = a->transposed.data(), .b = b->transposed.data(), .d = d.data()};
  o.scale_a = a->transposed_scales.data(), o.scale_b = b->transposed_scales.data();
  o.sizes = reinterpret_cast<const std::int32_t*>(a->padded_ends.data()), o.status = &status;
  std::vector<std::uint8_t> aligned[2] = {std::vector<std::uint8_t>(a->transposed.size() + 16),
                                          std::vector<std::uint8_t>(b->transposed.size() + 16)};
  const auto at_16 = [](std::vector<std::uint8_t>& room, const std::vector<std::uint8_t>& bytes) {
    std::uint8_t* const to = room.data() + (16 - reinterpret_cast<std::uintptr_t>(room.data()) % 16) % 16;
    std::copy(bytes.begin(), bytes.end() - 40, to);
    return to;
  };
  o.a = at_16(aligned[0], a->transposed), o.b = at_16(aligned[1], b->transposed);
  const auto ran = plan->run(o);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(status, 0u);
  const auto verdict = verify(p, o);
  ASSERT_TRUE(verdict) << verdict.error().message;
  EXPECT_EQ(verdict->wrong, 0);
  // And near the product of what was quantised: at most 2^-4 of each factor was lost.
  for (std::size_t g = 0; g < 4; ++g) {
    double product = 0, magnitude = 0;
    for (std::int64_t row = g == 0 ? 0 : ends[g - 1]; row < ends[g]; ++row) {
      const double u = ref::decode(bf16, &dy.x[static_cast<std::size_t>(row * 64 + 3) * 2]);
      const double v = ref::decode(bf16, &x.x[static_cast<std::size_t>(row * 128 + 5) * 2]);
      product += u * v, magnitude += std::fabs(u * v);
    }
    EXPECT_NEAR(d[g * 64 * 128 + 3 * 128 + 5], product, magnitude / 4 + 1e-6) << g;
  }
}

TEST(Quantize, WhatNoKernelRunsIsRefusedByName) {
  struct Refusal {
    const char* argument;
    std::function<void(QuantizeProblem&)> change;
  };
  using P = QuantizeProblem&;
  for (const Refusal& r : std::vector<Refusal>{
           {"m", [](P p) { p.m = -1; }},
           {"k", [](P p) { p.k = std::int64_t{1} << 40; }},
           {"batch", [](P p) { p.batch = -2; }},
           {"x (type)", [](P p) { p.x = tf32; }},
           {"x (type)", [](P p) { p.x = e4m3; }},
           {"q (type)", [](P p) { p.q = bf16; }},
           {"rows", [](P p) { p.rows = p.transposed = false; }},
           {"min_amax", [](P p) { p.min_amax = -1; }},
           {"min_amax", [](P p) { p.min_amax = std::nanf(""); }},
           {"block", [](P p) { p.block = static_cast<QuantizeBlock>(7); }},
           {"ldx", [](P p) { p.ldx = 99; }},
           {"ldq", [](P p) { p.ldq = 1; }},
           {"ld_transposed", [](P p) { p.ld_transposed = 1; }},
           {"ldx", [](P p) { p.ldx = INT64_MAX / 2; }},
           {"batch_x", [](P p) { p.batch = 2, p.batch_x = INT64_MAX; }},
           {"batch_q", [](P p) { p.batch = 2, p.batch_q = 5; }},
           {"scales (strides)", [](P p) { p.scale_m = p.scale_k = 1; }},
           {"scales (strides)", [](P p) { p.scale_m = -1, p.scale_k = 4; }},
           {"scales (strides)", [](P p) { p.batch = 2, p.batch_scales = 1; }},
           {"transposed_scales (strides)", [](P p) { p.transposed_scale_k = 1, p.transposed_scale_m = 50; }},
           {"groups", [](P p) { p.groups = 2, p.transposed = false; }},
           {"groups", [](P p) { p.groups = 2, p.block = QuantizeBlock::b128x128; }},
           {"groups", [](P p) { p.groups = 5000; }},
           {"batch", [](P p) { p.groups = 2, p.batch = 2; }},
           {"padding", [](P p) { p.groups = 2, p.padding = 64; }},
           {"padding", [](P p) { p.groups = 2, p.padding = 0; }},
           {"padding", [](P p) { p.groups = 4096, p.m = p.padding = 65536, p.m = 2000000000; }},
           {"encoding", [](P p) { p.groups = 2, p.encoding = GroupEncoding::masked; }},
           {"alignment", [](P p) { p.groups = 2, p.alignment = 0; }},
           {"one_by_one", [](P p) { p.one_by_one = true; }},
           {"m", [](P p) { p.m = p.k = 20000000; }}}) {
    QuantizeProblem p;
    p.m = 300, p.k = 300, p.transposed = true;
    ASSERT_TRUE(can_implement(p)) << can_implement(p).error().message;
    r.change(p);
    const auto refused = can_implement(p);
    ASSERT_FALSE(refused) << r.argument;
    EXPECT_EQ(refused.error().argument, r.argument) << refused.error().message;
    EXPECT_FALSE(refused.error().expected.empty() || refused.error().actual.empty());
  }
  const auto sms = can_implement(QuantizeProblem{.m = 1, .k = 1}, {.sms = -1});
  ASSERT_FALSE(sms);
  EXPECT_EQ(sms.error().argument, "sms");
  for (const auto& [argument, t] : {std::pair<const char*, TransposeProblem>{"type", {.n = 4, .k = 4, .type = bf16}},
                                    {"n", {.n = -4, .k = 4}},
                                    {"ld", {.n = 4, .k = 4, .ld = 3}},
                                    {"ld_transposed", {.n = 4, .k = 4, .ld_transposed = 3}},
                                    {"batch_w", {.n = 4, .k = 4, .batch = 2, .batch_w = -1}},
                                    {"scales (strides)", {.n = 400, .k = 4, .scale_n = -3}}}) {
    const auto refused = can_implement(t);
    ASSERT_FALSE(refused) << argument;
    EXPECT_EQ(refused.error().argument, argument) << refused.error().message;
  }
}

TEST(Quantize, RunNamesThePointerAtFault) {
  const Device device = open_emu();
  alignas(16) static std::uint8_t memory[1 << 17];
  QuantizeProblem p;
  p.m = 40, p.k = 64, p.transposed = true;
  const auto plan = plan_quantize(device, p);
  ASSERT_TRUE(plan) << plan.error().message;
  const auto floats = [](std::size_t at) { return reinterpret_cast<float*>(memory + at); };
  const QuantizeOperands right{.x = memory,
                               .q = memory + 8192,
                               .scales = floats(16384),
                               .transposed = memory + 20480,
                               .transposed_scales = floats(60000)};
  ASSERT_TRUE(plan->run(right));
  const auto expect = [&](const char* argument, QuantizeOperands o) {
    const auto refused = plan->run(o);
    ASSERT_FALSE(refused) << argument;
    EXPECT_EQ(refused.error().argument, argument) << refused.error().message;
  };
  QuantizeOperands o = right;
  o.x = nullptr, expect("x", o);
  o = right, o.x = memory + 1, expect("x", o);
  o = right, o.q = nullptr, expect("q", o);
  o = right, o.scales = nullptr, expect("scales", o);
  o = right, o.scales = floats(16386), expect("scales", o);
  o = right, o.transposed = nullptr, expect("transposed", o);
  o = right, o.transposed_scales = nullptr, expect("transposed_scales", o);
  o = right, o.q = memory + 40, expect("q", o);                    // in x
  o = right, o.transposed = memory + 8192 + 2559, expect("q", o);  // of two outputs the first is named
  o = right, o.scales = floats(60004), expect("scales", o);

  p.groups = 3;
  const auto grouped = plan_quantize(device, p);
  ASSERT_TRUE(grouped) << grouped.error().message;
  const auto missing = grouped->run(right);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().argument, "sizes");

  const auto transpose = plan_transpose(device, {.n = 64, .k = 64});
  ASSERT_TRUE(transpose) << transpose.error().message;
  for (const auto& [argument, t] : {std::pair<const char*, TransposeOperands>{"w", {nullptr, memory + 8192}},
                                    {"transposed", {memory, nullptr}},
                                    {"transposed", {memory, memory + 64}},
                                    {"transposed_scales", {memory, memory + 8192, floats(16384), nullptr}},
                                    {"scales", {memory, memory + 8192, nullptr, floats(16384)}}}) {
    const auto refused = transpose->run(t);
    ASSERT_FALSE(refused) << argument;
    EXPECT_EQ(refused.error().argument, argument) << refused.error().message;
  }
  EXPECT_TRUE(transpose->run({memory, memory + 8192}));
}

TEST(Quantize, RowsOfOnePitchInterleaveAndOverlapsAmongThemAreRefused) {
  const Device device = open_emu();
  alignas(16) static std::uint8_t memory[1 << 14];
  QuantizeProblem p;  // rows of x are 128 bytes, those of q 64, and both begin every 256
  p.m = 8, p.k = 64, p.ldx = 128, p.ldq = 256;
  const auto plan = plan_quantize(device, p);
  ASSERT_TRUE(plan) << plan.error().message;
  const auto run = [&](std::size_t q) {
    const QuantizeOperands o{.x = memory, .q = memory + q, .scales = reinterpret_cast<float*>(memory + 8192)};
    const auto done = plan->run(o);
    return done ? std::string() : done.error().argument;
  };
  for (const std::size_t beside : {128, 192, 4096}) EXPECT_EQ(run(beside), "") << beside;
  for (const std::size_t inside : {0, 64, 112, 208, 256 + 16}) EXPECT_EQ(run(inside), "q") << inside;
}

TEST(Quantize, NoNumbersCrashAPlan) {
  std::mt19937_64 rng(4);
  const auto number = [&]() -> std::int64_t {
    const std::int64_t odd[] = {0, 1, -1, 127, 128, 4096, INT32_MAX, INT64_MAX, INT64_MIN, std::int64_t{1} << 40};
    return rng() % 2 == 0 ? odd[rng() % 10] : static_cast<std::int64_t>(rng() % 1000);
  };
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    QuantizeProblem p;
    p.block = static_cast<QuantizeBlock>(rng() % 3), p.x = static_cast<DType>(rng() % 6);
    p.q = rng() % 4 == 0 ? bf16 : e4m3, p.rows = rng() % 2 == 0, p.transposed = rng() % 2 == 0;
    p.one_by_one = rng() % 4 == 0;
    for (std::int64_t* field : {&p.m, &p.k, &p.batch, &p.groups, &p.alignment, &p.padding})
      if (rng() % 3 == 0) *field = number();
    for (std::int64_t* field :
         {&p.ldx, &p.ldq, &p.ld_transposed, &p.scale_m, &p.scale_k, &p.transposed_scale_k, &p.transposed_scale_m,
          &p.batch_x, &p.batch_q, &p.batch_transposed, &p.batch_scales, &p.batch_transposed_scales})
      if (rng() % 8 == 0) *field = number();
    const auto answer = can_implement(p);
    accepted += answer.has_value();
    if (!answer) {
      EXPECT_FALSE(answer.error().argument.empty());
    }
  }
  EXPECT_GT(accepted, 200);
}

}  // namespace
}  // namespace ww
