// SPDX-License-Identifier: Apache-2.0
// Grouped GEMM, the naive way and in one launch: D[start : end] = A[start : end] W[g]^T for every group g of rows.
//   naive:  copy the sizes to the host, wait for them, then a dense product for each group that has rows
//   ours:   one launch; the sizes stay on the device, where each group gets the token widths that fit its rows
// e4m3 with block scales. A row is accumulated in the same order whatever tile it lies in, so both give the same bits.
//   example_04_grouped_gemm [device]        device: emu:sm90 (default) or cuda:0
#include <cstdio>
#include <string>

#include "block_scaled.hpp"
#include "on_device.hpp"
#include "warpwright/host/gemm.hpp"
#include "warpwright/host/grouped.hpp"

namespace {

using example::kBlock, example::require;

constexpr std::int64_t kGroups = 6, kN = 256, kK = 256;
const std::vector<std::int32_t> kCounts{1, 9, 0, 40, 130, 300};

/// The operands on the device. The host knows G, M, N and K, but not which rows belong to which group.
struct Operands {
  std::int64_t rows;
  ww::Buffer a, scale_a;  // (M, K) e4m3, (M, K / 128)
  ww::Buffer b, scale_b;  // (G, N, K) e4m3, (G, N / 128, K / 128)
  ww::Buffer ends;        // (G) int32: where each group of rows ends
};

using Bits = std::vector<ww::bf16_t>;  // D (M, N)

template <class T> T* at(const ww::Buffer& buffer, std::int64_t element) {
  return static_cast<T*>(buffer.data()) + element;
}

/// Group by group. Returns how many products it launched.
int naive_grouped_gemm(const ww::Device& device, const Operands& on, const ww::Buffer& d) {
  const auto ends = example::download<std::int32_t>(device, on.ends, kGroups);  // a GPU idles here
  int launches = 0;
  for (std::int64_t g = 0, start = 0; g < kGroups; ++g) {
    const std::int64_t end = ends[static_cast<std::size_t>(g)];
    if (end == start) continue;
    const ww::GemmPlan product = require(ww::plan_gemm(
        device, ww::GemmProblem{.m = end - start, .n = kN, .k = kK, .scale = ww::Scale::block_1x128_128x128}));
    require(product.run({.a = at<ww::u8>(on.a, start * kK),
                         .b = at<ww::u8>(on.b, g * kN * kK),
                         .d = at<ww::bf16_t>(d, start * kN),
                         .scale_a = at<float>(on.scale_a, start * (kK / kBlock)),
                         .scale_b = at<float>(on.scale_b, g * (kN / kBlock) * (kK / kBlock))}));
    ++launches;
    start = end;
  }
  return launches;
}

/// All groups at once. Returns the token widths that the device chose.
std::vector<ww::TileWidth> grouped_gemm(const ww::Device& device, const Operands& on, const ww::Buffer& d) {
  const ww::GroupedPlan product =
      require(ww::plan_grouped(device, ww::GroupedProblem{.groups = kGroups,
                                                          .rows = on.rows,
                                                          .n = kN,
                                                          .k = kK,
                                                          .scale = ww::Scale::block_1x128_128x128,
                                                          .encoding = ww::GroupEncoding::offsets}));
  const auto workspace = example::upload(device, std::vector<ww::u8>(product.workspace_bytes()));  // zeroed once
  require(product.run({.a = on.a.data(),
                       .b = on.b.data(),
                       .d = d.data(),
                       .scale_a = at<float>(on.scale_a, 0),
                       .scale_b = at<float>(on.scale_b, 0),
                       .sizes = at<std::int32_t>(on.ends, 0),
                       .workspace = workspace.data(),
                       .workspace_bytes = workspace.bytes()}));
  require(device.synchronize());
  return require(product.widths(workspace.data()));
}

}  // namespace

int main(int argc, char** argv) {
  const ww::Device device = example::open(argc, argv);
  std::vector<std::int32_t> ends;
  for (const std::int32_t count : kCounts) ends.push_back(count + (ends.empty() ? 0 : ends.back()));
  const std::int64_t rows = ends.back();

  std::mt19937 rng(4);
  const auto a = example::quantise(example::random_values(rng, rows * kK), kK, 1);
  const auto b = example::quantise(example::random_values(rng, kGroups * kN * kK), kK, kBlock);
  const Operands on{rows,
                    example::upload(device, a.values),
                    example::upload(device, a.scales),
                    example::upload(device, b.values),
                    example::upload(device, b.scales),
                    example::upload(device, ends)};
  const Bits nothing(static_cast<std::size_t>(rows * kN), ww::bf16_t{0xffff});  // NaN: every element must be written
  const ww::Buffer d_naive = example::upload(device, nothing), d_ours = example::upload(device, nothing);

  const int launches = naive_grouped_gemm(device, on, d_naive);
  const std::vector<ww::TileWidth> widths = grouped_gemm(device, on, d_ours);
  require(device.synchronize());
  const auto naive = example::download<ww::bf16_t>(device, d_naive, nothing.size());
  const auto ours = example::download<ww::bf16_t>(device, d_ours, nothing.size());

  // Equal to each other, and right: the rest of the check is FP64 on the same operands.
  int different = 0, outside = 0;
  for (std::int64_t row = 0, g = 0; row < rows; ++row) {
    while (row == ends[static_cast<std::size_t>(g)]) ++g;
    for (std::int64_t n = 0; n < kN; ++n) {
      const auto i = static_cast<std::size_t>(row * kN + n);
      different += naive[i].bits != ours[i].bits;
      outside += !to_bf16(example::product(a, row, b, g * kN + n)).holds(double(ww::arch::from_bf16(ours[i].bits)));
    }
  }
  std::printf("%s: rows of the groups", device.info().description.c_str());
  for (const std::int32_t count : kCounts) std::printf(" %d", count);
  std::printf("\nnaive: sizes read on the host, %d launches\nours:  sizes read on the device, 1 launch; tiles",
              launches);
  int used = 0;
  for (const ww::TileWidth& width : widths) {
    if (width.tiles == 0) continue;
    std::printf("%s %d of %d tokens%s", used++ ? "," : "", int(width.tiles), width.width,
                width.swapped ? "" : " (normal)");
  }
  std::printf("\n%d of %zu elements differ between the two, %d are outside the bound of FP64\n", different, ours.size(),
              outside);
  return different == 0 && outside == 0 && used >= 4 ? 0 : 1;
}
