// SPDX-License-Identifier: Apache-2.0
// Every requirement of a tensor map: the last value that is accepted and the first that is not.
#include "runtime/tensor_map_limits.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace ww::runtime {
namespace {

alignas(32) char memory[64];

TensorMapSpec good() {
  return {.base = memory,
          .element = DType::e4m3,
          .rank = 3,
          .extent = {4096, 512, 3},
          .stride_bytes = {0, 4096, 1 << 21},
          .box = {128, 128, 1},
          .swizzle = SmemSwizzle::b128};
}

void expect_taken(const std::function<void(TensorMapSpec&)>& change) {
  TensorMapSpec spec = good();
  change(spec);
  const Result<void> checked = check_limits(spec);
  EXPECT_TRUE(checked) << checked.error().message;
}

void expect_refused(const std::string& field, const std::function<void(TensorMapSpec&)>& change) {
  TensorMapSpec spec = good();
  change(spec);
  const Result<void> checked = check_limits(spec);
  ASSERT_FALSE(checked) << field;
  EXPECT_EQ(checked.error().code, ErrorCode::invalid);
  EXPECT_EQ(checked.error().argument, "tensor_map." + field);
}

TEST(TensorMapLimits, Rank) {
  expect_taken([](auto& s) { s.rank = 1; });
  expect_refused("rank", [](auto& s) { s.rank = 0; });
  expect_refused("rank", [](auto& s) { s.rank = 6; });
}

TEST(TensorMapLimits, BaseIsAMultipleOf16) {
  expect_refused("base", [](auto& s) { s.base = nullptr; });
  expect_refused("base", [](auto& s) { s.base = memory + 8; });
  expect_taken([](auto& s) { s.base = memory + 16; });
}

TEST(TensorMapLimits, Extents) {
  expect_refused("extent[2]", [](auto& s) { s.extent[2] = 0; });
  expect_taken([](auto& s) { s.extent[0] = 1ull << 32; });
  expect_refused("extent[0]", [](auto& s) { s.extent[0] = (1ull << 32) + 1; });
  expect_taken([](auto& s) { s.rank = 2, s.extent[2] = 0; });  // of dimensions that are not there nothing is asked
}

TEST(TensorMapLimits, Strides) {
  expect_refused("stride_bytes[1]", [](auto& s) { s.stride_bytes[1] = 4104; });
  expect_taken([](auto& s) { s.stride_bytes[1] = 4112; });
  expect_taken([](auto& s) { s.stride_bytes[2] = (1ull << 40) - 16; });
  expect_refused("stride_bytes[2]", [](auto& s) { s.stride_bytes[2] = 1ull << 40; });
  expect_taken([](auto& s) { s.stride_bytes[0] = 3; });
}

TEST(TensorMapLimits, Boxes) {
  expect_refused("box[1]", [](auto& s) { s.box[1] = 0; });
  expect_taken([](auto& s) { s.box[1] = 256; });
  expect_refused("box[1]", [](auto& s) { s.box[1] = 257; });
  expect_refused("box[0]", [](auto& s) { s.box[0] = 120; });
  expect_taken([](auto& s) { s.box[0] = 112; });
}

TEST(TensorMapLimits, TheBoxFitsTheSwizzle) {
  expect_refused("box[0]", [](auto& s) { s.box[0] = 144; });
  expect_taken([](auto& s) { s.box[0] = 256, s.swizzle = SmemSwizzle::none; });
  expect_taken([](auto& s) { s.box[0] = 64, s.swizzle = SmemSwizzle::b64; });
  expect_refused("box[0]", [](auto& s) { s.box[0] = 80, s.swizzle = SmemSwizzle::b64; });
  expect_refused("box[0]", [](auto& s) { s.box[0] = 48, s.swizzle = SmemSwizzle::b32; });
  expect_refused("box[0]", [](auto& s) { s.box[0] = 144, s.swizzle = SmemSwizzle::b128_unit32; });
  expect_taken([](auto& s) { s.element = DType::bf16, s.box[0] = 64; });
  expect_refused("box[0]", [](auto& s) { s.element = DType::bf16, s.box[0] = 128; });
}

TEST(TensorMapLimits, NarrowElements) {
  const auto packed = [](auto& s) { s.narrow = NarrowElements::bits4, s.box[0] = 256; };
  expect_taken(packed);
  expect_refused("extent[0]", [&](auto& s) { packed(s), s.extent[0] = 4095; });
  expect_refused("box[0]", [&](auto& s) { packed(s), s.box[0] = 248; });
  expect_refused("box[0]", [&](auto& s) { packed(s), s.box[0] = 65; });
  expect_refused("box[0]", [&](auto& s) { packed(s), s.swizzle = SmemSwizzle::b64; });
  for (const NarrowElements narrow : {NarrowElements::bits4_padded, NarrowElements::bits6_padded}) {
    const auto padded = [&](auto& s) { s.narrow = narrow; };
    expect_taken(padded);
    expect_taken([&](auto& s) { padded(s), s.swizzle = SmemSwizzle::none; });
    expect_refused("swizzle", [&](auto& s) { padded(s), s.swizzle = SmemSwizzle::b64; });
    expect_refused("swizzle", [&](auto& s) { padded(s), s.swizzle = SmemSwizzle::b128_unit32; });
    expect_refused("base", [&](auto& s) { padded(s), s.base = memory + 16; });
    expect_refused("extent[0]", [&](auto& s) { padded(s), s.extent[0] = 4096 + 64; });
    expect_refused("stride_bytes[1]", [&](auto& s) { padded(s), s.stride_bytes[1] = 4112; });
    expect_refused("box[0]", [&](auto& s) { padded(s), s.box[0] = 64; });
  }
}

TEST(TensorMapLimits, NarrowElementsNeedADeviceThatHasThem) {
  TensorMapSpec spec = good();
  EXPECT_TRUE(check_blackwell(spec, false, "emu:sm90"));
  spec.narrow = NarrowElements::bits6_padded;
  EXPECT_TRUE(check_blackwell(spec, true, "emu:sm100"));
  const Result<void> refused = check_blackwell(spec, false, "emu:sm90");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().message.find("elements of 6 bits on emu:sm90"), std::string::npos);
}

TEST(TensorMapLimits, UnitsOf32BytesNeedADeviceThatSwizzlesThem) {
  TensorMapSpec spec = good();
  spec.swizzle = SmemSwizzle::b128_unit32;
  EXPECT_TRUE(check_blackwell(spec, true, "emu:sm100"));
  const Result<void> refused = check_blackwell(spec, false, "emu:sm90");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_EQ(refused.error().argument, "tensor_map.swizzle");
  EXPECT_EQ(refused.error().actual, "b128_unit32 on emu:sm90");
}

TEST(TensorMapLimits, ExtentBytesReachPastTheLastElement) {
  TensorMapSpec spec = good();
  EXPECT_EQ(extent_bytes(spec), 2ull * (1 << 21) + 511 * 4096 + 4096);
  spec.rank = 1, spec.element = DType::f32, spec.extent[0] = 5;
  EXPECT_EQ(extent_bytes(spec), 20u);
  spec.extent[0] = 256, spec.narrow = NarrowElements::bits4;
  EXPECT_EQ(extent_bytes(spec), 128u);
  spec.narrow = NarrowElements::bits6_padded;
  EXPECT_EQ(extent_bytes(spec), 192u);
}

}  // namespace
}  // namespace ww::runtime
