// SPDX-License-Identifier: Apache-2.0
// The host path of a repeated run of a plan: for each launch it asks the driver for the current context and launches,
// and nothing else; it allocates nothing. The stand-in for the driver and this program's operator new count.
#include <cstdlib>
#include <new>
#include <string>

#include "fake_gpu.hpp"
#include "jit/nvrtc.hpp"
#include "runtime/cuda_backend.hpp"
#include "warpwright/config/grouped_arguments.hpp"
#include "warpwright/host/epilogue.hpp"
#include "warpwright/host/gemm.hpp"
#include "warpwright/host/grouped.hpp"
#include "warpwright/host/k_grouped.hpp"

namespace {
std::size_t allocations = 0;
}

// Not under sanitizers, whose own operators know how memory was allocated; the driver's calls are counted all the same.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* p = std::malloc(bytes > 0 ? bytes : 1)) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  ++allocations;
  const auto unit = static_cast<std::size_t>(alignment);
  if (void* p = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit)) return p;
  throw std::bad_alloc();
}
// Not inlined, because GCC 12 would warn that free() is given what operator new returned.
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
constexpr bool kCountsAllocations = true;
#else
constexpr bool kCountsAllocations = false;
#endif

namespace ww::runtime {
namespace {

// Addresses far enough apart for any operand below.
template <class T> T* at(std::uintptr_t offset) { return reinterpret_cast<T*>(0x100000000000 + (offset << 16)); }

/// Pointers to nothing, which no fake launch reads.
GemmOperands dense_operands() {
  GemmOperands operands{.a = at<void>(0x1000), .b = at<void>(0x2000), .d = at<void>(0x3000)};
  operands.scale_a = at<float>(0x4000), operands.scale_b = at<float>(0x5000);
  operands.workspace = at<void>(0x100000), operands.workspace_bytes = std::size_t{1} << 40;
  operands.epilogue.c = at<void>(0x6000), operands.epilogue.amax = at<float>(0x7000);
  for (int i = 0; i < kEpilogueSlots; ++i) {
    const auto step = static_cast<std::uintptr_t>(i) << 16;
    operands.epilogue.row_vector[i] = at<void>(0x8000 + step);
    operands.epilogue.column_vector[i] = at<float>(0x9000 + step);
    operands.epilogue.auxiliary[i] = at<void>(0xa000 + step);
    operands.epilogue.out[i] = at<void>(0xb000 + step);
  }
  operands.epilogue.scalar_pointer[kScalarOutScale] = at<float>(0xc000);
  operands.a_pointers = at<const void*>(0xd000), operands.b_pointers = at<const void*>(0xd100);
  operands.c_pointers = at<const void*>(0xd200), operands.d_pointers = at<void*>(0xd300);
  return operands;
}

GroupedOperands grouped_operands() {
  const GemmOperands dense = dense_operands();
  GroupedOperands operands{
      .a = dense.a, .b = dense.b, .d = dense.d, .scale_a = dense.scale_a, .scale_b = dense.scale_b};
  operands.sizes = at<const std::int32_t>(0xe000), operands.status = at<std::uint32_t>(0xe100);
  operands.workspace = dense.workspace, operands.workspace_bytes = dense.workspace_bytes;
  operands.epilogue = dense.epilogue;
  return operands;
}

auto plan_of(const Device& device, const GemmProblem& problem, const GemmOptions& options) {
  return plan_gemm(device, problem, options);
}
auto plan_of(const Device& device, const GroupedProblem& problem, const GemmOptions& options) {
  return plan_grouped(device, problem, options);
}
auto plan_of(const Device& device, const KGroupedProblem& problem, const GemmOptions& options) {
  return plan_k_grouped(device, problem, options);
}

class HostPath : public FakeGpu {
 protected:
  void SetUp() override {
    FakeGpu::SetUp();
    if (!jit::Nvrtc::get()) GTEST_SKIP() << "no libnvrtc on this machine";
    driver_->params_bytes = 0;  // this driver cannot tell
    device_.emplace(Device::open("cuda:0").value());
  }

  /// Of the second run in a thread whose context is the device's, and in one whose context is not.
  template <class Problem, class Operands>
  void expect_launches_alone(const std::string& what, const Problem& problem, const Operands& operands, int launches,
                             const GemmOptions& options = {}) {
    const auto made = plan_of(*device_, problem, options);
    ASSERT_TRUE(made) << what << ": " << made.error().message;
    for (const bool current : {true, false}) {
      SCOPED_TRACE(what + (current ? ", in the device's context" : ", in no context"));
      std::optional<CurrentContext> context;
      if (current) context.emplace(*cuda_context(device_->backend()));
      const Result<void> first = made->run(operands);
      ASSERT_TRUE(first) << first.error().message;
      const FakeDriver before = *driver_;
      const std::size_t allocated = allocations;
      const Result<void> second = made->run(operands);
      EXPECT_EQ(allocations - allocated, 0u);
      ASSERT_TRUE(second) << second.error().message;
      EXPECT_EQ(driver_->launches - before.launches, launches);
      EXPECT_EQ(driver_->occupancy_questions - before.occupancy_questions, 0);
      EXPECT_EQ(driver_->encodes - before.encodes, 0);
      const int of_a_launch = current ? 2 : 4;  // cuCtxGetCurrent, (push,) cuLaunchKernelEx (, pop)
      EXPECT_EQ(driver_->calls - before.calls, of_a_launch * launches);
    }
  }

  std::optional<Device> device_;
};

constexpr GemmConfig kSmall{.tile = {64, 64}, .cluster = {1, 1}};  // compiles soon

TEST_F(HostPath, OfADenseRunIsItsLaunch) {
  const GemmOperands operands = dense_operands();
  GemmProblem problem{.m = 1024, .n = 1024, .k = 1024, .a = bf16, .b = bf16};
  GemmConfig stream_k = kSmall;
  stream_k.sm90.tile_scheduler = TileScheduler::stream_k;
  expect_launches_alone("stream-k, whose CTAs wait for each other", problem, operands, 1, {.config = stream_k});
  problem.batch = 3, problem.pointer_array = true;
  expect_launches_alone("arrays of pointers: their maps, then the product", problem, operands, 2, {.config = kSmall});
  const GemmProblem few{.m = 16, .n = 1024, .k = 1024, .scale = Scale::block_1x128_128x128};
  expect_launches_alone("block scales, swap-AB", few, operands, 1, {.config = {.sm90 = {.swap_ab = SwapAb::on}}});
}

TEST_F(HostPath, OfAnEpilogueIsTheLaunch) {
  GemmProblem problem{.m = 1024, .n = 1024, .k = 1024, .a = bf16, .b = bf16};
  problem.epilogue = parse_epilogue("store(acc*alpha+bias,out0:bf16)*aux0+beta*c*col0").value();
  expect_launches_alone("operands of every kind", problem, dense_operands(), 1, {.config = kSmall});
  problem.d = e4m3, problem.epilogue = parse_epilogue("quantise(row_amax(column_sum(acc,out1),out2))").value();
  expect_launches_alone("reductions, whose tiles wait for each other", problem, dense_operands(), 1,
                        {.config = kSmall});
}

TEST_F(HostPath, OfAGroupedRunIsItsLaunches) {
  const GroupedOperands operands = grouped_operands();
  GroupedProblem problem{.groups = 4, .rows = 512, .n = 1024, .k = 1024, .a = bf16, .b = bf16};
  GemmConfig config{.tile = {64, 128}, .row_groups = {.variant = GroupedVariant::ragged}};
  expect_launches_alone("ragged", problem, operands, 1, {.config = config});
  config.row_groups.variant = GroupedVariant::descriptors;
  expect_launches_alone("descriptors: their update, then the product", problem, operands, 2, {.config = config});
  config.row_groups.variant = GroupedVariant::contiguous;
  problem.zero_outside = true, problem.epilogue = parse_epilogue("silu(acc*alpha+bias)").value();
  problem.alignment = 64;
  expect_launches_alone("zeros, then the product", problem, operands, 2, {.config = config});

  const KGroupedProblem k_grouped{.groups = 4, .m = 512, .n = 512, .k = 1024, .accumulate = true};
  const KGroupedOperands k_operands{
      .a = operands.a, .b = operands.b, .d = operands.d, .sizes = operands.sizes, .status = operands.status};
  expect_launches_alone("groups of K", k_grouped, k_operands, 1, {.config = kSmall});
}

TEST_F(HostPath, AllocationsAreCounted) {
  if (!kCountsAllocations) GTEST_SKIP() << "a sanitizer's operator new";
  const std::size_t before = allocations;
  const auto made = plan_gemm(*device_, GemmProblem{.m = 128, .n = 128, .k = 128, .a = bf16, .b = bf16});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_GT(allocations, before);
}

}  // namespace
}  // namespace ww::runtime
