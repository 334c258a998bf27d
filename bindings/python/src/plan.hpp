// SPDX-License-Identifier: Apache-2.0
// warpwright.Plan: a plan of the library, its workspaces, and the cache in which the operations find it by its request.
#pragma once

#include <vector>

#include "device.hpp"
#include "request.hpp"

namespace wwpy {

struct RepeatedCall;

/// A workspace, zeroed. One run uses it at a time: on a GPU the runs of one stream, on an emulated device one thread.
struct Workspace {
  void* memory = nullptr;
  void* stream = nullptr;
  bool spare = false;  // no stream has it yet
  bool busy = false;   // emulated: a run is going on
};

struct PlanObject {
  PyObject_HEAD ww_plan handle;
  Request* request;
  PyObject* device;                                                     // owned
  PyObject *config, *epilogue_words, *epilogue_given, *expected_sizes;  // owned or null: what the request points to
  std::size_t workspace_bytes;
  std::vector<Workspace>* workspaces;
  RepeatedCall* call;  // the last one of run() that can be repeated; null: none
  int generation;
  bool emulated;
  bool captured;  // a graph may hold addresses of its workspaces, so that they are never freed
};

bool add_plan_type(PyObject* module);

/// Returns the plan of work.request, owned: from the cache, or made, unless the stream is capturing.
PlanObject* find_plan(Work& work);
/// Makes a plan, without the cache.
PlanObject* make_plan(const Work& work);
/// Reads the stream of a run at `place`: `given`, or if that is null the current one of the framework of tensor `a`.
bool read_stream(PyObject* given, Place place, PyObject* a, void*& stream);
inline bool read_stream(Work& work) {
  return read_stream(work.arguments[Argument::stream], work.a.place, work.arguments[Argument::a], work.stream);
}
/// Launches one run, and sets the workspace of `operands` to the one that it uses.
bool run_plan(PlanObject* plan, Operands& operands, void* stream);
/// Returns work.out_object as the caller gets it: arrays of JAX are made of the NumPy array that was written.
PyObject* result_of(Work& work);

/// Frees the plans of the cache that no graph may use; after a fork it forgets them instead.
void clear_plans();
void forget_plans();
std::size_t cached_plans();

}  // namespace wwpy
