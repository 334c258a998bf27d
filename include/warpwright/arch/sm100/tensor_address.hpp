// SPDX-License-Identifier: Apache-2.0
// Addresses of tensor memory: 128 lanes by 512 columns of 32 bits for each SM, the lane in the upper 16 bits.
#pragma once

#include "warpwright/arch/common/executor.hpp"

namespace ww::arch {

/// An address of tensor memory. That of an allocation, which the instruction leaves in shared memory, has lane 0.
struct TensorAddress {
  u32 value;
  WW_HOST_DEVICE constexpr TensorAddress operator+(u32 columns) const { return {value + columns}; }
  /// Returns the address as many lanes further down.
  WW_HOST_DEVICE constexpr TensorAddress down(u32 lanes) const { return {value + (lanes << 16)}; }
  WW_HOST_DEVICE constexpr u32 lane() const { return value >> 16; }
  WW_HOST_DEVICE constexpr u32 column() const { return value & 0xffff; }
};

}  // namespace ww::arch
