// SPDX-License-Identifier: Apache-2.0
// The instructions that only sm_90 has, as kernel modules call them on the emulated device: wgmma. They are a part of
// the table of arch/common/emu_table.hpp with a version of its own.
#pragma once

#include "warpwright/arch/common/emu_table.hpp"

namespace ww::arch {

inline constexpr const char* kSm90Instructions = "wgmma";
inline constexpr u32 kSm90InstructionsVersion = 1;

/// The fixed properties of one wgmma.mma_async m64n<n>.
struct WgmmaShape {
  DType type_a, type_b;    // equal, or two FP8 types; D is FP32
  Major major_a, major_b;  // mn: 16-bit types only
  int n;                   // 8..256, step 8
  int scale_a, scale_b;    // +1 or -1
  bool operator==(const WgmmaShape&) const = default;
};
/// One wgmma with its operands: B, and A unless it is in registers, come from shared memory through 64-bit matrix
/// descriptors.
struct WgmmaCall : WgmmaShape {
  u64 descriptor_a, descriptor_b;
  bool accumulate;                   // false: D = A B
  const u32* registers_a = nullptr;  // this thread's four registers of A, in place of descriptor_a; read when the MMA
                                     // executes
};

/// `count` consecutive instructions. Their descriptors differ by `a` and `b`, and each takes four more registers of A;
/// all but the first accumulate.
struct WgmmaSteps {
  u16 count = 1, a = 0, b = 0;
};

struct Sm90Instructions {
  void (*fence)(Site);  // wgmma.fence.sync.aligned
  // `registers` are this thread's n/2 accumulators. The engine owns their values from issue until a wait names them.
  // The arguments of WgmmaCall are passed separately, because a checked module announces every store to a local whose
  // address it passes on.
  void (*wgmma)(const WgmmaShape&, u64 descriptor_a, u64 descriptor_b, bool accumulate, const u32* registers_a,
                float* registers, WgmmaSteps, Site);
  void (*commit)(Site);
  void (*wait)(int pending, float* const* accumulators, int count, Site);
  // After a wait: the MMAs have read these registers, which belong to the thread again.
  void (*hand_back)(const u32* registers_a, int count, Site);
};

}  // namespace ww::arch
