// SPDX-License-Identifier: Apache-2.0
// The instructions that only sm_100 has, as kernel modules call them on the emulated device: tcgen05, TMA loads of a
// CTA pair, cluster launch control. They are a part of the table of arch/common/emu_table.hpp with a version of its
// own.
// An address of tensor memory has the lane in its upper 16 bits and the column in its lower ones.
#pragma once

#include "warpwright/arch/common/emu_table.hpp"
#include "warpwright/arch/sm100/formats.hpp"

namespace ww::arch {

inline constexpr const char* kSm100Instructions = "tcgen05";
inline constexpr u32 kSm100InstructionsVersion = 1;

/// The lane of an address of tensor memory starts at this bit.
inline constexpr u32 kTensorLaneShift = 16;

/// One tcgen05.mma. What it does beyond this is in its instruction descriptor.
struct UmmaCall {
  MmaKind kind;
  CtaGroup group;
  u8 scale_vector = 0;      // .scale_vec::<n>X: 1, 2 or 4; 0 for kinds without block scales
  u8 scale_input_d = 0;     // D = A B + D * 2^-scale_input_d; f16 and tf32 only
  bool accumulate = false;  // false: D = A B
  bool a_in_tensor_memory = false;
  u32 instruction;                      // descriptor of types, majors and shape
  u32 d;                                // address of tensor memory
  u64 a;                                // matrix descriptor, or address of tensor memory
  u64 b;                                // matrix descriptor
  u32 scale_a = 0, scale_b = 0;         // addresses of tensor memory; the scale ids are in `instruction`
  const u32* disabled_lanes = nullptr;  // 4 words, of a pair 8: bit l keeps lane l as it is; null writes all
};

struct Sm100Instructions {
  // Allocation, by a whole warp. `result` is a shared address, which gets the address of the first column.
  void (*alloc)(CtaGroup, u32 result, u32 columns, Site);
  void (*relinquish)(CtaGroup, Site);
  void (*dealloc)(CtaGroup, u32 address, u32 columns, Site);

  // Asynchronous, by one thread.
  void (*mma)(const UmmaCall&, Site);
  void (*copy)(CtaGroup, CopyShape, CopyUnpack, u32 address, u64 descriptor, Site);
  // Arrives once at `barrier` when the thread's earlier MMAs and copies are complete; with a mask (and
  // kMulticast), at the barrier of the same offset in each CTA of it.
  void (*commit)(CtaGroup, u32 barrier, u32 multicast, Site);

  // Tensor memory to and from registers, by a whole warp; complete at the wait. `packed`: two 16-bit columns share a
  // register. `split` is the distance in columns of the second half of lanes16_bits32_split.
  void (*load)(TensorShape, u32 repetitions, bool packed, u32 split, u32 address, u32* registers, Site);
  void (*store)(TensorShape, u32 repetitions, bool packed, u32 split, u32 address, const u32* registers, Site);
  // After it the registers of all loads of the warp hold their values; until then they belong to the device.
  void (*wait_load)(Site);
  void (*wait_store)(Site);
  void (*fence)(bool before, Site);  // before or after a synchronisation of threads

  // A TMA load whose bytes may count on the barrier of either CTA of the pair: `barrier` is a shared::cluster address.
  void (*load_pair)(const void* map, int rank, u32 barrier, u32 destination, TmaCoordinates, u32 multicast, Site);

  // Cluster launch control: asks for another cluster's work, whose 16-byte answer goes to `answer` of this CTA, or of
  // every CTA of the cluster, and counts on the barrier of the same offset there.
  void (*try_cancel)(u32 answer, u32 barrier, bool multicast, Site);
  // An answer that was loaded from shared memory: whether it gave work, and the three coordinates of the cluster's
  // first CTA.
  bool (*is_canceled)(const u32* answer, Site);
  void (*first_cta)(const u32* answer, u32* coordinates, Site);
};

}  // namespace ww::arch
