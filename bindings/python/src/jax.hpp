// SPDX-License-Identifier: Apache-2.0
// What jax.py needs of the extension: the FFI handlers, and the workspace of a call while a function is traced.
#pragma once

#include "python.hpp"

namespace wwpy {

/// Adds _native.jax_handler(platform), the capsule of the handler for "CUDA" or "cpu", and
/// _native.jax_workspace_bytes(ordinal, roles, specs, numbers, epilogue, config, expected_sizes), which makes the plan
/// of a call on cuda:ordinal (-1: emu:sm90) and returns the bytes of workspace of its runs.
bool add_jax(PyObject* module);

}  // namespace wwpy
