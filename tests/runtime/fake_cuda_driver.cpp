// SPDX-License-Identifier: Apache-2.0
// A stand-in for libcuda.so.1: one device, host memory, and a record of its calls. It executes no kernel.
//   FAKE_CUDA_CAPABILITY  "90" (default), "80", …      FAKE_CUDA_VERSION  13000 (default), 11080, …
#include "fake_cuda_driver.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace {

FakeDriver state;
std::vector<CUcontext>& stack() {
  static thread_local std::vector<CUcontext> contexts;
  return contexts;
}
const CUcontext kPrimary = reinterpret_cast<CUcontext>(0x1000);
constexpr std::size_t kTotalMemory = std::size_t{1} << 30;

int number(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::atoi(text) : otherwise;
}

/// Nearly every call needs the context; a caller that forgot it fails here as it would on a GPU.
CUresult with_context() { return stack().empty() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS; }

CUresult fake_attribute(int* value, CUdevice_attribute which, CUdevice) {
  const int capability = number("FAKE_CUDA_CAPABILITY", 90);
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = capability / 10; return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = capability % 10; return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 132; return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = 232448; return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult fake_alloc(CUdeviceptr* address, std::size_t bytes) {
  if (with_context() != CUDA_SUCCESS) return with_context();
  if (bytes > kTotalMemory / 2) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = reinterpret_cast<CUdeviceptr>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  ++state.live_allocations;
  return CUDA_SUCCESS;
}

CUresult fake_launch(const CUlaunchConfig* config, CUfunction, void** arguments, void**) {
  if (with_context() != CUDA_SUCCESS) return with_context();
  state.launch = *config;
  state.attributes.assign(config->attrs, config->attrs + config->numAttrs);
  const auto* const params = static_cast<const unsigned char*>(arguments[0]);
  state.params.assign(params, params + state.params_bytes);
  ++state.launches;
  return state.launch_status;
}

/// 132 SMs of 2048 threads and 228 KiB of shared memory, 1 KiB of which each CTA loses.
CUresult fake_occupancy(int* clusters, CUfunction, const CUlaunchConfig* c) {
  unsigned cluster = 1;
  for (unsigned i = 0; i < c->numAttrs; ++i)
    if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) cluster = c->attrs[i].value.clusterDim.x;
  const unsigned ctas = std::min(2048 / c->blockDimX, (228u << 10) / (c->sharedMemBytes + 1024));
  *clusters = static_cast<int>(132 * ctas / cluster);
  ++state.occupancy_questions;
  return with_context();
}

CUresult fake_encode(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* base, const cuuint64_t* extents,
                     const cuuint64_t* strides, const cuuint32_t* box, const cuuint32_t* steps, CUtensorMapInterleave,
                     CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  if (with_context() != CUDA_SUCCESS) return with_context();
  state.encode = {type, rank, base, {}, {}, {}, swizzle, promotion, fill};
  for (cuuint32_t i = 0; i < rank; ++i) {
    state.encode.extents[i] = extents[i];
    state.encode.box[i] = box[i];
    if (i > 0) state.encode.strides[i] = strides[i - 1];
    if (steps[i] != 1) return CUDA_ERROR_INVALID_VALUE;
  }
  std::memset(map, 0xFF, sizeof(*map));
  map->opaque[0] = reinterpret_cast<cuuint64_t>(base);
  ++state.encodes;
  return CUDA_SUCCESS;
}

/// The address of a function that counts the call and then does what `closure`, which captures nothing, does.
template <class Closure, class... Arguments> void* counted(Closure, CUresult (Closure::*)(Arguments...) const) {
  CUresult (*call)(Arguments...) = [](Arguments... arguments) { return ++state.calls, Closure{}(arguments...); };
  return reinterpret_cast<void*>(call);
}
template <class Closure> void* counted(Closure closure) { return counted(closure, &Closure::operator()); }

template <auto Function> struct Call;
template <class... Arguments, CUresult (*Function)(Arguments...)> struct Call<Function> {
  CUresult operator()(Arguments... arguments) const { return Function(arguments...); }
};

struct Entry {
  std::string_view name;
  void* address;
};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> list = {
      {"cuInit", counted([](unsigned) { return CUDA_SUCCESS; })},
      {"cuDriverGetVersion", counted([](int* v) { return *v = number("FAKE_CUDA_VERSION", 13000), CUDA_SUCCESS; })},
      {"cuGetErrorName", counted([](CUresult e, const char** s) {
         return *s = e == CUDA_ERROR_LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED" : "CUDA_ERROR_OTHER", CUDA_SUCCESS;
       })},
      {"cuGetErrorString", counted([](CUresult, const char** s) { return *s = "a sentence", CUDA_SUCCESS; })},
      {"cuDeviceGetCount", counted([](int* n) { return *n = 1, CUDA_SUCCESS; })},
      {"cuDeviceGet",
       counted([](CUdevice* d, int i) { return *d = i, i == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE; })},
      {"cuDeviceGetName",
       counted([](char* s, int n, CUdevice) { return std::strncpy(s, "Fake H200", n), CUDA_SUCCESS; })},
      {"cuDeviceGetAttribute", counted(Call<fake_attribute>{})},
      {"cuDeviceTotalMem", counted([](std::size_t* n, CUdevice) { return *n = kTotalMemory, CUDA_SUCCESS; })},
      {"cuDevicePrimaryCtxRetain",
       counted([](CUcontext* c, CUdevice) { return *c = kPrimary, ++state.retained, CUDA_SUCCESS; })},
      {"cuDevicePrimaryCtxRelease", counted([](CUdevice) { return --state.retained, CUDA_SUCCESS; })},
      {"cuCtxPushCurrent", counted([](CUcontext c) { return stack().push_back(c), ++state.pushes, CUDA_SUCCESS; })},
      {"cuCtxPopCurrent", counted([](CUcontext* c) { return *c = stack().back(), stack().pop_back(), CUDA_SUCCESS; })},
      {"cuCtxGetCurrent",
       counted([](CUcontext* c) { return *c = stack().empty() ? nullptr : stack().back(), CUDA_SUCCESS; })},
      {"cuMemAlloc", counted(Call<fake_alloc>{})},
      {"cuMemFree", counted([](CUdeviceptr p) {
         if (with_context() != CUDA_SUCCESS) return with_context();
         return std::free(reinterpret_cast<void*>(p)), --state.live_allocations, CUDA_SUCCESS;
       })},
      {"cuMemGetInfo",
       counted([](std::size_t* f, std::size_t* t) { return *f = kTotalMemory / 2, *t = kTotalMemory, CUDA_SUCCESS; })},
      {"cuMemcpyHtoD", counted([](CUdeviceptr d, const void* s, std::size_t n) {
         return std::memcpy(reinterpret_cast<void*>(d), s, n), with_context();
       })},
      {"cuMemcpyDtoH", counted([](void* d, CUdeviceptr s, std::size_t n) {
         return std::memcpy(d, reinterpret_cast<const void*>(s), n), with_context();
       })},
      {"cuStreamSynchronize", counted([](CUstream) {
         ++state.synchronizations;
         return with_context() != CUDA_SUCCESS ? with_context() : state.synchronize_status;
       })},
      {"cuModuleLoadData", counted([](CUmodule* m, const void* image) {
         if (std::strncmp(static_cast<const char*>(image), "refused", 7) == 0 && state.load_status != CUDA_SUCCESS)
           return state.load_status;
         return *m = reinterpret_cast<CUmodule>(0x2000), ++state.live_modules, with_context();
       })},
      {"cuModuleUnload", counted([](CUmodule) { return --state.live_modules, with_context(); })},
      {"cuModuleGetFunction", counted([](CUfunction* f, CUmodule, const char*) {
         return *f = reinterpret_cast<CUfunction>(0x3000), with_context();
       })},
      {"cuModuleGetGlobal", counted([](CUdeviceptr* p, std::size_t* n, CUmodule, const char* name) {
         if (std::string_view(name) != "ww_watchdog_buffer" || !std::getenv("WARPWRIGHT_WATCHDOG_MS"))
           return CUDA_ERROR_NOT_FOUND;
         *p = reinterpret_cast<CUdeviceptr>(&state.watchdog_buffer);
         return *n = sizeof(state.watchdog_buffer), with_context();
       })},
      {"cuMemHostAlloc", counted([](void** p, std::size_t n, unsigned) {
         return *p = std::malloc(n), ++state.live_host_allocations, with_context();
       })},
      {"cuMemFreeHost", counted([](void* p) { return std::free(p), --state.live_host_allocations, with_context(); })},
      {"cuFuncSetAttribute", counted([](CUfunction, CUfunction_attribute which, int value) {
         if (which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) state.dynamic_shared = value;
         if (which == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) state.large_clusters = value;
         return with_context();
       })},
      {"cuFuncGetAttribute",
       counted([](int* v, CUfunction_attribute, CUfunction) { return *v = 1024, with_context(); })},
      {"cuFuncGetParamInfo", counted([](CUfunction, std::size_t, std::size_t* offset, std::size_t* bytes) {
         return *offset = 0, *bytes = state.params_bytes, with_context();
       })},
      {"cuLaunchKernelEx", counted(Call<fake_launch>{})},
      {"cuOccupancyMaxActiveClusters", counted(Call<fake_occupancy>{})},
      {"cuTensorMapEncodeTiled", counted(Call<fake_encode>{})},
  };
  return list;
}

/// The clock of events: every graph launch takes graph_microseconds on it.
CUresult fake_graph_launch(CUgraphExec graph, CUstream) {
  state.graph_switches += std::exchange(state.last_graph, graph) != graph;
  state.clock_microseconds += state.graph_microseconds;
  ++state.graph_launches;
  return with_context();
}

CUresult fake_elapsed(float* milliseconds, CUevent from, CUevent to) {
  *milliseconds = static_cast<float>(*reinterpret_cast<double*>(to) - *reinterpret_cast<double*>(from)) / 1000;
  return with_context();
}

CUresult fake_end_capture(CUstream, CUgraph* graph) {
  if (!state.capturing) return CUDA_ERROR_ILLEGAL_STATE;
  state.capturing = false;
  *graph = reinterpret_cast<CUgraph>(0x6000);
  ++state.live_graphs;
  return with_context();
}

/// What a test of the benchmark needs beyond the backend.
const std::vector<Entry>& timing_entries() {
  static const std::vector<Entry> list = {
      {"cuStreamCreate", counted([](CUstream* s, unsigned) {
         return *s = reinterpret_cast<CUstream>(0x5000), ++state.live_streams, with_context();
       })},
      {"cuStreamDestroy", counted([](CUstream) { return --state.live_streams, with_context(); })},
      {"cuStreamBeginCapture",
       counted([](CUstream, CUstreamCaptureMode) { return state.capturing = true, with_context(); })},
      {"cuStreamIsCapturing", counted([](CUstream, CUstreamCaptureStatus* s) {
         *s = state.capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
         return with_context();
       })},
      {"cuStreamEndCapture", counted(Call<fake_end_capture>{})},
      {"cuGraphInstantiateWithFlags", counted([](CUgraphExec* e, CUgraph, unsigned long long) {
         const auto number = static_cast<std::uintptr_t>(++state.graphs_made);
         return *e = reinterpret_cast<CUgraphExec>(0x6000 + number), ++state.live_graphs, with_context();
       })},
      {"cuGraphDestroy", counted([](CUgraph) { return --state.live_graphs, with_context(); })},
      {"cuGraphExecDestroy", counted([](CUgraphExec) { return --state.live_graphs, with_context(); })},
      {"cuGraphLaunch", counted(Call<fake_graph_launch>{})},
      {"cuEventCreate", counted([](CUevent* e, unsigned) {
         return *e = reinterpret_cast<CUevent>(new double(0)), ++state.live_events, with_context();
       })},
      {"cuEventDestroy",
       counted([](CUevent e) { return delete reinterpret_cast<double*>(e), --state.live_events, with_context(); })},
      {"cuEventRecord", counted([](CUevent e, CUstream) {
         return *reinterpret_cast<double*>(e) = state.clock_microseconds, with_context();
       })},
      {"cuEventSynchronize", counted([](CUevent) { return with_context(); })},
      {"cuEventElapsedTime", counted(Call<fake_elapsed>{})},
      {"cuMemsetD8Async", counted([](CUdeviceptr p, unsigned char value, std::size_t n, CUstream s) {
         if (with_context() != CUDA_SUCCESS) return with_context();
         ++state.clears, state.clear_stream = s, state.clear_bytes = n;
         return std::memset(reinterpret_cast<void*>(p), value, n), CUDA_SUCCESS;
       })},
  };
  return list;
}

CUresult not_supported() { return CUDA_ERROR_NOT_SUPPORTED; }

}  // namespace

extern "C" __attribute__((visibility("default"))) FakeDriver* fake_cuda_driver() { return &state; }

// The address of one record, for readers that do not see FakeDriver (tests/python/test_cuda.py); null: there is none.
extern "C" __attribute__((visibility("default"))) void* fake_cuda_record(const char* name) {
  const std::pair<std::string_view, void*> records[] = {
      {"occupancy_questions", &state.occupancy_questions},
      {"launches", &state.launches},
      {"synchronizations", &state.synchronizations},
      {"live_allocations", &state.live_allocations},
      {"live_modules", &state.live_modules},
      {"capturing", &state.capturing},
      {"launch_stream", &state.launch.hStream},
      {"params_bytes", &state.params_bytes},
  };
  for (const auto& [record, address] : records)
    if (record == name) return address;
  return nullptr;
}

extern "C" __attribute__((visibility("default"))) CUresult cuGetProcAddress_v2(const char* symbol, void** function, int,
                                                                               cuuint64_t,
                                                                               CUdriverProcAddressQueryResult* found) {
  *found = CU_GET_PROC_ADDRESS_SUCCESS;
  *function = counted(Call<not_supported>{});
  for (const std::vector<Entry>* list : {&entries(), &timing_entries()})
    for (const Entry& entry : *list)
      if (entry.name == symbol) *function = entry.address;
  return CUDA_SUCCESS;
}
