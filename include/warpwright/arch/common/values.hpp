// SPDX-License-Identifier: Apache-2.0
// Access to objects that hold FP32 values of a thread in registers, for code that touches each value.
// On the emulated device such objects are memory, and a checked module announces each access to memory that the
// emulator knows. There values() returns a copy: one access per object instead of one per value, which saves a third of
// all instructions of a check.
#pragma once

#include "warpwright/arch/common/executor.hpp"

namespace ww::arch {

#if defined(__CUDACC__)
inline namespace ptx {
/// Returns the values of an object that the thread owns; put_back returns what has changed.
template <class Values> WW_DEVICE const Values& values(const Values& d) { return d; }
template <class Values> WW_DEVICE Values& values(Values& d) { return d; }
template <class Values> WW_DEVICE void put_back(Values&, const Values&) {}
template <class Values> WW_DEVICE void fill(Values& d, float value) {
  WW_UNROLL
  for (int v = 0; v < Values::kValues; ++v) d[v] = value;
}
}  // namespace ptx
#else
inline namespace emu {
template <class Values> WW_DEVICE Values values(const Values& d) { return d; }
template <class Values> WW_DEVICE void put_back(Values& d, const Values& changed) { d = changed; }
template <class Values> WW_DEVICE void fill(Values& d, float value) {
  Values filled;
  for (int v = 0; v < Values::kValues; ++v) filled.r[v] = value;
  d = filled;
}
}  // namespace emu
#endif

}  // namespace ww::arch
