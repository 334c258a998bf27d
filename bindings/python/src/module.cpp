// SPDX-License-Identifier: Apache-2.0
// The module warpwright._native. Importing it opens no device and starts no driver, so that a process may fork after.
#include <pthread.h>

#include <atomic>

#include "device.hpp"
#include "jax.hpp"
#include "operations.hpp"
#include "plan.hpp"
#include "torch.hpp"

namespace wwpy {
namespace {

std::atomic<int> forks = 0;
int seen_forks = 0;

int make(PyObject* module) {
  static const int registered = ::pthread_atfork(nullptr, nullptr, [] { ++forks; });
  const bool made = registered == 0 && intern_arguments() && add_exceptions(module) && add_device_type(module) &&
                    add_plan_type(module) && add_operations(module) && add_tools(module) && add_quantize(module) &&
                    add_pack_scales(module) && add_microscale(module) && add_jax(module) && add_torch(module) &&
                    PyModule_AddStringConstant(module, "__version__", ww_version()) == 0;
  if (!made && PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_ImportError, "warpwright._native was not made");
  return made ? 0 : -1;
}

}  // namespace

int fork_generation() { return forks.load(std::memory_order_relaxed); }

void follow_fork() {
  if (seen_forks == fork_generation()) [[likely]]
    return;
  seen_forks = fork_generation();
  forget_plans();
  forget_devices();
}

}  // namespace wwpy

extern "C" __attribute__((visibility("default"))) PyObject* PyInit__native() {
  static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                   "warpwright._native",
                                   "The extension of the package warpwright; see warpwright.",
                                   -1,
                                   nullptr,
                                   nullptr,
                                   nullptr,
                                   nullptr,
                                   nullptr};
  PyObject* const module = PyModule_Create(&definition);
  if (module == nullptr) return nullptr;
  if (wwpy::make(module) == 0) return module;
  Py_DECREF(module);
  return nullptr;
}
