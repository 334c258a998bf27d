// SPDX-License-Identifier: Apache-2.0
// Layouts of block scales in memory: against tests/data/umma_cases.json, whose offsets a public implementation's host
// functions printed, and every scale once.
#include "warpwright/atom/scale_layouts.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "warpwright/layout/tensor.hpp"

namespace ww::atom {
namespace {

template <int kBlock> void expect_offsets(const nlohmann::json& test) {
  const int rows = test["rows"], k = test["k"];
  const auto layout = scale_layout<kBlock>(rows, k);
  EXPECT_EQ(static_cast<i64>(cosize(layout)), test["bytes"].get<i64>()) << test["operand"];
  EXPECT_EQ(scale_bytes(rows, k, kBlock), test["bytes"].get<i64>());
  for (const auto& sample : test["samples"]) {
    const int row = sample[0], element = sample[1];
    EXPECT_EQ(layout(row, element), sample[2].get<int>()) << "row " << row << ", k " << element;
  }
}

TEST(ScaleLayout, OffsetsOfThePublishedImplementation) {
  std::ifstream file(WW_UMMA_CASES);
  const nlohmann::json all = nlohmann::json::parse(file);
  int checked = 0;
  for (const auto& test : all["scale_factors_memory"]) {
    if (test["block"] == 16) expect_offsets<16>(test);
    else expect_offsets<32>(test);
    ++checked;
  }
  EXPECT_EQ(checked, 17);
}

template <int kBlock> void expect_every_scale_once(int rows, int k) {
  const auto layout = scale_layout<kBlock>(rows, k);
  std::map<int, int> elements;  // of each byte
  for (int row = 0; row < rows; ++row)
    for (int element = 0; element < k; ++element) {
      const int byte = layout(row, element);
      ++elements[byte];
      // A chunk as a copy reads it: 32 rows of 16 bytes, of which lane r % 32 gets one.
      const int in_chunk = byte % kScaleChunkBytes;
      EXPECT_EQ(in_chunk / 16, row % 32);
      EXPECT_EQ(in_chunk % 16 / 4, row / 32 % 4);
      EXPECT_EQ(in_chunk % 4, element / kBlock % 4);
      EXPECT_LT(byte, scale_bytes(rows, k, kBlock));
    }
  EXPECT_EQ(elements.size(), static_cast<size_t>(rows) * static_cast<size_t>(ceil_div(k, kBlock)));
  for (const auto& [byte, count] : elements) EXPECT_LE(count, kBlock) << "byte " << byte;
}

TEST(ScaleLayout, EveryBlockHasAByteOfItsOwn) {
  for (const int rows : {1, 100, 128, 200, 257})
    for (const int k : {16, 40, 128, 320}) {
      expect_every_scale_once<16>(rows, k);
      expect_every_scale_once<32>(rows, k);
    }
}

TEST(ScaleLayout, StaticExtentsGiveAStaticLayout) {
  const auto layout = scale_layout<32>(Int<256>{}, Int<512>{});
  static_assert(is_static_v<remove_cvref_t<decltype(layout)>>);
  static_assert(decltype(cosize(layout))::value == 2 * 4 * kScaleChunkBytes);
  static_assert(is_same_v<decltype(get<0>(get<0>(ScaleAtom<32>{}.shape()))), _32>);
  const ScaleAtom<16> atom;
  for (int row = 0; row < 128; ++row)
    for (int k = 0; k < 64; ++k) EXPECT_EQ(atom(row, k), scale_layout<16>(128, 64)(row, k));
}

}  // namespace
}  // namespace ww::atom
