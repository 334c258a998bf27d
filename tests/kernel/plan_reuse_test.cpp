// SPDX-License-Identifier: Apache-2.0
// One plan serves many runs: with other pointers each time, one after the other and from several threads at once.
#include <gtest/gtest.h>

#include <thread>

#include "random_problem.hpp"

namespace ww {
namespace {

using namespace ww::testing;

/// D of `host` by `made`, packed, in memory of its own.
Result<std::vector<std::uint8_t>> run_plan(const Device& device, const GemmPlan& made, const HostProblem& host) {
  const auto upload = [&](const void* data, std::size_t bytes) -> Result<Buffer> {
    WW_TRY(Buffer buffer, device.allocate(std::max<std::size_t>(bytes, 16)));
    WW_CHECK(device.upload(buffer.data(), data, bytes));
    return buffer;
  };
  const GemmProblem& p = host.problem;
  std::vector<std::uint8_t> d(static_cast<std::size_t>(elements_of(p.batch, p.batch_d, p.m, p.ldd) * bytes_of(p.d)),
                              0xa5);
  WW_TRY(const Buffer a, upload(host.a.data(), host.a.size()));
  WW_TRY(const Buffer b, upload(host.b.data(), host.b.size()));
  WW_TRY(const Buffer sa, upload(host.scale_a.data(), host.scale_a.size() * 4));
  WW_TRY(const Buffer sb, upload(host.scale_b.data(), host.scale_b.size() * 4));
  WW_TRY(const Buffer out, upload(d.data(), d.size()));
  const std::vector<std::uint8_t> zeros(made.workspace_bytes());
  WW_TRY(const Buffer workspace, upload(zeros.data(), zeros.size()));
  WW_CHECK(made.run({.a = a.data(),
                     .b = b.data(),
                     .d = out.data(),
                     .scale_a = static_cast<const float*>(sa.data()),
                     .scale_b = static_cast<const float*>(sb.data()),
                     .workspace = workspace.data(),
                     .workspace_bytes = zeros.size()}));
  WW_CHECK(device.download(d.data(), out.data(), d.size()));
  return packed_output(p, d);
}

TEST(Plan, RunsAgainWithOtherPointersAndFromSeveralThreads) {
  constexpr std::size_t kThreads = 4;
  const auto device = Device::open("emu:sm90", {.cache_dir = {}, .emu = {}});
  ASSERT_TRUE(device) << device.error().message;
  const auto problem = [](std::uint64_t seed) {
    return make_problem({.m = 200, .n = 136, .k = 272, .scale = Scale::block_1x128_128x128},
                        *parse_config("cluster=2x1"), seed);
  };
  const auto made = plan(*device, problem(0).problem, options_of(problem(0), 0));
  ASSERT_TRUE(made) << made.error().message;
  std::string wrong[kThreads];
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (std::uint64_t turn = 0; turn < 3; ++turn) {
        const HostProblem host = problem(10 * t + turn);
        const auto got = run_plan(*device, *made, host);
        wrong[t] += got ? difference(host, *got, reference(host)) : got.error().message;
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : wrong) EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace ww
