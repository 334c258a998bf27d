// SPDX-License-Identifier: Apache-2.0
// warpwright.Device, and the devices that tensors imply: cuda:N for CUDA tensors, emu:sm90 or emu:sm100 for those on
// the CPU.
#pragma once

#include "library.hpp"
#include "tensor.hpp"

namespace wwpy {

struct DeviceObject {
  PyObject_HEAD ww_device handle;
  Place place;
  bool emulated;
  int generation;  // of forks, when it was opened
};

bool add_device_type(PyObject* module);

/// Returns the device for tensors at `place`, borrowed: `given`, checked, or the default one, opened when first
/// needed. For tensors on the CPU that is emu:sm90, or emu:sm100 with `blackwell`. Null: an exception.
DeviceObject* device_of(PyObject* given, Place place, bool blackwell = false);
/// Returns `given` (a Device or a name) as a device, owned; null: an exception.
DeviceObject* open_device(PyObject* given);

/// Returns what a device has done as a dictionary; null: an exception.
PyObject* counters_of(ww_device device);

/// Forgets the default devices, after a fork.
void forget_devices();

}  // namespace wwpy
