// SPDX-License-Identifier: Apache-2.0
// The type of the template parameter `kConfig` of kernels and their parts.
#pragma once

#include "warpwright/config/gemm_config.hpp"

namespace ww {

// By value, every class and function would have all fields of the config in its name, which NVRTC writes and compares
// in each of its stages and keeps in the cubin. By reference, classes are told apart by the config's address, which
// suffices only in a program that is compiled alone.
#if defined(__CUDACC_RTC__)
using ConfigParameter = const GemmConfig&;
#else
using ConfigParameter = GemmConfig;
#endif

}  // namespace ww
