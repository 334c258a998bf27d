// SPDX-License-Identifier: Apache-2.0
// The records of the stand-in for the driver; tests read them through fake_cuda_driver() of the same library.
#pragma once

#include <cuda.h>

#include <vector>

struct FakeDriver {
  int calls = 0, occupancy_questions = 0;  // of all functions; of cuOccupancyMaxActiveClusters
  int retained = 0, pushes = 0, launches = 0, synchronizations = 0, live_allocations = 0, live_modules = 0;
  int live_streams = 0, live_events = 0, live_graphs = 0, graph_launches = 0;  // graphs and their executables
  int graphs_made = 0, graph_switches = 0;  // launches of another graph than the last one
  CUgraphExec last_graph = nullptr;
  bool capturing = false;
  double clock_microseconds = 0, graph_microseconds = 2400;
  int dynamic_shared = 0, large_clusters = 0;
  CUresult load_status = CUDA_SUCCESS;  // of modules that begin with "refused"
  CUresult launch_status = CUDA_SUCCESS, synchronize_status = CUDA_SUCCESS;
  void* watchdog_buffer = nullptr;  // the variable of a module that was compiled with a watchdog
  int live_host_allocations = 0;
  CUlaunchConfig launch{};
  std::vector<CUlaunchAttribute> attributes;
  std::size_t params_bytes = 16;  // of every kernel's parameter
  std::vector<unsigned char> params;
  int encodes = 0;
  struct {
    CUtensorMapDataType type;
    cuuint32_t rank;
    void* base;
    cuuint64_t extents[5], strides[5];
    cuuint32_t box[5];
    CUtensorMapSwizzle swizzle;
    CUtensorMapL2promotion promotion;
    CUtensorMapFloatOOBfill fill;
  } encode{};
  int clears = 0;  // calls of cuMemsetD8Async; the last one's stream and bytes
  CUstream clear_stream = nullptr;
  std::size_t clear_bytes = 0;
};
