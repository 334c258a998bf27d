// SPDX-License-Identifier: Apache-2.0
// Tensor maps in global memory, and how kernels change them. TMA reads a map through a cache of its SM that only the
// acquire fence clears. So a CTA that has used a map, or whose SM has in an earlier kernel, may continue with the old
// one after a change. Here each CTA has such a cache; under every schedule but fifo a stale entry is used half the
// time.
//   replace: fields of a copy in shared memory      release: the copy to global memory      acquire: forget the entry
// Parameters of the launch are constant and need none of this.
#pragma once

#include "emu/tensor_map.hpp"
#include "emu/thread.hpp"

namespace ww::emu {

/// The cached map of a CTA's SM for `address`.
struct CachedMap {
  u64 address = 0;
  bool holds = false;  // false: acquired, so the next use reads memory
  TensorMapData data{};
};

/// A map as a TMA operation sees it.
struct SeenMap {
  TensorMapData data{};
  bool in_global = false;  // not a parameter of the launch
};

/// Returns the map at `map` for one TMA operation or prefetch of the thread; reports when there is none.
SeenMap see_tensor_map(Thread& thread, const void* map, arch::Site site);

void tensor_map_replace(Thread& thread, u32 copy, arch::TensorMapField field, int dimension, u64 value,
                        arch::Site site);
void tensor_map_release(Thread& thread, void* map, u32 copy, arch::Site site);
void tensor_map_acquire(Thread& thread, const void* map, arch::Site site);

}  // namespace ww::emu
