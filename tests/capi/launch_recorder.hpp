// SPDX-License-Identifier: Apache-2.0
// What launch_recorder.cpp, a module, keeps.
#pragma once

#include <cuda.h>

using LaunchKernelEx = CUresult (*)(const CUlaunchConfig*, CUfunction, void**, void**);

struct RecordedLaunch {
  bool recording = false;
  std::size_t parameter_bytes = 0;  // of the kernel's one parameter; the user sets it
  LaunchKernelEx launch = nullptr;  // the driver's own
  CUlaunchConfig config = {};
  CUlaunchAttribute attributes[4] = {};
  CUfunction function = nullptr;
  alignas(64) char parameters[4096] = {};
};
