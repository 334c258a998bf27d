// SPDX-License-Identifier: Apache-2.0
// The CUDA backend on a GPU. Without one every test is skipped and says why.
#include "runtime/cuda_backend.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "test_kernel.hpp"

namespace ww::runtime {
namespace {

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    const CudaPresence presence = cuda_presence();
    if (presence.devices.empty()) GTEST_SKIP() << "no GPU: " << presence.reason;
    if (!presence.devices[0].supported) GTEST_SKIP() << "cuda:0 is " << presence.devices[0].description;
    Result<Device> device = Device::open("cuda:0");
    ASSERT_TRUE(device) << device.error().message;
    device_.emplace(std::move(*device));
  }
  std::optional<Device> device_;
};

TEST_F(Gpu, RunsAKernelFromItsSourceInClusters) {
  for (const auto& [grid, cluster] : {std::pair{1u, 1u}, {264u, 2u}, {16u, 16u}}) {
    const auto values = test::run(*device_, grid, cluster, 5);
    ASSERT_TRUE(values) << values.error().message;
    EXPECT_EQ(*values, test::expected(grid, 5)) << grid << " CTAs in clusters of " << cluster;
  }
}

TEST_F(Gpu, TakesAllTheSharedMemoryAndPdl) {
  Launch launch;
  launch.shared_bytes = 232448;
  launch.pdl = true;
  const auto values = test::run(*device_, 132, 1, 9, launch);
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_EQ(*values, test::expected(132, 9));
}

TEST_F(Gpu, ResidentClustersFollowTheSize) {
  const auto kernel = device_->backend().kernel(test::source());
  ASSERT_TRUE(kernel) << kernel.error().message;
  const test::Params params{nullptr, 1};
  Launch launch;
  launch.kernel = kernel->get();
  launch.threads = test::kThreads, launch.shared_bytes = 200 * 1024, launch.params = &params,
  launch.params_bytes = sizeof(params);
  for (const std::uint32_t cluster : {1u, 2u, 4u, 8u, 16u}) {
    launch.cluster = launch.grid = cluster;
    const Result<int> clusters = device_->backend().max_active_clusters(launch);
    ASSERT_TRUE(clusters) << clusters.error().message;
    EXPECT_GE(*clusters, 1);
    EXPECT_LE(*clusters * static_cast<int>(cluster), device_->info().sms);
  }
}

TEST_F(Gpu, WrongParameterSizesAreCaught) {
  const auto kernel = device_->backend().kernel(test::source());
  ASSERT_TRUE(kernel) << kernel.error().message;
  const char params[32] = {};
  Launch launch;
  launch.kernel = kernel->get();
  launch.threads = test::kThreads, launch.params = params, launch.params_bytes = sizeof(params);
  const Result<void> launched = device_->backend().launch(launch);
  ASSERT_FALSE(launched) << "needs a driver of CUDA 12.4 or newer";
  EXPECT_EQ(launched.error().argument, "launch.params_bytes");
}

TEST_F(Gpu, LeavesTheCallersContextAlone) {
  const std::shared_ptr<const CudaContext> context = cuda_context(device_->backend());
  CUcontext before = nullptr, after = nullptr;
  context->driver.ctx_get_current(&before);
  ASSERT_TRUE(test::run(*device_, 4, 1, 1));
  context->driver.ctx_get_current(&after);
  EXPECT_EQ(before, after);
}

TEST_F(Gpu, LaunchesAreCaptured) {
  const std::shared_ptr<const CudaContext> context = cuda_context(device_->backend());
  const CudaDriver& driver = context->driver;
  const CurrentContext current(*context);
  const auto kernel = device_->backend().kernel(test::source());
  ASSERT_TRUE(kernel) << kernel.error().message;
  const Buffer out = device_->allocate(4 * test::kThreads * 4).value();
  const test::Params params{static_cast<std::uint32_t*>(out.data()), 11};
  CUstream stream = nullptr;
  ASSERT_EQ(driver.stream_create(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  Launch launch;
  launch.kernel = kernel->get(), launch.grid = 4, launch.cluster = 2, launch.threads = test::kThreads;
  launch.params = &params, launch.params_bytes = sizeof(params), launch.stream.handle = stream;
  ASSERT_EQ(driver.stream_begin_capture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  const Result<void> launched = device_->backend().launch(launch);
  CUgraph graph = nullptr;
  CUgraphExec ready = nullptr;
  ASSERT_EQ(driver.stream_end_capture(stream, &graph), CUDA_SUCCESS);
  ASSERT_TRUE(launched) << launched.error().message;
  ASSERT_EQ(driver.graph_instantiate(&ready, graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(driver.graph_launch(ready, stream), CUDA_SUCCESS);
  ASSERT_TRUE(device_->synchronize({stream}));
  std::vector<std::uint32_t> values(4 * test::kThreads);
  ASSERT_TRUE(device_->download(values.data(), out.data(), out.bytes()));
  EXPECT_EQ(values, test::expected(4, 11));
  driver.graph_exec_destroy(ready);
  driver.graph_destroy(graph);
  driver.stream_destroy(stream);
}

TEST_F(Gpu, TheDriverTakesWhatTheLimitsTake) {
  const Buffer memory = device_->allocate(1 << 20).value();
  for (const DType type : {DType::e4m3, DType::bf16, DType::f16, DType::f32}) {
    const auto row = static_cast<std::uint32_t>(128 / bytes_of(type));
    const TensorMapSpec spec{.base = memory.data(),
                             .element = type,
                             .rank = 2,
                             .extent = {row * 2, 64},
                             .stride_bytes = {0, 256},
                             .box = {row, 64},
                             .swizzle = SmemSwizzle::b128};
    const Result<arch::TensorMap> map = device_->backend().encode(spec);
    EXPECT_TRUE(map) << name_of(type) << ": " << map.error().message;
  }
}

TEST_F(Gpu, MoreMemoryThanThereIsIsRefusedWithBytes) {
  const Result<Buffer> buffer = device_->allocate(device_->info().memory_bytes - 1);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().code, ErrorCode::could_not_finish);
  EXPECT_NE(buffer.error().message.find("bytes free of"), std::string::npos) << buffer.error().message;
}

}  // namespace
}  // namespace ww::runtime
