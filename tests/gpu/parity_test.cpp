// SPDX-License-Identifier: Apache-2.0
// Both executors, bit for bit: each case of tests/arch runs on the emulated device (kernels compiled into this program)
// and on cuda:0 (the same texts through NVRTC), from the same input. Without a GPU every test is skipped and says why.
// Nothing can hang: mbarrier waits give up by an illegal store in a first run, and an alarm ends the program. Only when
// the guarded build of a kernel has passed does the plain one, with the wait loop that users get, run.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "case.hpp"

namespace ww::arch_test {
namespace {

constexpr unsigned kProgramSeconds = 240;
constexpr const char* kGuard = "#define WARPWRIGHT_WATCHDOG_MS 500\n";

/// cuda:0, opened once. The cache is one folder, so that a process for each test compiles nothing twice.
const Result<Device>& gpu() {
  static const auto cache = std::filesystem::temp_directory_path() / "warpwright-arch-test-cache";
  static const Result<Device> device = Device::open("cuda:0", {.cache_dir = cache, .emu = {}});
  return device;
}

std::size_t words_compared = 0, cases_equal = 0;

class BothExecutors : public testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() {
    ::alarm(kProgramSeconds);
    if (gpu()) std::printf("GPU: %s\n", gpu()->info().description.c_str());
    else std::printf("no GPU, every test is skipped: %s\n", gpu().error().message.c_str());
  }
  static void TearDownTestSuite() {
    std::printf("%zu cases equal to the bit, %zu words, each compared twice\n", cases_equal, words_compared);
  }
};

Result<std::vector<u32>> run_on_gpu(const Case& c, const std::string& prefix) {
  WW_TRY(const auto kernel, gpu()->backend().kernel({c.kernel, prefix + kernel_source(c.header)}));
  return run_on_device(c, *gpu(), *kernel);
}

void compare(const Case& c) {
  const auto emulated = run_in_process(c, {.seed = 17});
  ASSERT_TRUE(emulated) << c.name << ": " << emulated.error().message;
  EXPECT_EQ(difference(*emulated, c.expected), "") << c.name << ": the emulated device against the host";
  for (const char* prefix : {kGuard, ""}) {
    const char* build = *prefix ? "guarded" : "plain";
    const auto real = run_on_gpu(c, prefix);
    ASSERT_TRUE(real) << c.name << ", " << build << ": " << real.error().message;
    ASSERT_EQ(difference(*real, *emulated), "") << c.name << ", " << build << ": the GPU against the emulated device";
  }
  std::printf("equal: %-60s %7zu words\n", c.name.c_str(), emulated->size());
  words_compared += emulated->size();
  ++cases_equal;
}

TEST_P(BothExecutors, GiveTheSameBits) {
  if (!gpu()) GTEST_SKIP() << gpu().error().message;
  for (const Case& c : all_cases())
    if (c.header == std::string_view(GetParam())) compare(c);
}

INSTANTIATE_TEST_SUITE_P(Kernels, BothExecutors, testing::ValuesIn(kernel_headers()),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace ww::arch_test
