// SPDX-License-Identifier: Apache-2.0
// A driver library that stands before another one, named by RECORDED_CUDA_DRIVER, and forwards every function to it.
// It keeps the last launch, so that a program can repeat exactly that launch without the library around it.
#include "launch_recorder.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

using GetProcAddress = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

RecordedLaunch last;

CUresult launch(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
  if (last.recording) {
    last.config = *config;
    last.function = function;
    for (unsigned i = 0; i < config->numAttrs && i < 4; ++i) last.attributes[i] = config->attrs[i];
    last.config.attrs = last.attributes;
    std::memcpy(last.parameters, parameters[0], last.parameter_bytes);
  }
  return last.launch(config, function, parameters, extra);
}

GetProcAddress real() {
  static const GetProcAddress found = [] {
    const char* const name = std::getenv("RECORDED_CUDA_DRIVER");
    void* const library = dlopen(name != nullptr ? name : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return library != nullptr ? reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2")) : nullptr;
  }();
  return found;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) RecordedLaunch* recorded_launch() { return &last; }

extern "C" __attribute__((visibility("default"))) CUresult cuGetProcAddress_v2(const char* symbol, void** function,
                                                                               int version, cuuint64_t flags,
                                                                               CUdriverProcAddressQueryResult* found) {
  if (real() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  const CUresult status = real()(symbol, function, version, flags, found);
  if (status == CUDA_SUCCESS && std::string_view(symbol) == "cuLaunchKernelEx") {
    last.launch = reinterpret_cast<LaunchKernelEx>(*function);
    *function = reinterpret_cast<void*>(&launch);
  }
  return status;
}
