// SPDX-License-Identifier: Apache-2.0
// The time that a call of the C interface takes on its thread, beside the driver's launch of the same kernel with the
// same parameters and attributes:
//   build/…/capi_host_time                                      against the stand-in: this library's own part
//   RECORDED_CUDA_DRIVER=libcuda.so.1 build/…/capi_host_time    on a GPU: with the driver's
// All contenders take turns in one loop; each figure is the median of many rounds, and the smallest.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <warpwright/warpwright.h>

#include "../runtime/fake_cuda_driver.hpp"
#include "launch_recorder.hpp"

namespace {

constexpr int kRounds = 300, kCalls = 100;  // below the driver's launch queue, which blocks when it is full

void require(ww_status status, const char* what) {
  if (status == WW_OK) return;
  std::fprintf(stderr, "%s: %s\n", what, ww_error_message());
  std::exit(1);
}

template <class Function> Function driver_function(void* library, const char* name, int version) {
  using Get = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
  CUdriverProcAddressQueryResult found{};
  void* address = nullptr;
  reinterpret_cast<Get>(dlsym(library, "cuGetProcAddress_v2"))(name, &address, version, 0, &found);
  return reinterpret_cast<Function>(address);
}

struct Contender {
  const char* name;
  std::function<void()> call;
  std::vector<double> us = {};
};

void race(ww_device device, std::vector<Contender>& contenders) {
  for (int round = 0; round < kRounds; ++round)
    for (Contender& c : contenders) {
      const auto start = std::chrono::steady_clock::now();
      for (int call = 0; call < kCalls; ++call) c.call();
      c.us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() /
                     kCalls);
      require(ww_device_synchronize(device, nullptr), "synchronize");
    }
  for (Contender& c : contenders) {
    std::sort(c.us.begin(), c.us.end());
    const double median = c.us[c.us.size() / 2], bare = contenders[0].us[contenders[0].us.size() / 2];
    std::printf("  %-28s median %7.3f us   smallest %7.3f us   above the launch %7.3f us\n", c.name, median, c.us[0],
                median - bare);
  }
}

void* zeros(ww_device device, std::size_t bytes) {
  void* memory = nullptr;
  require(ww_device_allocate(device, bytes, &memory), "allocate");
  const std::string host(bytes, '\0');
  require(ww_device_upload(device, memory, host.data(), bytes), "upload");
  return memory;
}

}  // namespace

int main() {
  setenv("RECORDED_CUDA_DRIVER", WW_STAND_IN_DRIVER, 0);
  setenv("WARPWRIGHT_CUDA_DRIVER", WW_RECORDER, 1);
  void* const library = dlopen(WW_RECORDER, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
  // The stand-in is told that kernels have parameters of any size.
  void* const stand_in = dlopen(std::getenv("RECORDED_CUDA_DRIVER"), RTLD_NOW | RTLD_LOCAL);
  if (void* const state = stand_in != nullptr ? dlsym(stand_in, "fake_cuda_driver") : nullptr)
    reinterpret_cast<FakeDriver* (*)()>(state)()->params_bytes = 0;
  RecordedLaunch& recorded = *reinterpret_cast<RecordedLaunch* (*)()>(dlsym(library, "recorded_launch"))();

  ww_device device = nullptr;
  require(ww_device_open("cuda:0", nullptr, &device), "open");
  CUcontext context = nullptr;  // current, as in a program that uses CUDA
  driver_function<CUresult (*)(CUcontext*, CUdevice)>(library, "cuDevicePrimaryCtxRetain", 7000)(&context, 0);
  driver_function<CUresult (*)(CUcontext)>(library, "cuCtxPushCurrent", 4000)(context);
  ww_device_info info{};
  info.struct_size = sizeof info;
  require(ww_device_get_info(device, &info), "info");
  std::printf("%s\n", info.description);

  constexpr std::size_t kBytes = std::size_t{32} << 20;
  ww_gemm_problem problem{};
  problem.struct_size = sizeof problem;
  problem.m = 16, problem.n = 1024, problem.k = 1024;
  problem.a_type = problem.b_type = WW_E4M3, problem.d_type = WW_BF16, problem.scale = WW_SCALE_BLOCK;
  ww_gemm_operands operands{};
  operands.struct_size = sizeof operands;
  operands.a = zeros(device, kBytes), operands.b = zeros(device, kBytes), operands.d = zeros(device, kBytes);
  operands.scale_a = zeros(device, kBytes), operands.scale_b = zeros(device, kBytes);
  operands.workspace = zeros(device, kBytes), operands.workspace_bytes = kBytes;
  ww_plan plan = nullptr;
  require(ww_gemm_plan(device, &problem, nullptr, &plan), "plan");
  const char* config = nullptr;
  require(ww_plan_config(plan, &config), "config");
  std::printf("block scales, 16 x 1024 x 1024, %s\n", config);

  recorded.recording = true, recorded.parameter_bytes = 2048;  // more than the kernel reads
  require(ww_gemm_run(plan, &operands, nullptr), "run");
  recorded.recording = false;
  void* parameters[] = {recorded.parameters};
  std::vector<Contender> contenders = {
      {"cuLaunchKernelEx", [&] { recorded.launch(&recorded.config, recorded.function, parameters, nullptr); }},
      {"ww_gemm_run", [&] { require(ww_gemm_run(plan, &operands, nullptr), "run"); }},
      {"ww_gemm_cached, ww_gemm_run",
       [&] {
         ww_plan found = nullptr;
         require(ww_gemm_cached(device, &problem, nullptr, nullptr, &found), "cached");
         require(ww_gemm_run(found, &operands, nullptr), "run");
       }},
      {"ww_gemm", [&] { require(ww_gemm(device, &problem, nullptr, &operands, nullptr), "gemm"); }},
  };
  for (const Contender& c : contenders) c.call();
  race(device, contenders);

  // Rotating pointers, as in the layers of a model: more maps than a plan keeps.
  std::size_t turn = 0;
  std::vector<Contender> rotating = {contenders[0],
                                     {"ww_gemm, 24 weights in turn", [&] {
                                        ww_gemm_operands layer = operands;
                                        layer.b = static_cast<const char*>(operands.b) + (turn++ % 24) * (1u << 20);
                                        require(ww_gemm(device, &problem, nullptr, &layer, nullptr), "gemm");
                                      }}};
  rotating[0].us.clear();
  race(device, rotating);
  return 0;
}
