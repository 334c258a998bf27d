// SPDX-License-Identifier: Apache-2.0
// A kernel from source text to results on the emulated device, and every launch that is refused before it.
#include <gtest/gtest.h>

#include <thread>

#include "runtime/launch_limits.hpp"
#include "test_kernel.hpp"

namespace ww::runtime {
namespace {

class EmuBackend : public testing::Test {
 protected:
  Launch good(const Kernel* kernel) {
    return {.kernel = kernel,
            .grid = 4,
            .cluster = 2,
            .threads = test::kThreads,
            .shared_bytes = 0,
            .params = &params_,
            .params_bytes = sizeof(params_),
            .memory = {},
            .cross_cta = false,
            .pdl = false,
            .stream = {}};
  }
  Device device_ = Device::open("emu:sm90").value();
  Backend& backend_ = device_.backend();
  std::uint32_t word_ = 0;
  test::Params params_{&word_, 1};
};

TEST_F(EmuBackend, RunsAKernelFromItsSource) {
  for (const auto& [grid, cluster] : {std::pair{1u, 1u}, {6u, 1u}, {8u, 2u}, {16u, 8u}}) {
    const auto values = test::run(device_, grid, cluster, 3);
    ASSERT_TRUE(values) << values.error().message;
    EXPECT_EQ(*values, test::expected(grid, 3)) << grid << " CTAs in clusters of " << cluster;
    const auto stats = backend_.last_stats();
    ASSERT_TRUE(stats);
    EXPECT_EQ(stats->ctas, grid);
  }
}

TEST_F(EmuBackend, OneSourceIsOneKernelAndFailuresAreNotKept) {
  const auto first = backend_.kernel(test::source());
  const auto second = backend_.kernel(test::source());
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_TRUE(second);
  EXPECT_EQ(first->get(), second->get());
  KernelSource other = test::source();
  other.name = "no_such_kernel";
  for (int i = 0; i < 2; ++i) {
    const auto missing = backend_.kernel(other);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::invalid);
    EXPECT_NE(missing.error().message.find("no_such_kernel"), std::string::npos) << missing.error().message;
  }
}

TEST_F(EmuBackend, AskedByManyThreadsItCompilesOnceAndRunsRight) {
  std::vector<std::thread> threads;
  std::vector<Result<std::vector<std::uint32_t>>> values(4);
  for (std::size_t i = 0; i < values.size(); ++i)
    threads.emplace_back([&, i] { values[i] = test::run(device_, 4, 2, static_cast<std::uint32_t>(i + 1)); });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_TRUE(values[i]) << values[i].error().message;
    EXPECT_EQ(*values[i], test::expected(4, static_cast<std::uint32_t>(i + 1)));
  }
}

TEST_F(EmuBackend, StatisticsBelongToTheThreadAndTheDevice) {
  ASSERT_TRUE(test::run(device_, 1, 1, 1));
  EXPECT_TRUE(backend_.last_stats());
  EXPECT_FALSE(Device::open("emu:sm90")->backend().last_stats());
  std::thread([&] { EXPECT_FALSE(backend_.last_stats()); }).join();
}

TEST_F(EmuBackend, BadLaunchesAreRefusedByField) {
  const auto kernel = backend_.kernel(test::source());
  ASSERT_TRUE(kernel) << kernel.error().message;
  const auto refused = [&](const char* field, auto&& change) {
    Launch launch = good(kernel->get());
    change(launch);
    const Result<void> launched = backend_.launch(launch);
    ASSERT_FALSE(launched) << field;
    EXPECT_EQ(launched.error().code, ErrorCode::invalid);
    EXPECT_EQ(launched.error().argument, std::string("launch.") + field) << launched.error().message;
  };
  refused("kernel", [](Launch& l) { l.kernel = nullptr; });
  refused("grid", [](Launch& l) { l.grid = 0; });
  refused("grid", [](Launch& l) { l.grid = 3; });
  refused("cluster", [](Launch& l) { l.cluster = 0; });
  refused("cluster", [](Launch& l) { l.cluster = 32; });
  refused("threads", [](Launch& l) { l.threads = 65; });
  refused("threads", [](Launch& l) { l.threads = 128; });
  refused("shared_bytes", [](Launch& l) { l.shared_bytes = 232449; });
  refused("params", [](Launch& l) { l.params = nullptr; });
  refused("params_bytes", [](Launch& l) { l.params_bytes = 8; });
  refused("grid", [](Launch& l) { l.cross_cta = true, l.grid = 6; });
}

TEST_F(EmuBackend, AKernelOfAnotherDeviceIsRefused) {
  const Device other = Device::open("emu:sm90").value();
  const auto kernel = other.backend().kernel(test::source());
  ASSERT_TRUE(kernel) << kernel.error().message;
  const Result<void> launched = backend_.launch(good(kernel->get()));
  ASSERT_FALSE(launched);
  EXPECT_EQ(launched.error().argument, "launch.kernel");
}

TEST_F(EmuBackend, ResidentClustersAreFourSmsOrOneCluster) {
  Launch launch;
  for (const auto& [cluster, clusters] : {std::pair{1u, 4}, {2u, 2}, {4u, 1}, {16u, 1}}) {
    launch.cluster = cluster;
    EXPECT_EQ(backend_.max_active_clusters(launch).value(), clusters);
  }
  launch.cluster = 0;
  EXPECT_FALSE(backend_.max_active_clusters(launch));
}

TEST_F(EmuBackend, EncodeChecksTheLimits) {
  TensorMapSpec spec{.base = &word_, .extent = {0, 1}};
  EXPECT_FALSE(backend_.encode(spec));
}

TEST_F(EmuBackend, HopperHasNoNarrowElements) {
  alignas(32) static char memory[4096];
  const auto map = backend_.encode({.base = memory,
                                    .rank = 2,
                                    .extent = {256, 8},
                                    .stride_bytes = {0, 128},
                                    .box = {128, 8},
                                    .narrow = NarrowElements::bits4_padded});
  ASSERT_FALSE(map);
  EXPECT_EQ(map.error().argument, "tensor_map.narrow");
}

}  // namespace
}  // namespace ww::runtime
