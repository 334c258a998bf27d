// SPDX-License-Identifier: Apache-2.0
// Grouped problems of the kernel tests, and the comparison of D, bit for bit, with the dense plan on each group.
#pragma once

#include <cstdint>

#include <gtest/gtest.h>

#include "problems/grouped_problem.hpp"

namespace ww::testing {

inline constexpr GroupEncoding kEncodings[] = {GroupEncoding::offsets, GroupEncoding::indptr,
                                               GroupEncoding::starts_counts, GroupEncoding::row_ids,
                                               GroupEncoding::masked};
inline const std::vector<std::int64_t> kCounts = {1, 9, 0, 40, 130, 3};

inline Device open_emu(std::uint64_t seed = 0, int sms = EmuOptions{}.sms, Arch arch = Arch::sm90) {
  auto device =
      Device::open(fmt::format("emu:{}", name_of(arch)), {.cache_dir = {}, .emu = {.seed = seed, .sms = sms}});
  if (!device) throw std::runtime_error(device.error().message);
  return *device;
}

inline GemmConfig dense_config() { return {.tile = {64, 64}, .cluster = {1, 1}}; }

/// Returns the variant with tokens on the M side.
inline GroupedVariant normal_variant(GroupEncoding encoding) {
  return encoding == GroupEncoding::masked ? GroupedVariant::masked : GroupedVariant::contiguous;
}

inline GroupedProblem problem_for(GroupEncoding encoding, Scale scale = Scale::none, DType a = bf16, DType d = bf16) {
  GroupedProblem p{.groups = 6, .rows = 240, .n = 136, .k = 208, .a = a, .b = a, .d = d, .scale = scale};
  p.encoding = encoding;
  if (encoding == GroupEncoding::masked) p.rows = 131;
  return p;
}

/// Returns the dense config that splits and sums K in the same way.
inline GemmConfig dense_like(const GemmConfig& config) {
  GemmConfig dense = dense_config();
  dense.arch = config.arch;
  if (config.sm90.tile_scheduler == TileScheduler::split_k)
    dense.sm90.tile_scheduler = TileScheduler::split_k, dense.sm90.split = dense.cluster.k = config.cluster.k;
  return dense;
}

/// Runs `host` on the device of the config's architecture and compares all of D with the dense answer.
inline void expect_dense_bits(const HostGrouped& host, const GemmConfig& config = {}) {
  const int sms = std::max(EmuOptions{}.sms, 2 * config.sm90.split);  // two clusters
  const Device device = open_emu(host.number, sms, config.arch);
  const auto made = plan_grouped(device, host.problem, {.config = config});
  ASSERT_TRUE(made) << made.error().message;
  DeviceGrouped memory(device, host, made->workspace_bytes());
  const auto ran = made->run(memory.operands());
  ASSERT_TRUE(ran) << ran.error().message << "\n" << host.replay() << " config " << to_text(made->config());
  const std::uint8_t outside = host.problem.zero_outside ? 0 : 0xa5;
  EXPECT_EQ(difference(host, memory.d(), dense_answer(device, host, dense_like(made->config()), outside)), "")
      << to_text(made->config());
  EXPECT_EQ(memory.status(), 0u) << host.replay();
}

}  // namespace ww::testing
