// SPDX-License-Identifier: Apache-2.0
// What the binding asks of torch beside the exchange API: versions of tensors that it writes, whether a call may go
// past the dispatcher, and lazy negation. torch is never imported here: without it there are no tensors of its own.
#pragma once

#include <cstdint>

#include "arguments.hpp"

namespace wwpy {

/// Counts a write of each tensor in torch's version counters, so that autograd finds a backward pass that would read
/// what is no longer there. Objects that are no torch tensors, and null, are skipped.
bool note_writes(PyObject* const* objects, int count);
/// The same for those arguments that `entry` writes.
bool note_writes(Entry entry, const Arguments& arguments);
/// Returns whether `entry` writes the tensor that is its argument `argument`.
bool is_written(Entry entry, Argument argument);

/// Returns whether `object` is a torch tensor whose memory holds the negatives of its values.
bool is_negated(PyObject* object);
/// Returns whether a tensor of floating-point numbers of so many bytes can be one: it would be the imaginary part of a
/// conjugate, which lies at odd addresses, and of which no two elements lie side by side.
bool may_be_negated(std::uintptr_t address, int bytes, int rank, const std::int64_t* shape, const std::int64_t* stride);

bool add_torch(PyObject* module);

/// Returns whether the torch layer may call the extension with these arguments: plain tensors or none, and no mode.
/// False: not, or with an exception.
bool is_direct(PyObject* const* args, Py_ssize_t count);

}  // namespace wwpy
