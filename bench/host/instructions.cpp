// SPDX-License-Identifier: Apache-2.0
// For instructions.py: starts and stops valgrind's count, and makes torch describe its tensors on the CPU as ones on a
// GPU, so that calls reach the stand-in for the CUDA driver on a machine without one.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#include <cstdint>

#include "../../tests/runtime/fake_cuda_driver.hpp"
#include "dlpack/dlpack.h"

namespace {

DLPackDLTensorFromPyObjectNoSync describe = nullptr;

int describe_on_gpu(void* object, DLTensor* out) {
  const int status = describe(object, out);
  out->device = {kDLCUDA, 0};
  return status;
}

int default_stream(DLDeviceType, std::int32_t, void** stream) { return *stream = nullptr, 0; }

}  // namespace

extern "C" {

/// Tells the stand-in for the driver, which cannot know it, the size of the parameters of dense kernels. Returns 0, or -1
/// if `driver` is none.
int instructions_parameters(const char* driver) {
  void* const library = dlopen(driver, RTLD_NOW);
  const auto find =
      library != nullptr ? reinterpret_cast<FakeDriver* (*)()>(dlsym(library, "fake_cuda_driver")) : nullptr;
  if (find == nullptr) return -1;
  find()->params_bytes = 1152;
  return 0;
}

/// Replaces two functions of torch's exchange interface. Returns 0, or -1 if its memory cannot be written.
int instructions_on_gpu(DLPackExchangeAPI* api) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(api) / page * page;
  const std::uintptr_t last = (reinterpret_cast<std::uintptr_t>(api + 1) + page - 1) / page * page;
  if (mprotect(reinterpret_cast<void*>(first), last - first, PROT_READ | PROT_WRITE) != 0) return -1;
  describe = api->dltensor_from_py_object_no_sync;
  api->dltensor_from_py_object_no_sync = describe_on_gpu;
  api->current_work_stream = default_stream;
  return 0;
}

void instructions_start(void) {
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
}

void instructions_stop(const char* name) {
  CALLGRIND_DUMP_STATS_AT(name);
  CALLGRIND_STOP_INSTRUMENTATION;
}

}  // extern "C"
