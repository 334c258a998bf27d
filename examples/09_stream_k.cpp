// SPDX-License-Identifier: Apache-2.0
// Stream-K and split-K: seven tiles of work on three CTAs. Whole tiles would keep one CTA busy for a third round while
// two wait. Stream-K divides the line of all k-blocks into three equal ranges, and split-K divides the K of every tile
// by three.
//   tiles  | 0 | 1 | 2 | 3 | 4 | 5 | 6 |      static: 3, 2, 2 tiles
//   ranges |    0     |    1    |    2   |    stream-K: the same number of k-blocks each, two tiles are reduced
// Operands and product are the same. Where K is split the FP32 sums are added in order of K, so each of the three is
// exact in its own order and the same in every run. The workspace is zeroed once and used repeatedly.
#include <cstdlib>
#include <cstring>
#include <string>

#include "on_device.hpp"
#include "warpwright/host/config.hpp"
#include "warpwright/host/gemm.hpp"

namespace {

constexpr int kM = 64, kN = 7 * 64, kK = 10 * 64, kCtas = 3;

struct Answer {
  std::vector<float> d;
  ww::EmuStats stats;
};

Answer multiply(const ww::Device& device, const ww::Buffer& a, const ww::Buffer& b, const char* scheduler) {
  const ww::GemmProblem problem{.m = kM, .n = kN, .k = kK, .a = ww::bf16, .b = ww::bf16, .d = ww::f32};
  const std::string text = std::string("tile=64x64x64,cluster=1x1,") + scheduler;
  const ww::GemmConfig config = example::require(ww::parse_config(text));
  const ww::GemmPlan plan = example::require(ww::plan_gemm(device, problem, {.config = config, .sms = kCtas}));
  const ww::Buffer d = example::upload(device, std::vector<float>(kM * kN));
  const ww::Buffer workspace = example::upload(device, std::vector<ww::u8>(plan.workspace_bytes() + 1));  // zeros
  std::vector<float> first;
  for (int run = 0; run < 2; ++run) {  // twice, because the second finds the flags as the first left them
    example::require(plan.run({.a = a.data(),
                               .b = b.data(),
                               .d = d.data(),
                               .workspace = workspace.data(),
                               .workspace_bytes = plan.workspace_bytes()}));
    example::require(device.synchronize());
    const std::vector<float> now = example::download<float>(device, d, kM * kN);
    if (run == 1 && now != first) std::printf("two runs of %s differ\n", scheduler), std::exit(1);
    first = now;
  }
  return {first, plan.last_stats().value_or(ww::EmuStats{})};
}

void show(const char* scheduler, const Answer& answer) {
  std::printf("%-22s", scheduler);
  for (const ww::CtaWork& work : answer.stats.work)
    std::printf("  %2llu k-blocks in %llu tiles, %llu of them shared;", static_cast<unsigned long long>(work.k_blocks),
                static_cast<unsigned long long>(work.tiles), static_cast<unsigned long long>(work.parts));
  std::printf("\n");
}

/// Small integers: every product and every sum is exact, whatever the order.
std::vector<ww::u16> integers(int count, int period) {
  std::vector<ww::u16> values(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    const auto x = static_cast<float>(i * 7 % period - period / 2);
    ww::u32 bits;
    std::memcpy(&bits, &x, sizeof bits);
    values[static_cast<std::size_t>(i)] = static_cast<ww::u16>(bits >> 16);  // bf16 holds them whole
  }
  return values;
}

}  // namespace

int main(int argc, char** argv) {
  const ww::Device device = example::open(argc, argv, {.sms = kCtas});
  const ww::Buffer a = example::upload(device, integers(kM * kK, 13)),
                   b = example::upload(device, integers(kN * kK, 11));
  const Answer whole = multiply(device, a, b, "tile_scheduler=static");
  show("static", whole);
  for (const char* scheduler : {"tile_scheduler=stream-k", "tile_scheduler=split-k,split=3"}) {
    const Answer cut = multiply(device, a, b, scheduler);
    show(scheduler, cut);
    if (cut.d != whole.d) return std::printf("%s computes another product\n", scheduler), 1;
  }
  return 0;
}
