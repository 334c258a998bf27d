// SPDX-License-Identifier: Apache-2.0
// Calls that ran before, so that a call like one of them is not described again. Everything that a description reads is
// compared: names, texts, integers and flags by value, tensors by type, device, element type, shape and strides. What
// it does not read is taken from the new call: addresses, floating-point scalars and the stream. A description takes a
// third of a microsecond, the comparison a tenth of that.
#pragma once

#include "arguments.hpp"
#include "request.hpp"

namespace wwpy {

struct PlanObject;
struct RepeatedCall;

/// Repeats an earlier call of this entry with equal arguments; `self` is the plan of Plan.run, else null. True:
/// `result` is what the call returns, null with an exception. False: there is no such call, and nothing has happened.
bool repeat_call(Entry entry, PlanObject* self, PyObject* const* args, Py_ssize_t positional, PyObject* names,
                 PyObject*& result);
/// Remembers a call that has succeeded with `plan`, if all of its arguments can be compared.
void remember_call(Entry entry, PlanObject* self, PyObject* const* args, Py_ssize_t positional, PyObject* names,
                   Work& work, PlanObject* plan);

/// Frees the call that a plan remembers.
void free_call(RepeatedCall* call);
/// Drops the remembered calls and their references to plans; after a fork the references stay.
void clear_calls();
void forget_calls();

}  // namespace wwpy
