// SPDX-License-Identifier: Apache-2.0
// Host time of one product, for host_cost.py: the C interface beside a bare cuLaunchKernelEx of the same kernel with the
// same parameters and attributes. The bare launch is recovered from a captured graph, so that the library needs no
// support for it.
#include <cuda.h>

#include <chrono>
#include <cstdio>
#include <cstring>

#include "dlpack/dlpack.h"
#include "warpwright/warpwright.h"

#define HOST_COST extern "C" __attribute__((visibility("default")))

namespace {

ww_device device = nullptr;
ww_plan plan = nullptr;
ww_gemm_problem problem;
ww_gemm_operands operands;
CUDA_KERNEL_NODE_PARAMS node;
CUlaunchAttribute attributes[2];
CUlaunchConfig config;

bool check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return true;
  const char* text = "";
  cuGetErrorString(result, &text);
  std::fprintf(stderr, "%s: %s\n", what, text);
  return false;
}

bool check(ww_status status) {
  if (status != WW_OK) std::fprintf(stderr, "%s\n", ww_error_message());
  return status == WW_OK;
}

/// Captures one run and takes its only kernel as the bare launch.
bool find_launch(CUstream capture) {
  CUgraph graph = nullptr;
  std::size_t count = 8;
  CUgraphNode nodes[8];
  if (!check(cuStreamBeginCapture(capture, CU_STREAM_CAPTURE_MODE_RELAXED), "begin capture") ||
      !check(ww_gemm_run(plan, &operands, capture)) || !check(cuStreamEndCapture(capture, &graph), "end capture") ||
      !check(cuGraphGetNodes(graph, nodes, &count), "nodes"))
    return false;
  if (count != 1) return std::fprintf(stderr, "expected one kernel in the graph, got %zu\n", count), false;
  CUkernelNodeAttrValue value;
  if (!check(cuGraphKernelNodeGetParams(nodes[0], &node), "parameters")) return false;
  config = {};
  config.gridDimX = node.gridDimX, config.gridDimY = node.gridDimY, config.gridDimZ = node.gridDimZ;
  config.blockDimX = node.blockDimX, config.blockDimY = node.blockDimY, config.blockDimZ = node.blockDimZ;
  config.sharedMemBytes = node.sharedMemBytes;
  config.attrs = attributes;
  for (const CUkernelNodeAttrID id :
       {CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION}) {
    if (cuGraphKernelNodeGetAttribute(nodes[0], id, &value) != CUDA_SUCCESS) continue;
    if (id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION && value.clusterDim.x == 0) continue;
    if (id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
        value.programmaticStreamSerializationAllowed == 0)
      continue;
    attributes[config.numAttrs].id = id;
    attributes[config.numAttrs++].value = value;
  }
  return true;
}

template <class Call> double loop(int count, Call call) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i)
    if (!call()) return -1;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / count;
}

}  // namespace

/// Describes an e4m3 product with scales of blocks and makes its plan. Returns 0 on success.
HOST_COST int host_cost_open(const char* name, long m, long n, long k, const void* a, const void* b, void* d,
                             const void* scale_a, const void* scale_b) {
  problem = {}, operands = {};
  problem.struct_size = sizeof problem;
  problem.m = m, problem.n = n, problem.k = k;
  problem.a_type = problem.b_type = WW_E4M3, problem.d_type = WW_BF16;
  problem.scale = WW_SCALE_BLOCK;
  operands.struct_size = sizeof operands;
  operands.a = a, operands.b = b, operands.d = d, operands.scale_a = scale_a, operands.scale_b = scale_b;
  ww_options options = {};
  options.struct_size = sizeof options;
  options.workspace_limit = -1;
  if (!check(ww_device_open(name, nullptr, &device)) || !check(ww_gemm_plan(device, &problem, &options, &plan)))
    return 1;
  CUstream capture = nullptr;
  return check(cuStreamCreate(&capture, CU_STREAM_NON_BLOCKING), "stream") && find_launch(capture) ? 0 : 1;
}

/// Seconds of one call, over `count` of them on `stream` without waiting; negative on failure.
HOST_COST double host_cost_bare(int count, void* stream) {
  config.hStream = static_cast<CUstream>(stream);
  return loop(count,
              [] { return cuLaunchKernelEx(&config, node.func, node.kernelParams, node.extra) == CUDA_SUCCESS; });
}
HOST_COST double host_cost_run(int count, void* stream) {
  return loop(count, [&] { return ww_gemm_run(plan, &operands, stream) == WW_OK; });
}
HOST_COST double host_cost_cached(int count, void* stream) {
  ww_options options = {};
  options.struct_size = sizeof options;
  options.workspace_limit = -1;
  return loop(count, [&] { return ww_gemm(device, &problem, &options, &operands, stream) == WW_OK; });
}

/// Seconds in which the exchange API of a framework describes `tensors` Python objects and names the current stream of
/// device 0. The caller holds the interpreter's lock.
HOST_COST double host_cost_exchange(int count, const void* capsule, void* const* objects, int tensors) {
  const auto* const api = static_cast<const DLPackExchangeAPI*>(capsule);
  return loop(count, [&] {
    DLTensor described;
    void* stream = nullptr;
    for (int i = 0; i < tensors; ++i)
      if (api->dltensor_from_py_object_no_sync(objects[i], &described) != 0) return false;
    return api->current_work_stream(kDLCUDA, 0, &stream) == 0;
  });
}
