// SPDX-License-Identifier: Apache-2.0
// The chains of launches of tests/gpu/overlap_test.cpp on the emulated devices, where launches never overlap: their
// results are numbers and not NaN, both kinds of plans give the same, and a missing launch is noticed.
// Blackwell has those dense ones whose kernels it has.
#include <gtest/gtest.h>

#include "../gpu/overlap_chains.hpp"

namespace ww::gpu_test {
namespace {

constexpr int kLinks = 5;

struct DeviceChain {
  Arch arch;
  ChainCase chain;
  std::string name() const { return chain.name + (arch == Arch::sm90 ? "" : "OnBlackwell"); }
  friend void PrintTo(const DeviceChain& c, std::ostream* out) { *out << c.name(); }
};

std::vector<DeviceChain> chains_of_devices() {
  std::vector<DeviceChain> all;
  for (const ChainCase& chain : all_chains()) all.push_back({Arch::sm90, chain});
  for (const ChainCase& chain : dense_chains())
    if (chain.name != "Multistage" && chain.name != "KernelsInTurn") all.push_back({Arch::sm100, chain});
  return all;
}

class OverlapChain : public ::testing::TestWithParam<DeviceChain> {
 protected:
  static std::vector<Bytes> run(const Device& device, const Chain& chain, int skipped = -1) {
    const auto copy = [&](void* to, const void* from, std::size_t bytes) { return device.upload(to, from, bytes); };
    return results_of(chain, [&] { must(chain.enqueue({{}, copy}, skipped)); });
  }
};

TEST_P(OverlapChain, IsOfNumbersAndEveryLinkCounts) {
  const Device device =
      must(Device::open(GetParam().arch == Arch::sm90 ? "emu:sm90" : "emu:sm100", {.cache_dir = {}, .emu = {}}));
  for (Slots slots : {Slots::every, Slots::two}) {
    Setting setting{device, Pdl::off, slots, kLinks, false};
    const Chain off = GetParam().chain.make(setting);
    setting.pdl = Pdl::on;
    const Chain on = GetParam().chain.make(setting);
    const std::vector<Bytes> want = run(device, off);
    EXPECT_EQ(off.emptiness(want), "");
    for (int i = 0; i < 2; ++i) EXPECT_EQ(on.difference(run(device, on), want), "") << "run " << i;
    EXPECT_NE(on.difference(run(device, on, kLinks / 2), want), "") << "a link less changes nothing";
  }
}

INSTANTIATE_TEST_SUITE_P(Chains, OverlapChain, ::testing::ValuesIn(chains_of_devices()),
                         [](const auto& info) { return info.param.name(); });

}  // namespace
}  // namespace ww::gpu_test
