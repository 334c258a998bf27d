// SPDX-License-Identifier: Apache-2.0
// One captured launch of a grouped product, replayed with other sizes: nothing about the groups may be fixed in it.
// Needs a GPU; the size vectors include all empty, one-hot, one row each, and back to the first.
#include <gtest/gtest.h>

#include <numeric>

#include "problems/random_grouped.hpp"
#include "runtime/cuda_driver.hpp"

namespace ww::gpu_test {
namespace {

using testing::HostGrouped;

constexpr std::int64_t kGroups = 6, kRows = 520;

HostGrouped problem_of(GroupedVariant variant) {
  HostGrouped h;
  GroupedProblem& p = h.problem;
  p = {.groups = kGroups, .rows = kRows, .n = 392, .k = 400, .scale = Scale::block_1x128_128x128};
  p.lda = p.ldb = p.k, p.ldd = p.n, p.stride_b_group = p.n * p.k;
  const std::int64_t blocks = ceil_div(p.k, 128), blocks_n = ceil_div(p.n, 128);
  p.scale_a_row = blocks, p.scale_a_k = 1, p.scale_b_n = blocks, p.scale_b_k = 1, p.scale_b_group = blocks_n * blocks;
  h.config.row_groups.variant = variant;
  std::mt19937_64 rng(7);
  testing::fill_matrix(h.a, rng, p.a, p.rows, p.k, p.lda);
  testing::fill_matrix(h.b, rng, p.b, p.groups * p.n, p.k, p.ldb);
  for (std::int64_t i = 0; i < p.rows * blocks; ++i) h.scale_a.push_back(0.5f + static_cast<float>(rng() % 64) / 64);
  for (std::int64_t i = 0; i < p.groups * blocks_n * blocks; ++i)
    h.scale_b.push_back(0.5f + static_cast<float>(rng() % 64) / 64);
  return h;
}

void set_counts(HostGrouped& h, const std::vector<std::int64_t>& counts) {
  h.ranges.clear(), h.sizes.clear();
  std::int64_t row = 0;
  for (std::int64_t count : counts) {
    h.ranges.emplace_back(row, count);
    h.sizes.push_back(static_cast<std::int32_t>(row += count));
  }
}

class Replay : public ::testing::TestWithParam<GroupedVariant> {};

TEST_P(Replay, OtherSizesInTheSameGraph) {
  const auto driver = runtime::CudaDriver::get();
  if (!driver) GTEST_SKIP() << "no GPU: " << driver.error().message;
  const auto device = Device::open("cuda:0");
  if (!device) GTEST_SKIP() << "no GPU: " << device.error().message;
  const runtime::CudaDriver& cuda = **driver;
  HostGrouped h = problem_of(GetParam());
  set_counts(h, {17, 0, 301, 9, 1, 64});
  const auto made = plan_grouped(*device, h.problem, {.config = h.config});
  ASSERT_TRUE(made) << made.error().message;

  const auto upload = [&](const void* data, std::size_t bytes) {
    Buffer buffer = *device->allocate(bytes);
    EXPECT_TRUE(device->upload(buffer.data(), data, bytes));
    return buffer;
  };
  const std::vector<std::uint8_t> blank(static_cast<std::size_t>(kRows * h.problem.ldd) * 2, testing::kUntouched);
  const std::vector<std::uint8_t> zeros(made->workspace_bytes(), 0);
  const Buffer a = upload(h.a.data(), h.a.size()), b = upload(h.b.data(), h.b.size());
  const Buffer sa = upload(h.scale_a.data(), h.scale_a.size() * 4), sb = upload(h.scale_b.data(), h.scale_b.size() * 4);
  const Buffer sizes = upload(h.sizes.data(), h.sizes.size() * 4), workspace = upload(zeros.data(), zeros.size());
  const Buffer d = upload(blank.data(), blank.size());

  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec ready = nullptr;
  // After the uploads, because they made the device's primary context, which the plan's runs use.
  CUcontext context = nullptr;
  CUdevice ordinal = 0;
  ASSERT_EQ(cuda.device_get(&ordinal, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuda.primary_ctx_retain(&context, ordinal), CUDA_SUCCESS);
  const runtime::CudaContext keeper(cuda, ordinal, context);
  const runtime::CurrentContext current(keeper);
  ASSERT_EQ(cuda.stream_create(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(cuda.stream_begin_capture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  const auto ran = made->run({.a = a.data(),
                              .b = b.data(),
                              .d = d.data(),
                              .scale_a = static_cast<const float*>(sa.data()),
                              .scale_b = static_cast<const float*>(sb.data()),
                              .sizes = static_cast<const std::int32_t*>(sizes.data()),
                              .workspace = workspace.data(),
                              .workspace_bytes = zeros.size()},
                             {stream});
  ASSERT_EQ(cuda.stream_end_capture(stream, &graph), CUDA_SUCCESS);
  ASSERT_TRUE(ran) << ran.error().message;
  ASSERT_EQ(cuda.graph_instantiate(&ready, graph, 0), CUDA_SUCCESS);

  const std::vector<std::vector<std::int64_t>> all_counts = {{17, 0, 301, 9, 1, 64},   {0, 0, 0, 0, 0, 0},
                                                             {0, 0, 520, 0, 0, 0},     {1, 1, 1, 1, 1, 1},
                                                             {90, 80, 70, 60, 50, 40}, {17, 0, 301, 9, 1, 64}};
  for (const auto& counts : all_counts) {
    set_counts(h, counts);
    ASSERT_TRUE(device->upload(d.data(), blank.data(), blank.size()));
    ASSERT_TRUE(device->upload(sizes.data(), h.sizes.data(), h.sizes.size() * 4));
    ASSERT_EQ(cuda.graph_launch(ready, stream), CUDA_SUCCESS);
    const auto done = device->synchronize({stream});
    ASSERT_TRUE(done) << done.error().message;
    std::vector<std::uint8_t> got(blank.size());
    ASSERT_TRUE(device->download(got.data(), d.data(), got.size()));
    EXPECT_EQ(testing::difference(h, got, testing::reference(h)), "");
  }
  cuda.graph_exec_destroy(ready);
  cuda.graph_destroy(graph);
  cuda.stream_destroy(stream);
}

INSTANTIATE_TEST_SUITE_P(Variants, Replay,
                         ::testing::Values(GroupedVariant::ragged, GroupedVariant::contiguous,
                                           GroupedVariant::descriptors),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace ww::gpu_test
