// SPDX-License-Identifier: Apache-2.0
// What the module is made of.
#pragma once

#include "python.hpp"

namespace wwpy {

bool add_operations(PyObject* module);
bool add_pack_scales(PyObject* module);
bool add_microscale(PyObject* module);
bool add_quantize(PyObject* module);
bool add_tools(PyObject* module);

/// In the child of a fork: forgets plans and default devices, which belong to the parent.
void follow_fork();

}  // namespace wwpy
