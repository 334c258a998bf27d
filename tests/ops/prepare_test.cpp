// SPDX-License-Identifier: Apache-2.0
// ww::prepare: one compile for each kernel, on several threads, errors kept apart, nothing half-written on disk.
#include "warpwright/host/prepare.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>

#include "config/config_text.hpp"
#include "support.hpp"

namespace ww {
namespace {

namespace fs = std::filesystem;
using jit::test::Scratch;

// shapes that no module ships for, cheap to compile
constexpr const char* kConfigs[] = {"tile=64x8x128,cluster=1x1,stages=2", "tile=64x16x128,cluster=1x1,stages=2",
                                    "tile=64x24x128,cluster=1x1,stages=2"};

PrepareCase case_of(const char* config, std::int64_t m = 64) {
  return {GemmProblem{.m = m, .n = 64, .k = 256}, {.config = *parse_config(config)}};
}

Device open_with_cache(const fs::path& cache) {
  auto device = Device::open("emu:sm90", {.cache_dir = cache, .emu = {}});
  if (!device) throw std::runtime_error(device.error().message);
  return *device;
}

/// Files below `root` that are no published module.
std::vector<std::string> leftovers(const fs::path& root) {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (entry.is_regular_file() && entry.path().extension() != ".so") found.push_back(entry.path().string());
  return found;
}

/// The real compiler, but not for kernels whose source has `word` in it; a line in `log` for each call.
fs::path failing_compiler(const Scratch& scratch, const std::string& word) {
  return jit::test::write_script(
      scratch / "failing-c++",
      "echo x >> " + (scratch / "log").string() + "\nfor file; do case $file in *kernel.cpp) grep -q '" + word +
          "' \"$file\" && { echo no kernel today >&2; exit 1; };; esac; done\nexec " + WW_TEST_COMPILER + " \"$@\"\n");
}

// Each kernel waits until another one is being made, which never happens if a plan makes them in turn.
TEST(Prepare, APlanMakesItsKernelsAtTheSameTime) {
  const Scratch scratch;
  std::mutex mutex;
  std::condition_variable changed;
  int begun = 0, alone = 0;
  const auto on_kernel = [&](const KernelEvent&) {
    std::unique_lock lock(mutex);
    ++begun;
    changed.notify_all();
    alone += !changed.wait_for(lock, std::chrono::seconds(20), [&] { return begun >= 2; });
  };
  const auto device = Device::open("emu:sm90", {.cache_dir = scratch / "cache", .emu = {}, .on_kernel = on_kernel});
  ASSERT_TRUE(device) << device.error().message;
  const GroupedProblem grouped{
      .groups = 4, .rows = 64, .n = 128, .k = 128, .scale = Scale::tensor, .zero_outside = true};
  const auto plan = plan_grouped(*device, grouped);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(begun, 2);
  EXPECT_EQ(alone, 0);
  ASSERT_TRUE(plan_grouped(*device, grouped));
  EXPECT_EQ(begun, 2);
}

TEST(Prepare, CompilesEachKernelOnceAndPlansCompileNothing) {
  const Scratch scratch;
  const jit::test::Variable compiler("WARPWRIGHT_CXX",
                                     jit::test::counting_compiler(scratch.path(), scratch / "log").string());
  const Device device = open_with_cache(scratch / "cache");
  const std::vector<PrepareCase> cases = {case_of(kConfigs[0]), case_of(kConfigs[1]), case_of(kConfigs[0], 100),
                                          case_of(kConfigs[0], 0)};
  std::size_t calls = 0, last = 0;
  const Prepared prepared = prepare(
      device, cases, {.threads = 2, .progress = [&](std::size_t done, std::size_t of, const PreparedKernel& kernel) {
                        EXPECT_EQ(done, ++calls);
                        EXPECT_EQ(of, 2u);
                        EXPECT_FALSE(kernel.error);
                        last = done;
                      }});
  ASSERT_EQ(prepared.kernels.size(), 2u);
  EXPECT_EQ(prepared.failed, 0u);
  EXPECT_EQ(last, 2u);
  EXPECT_EQ(prepared.kernels[0].cases, (std::vector<std::size_t>{0, 2})) << "the empty one needs no kernel";
  EXPECT_EQ(prepared.kernels[1].cases, (std::vector<std::size_t>{1}));
  EXPECT_EQ(prepared.kernels[1].config.tile.n, 16);
  EXPECT_EQ(jit::test::lines_of(scratch / "log"), 2);
  for (const PrepareCase& one : cases) EXPECT_TRUE(plan_gemm(device, std::get<GemmProblem>(one.problem), one.options));
  EXPECT_EQ(jit::test::lines_of(scratch / "log"), 2) << "plans found everything";
  EXPECT_EQ(leftovers(scratch / "cache"), std::vector<std::string>{});
}

TEST(Prepare, ErrorsAreKeptApart) {
  const Scratch scratch;
  const jit::test::Variable compiler("WARPWRIGHT_CXX", failing_compiler(scratch, ".tile = {64, 16,").string());
  const Device device = open_with_cache(scratch / "cache");
  PrepareCase impossible = case_of(kConfigs[0]);
  impossible.options.config.sm90.stages = 1;
  const std::vector<PrepareCase> cases = {case_of(kConfigs[1]), impossible, case_of(kConfigs[2])};
  const Prepared prepared = prepare(device, cases, {.threads = 3});
  ASSERT_EQ(prepared.kernels.size(), 3u);
  EXPECT_EQ(prepared.failed, 2u);
  ASSERT_TRUE(prepared.kernels[0].error);
  EXPECT_EQ(prepared.kernels[0].error->code, ErrorCode::could_not_finish);
  EXPECT_NE(prepared.kernels[0].error->message.find("no kernel today"), std::string::npos);
  ASSERT_TRUE(prepared.kernels[1].error);
  EXPECT_EQ(prepared.kernels[1].error->argument, "config, stages");
  EXPECT_FALSE(prepared.kernels[2].error);
  EXPECT_EQ(leftovers(scratch / "cache"), std::vector<std::string>{}) << "nothing half-written";
  std::size_t modules = 0;
  for (const auto& entry : fs::recursive_directory_iterator(scratch / "cache"))
    modules += entry.path().extension() == ".so";
  EXPECT_EQ(modules, 1u) << "of the kernel that was made";
}

TEST(Prepare, NothingIsNothing) {
  const Scratch scratch;
  const Prepared prepared = prepare(open_with_cache(scratch / "cache"), {});
  EXPECT_TRUE(prepared.kernels.empty());
  EXPECT_EQ(prepared.failed, 0u);
}

}  // namespace
}  // namespace ww
