// SPDX-License-Identifier: Apache-2.0
// Modules compiled for checking report their plain loads and stores, and only such modules can be called clean.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "check/wire.hpp"
#include "runtime/backend.hpp"

namespace ww {
namespace {

const char* const kSource = R"(
#include "warpwright/arch/common/fence.hpp"
#include "warpwright/arch/common/mbarrier.hpp"
#include "warpwright/arch/common/named_barrier.hpp"
#include "warpwright/arch/common/role.hpp"
#include "warpwright/arch/common/shared.hpp"
#include "warpwright/arch/sm90/wgmma.hpp"

using namespace ww;
using namespace ww::arch;

struct Params { float* d; int shift; };

WW_KERNEL(plain, 128, Params, params) {
  params.d[thread_index()] = 1.0f;
  if (params.shift == 2) named_barrier::sync_cta();
  if (params.shift != 0) params.d[(thread_index() + 1) % 128] = 2.0f;
}
WW_KERNEL(outside, 128, Params, params) { params.d[128 * params.shift + thread_index()] = 1.0f; }
WW_KERNEL(accumulator, 128, Params, params) {
  const SharedAddress base = dynamic_shared();
  for (u32 at = thread_index() * 16; at < 8192; at += 128 * 16) shared::store4(base + at, {{0, 0, 0, 0}});
  fence::proxy_async_shared();
  named_barrier::sync_cta();
  Accumulator<64> acc;
  for (int v = 0; v < 32; ++v) acc[v] = 1.0f;
  wgmma::fence();
  const MatrixDescriptor operand{base.value >> 4 | u64{1024 >> 4} << 32 | u64{1} << 62};
  wgmma::mma<DType::e4m3>(acc, operand, operand, true);
  wgmma::commit();
  float early = 0;
  if (params.shift == 1) early = acc[3];
  wgmma::wait<0>(acc);
  params.d[thread_index()] = acc[3] + early;
}
// Two in flight, of which the first comes back first. 1: the other is read then; 2: a parameter is written.
WW_KERNEL(accumulators, 128, Params, params) {
  const SharedAddress base = dynamic_shared();
  for (u32 at = thread_index() * 16; at < 8192; at += 128 * 16) shared::store4(base + at, {{0, 0, 0, 0}});
  fence::proxy_async_shared();
  named_barrier::sync_cta();
  Accumulator<64> acc[3];
  for (int u = 0; u < 3; ++u)
    for (int v = 0; v < 32; ++v) acc[u][v] = 1.0f;
  wgmma::fence();
  const MatrixDescriptor operand{base.value >> 4 | u64{1024 >> 4} << 32 | u64{1} << 62};
  const int first = params.shift == 3 ? 2 : 0;  // below the other in memory, or above it
  wgmma::mma<DType::e4m3>(acc[first], operand, operand, true);
  wgmma::commit();
  wgmma::mma<DType::e4m3>(acc[2 - first], operand, operand, true);
  wgmma::commit();
  wgmma::wait<1>(acc[first]);
  float sum = acc[first][3] + acc[1][5];
  if (params.shift == 1 || params.shift == 3) sum += acc[2 - first][31];
  wgmma::wait<0>(acc[2 - first]);
  if (params.shift == 2) *const_cast<volatile int*>(&params.shift) = 2;
  params.d[thread_index()] = acc[2 - first][3] + sum;
}
// Each CTA races with itself and with the next one; the last of them waits for ever.
WW_KERNEL(several, 128, Params, params) {
  const u32 block = block_index();
  params.d[16 * block + lane_index()] = 1.0f;
  if (thread_index() == 0) params.d[127] = 2.0f;
  if (block != grid_size() - 1 || params.shift == 0) return;
  const MBarrier never{dynamic_shared()};
  if (thread_index() == 0) mbarrier::init(never, 1);
  named_barrier::sync_cta();
  mbarrier::wait(never, 0);
}
WW_KERNEL(roles, 128, Params, params) {
  if (warp_index() < 2) role("consumer", static_cast<int>(warp_index()));
  if (warp_index() == 2) role("producer");
  if (params.shift == 0) params.d[thread_index()] = 1.0f;
  if (params.shift == 1 && warp_index() != 0) params.d[lane_index()] = 1.0f;
  if (params.shift == 2) {
    const MBarrier never{dynamic_shared()};
    if (thread_index() == 0) mbarrier::init(never, 1);
    named_barrier::sync_cta();
    params.d[thread_index()] = 1.0f;
    if (lane_index() == 0) mbarrier::wait(never, 0);
  }
}
WW_MODULE()
)";

class CheckedModule : public ::testing::Test {
 protected:
  struct Params {
    float* d;
    int shift;
  };

  static void SetUpTestSuite() {
    cache_ = std::filesystem::temp_directory_path() / ("ww-checked-module-" + std::to_string(::getpid()));
  }
  static void TearDownTestSuite() {
    std::error_code ignored;
    std::filesystem::remove_all(cache_, ignored);
  }

  static CheckReport run(const char* kernel_name, int shift, EmuOptions emu = {}, u32 grid = 1) {
    DeviceOptions options;
    options.cache_dir = cache_;
    options.emu = emu;
    options.emu.check = true;
    auto device = Device::open("emu:sm90", options);
    EXPECT_TRUE(device) << device.error().message;
    auto kernel = device->backend().kernel({kernel_name, kSource});
    if (!kernel) {
      ADD_FAILURE() << kernel.error().message;
      return {};
    }
    alignas(256) float d[512] = {};
    const Params params{d, shift};
    const runtime::MemoryRange memory[] = {{"d", d, 128 * sizeof(float), true}};
    runtime::Launch launch;
    launch.kernel = kernel->get();
    launch.threads = 128, launch.grid = grid;
    launch.shared_bytes = 8192;
    launch.params = &params;
    launch.params_bytes = sizeof params;
    launch.memory = memory;
    const auto launched = device->backend().launch(launch);
    const auto report = device->backend().last_check();
    EXPECT_TRUE(report);
    EXPECT_EQ(launched.has_value(), report->verdict == Verdict::clean);
    return report.value_or(CheckReport{});
  }

  static void expect(const char* kernel_name, int shift, Rule rule, const char* words) {
    const CheckReport report = run(kernel_name, shift);
    EXPECT_EQ(report.verdict, Verdict::findings) << report.why_incomplete;
    ASSERT_FALSE(report.findings.empty());
    EXPECT_EQ(report.findings[0].rule, rule) << report.findings[0].text;
    EXPECT_NE(report.findings[0].text.find(words), std::string::npos) << report.findings[0].text;
  }
  static void expect_clean(const char* kernel_name, int shift) {
    const CheckReport report = run(kernel_name, shift);
    EXPECT_EQ(report.verdict, Verdict::clean)
        << report.why_incomplete << (report.findings.empty() ? "" : report.findings[0].text);
  }

  static inline std::filesystem::path cache_;
};

TEST_F(CheckedModule, PlainStoresOfTwoThreadsRace) {
  expect_clean("plain", 0);
  expect_clean("plain", 2);
  expect("plain", 1, Rule::data_race, "operand d");
}
TEST_F(CheckedModule, PlainStoresStayInTheirOperand) {
  expect_clean("outside", 0);
  expect("outside", 1, Rule::out_of_bounds, "past the start of operand d, which has 512");
}
TEST_F(CheckedModule, AccumulatorsInFlightAreNotRead) {
  expect_clean("accumulator", 0);
  expect("accumulator", 1, Rule::accumulator_in_flight, "read of its accumulators");
}
TEST_F(CheckedModule, AccumulatorsOfALaterGroupStayInFlight) {
  for (const EmuMath math : {EmuMath::exact, EmuMath::off}) {
    EmuOptions options;
    options.math = math;
    const CheckReport clean = run("accumulators", 0, options);
    EXPECT_EQ(clean.verdict, Verdict::clean)
        << clean.why_incomplete << (clean.findings.empty() ? "" : clean.findings[0].text);
    for (const int other : {1, 3}) {
      const CheckReport early = run("accumulators", other, options);
      ASSERT_FALSE(early.findings.empty());
      EXPECT_EQ(early.findings[0].rule, Rule::accumulator_in_flight) << early.findings[0].text;
    }
  }
}
TEST_F(CheckedModule, ParametersAreOnlyRead) {
  expect("accumulators", 2, Rule::out_of_bounds, "second: store at kernel.cpp");
}
/// Returns the contents of a report without its time.
std::string bytes_of(CheckReport report) {
  report.stats.seconds = 0;
  campaign::WireWriter wire;
  wire(report);
  return wire.bytes;
}

TEST_F(CheckedModule, TheSameSeedGivesTheSameReportOnAnyNumberOfThreads) {
  for (int stuck : {0, 1}) {
    for (const EmuSchedule schedule : {EmuSchedule::random, EmuSchedule::adversarial}) {
      EmuOptions options{.seed = 11, .schedule = schedule, .threads = 1};
      const CheckReport one = run("several", stuck, options, 6);
      options.threads = 2;
      const CheckReport two = run("several", stuck, options, 6);
      ASSERT_EQ(one.verdict, Verdict::findings) << one.why_incomplete;
      EXPECT_GE(one.findings.size(), stuck ? 3u : 2u) << "a race in a CTA, one of two CTAs, and a deadlock if any";
      ASSERT_EQ(one.findings.size(), two.findings.size());
      for (std::size_t i = 0; i < one.findings.size(); ++i) EXPECT_EQ(one.findings[i].text, two.findings[i].text);
      EXPECT_EQ(bytes_of(one), bytes_of(two)) << name_of(schedule) << ", stuck " << stuck;
    }
  }
}

TEST_F(CheckedModule, ReportsUseTheRolesThatKernelsGiveThemselves) {
  expect_clean("roles", 0);
  expect("roles", 1, Rule::data_race, "CTA 0, consumer 1, warp 1, lane 0");
  expect("roles", 1, Rule::data_race, "CTA 0, producer, warp 2, lane 0");
  for (const char* words : {"CTA 0, consumer 0, warp 0 (1 thread) at ", "CTA 0, consumer 1, warp 1 (1 thread) at ",
                            "CTA 0, producer, warp 2 (1 thread) at ", "CTA 0, warpgroup 0, warp 3 (1 thread) at "})
    expect("roles", 2, Rule::deadlock, words);
}

}  // namespace
}  // namespace ww
