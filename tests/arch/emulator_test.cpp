// SPDX-License-Identifier: Apache-2.0
// Every case on the emulated device, under several orders of its asynchronous units, against the host's expectation.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "case.hpp"
#include "emu/machine_model.hpp"

namespace ww::arch_test {
namespace {

/// One test for each header of kernels/, because a process for each case would cost more than the cases.
class OnEmulator : public testing::TestWithParam<const char*> {};

void run_case(const Case& c) {
  for (u64 seed = 0; seed < 4; ++seed) {
    const EmuOptions options{.seed = seed, .schedule = seed == 0 ? EmuSchedule::fifo : EmuSchedule::random};
    const auto words = run_in_process(c, options);
    if (!c.error.empty()) {
      ASSERT_FALSE(words) << c.name << ", seed " << seed << ": accepted";
      ASSERT_NE(words.error().message.find(c.error), std::string::npos) << c.name << ": " << words.error().message;
      continue;
    }
    ASSERT_TRUE(words) << c.name << ", seed " << seed << ": " << words.error().message;
    ASSERT_EQ(difference(*words, c.expected), "") << c.name << ", seed " << seed;
  }
}

TEST_P(OnEmulator, EveryCaseLeavesTheExpectedWords) {
  if (is_sm100(GetParam()) && !emu::find_machine("emu:sm100")) GTEST_SKIP() << "this library does not emulate sm_100";
  for (const Case& c : all_cases())
    if (c.header == std::string_view(GetParam())) run_case(c);
}

INSTANTIATE_TEST_SUITE_P(Kernels, OnEmulator, testing::ValuesIn(kernel_headers()),
                         [](const auto& info) { return std::string(info.param); });

TEST(Cases, CoverEveryKernel) {
  std::set<std::string> used, present;
  for (const Case& c : all_cases()) used.insert(c.kernel);
  ASSERT_NE(find_kernel("arch_warp"), nullptr);
  for (const arch::KernelEntry* entry = arch::registered; entry; entry = entry->next) present.insert(entry->name);
  EXPECT_EQ(used, present);
}

TEST(Module, CompiledByTheLibraryGivesTheSameWords) {
  const auto cache = std::filesystem::temp_directory_path() / "warpwright-arch-test-cache";
  const auto device = Device::open("emu:sm90", {.cache_dir = cache, .emu = {.seed = 9}});
  ASSERT_TRUE(device) << device.error().message;
  int run = 0;
  for (const Case& c : all_cases()) {
    if (c.header != std::string_view("warp") && c.header != std::string_view("mbarrier")) continue;
    const auto kernel = device->backend().kernel({c.kernel, kernel_source(c.header)});
    ASSERT_TRUE(kernel) << kernel.error().message;
    const auto words = run_on_device(c, *device, **kernel);
    ASSERT_TRUE(words) << c.name << ": " << words.error().message;
    EXPECT_EQ(difference(*words, c.expected), "") << c.name;
    ++run;
  }
  EXPECT_GE(run, 7);
}

}  // namespace
}  // namespace ww::arch_test
