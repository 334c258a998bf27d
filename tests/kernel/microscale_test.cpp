// SPDX-License-Identifier: Apache-2.0
// Casts to mx and nv formats: the reference against scalar formulas (every code, ties, NaN, infinities, blocks of
// zeros), and the kernel on both emulated devices against the reference, byte for byte.
#include "warpwright/host/microscale.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "reference/element.hpp"
#include "reference/microscale.hpp"
#include "warpwright/core/scale_chunks.hpp"

namespace ww {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
constexpr unsigned char kLeft = 0xA5;  // what outputs hold before

struct Outputs {
  std::vector<std::uint8_t> q, scales;
  bool operator==(const Outputs&) const = default;
};

Outputs outputs_of(const MicroscaleProblem& p) {
  const auto scales = static_cast<std::size_t>(p.batch * p.batch_scales);
  return {std::vector<std::uint8_t>(static_cast<std::size_t>(bytes_in(p.q, p.batch * p.batch_q)), kLeft),
          std::vector<std::uint8_t>(scales, kLeft)};
}

/// One row of float32, cast by the reference, with row-major scales.
Outputs row_cast(const std::vector<float>& x, DType q, Scale scale, const float* tensor_scale = nullptr) {
  const auto k = static_cast<std::int64_t>(x.size());
  MicroscaleProblem p{.m = 1,
                      .k = k,
                      .x = f32,
                      .q = q,
                      .scale = scale,
                      .ldx = k,
                      .ldq = k,
                      .batch_x = k,
                      .batch_q = k,
                      .chunked = false};
  p.batch_scales = ceil_div(k, std::int64_t{scale_vector(scale)});
  Outputs made = outputs_of(p);
  ref::microscale(p, {x.data(), made.q.data(), made.scales.data(), tensor_scale});
  return made;
}

const DType kTypes[] = {e4m3, e5m2, e3m2, e2m3, e2m1};

TEST(MicroscaleReference, TheScaleIsTheLeastPowerOfTwoThatLosesNothingAtTheTop) {
  for (const DType q : kTypes) {
    const auto largest = static_cast<float>(ref::format_of(q).largest);
    for (int exponent = -126; exponent <= 60; exponent += 3) {
      const float at = std::ldexp(largest, exponent);
      const auto byte_of = [&](float amax) {
        std::vector<float> x(32, 0.0f);
        x[7] = -amax;
        return static_cast<int>(row_cast(x, q, Scale::mx).scales[0]);
      };
      EXPECT_EQ(byte_of(at), 127 + exponent) << name_of(q);
      EXPECT_EQ(byte_of(std::nextafter(at, kInfinity)), 128 + exponent) << name_of(q);
      EXPECT_EQ(byte_of(std::nextafter(at, 0.0f)), 127 + exponent) << name_of(q);
      EXPECT_EQ(byte_of(at * 0.5f), 126 + exponent) << name_of(q);
    }
    EXPECT_EQ(row_cast(std::vector<float>(32, 0.0f), q, Scale::mx).scales[0], 0);
    EXPECT_EQ(row_cast(std::vector<float>(32, 0x1p-149f), q, Scale::mx).scales[0], 0);
    EXPECT_EQ(row_cast(std::vector<float>(32, kNan), q, Scale::mx).scales[0], 255);
  }
}

TEST(MicroscaleReference, EveryValueOfTheTypeKeepsItsCode) {
  for (const DType q : kTypes) {
    const double largest = ref::format_of(q).largest;
    for (int code = 0; code < 1 << bits_of(q); ++code) {
      const auto byte = static_cast<std::uint8_t>(code);
      const double value = ref::decode(q, &byte);
      if (!std::isfinite(value)) continue;
      std::vector<float> x(32, 0.0f);
      x[0] = static_cast<float>(largest), x[5] = static_cast<float>(value);
      const Outputs made = row_cast(x, q, Scale::mx);
      EXPECT_EQ(made.scales[0], 127);
      EXPECT_EQ(is_packed(q) ? ref::packed_code(q, made.q.data(), 5) : made.q[5], code) << name_of(q);
    }
  }
}

TEST(MicroscaleReference, Nvfp4FollowsItsFormula) {
  const float tensor_scale = 0.013f;
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (int draw = 0; draw < 200; ++draw) {
    std::vector<float> x(16);
    for (float& v : x) v = normal(random) * std::exp2(static_cast<float>(draw % 16) - 8);
    const Outputs made = row_cast(x, e2m1, Scale::nv, &tensor_scale);
    float amax = 0;
    for (const float v : x) amax = std::max(amax, std::fabs(v));
    const float inverse = 1.0f / tensor_scale;
    const auto byte = static_cast<std::uint8_t>(ref::encode(e4m3, std::min(1e6, double{amax / 6.0f * inverse})));
    ASSERT_EQ(made.scales[0], byte);
    const auto scale = static_cast<float>(ref::decode_e4m3(byte));
    for (int i = 0; i < 16; ++i) {
      const double value = byte == 0 ? 0 : double{x[static_cast<std::size_t>(i)] * (inverse / scale)};
      const double got = ref::decode_at(e2m1, made.q.data(), i);
      double nearest = 1e9;  // among the eight magnitudes, ties to the even code
      for (const double candidate : {0.0, 1.0, 2.0, 4.0, 0.5, 1.5, 3.0, 6.0})
        if (std::fabs(candidate - std::fabs(value)) < std::fabs(nearest - std::fabs(value))) nearest = candidate;
      EXPECT_EQ(std::fabs(got), nearest) << value;
    }
  }
  EXPECT_EQ(row_cast(std::vector<float>(16, 0.0f), e2m1, Scale::nv).scales[0], 0);
  EXPECT_EQ(row_cast(std::vector<float>(16, kNan), e2m1, Scale::nv).scales[0], 0x7f);
  const Outputs infinite = row_cast({1, -kInfinity, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, e2m1, Scale::nv);
  EXPECT_EQ(infinite.scales[0], 0x7e);
  EXPECT_EQ(infinite.q[0], 0xF0);  // 1 is nothing beside it
}

struct Case {
  DType x = bf16, q = e4m3;
  Scale scale = Scale::mx;
  std::int64_t m = 1, k = 32, batch = 1, pad_x = 0, pad_q = 0;
  bool chunked = true, tensor_scale = false;
};

/// Numbers of all magnitudes, and blocks of zeros, NaN and infinities.
std::vector<std::uint8_t> input_of(const Case& c, std::int64_t elements) {
  std::mt19937 random(static_cast<unsigned>(c.m * 131 + c.k));
  std::normal_distribution<float> normal;
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(bytes_in(c.x, elements)));
  for (std::int64_t i = 0; i < elements; ++i) {
    float value = normal(random) * std::exp2(static_cast<float>(i / 16 % 23) - 11);
    const std::int64_t block = i / 32 % 29;
    if (block == 3) value = 0;
    if (block == 5 && i % 32 == 9) value = kNan;
    if (block == 11 && i % 32 == 30) value = -kInfinity;
    if (i % 37 == 0) value = -0.0f;
    if (c.x == f32) std::memcpy(bytes.data() + 4 * i, &value, 4);
    else {
      const auto bits = std::isfinite(value) ? ref::encode(c.x, value)
                        : std::isnan(value)  ? std::uint16_t{0x7fff}
                                             : static_cast<std::uint16_t>(c.x == bf16 ? 0xff80 : 0xfc00);
      std::memcpy(bytes.data() + 2 * i, &bits, 2);
    }
  }
  return bytes;
}

void expect_reference(const Device& device, const Case& c) {
  MicroscaleProblem p{.m = c.m,
                      .k = c.k,
                      .batch = c.batch,
                      .x = c.x,
                      .q = c.q,
                      .scale = c.scale,
                      .ldx = c.k + c.pad_x,
                      .ldq = c.k + c.pad_q,
                      .chunked = c.chunked};
  const auto plan = plan_microscale(device, p);
  ASSERT_TRUE(plan) << plan.error().message;
  p = plan->problem();
  const std::vector<std::uint8_t> x = input_of(c, p.batch * p.batch_x);
  const float tensor_scale = 0.7f;
  Outputs expected = outputs_of(p), got = expected;
  ref::microscale(p, {x.data(), expected.q.data(), expected.scales.data(), c.tensor_scale ? &tensor_scale : nullptr});
  const auto ran = plan->run({x.data(), got.q.data(), got.scales.data(), c.tensor_scale ? &tensor_scale : nullptr});
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(got.scales, expected.scales) << name_of(c.q) << " " << c.m << " x " << c.k;
  EXPECT_EQ(got.q, expected.q) << name_of(c.q) << " " << c.m << " x " << c.k;
}

const Case kCases[] = {
    {bf16, e4m3, Scale::mx, 130, 192},        {bf16, e4m3, Scale::mx, 5, 77, 2, 3, 1, false},
    {f32, e5m2, Scale::mx, 33, 256},          {f16, e3m2, Scale::mx, 129, 128, 1, 8, 128},
    {bf16, e2m3, Scale::mx, 7, 100, 2, 0, 4}, {bf16, e2m1, Scale::mx, 200, 320},
    {f32, e2m1, Scale::mx, 3, 34, 3, 1, 2},   {bf16, e2m1, Scale::nv, 150, 256, 1, 0, 0, true, true},
    {f32, e2m1, Scale::nv, 9, 90, 2, 5, 6},   {f16, e2m1, Scale::nv, 64, 64, 1, 0, 0, false, true},
};

TEST(Microscale, Sm90WritesTheReference) {
  const auto device = Device::open("emu:sm90");
  ASSERT_TRUE(device) << device.error().message;
  for (const Case& c : kCases) expect_reference(*device, c);
}

TEST(Microscale, Sm100WritesTheReference) {
  const auto device = Device::open("emu:sm100");
  ASSERT_TRUE(device) << device.error().message;
  for (const std::size_t i : {0u, 3u, 7u}) expect_reference(*device, kCases[i]);
}

TEST(Microscale, NothingOfNothing) {
  const auto device = Device::open("emu:sm90");
  for (const auto& [m, k, batch] : {std::tuple(0, 64, 1), std::tuple(4, 0, 1), std::tuple(4, 64, 0)}) {
    const auto plan = plan_microscale(*device, {.m = m, .k = k, .batch = batch});
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_TRUE(plan->run({}));
  }
}

TEST(Microscale, RefusesByArgument) {
  const auto argument = [](const MicroscaleProblem& p) {
    const auto result = can_implement(p);
    return result ? std::string() : result.error().argument;
  };
  EXPECT_EQ(argument({.m = 4, .k = 64}), "");
  EXPECT_EQ(argument({.m = -1, .k = 64}), "m");
  EXPECT_EQ(argument({.m = 4, .k = 64, .x = e4m3}), "x (type)");
  EXPECT_EQ(argument({.m = 4, .k = 64, .q = bf16}), "q (type)");
  EXPECT_EQ(argument({.m = 4, .k = 64, .q = e4m3, .scale = Scale::nv}), "q (type)");
  EXPECT_EQ(argument({.m = 4, .k = 64, .scale = Scale::tensor}), "scale");
  EXPECT_EQ(argument({.m = 4, .k = 63, .q = e2m1}), "k");
  EXPECT_EQ(argument({.m = 4, .k = 62, .q = e3m2}), "k");
  EXPECT_EQ(argument({.m = 4, .k = 64, .q = e2m3, .ldq = 66}), "ldq");
  EXPECT_EQ(argument({.m = 4, .k = 64, .ldx = 63}), "ldx");
  EXPECT_EQ(argument({.m = 4, .k = 64, .batch = 2, .batch_q = 255}), "batch_q");
  EXPECT_EQ(argument({.m = 4, .k = 64, .batch = 2, .batch_scales = 511}), "batch_scales");
  EXPECT_EQ(argument({.m = 4, .k = 64, .ldx = std::int64_t{1} << 61}), "ldx");
  const auto device = Device::open("emu:sm90");
  const auto plan = plan_microscale(*device, {.m = 4, .k = 64});
  ASSERT_TRUE(plan);
  std::vector<std::uint8_t> memory(4096);
  const auto run = [&](const MicroscaleOperands& o) { return plan->run(o).error().argument; };
  std::uint8_t* const at = memory.data();
  const float one = 1;
  EXPECT_EQ(run({nullptr, at + 1024, at + 2048}), "x");
  EXPECT_EQ(run({at, nullptr, at + 2048}), "q");
  EXPECT_EQ(run({at, at + 1024, nullptr}), "scales");
  EXPECT_EQ(run({at, at + 511, at + 2048}), "q");
  EXPECT_EQ(run({at, at + 1024, at + 1279}), "q");
  EXPECT_EQ(run({at, at + 1024, at + 2048, &one}), "tensor_scale");
}

}  // namespace
}  // namespace ww
