// SPDX-License-Identifier: Apache-2.0
// The CUDA driver as a table of functions, opened at run time: the library links nothing of CUDA and starts on machines
// without it. Signatures come from the toolkit's own cudaTypedefs.h, at the version requested of cuGetProcAddress, so
// that a function with another signature cannot be called. Empty without the toolkit's headers (WARPWRIGHT_HAS_CUDA).
#pragma once

#if WARPWRIGHT_HAS_CUDA

#include <string_view>

#include <cudaTypedefs.h>

#include "warpwright/host/result.hpp"

// Member, driver function, version of its signature (12000 = since CUDA 12.0).
#define WW_CUDA_DRIVER_FUNCTIONS(X)                                     \
  X(init, cuInit, 2000)                                                 \
  X(driver_get_version, cuDriverGetVersion, 2020)                       \
  X(get_error_name, cuGetErrorName, 6000)                               \
  X(get_error_string, cuGetErrorString, 6000)                           \
  X(device_get_count, cuDeviceGetCount, 2000)                           \
  X(device_get, cuDeviceGet, 2000)                                      \
  X(device_get_name, cuDeviceGetName, 2000)                             \
  X(device_get_attribute, cuDeviceGetAttribute, 2000)                   \
  X(device_total_mem, cuDeviceTotalMem, 3020)                           \
  X(device_get_pci_bus_id, cuDeviceGetPCIBusId, 4010)                   \
  X(primary_ctx_retain, cuDevicePrimaryCtxRetain, 7000)                 \
  X(primary_ctx_release, cuDevicePrimaryCtxRelease, 11000)              \
  X(ctx_push_current, cuCtxPushCurrent, 4000)                           \
  X(ctx_pop_current, cuCtxPopCurrent, 4000)                             \
  X(ctx_get_current, cuCtxGetCurrent, 4000)                             \
  X(mem_alloc, cuMemAlloc, 3020)                                        \
  X(mem_free, cuMemFree, 3020)                                          \
  X(mem_get_info, cuMemGetInfo, 3020)                                   \
  X(memcpy_htod, cuMemcpyHtoD, 3020)                                    \
  X(memcpy_dtoh, cuMemcpyDtoH, 3020)                                    \
  X(memcpy_htod_async, cuMemcpyHtoDAsync, 3020)                         \
  X(memcpy_dtoh_async, cuMemcpyDtoHAsync, 3020)                         \
  X(memcpy_dtod_async, cuMemcpyDtoDAsync, 3020)                         \
  X(memset_d8_async, cuMemsetD8Async, 3020)                             \
  X(stream_create, cuStreamCreate, 2000)                                \
  X(stream_destroy, cuStreamDestroy, 4000)                              \
  X(stream_synchronize, cuStreamSynchronize, 2000)                      \
  X(stream_begin_capture, cuStreamBeginCapture, 10010)                  \
  X(stream_end_capture, cuStreamEndCapture, 10000)                      \
  X(stream_is_capturing, cuStreamIsCapturing, 10000)                    \
  X(event_create, cuEventCreate, 2000)                                  \
  X(event_destroy, cuEventDestroy, 4000)                                \
  X(event_record, cuEventRecord, 2000)                                  \
  X(event_synchronize, cuEventSynchronize, 2000)                        \
  X(event_elapsed_time, cuEventElapsedTime, 2000)                       \
  X(module_load_data, cuModuleLoadData, 2000)                           \
  X(module_unload, cuModuleUnload, 2000)                                \
  X(module_get_function, cuModuleGetFunction, 2000)                     \
  X(func_set_attribute, cuFuncSetAttribute, 9000)                       \
  X(func_get_attribute, cuFuncGetAttribute, 2020)                       \
  X(launch_kernel_ex, cuLaunchKernelEx, 11060)                          \
  X(occupancy_max_active_clusters, cuOccupancyMaxActiveClusters, 11070) \
  X(tensor_map_encode_tiled, cuTensorMapEncodeTiled, 12000)             \
  X(graph_instantiate, cuGraphInstantiateWithFlags, 11040)              \
  X(graph_launch, cuGraphLaunch, 10000)                                 \
  X(graph_destroy, cuGraphDestroy, 10000)                               \
  X(graph_exec_destroy, cuGraphExecDestroy, 10000)

// Null with an older driver, and for functions that only debugging needs.
#define WW_CUDA_DRIVER_OPTIONAL_FUNCTIONS(X)        \
  X(func_get_param_info, cuFuncGetParamInfo, 12040) \
  X(module_get_global, cuModuleGetGlobal, 3020)     \
  X(mem_host_alloc, cuMemHostAlloc, 2020)           \
  X(mem_free_host, cuMemFreeHost, 2000)

namespace ww::runtime {

struct CudaDriver {
#define WW_MEMBER(member, function, version) PFN_##function##_v##version member = nullptr;
  WW_CUDA_DRIVER_FUNCTIONS(WW_MEMBER)
  WW_CUDA_DRIVER_OPTIONAL_FUNCTIONS(WW_MEMBER)
#undef WW_MEMBER

  int version = 0;  // of CUDA, the highest that the driver supports: 13000 = 13.0

  /// Opens libcuda.so.1 and calls cuInit once in the life of the process, and keeps the result, good or bad.
  static Result<const CudaDriver*> get();

  /// Converts `status` to an error with the driver's name and sentence for it. `what` is the call: "cuMemAlloc of 4096
  /// bytes".
  Result<void> check(CUresult status, std::string_view what) const;
};

/// A primary context, kept alive while anyone holds this.
struct CudaContext {
  CudaContext(const CudaDriver& driver, CUdevice device, CUcontext handle)
      : driver(driver), device(device), handle(handle) {}
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;
  ~CudaContext() { driver.primary_ctx_release(device); }

  const CudaDriver& driver;
  CUdevice device;
  CUcontext handle;
};

/// Makes the context current on this thread and restores the previous one afterwards, because the caller may be inside
/// a framework that has its own. Costs one query if it is current already.
class CurrentContext {
 public:
  explicit CurrentContext(const CudaContext& context) : driver_(context.driver) {
    CUcontext now = nullptr;
    status_ = driver_.ctx_get_current(&now);
    if (status_ == CUDA_SUCCESS && now != context.handle) {
      status_ = driver_.ctx_push_current(context.handle);
      pushed_ = status_ == CUDA_SUCCESS;
    }
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  ~CurrentContext() {
    CUcontext popped = nullptr;
    if (pushed_) driver_.ctx_pop_current(&popped);
  }
  bool ok() const { return status_ == CUDA_SUCCESS; }
  Result<void> status() const { return driver_.check(status_, "making the device's context current"); }

 private:
  const CudaDriver& driver_;
  CUresult status_ = CUDA_SUCCESS;
  bool pushed_ = false;
};

}  // namespace ww::runtime

#endif
