// SPDX-License-Identifier: Apache-2.0
// Plain functions as kernels of emu:sm100: tcgen05 through the table that kernel modules use.
#pragma once

#include "check_launch.hpp"
#include "emu/sm100/model.hpp"
#include "warpwright/arch/sm100/instruction_descriptor.hpp"
#include "warpwright/arch/sm100/matrix_descriptor.hpp"

namespace ww::emu::test {

using arch::CtaGroup;
using arch::MmaFormat;
using arch::MmaKind;
using arch::TensorShape;

inline const arch::Sm100Instructions& u() { return sm100::instructions(); }
inline constexpr u32 kAllColumns = 512;

template <auto kKernel, class P>
Result<EmuStats> launch_sm100(const P& params, const Shape& shape, EmuOptions options = {}) {
  return launch<kKernel>(params, shape, {}, options, sm100::kModel);
}
template <auto kKernel, class P> CheckReport check_sm100(const P& params, const Shape& shape, EmuOptions options = {}) {
  return check_launch<kKernel>(params, shape, {}, options, sm100::kModel);
}

template <class T> T read_shared(u32 address, Site site = here()) {
  return *static_cast<T*>(t().shared_access(address, sizeof(T), arch::Access::read, arch::kWeak, site));
}
inline u32 warp_index() { return thread_index() / 32; }
inline u32 lane_index() { return thread_index() % 32; }
/// The address of the first lane that this warp may access.
inline u32 own_lanes(u32 address) { return address + (warp_index() % 4 * 32 << 16); }

/// tcgen05.ld and st of 32 lanes x `columns`.
inline void load_columns(u32 address, u32 columns, u32* registers, Site site = here()) {
  u().load(TensorShape::lanes32_bits32, columns, false, 0, address, registers, site);
}
inline void store_columns(u32 address, u32 columns, const u32* registers, Site site = here()) {
  u().store(TensorShape::lanes32_bits32, columns, false, 0, address, registers, site);
}

/// Allocates by warp 0, publishes the address with a barrier of the CTA, and returns it. The first four bytes of
/// shared memory hold it.
inline u32 allocate(CtaGroup group, u32 columns, Site site = here()) {
  if (warp_index() == 0) {
    u().alloc(group, shared_base(), columns, site);
    u().relinquish(group, site);
    u().fence(true, site);
  }
  sync_cta(site);
  u().fence(false, site);
  return read_shared<u32>(shared_base(), site);
}

}  // namespace ww::emu::test
