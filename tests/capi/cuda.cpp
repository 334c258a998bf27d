// SPDX-License-Identifier: Apache-2.0
// The C interface on a GPU that the stand-in for the driver plays: under capture nothing is compiled, a cached run is
// the driver's two calls and allocates nothing, counters count. Needs NVRTC; exit status 77 without it.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <warpwright/warpwright.h>

#include "../runtime/fake_cuda_driver.hpp"

namespace {
std::atomic<std::size_t> allocations{0};
}

// The library's own operator new calls this malloc too.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" void* __libc_malloc(std::size_t);  // NOLINT: glibc's name
extern "C" void* malloc(std::size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
constexpr bool kCountsAllocations = true;
#else
constexpr bool kCountsAllocations = false;
#endif

namespace {

int failures = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  ++failures;
  std::printf("expected %s; last error: %s\n", what, ww_error_message());
}
#define EXPECT(condition) expect(condition, #condition)

void* address(std::uintptr_t megabytes) { return reinterpret_cast<void*>(0x100000000000 + (megabytes << 20)); }

}  // namespace

int main() {
  setenv("WARPWRIGHT_CUDA_DRIVER", WW_STAND_IN_DRIVER, 1);
  void* const library = dlopen(WW_STAND_IN_DRIVER, RTLD_NOW | RTLD_LOCAL);
  FakeDriver& driver = *reinterpret_cast<FakeDriver* (*)()>(dlsym(library, "fake_cuda_driver"))();
  driver.params_bytes = 0;  // of any size
  ww_device device = nullptr;
  EXPECT(ww_device_open("cuda:0", nullptr, &device) == WW_OK);

  ww_gemm_problem problem{};
  problem.struct_size = sizeof problem;
  problem.m = 128, problem.n = 128, problem.k = 128;
  problem.a_type = problem.b_type = WW_BF16, problem.d_type = WW_BF16;
  ww_options options{};
  options.struct_size = sizeof options;
  options.config = "tile=64x64x0,cluster=1x1";  // compiles soon
  ww_gemm_operands operands{};
  operands.struct_size = sizeof operands;
  operands.a = address(0), operands.b = address(16), operands.d = address(32);
  void* const stream = address(99);

  driver.capturing = true;
  std::int32_t capturing = 0;
  EXPECT(ww_device_is_capturing(device, stream, &capturing) == WW_OK && capturing == 1);
  const int modules = driver.live_modules;
  EXPECT(ww_gemm(device, &problem, &options, &operands, stream) == WW_UNDER_CAPTURE);
  EXPECT(std::strcmp(ww_error_argument(), "stream") == 0 && driver.launches == 0 && driver.live_modules == modules);

  driver.capturing = false;
  if (ww_gemm(device, &problem, &options, &operands, stream) != WW_OK) {
    std::printf("%s\n", ww_error_message());
    return std::strstr(ww_error_message(), "nvrtc") != nullptr ? 77 : 1;
  }
  EXPECT(driver.launches == 1 && driver.launch.hStream == stream);

  driver.capturing = true;  // a run of a plan that is there may be captured
  const FakeDriver before = driver;
  const std::size_t allocated = allocations;
  const ww_status captured = ww_gemm(device, &problem, &options, &operands, stream);
  const std::size_t more = allocations - allocated;
  EXPECT(captured == WW_OK && driver.launches == before.launches + 1);
  EXPECT(driver.calls - before.calls == 4);  // no context is current here: get, push, launch, pop
  EXPECT(driver.encodes == before.encodes);
  EXPECT(more == 0 || !kCountsAllocations);

  ww_counters counters{};
  counters.struct_size = sizeof counters;
  EXPECT(ww_device_get_counters(device, &counters) == WW_OK);
  EXPECT(counters.launches == 2 && counters.plans == 1 && counters.plan_cache_hits == 1 && counters.kernels == 1);

  operands.d = address(0);  // D over A
  EXPECT(ww_gemm(device, &problem, &options, &operands, stream) == WW_INVALID);
  EXPECT(std::strcmp(ww_error_argument(), "d") == 0 && driver.launches == 2);
  EXPECT(ww_device_close(device) == WW_OK);
  EXPECT(driver.live_modules == modules);  // its plans are gone
  return failures == 0 ? 0 : 1;
}
