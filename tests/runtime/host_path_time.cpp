// SPDX-License-Identifier: Apache-2.0
// The CPU time that a repeated run of a plan takes on its thread:
//   build/…/host_path_time                                        against the stand-in: this library's own part
//   WARPWRIGHT_CUDA_DRIVER=libcuda.so.1 build/…/host_path_time    on a GPU: with the driver's
// It prints the smallest of many rounds, because other work on a machine makes rounds longer, never shorter.
#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include <fmt/core.h>

#include "fake_cuda_driver.hpp"
#include "runtime/cuda_backend.hpp"
#include "warpwright/host/epilogue.hpp"
#include "warpwright/host/gemm.hpp"
#include "warpwright/host/grouped.hpp"

namespace ww {
namespace {

constexpr std::int64_t kExtent = 1024;
constexpr std::size_t kBytes = std::size_t{32} << 20;  // of every buffer, a workspace among them
constexpr int kRounds = 400,
              kCalls = 200;  // below the driver's launch queue (about 1024), which blocks when it is full

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

auto plan_of(const Device& device, const GemmProblem& problem, const GemmOptions& options) {
  return plan_gemm(device, problem, options);
}
auto plan_of(const Device& device, const GroupedProblem& problem, const GemmOptions& options) {
  return plan_grouped(device, problem, options);
}

class Times {
 public:
  explicit Times(Device device) : device_(std::move(device)) {}

  /// Zeros for every pointer: without groups for the grouped, without results that matter.
  Result<const void*> zeros() {
    WW_TRY(Buffer buffer, device_.allocate(kBytes));
    const std::string bytes(kBytes, '\0');
    WW_CHECK(device_.upload(buffer.data(), bytes.data(), kBytes));
    return buffers_.emplace_back(std::move(buffer)).data();
  }

  template <class Problem, class Operands>
  Result<void> print(const char* what, const Problem& problem, Operands operands, const GemmOptions& options = {}) {
    WW_TRY(const auto made, plan_of(device_, problem, options));
    if (made.workspace_bytes() > kBytes)
      return failure(ErrorCode::invalid, "workspace", fmt::format("at most {}", kBytes),
                     fmt::format("{}", made.workspace_bytes()));
    operands.workspace_bytes = kBytes;
    double best = 1;
    for (int round = 0; round < kRounds; ++round) {
      const double start = thread_seconds();
      for (int call = 0; call < kCalls; ++call) WW_CHECK(made.run(operands));
      best = std::min(best, thread_seconds() - start);
      WW_CHECK(device_.synchronize());
    }
    fmt::print("{:<24}{:8.3f} us\n", what, best / kCalls * 1e6);
    return {};
  }

 private:
  Device device_;
  std::vector<Buffer> buffers_;
};

Result<void> print_all() {
  WW_TRY(const Device device, Device::open("cuda:0"));
  const runtime::CurrentContext current(*runtime::cuda_context(device.backend()));  // as in a program that uses CUDA
  WW_CHECK(current.status());
  Times times(device);
  void* memory[8];
  for (void*& pointer : memory) {
    WW_TRY(const void* const zeros, times.zeros());
    pointer = const_cast<void*>(zeros);
  }
  GemmOperands operands{.a = memory[0], .b = memory[1], .d = memory[2]};
  operands.scale_a = static_cast<float*>(memory[3]), operands.scale_b = static_cast<float*>(memory[4]);
  operands.workspace = memory[5];
  operands.epilogue.c = memory[6], operands.epilogue.row_vector[0] = memory[3];
  operands.epilogue.out[1] = memory[7];
  GemmProblem problem{.m = kExtent, .n = kExtent, .k = kExtent, .a = bf16, .b = bf16};
  WW_CHECK(times.print("bf16", problem, operands));
  WW_CHECK(
      times.print("stream-k", problem, operands, {.config = {.sm90 = {.tile_scheduler = TileScheduler::stream_k}}}));
  WW_TRY(problem.epilogue, parse_epilogue("silu(acc*alpha+bias)+beta*c"));
  WW_CHECK(times.print("with an epilogue", problem, operands));
  WW_TRY(problem.epilogue, parse_epilogue("row_amax(acc,out1)"));
  WW_CHECK(times.print("with a reduction", problem, operands));
  const GemmProblem few{.m = 16, .n = kExtent, .k = kExtent, .scale = Scale::block_1x128_128x128};
  WW_CHECK(times.print("e4m3, 16 rows", few, operands));

  GroupedOperands grouped{.a = operands.a, .b = operands.b, .d = operands.d};
  grouped.sizes = static_cast<const std::int32_t*>(memory[3]), grouped.workspace = operands.workspace;
  const GroupedProblem groups{.groups = 2, .rows = kExtent, .n = 512, .k = kExtent, .a = bf16, .b = bf16};
  return times.print("grouped, ragged", groups, grouped,
                     {.config = {.row_groups = {.variant = GroupedVariant::ragged}}});
}

}  // namespace
}  // namespace ww

int main() {
  setenv("WARPWRIGHT_CUDA_DRIVER", WW_TEST_DRIVER, 0);
  void* const library = dlopen(std::getenv("WARPWRIGHT_CUDA_DRIVER"), RTLD_NOW | RTLD_LOCAL);
  void* const stand_in = library != nullptr ? dlsym(library, "fake_cuda_driver") : nullptr;
  if (stand_in != nullptr) reinterpret_cast<FakeDriver* (*)()>(stand_in)()->params_bytes = 0;  // of any size
  const ww::Result<void> printed = ww::print_all();
  if (!printed) fmt::print(stderr, "{}\n", printed.error().message);
  return printed ? 0 : ww::exit_status(printed.error().code);
}
