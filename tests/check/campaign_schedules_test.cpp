// SPDX-License-Identifier: Apache-2.0
// The four schedules on the library's GEMM: same seed, same run; another seed or kind, another run; always the same D.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "warpwright/host/gemm.hpp"

namespace ww {
namespace {

constexpr GemmProblem kProblem{.m = 256, .n = 256, .k = 256, .a = DType::bf16, .b = DType::bf16, .d = DType::f32};

struct Ran {
  std::uint64_t switches = 0;
  std::vector<float> d;
};

Ran run(EmuSchedule schedule, std::uint64_t seed, int threads = 1) {
  DeviceOptions options;
  options.emu.seed = seed;
  options.emu.schedule = schedule;
  options.emu.threads = threads;
  const auto device = Device::open("emu:sm90", options);
  EXPECT_TRUE(device) << device.error().message;
  const auto made = plan_gemm(*device, kProblem);
  EXPECT_TRUE(made) << made.error().message;
  const auto a = device->allocate(256 * 256 * 2), b = device->allocate(256 * 256 * 2),
             d = device->allocate(256 * 256 * 4);
  for (int i = 0; i < 256 * 256; ++i) {
    static_cast<std::uint16_t*>(a->data())[i] = static_cast<std::uint16_t>(0x3f80 + i % 7 * 16);
    static_cast<std::uint16_t*>(b->data())[i] = static_cast<std::uint16_t>(0x3f80 + i % 5 * 16);
  }
  const auto done = made->run({.a = a->data(), .b = b->data(), .d = d->data()});
  EXPECT_TRUE(done) << name_of(schedule) << ", seed " << seed << ": " << done.error().message;
  Ran result;
  if (const auto stats = made->last_stats()) result.switches = stats->switches;
  result.d.assign(static_cast<float*>(d->data()), static_cast<float*>(d->data()) + 256 * 256);
  return result;
}

TEST(Schedules, AreRepeatedBySeedAndNeverChangeTheResult) {
  const std::vector<float> expected = run(EmuSchedule::fifo, 0).d;
  std::set<std::uint64_t> runs;
  for (EmuSchedule kind : {EmuSchedule::random, EmuSchedule::pct, EmuSchedule::adversarial}) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      const Ran one = run(kind, seed);
      EXPECT_EQ(one.d, expected) << name_of(kind) << ", seed " << seed;
      runs.insert(one.switches);
      if (seed % 4 != 0) continue;
      EXPECT_EQ(run(kind, seed).switches, one.switches) << name_of(kind) << ", seed " << seed;
      EXPECT_EQ(run(kind, seed, 2).switches, one.switches) << name_of(kind) << ", seed " << seed << ", two threads";
    }
  }
  EXPECT_GT(runs.size(), 24u) << "schedules should differ";
}

}  // namespace
}  // namespace ww
