// SPDX-License-Identifier: Apache-2.0
// What the test kernels of sm_100 share: columns of tensor memory from start to end of a kernel, all of them written
// and read back.
#pragma once

#include "params.hpp"
#include "warpwright/arch/common/cluster.hpp"
#include "warpwright/arch/common/fence.hpp"
#include "warpwright/arch/common/warp.hpp"
#include "warpwright/arch/sm100/tensor_memory.hpp"
#include "warpwright/arch/sm100/umma.hpp"

namespace ww::arch_test {

using arch::CtaGroup;
using arch::TensorShape;

/// Barriers and the address of the columns are in front of what a kernel has in shared memory.
inline constexpr u32 kHead = 1024;
inline constexpr u32 kBlock = 32;  // columns that are read and written at once

/// Synchronises the CTA, or the pair, between tcgen05 instructions of its threads.
template <CtaGroup kGroup> WW_DEVICE void sync_tensor() {
  arch::umma::fence_before();
  if constexpr (kGroup == CtaGroup::pair) arch::cluster::sync();
  else arch::named_barrier::sync_cta();
  arch::umma::fence_after();
}

/// Allocates columns and initialises the barrier at offset 0 for one arrival. All threads of 4 warps or more, of both
/// CTAs of a pair.
template <CtaGroup kGroup> WW_DEVICE arch::TensorAddress allocate(u32 columns) {
  const arch::SharedAddress head = arch::dynamic_shared();
  if (arch::thread_index() == 0) arch::mbarrier::init(arch::MBarrier{head}, 1);
  arch::fence::mbarrier_init();
  if constexpr (kGroup == CtaGroup::pair) arch::cluster::sync();  // the other CTA runs
  if (arch::warp_index() == 0) {
    arch::tensor::alloc<kGroup>(head + 16, columns);
    arch::tensor::relinquish<kGroup>();
  }
  sync_tensor<kGroup>();
  return {arch::shared::load(head + 16)};
}
template <CtaGroup kGroup> WW_DEVICE void release(arch::TensorAddress address, u32 columns) {
  sync_tensor<kGroup>();
  if (arch::warp_index() == 0) arch::tensor::dealloc<kGroup>(address, columns);
}

/// Returns the address of this warp's quarter of the lanes.
WW_DEVICE arch::TensorAddress quarter(arch::TensorAddress address) { return address.down(arch::warp_index() % 4 * 32); }

/// The value that fill() gives a cell: it tells lane and column.
WW_DEVICE u32 background(u32 lane, u32 column) { return 0x55000000u | lane << 12 | column; }

/// Writes columns, a multiple of kBlock, of this warp's lanes: background, or what `from` (lane, column) has.
WW_DEVICE void fill(arch::TensorAddress address, u32 columns, const u32* from = nullptr) {
  const u32 lane = arch::warp_index() % 4 * 32 + arch::lane_index();
  for (u32 first = 0; first < columns; first += kBlock) {
    arch::TensorRegisters<32> r;
    WW_UNROLL
    for (u32 c = 0; c < kBlock; ++c)
      r[static_cast<int>(c)] =
          from ? arch::global::load(from + lane * columns + first + c) : background(lane, first + c);
    arch::tensor::store<TensorShape::lanes32_bits32, 32>(quarter(address) + first, r);
  }
  arch::tensor::wait_store();
}

/// Writes all lanes of the columns to `out` (lane, column), each warp its own.
WW_DEVICE void read_back(u32* out, arch::TensorAddress address, u32 columns) {
  const u32 lane = arch::warp_index() % 4 * 32 + arch::lane_index();
  for (u32 first = 0; first < columns; first += kBlock) {
    arch::TensorRegisters<32> r;
    arch::tensor::load<TensorShape::lanes32_bits32, 32>(r, quarter(address) + first);
    arch::tensor::wait_load(r);
    WW_UNROLL
    for (u32 c = 0; c < kBlock; ++c) arch::global::store(out + lane * columns + first + c, r[static_cast<int>(c)]);
  }
}

}  // namespace ww::arch_test
