// SPDX-License-Identifier: Apache-2.0
// Indices of this thread, CTA and cluster. Grids, clusters and CTAs are one-dimensional in this library; kernels map
// further dimensions onto that one themselves.
#pragma once

#include "warpwright/arch/common/executor.hpp"
#include "warpwright/core/machine.hpp"

namespace ww::arch {

inline constexpr u32 kWarpSize = u32{MachineTraits::kWarpThreads};
inline constexpr u32 kWarpgroupSize = u32{MachineTraits::kWarpgroupThreads};

#if defined(__CUDACC__)
inline namespace ptx {
WW_DEVICE u32 thread_index() {
  u32 v;
  asm("mov.u32 %0, %%tid.x;" : "=r"(v));
  return v;
}
WW_DEVICE u32 block_size() {
  u32 v;
  asm("mov.u32 %0, %%ntid.x;" : "=r"(v));
  return v;
}
WW_DEVICE u32 block_index() {
  u32 v;
  asm("mov.u32 %0, %%ctaid.x;" : "=r"(v));
  return v;
}
WW_DEVICE u32 grid_size() {
  u32 v;
  asm("mov.u32 %0, %%nctaid.x;" : "=r"(v));
  return v;
}
WW_DEVICE u32 cluster_rank() {
  u32 v;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(v));
  return v;
}
WW_DEVICE u32 cluster_size() {
  u32 v;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(v));
  return v;
}
/// Returns the start of the launch's dynamic shared memory, 1024-byte aligned (the launch reserves it before any static
/// object).
WW_DEVICE SharedAddress dynamic_shared() {
  extern __shared__ __align__(1024) u8 ww_dynamic_shared[];
  return {static_cast<u32>(__cvta_generic_to_shared(ww_dynamic_shared))};
}
}  // namespace ptx
#else
inline namespace emu {
WW_DEVICE u32 thread_index() { return table->special(Special::thread_index); }
WW_DEVICE u32 block_size() { return table->special(Special::block_size); }
WW_DEVICE u32 block_index() { return table->special(Special::block_index); }
WW_DEVICE u32 grid_size() { return table->special(Special::grid_size); }
WW_DEVICE u32 cluster_rank() { return table->special(Special::cluster_rank); }
WW_DEVICE u32 cluster_size() { return table->special(Special::cluster_size); }
WW_DEVICE SharedAddress dynamic_shared() { return {table->special(Special::dynamic_shared)}; }
}  // namespace emu
#endif

WW_DEVICE u32 warp_index() { return thread_index() / kWarpSize; }
WW_DEVICE u32 lane_index() { return thread_index() % kWarpSize; }
WW_DEVICE u32 warpgroup_index() { return thread_index() / kWarpgroupSize; }

}  // namespace ww::arch
