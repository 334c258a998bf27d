// SPDX-License-Identifier: Apache-2.0
// The watchdog of kernels built for debugging: it compiles, its cubins have their own keys, and a kernel's records
// become text. Only a GPU can show that a hanging kernel ends.
#include "runtime/watchdog.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "jit/jit.hpp"
#include "jit/memory_cache.hpp"
#include "jit/nvrtc.hpp"
#include "launch/gemm_source.hpp"
#include "select/default_configs.hpp"
#include "support.hpp"

namespace ww::jit {
namespace {

constexpr const char* kKernel = R"(
#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/mbarrier.hpp"
struct Params { ww::u32* flag; };
struct IsSet { WW_DEVICE bool operator()(ww::u32 v) const { return v != 0; } };
WW_KERNEL(waits, 32, Params, params) {
  const ww::arch::MBarrier barrier{ww::arch::dynamic_shared()};
  ww::arch::mbarrier::init(barrier, 1);
  ww::arch::mbarrier::wait(barrier, 0);
  ww::arch::global::wait_global(params.flag, IsSet{});
}
)";

bool holds(const std::vector<char>& image, std::string_view text) {
  return std::search(image.begin(), image.end(), text.begin(), text.end()) != image.end();
}

TEST(Watchdog, FlagsComeFromTheEnvironment) {
  ::unsetenv("WARPWRIGHT_WATCHDOG_MS");
  EXPECT_TRUE(Nvrtc::debug_flags().empty());
  for (const char* nothing : {"", "0", "-5", "soon"}) {
    const test::Variable variable("WARPWRIGHT_WATCHDOG_MS", nothing);
    EXPECT_TRUE(Nvrtc::debug_flags().empty()) << nothing;
  }
  const test::Variable variable("WARPWRIGHT_WATCHDOG_MS", "250");
  EXPECT_EQ(Nvrtc::debug_flags(), std::vector<std::string>{"-DWARPWRIGHT_WATCHDOG_MS=250"});
}

TEST(Watchdog, KernelsCompileWithItUnderKeysOfTheirOwn) {
  if (!Nvrtc::get()) GTEST_SKIP() << "no libnvrtc on this machine";
  const test::Scratch scratch;
  ::unsetenv("WARPWRIGHT_WATCHDOG_MS");
  const auto plain = compile_cubin(kKernel, scratch.path());
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_FALSE(holds(plain->image, "ww_watchdog_buffer"));
  const test::Variable variable("WARPWRIGHT_WATCHDOG_MS", "1000");
  const auto watched = compile_cubin(kKernel, scratch.path());
  ASSERT_TRUE(watched) << watched.error().message;
  EXPECT_GT(watched->compile_seconds, 0);
  EXPECT_TRUE(holds(watched->image, "ww_watchdog_buffer"));
  EXPECT_NE(watched->path, plain->path);
}

TEST(Watchdog, TheGemmCompilesWithItAndKeepsItsRegisters) {
  if (!Nvrtc::get()) GTEST_SKIP() << "no libnvrtc on this machine";
  const test::Scratch scratch;
  const test::Variable variable("WARPWRIGHT_WATCHDOG_MS", "1000");
  const GemmConfig config = select::all_default_configs().front();
  const auto compiled = compile_cubin(adapters::gemm_source(config).text, scratch.path());
  ASSERT_TRUE(compiled) << compiled.error().message;
  EXPECT_TRUE(holds(compiled->image, "ww_watchdog_buffer"));
  EXPECT_EQ(compiled->log.find("setmaxnreg ignored"), std::string::npos) << compiled->log;
}

TEST(Watchdog, RecordsBecomeWords) {
  using arch::WatchdogRecord;
  arch::WatchdogBuffer buffer{};
  EXPECT_EQ(runtime::watchdog_text(buffer), "");
  for (u32 warp = 4; warp < 12; ++warp) {
    buffer.records[warp] = {
        WatchdogRecord::mbarrier, 3, warp * 32, ~0u, 0x18010, 1, 0, 500, 0, {4, static_cast<i32>(warp / 4 - 1), {}}};
    std::memcpy(buffer.records[warp].role.name, "consumer", 8);
  }
  buffer.records[0] = {WatchdogRecord::mbarrier, 3, 0, 1, 0x18040, 0, 0, 500, 0, {4, -1, {}}};
  std::memcpy(buffer.records[0].role.name, "producer", 8);
  buffer.records[1] = {WatchdogRecord::global, 0, 96, 1, 0, 0, 0xabc0, 500, 0, {}};
  buffer.records[2] = buffer.records[5];  // another lane of warp 5
  buffer.records[2].thread += 7;
  EXPECT_EQ(runtime::watchdog_text(buffer),
            "watchdog: 10 warps gave up waiting after 500 ms\n"
            "  CTA 0, warpgroup 0, warp 3: the word of global memory at 0xabc0\n"
            "  CTA 3, consumer 0 and consumer 1, warps 4-11: the mbarrier at offset 0x18010 of dynamic shared memory, "
            "parity 1\n"
            "  CTA 3, producer, warp 0: the mbarrier at offset 0x18040 of dynamic shared memory, parity 0");
}

}  // namespace
}  // namespace ww::jit
