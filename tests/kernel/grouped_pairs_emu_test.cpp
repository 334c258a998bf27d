// SPDX-License-Identifier: Apache-2.0
// Groups of rows on pairs of CTAs of the emulated Blackwell, bit for bit against the dense plan on each group.
#include "grouped_bits.hpp"

namespace ww {
namespace {

using namespace ww::testing;

// Groups with an odd number of tiles leave one of the pair without rows, the last of them at the end of A and D.
TEST(GroupedPairs, TakeTilesOfOneGroup) {
  std::uint64_t seed = 160;
  const std::tuple<DType, Scale, DType, Tile> cases[] = {{bf16, Scale::none, bf16, {128, 128}},
                                                         {f16, Scale::row_column, f16, {128, 96}},
                                                         {e4m3, Scale::tensor, f32, {128, 64}},
                                                         {e4m3, Scale::block_1x128_128x128, bf16, {128, 64}},
                                                         {bf16, Scale::tensor, bf16, {128, 256}}};
  for (const auto& [a, scale, d, tile] : cases)
    for (GroupEncoding encoding : {kEncodings[seed % 4], GroupEncoding::masked}) {
      GroupedProblem p = problem_for(encoding, scale, a, d);
      if (a == bf16) p.b_major = Major::mn;
      p.rows = encoding == GroupEncoding::masked ? 258 : 480, p.zero_outside = seed % 2 == 0;
      const GemmConfig config{.arch = Arch::sm100,
                              .tile = tile,
                              .cluster = {2, 1},
                              .sm100 = {.pair = true},
                              .row_groups = {.variant = normal_variant(encoding)}};
      expect_dense_bits(make_grouped(p, {1, 129, 0, 64, 257, 3}, 4, ++seed), config);
      expect_dense_bits(make_grouped(p, {0, 0, 0, 0, 0, 1}, 4, ++seed), config);
      p.k = 0;
      expect_dense_bits(make_grouped(p, {1, 129, 0, 64, 257, 3}, 4, ++seed), config);
    }
}

// The first group begins at row 0 and leaves the pair's second tile without rows, for which a vector along M has no
// element: none may be read, not even the one before the vector.
TEST(GroupedPairs, ReadNoVectorForATileWithoutRows) {
  const Device device = Device::open("emu:sm100").value();
  for (const GroupEncoding encoding : {GroupEncoding::offsets, GroupEncoding::masked}) {
    GroupedProblem p{.groups = 2, .n = 64, .k = 64, .a = bf16, .b = bf16, .d = bf16};
    p.rows = 130, p.encoding = encoding, p.epilogue = evt::acc + evt::column(0);
    const auto plan = plan_grouped(device, p,
                                   {.config = {.arch = Arch::sm100,
                                               .tile = {128, 64},
                                               .cluster = {2, 1},
                                               .sm100 = {.pair = true},
                                               .row_groups = {.variant = normal_variant(encoding)}}});
    ASSERT_TRUE(plan) << plan.error().message;
    const auto buffer = [&](std::size_t bytes) {
      Buffer made = device.allocate(bytes).value();
      std::memset(made.data(), 0, bytes);
      return made;
    };
    const Buffer a = buffer(260 * 64 * 2), b = buffer(2 * 64 * 64 * 2), d = buffer(260 * 64 * 2), sizes = buffer(8),
                 columns = buffer(260 * 4), workspace = buffer(std::max<std::size_t>(plan->workspace_bytes(), 256));
    auto* const counts = static_cast<std::int32_t*>(sizes.data());
    counts[0] = 1, counts[1] = encoding == GroupEncoding::masked ? 129 : 130;
    std::fill_n(static_cast<float*>(columns.data()), 260, 1.0f);
    GroupedOperands o{.a = a.data(), .b = b.data(), .d = d.data(), .sizes = counts};
    o.workspace = workspace.data(), o.workspace_bytes = plan->workspace_bytes();
    o.epilogue.column_vector[0] = static_cast<const float*>(columns.data());
    const auto ran = plan->run(o);
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_EQ(static_cast<const std::uint16_t*>(d.data())[0], 0x3f80);  // 1 in bf16
  }
}

}  // namespace
}  // namespace ww
