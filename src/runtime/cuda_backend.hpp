// SPDX-License-Identifier: Apache-2.0
// A GPU of compute capability 9.0 or 10.0 as a Backend, through the driver API and its primary context, so that it
// shares pointers and streams with the CUDA runtime and frameworks. Without the toolkit's headers at build time these
// functions exist and return an error that says so.
#pragma once

#include <string>
#include <vector>

#include "runtime/backend.hpp"

#if WARPWRIGHT_HAS_CUDA
#include "runtime/cuda_driver.hpp"
#endif

namespace ww::runtime {

struct CudaDeviceSummary {
  std::string description;  // "NVIDIA H200, sm_90"
  bool supported = false;   // GEMM kernels of this library exist for it
};

/// The GPUs of this machine, found without creating a context. `reason` says why `devices` is empty.
struct CudaPresence {
  std::vector<CudaDeviceSummary> devices;
  std::string driver;  // "CUDA 13.0", the newest that the driver supports; empty without a driver
  std::string reason;
};
CudaPresence cuda_presence();

/// Opens a GPU. Errors: unsupported with the compute capability found, could_not_finish with the driver's message.
Result<std::shared_ptr<Backend>> open_cuda_backend(int ordinal, const DeviceOptions& options);

#if WARPWRIGHT_HAS_CUDA
/// Returns the context behind a backend that open_cuda_backend made, for code that needs the driver itself (the
/// benchmark); null for any other backend.
std::shared_ptr<const CudaContext> cuda_context(const Backend& backend);
#endif

}  // namespace ww::runtime
