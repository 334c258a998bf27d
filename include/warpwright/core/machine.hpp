// SPDX-License-Identifier: Apache-2.0
// The architectures that kernels are written for, and the limits of each: the only place for them. Configs, kernels,
// launches, the emulated device and the compilers' flags read them here; an architecture is one type and one case of
// machine_of(). Rates, which differ between devices of one architecture, are in src/select/machine_rates.hpp.
// The limits of Sm100 come from the PTX ISA and published headers; nothing here has run on such a device.
#pragma once

#include "warpwright/core/numbers.hpp"

namespace ww {

/// The architecture of a config or device.
enum class Arch : u8 {
  sm90,   // Hopper
  sm100,  // Blackwell
};
/// The number of architectures, which are counted from 0.
inline constexpr int kArchs = 2;
/// The architecture of a config and of an emulated device that name none.
inline constexpr Arch kDefaultArch = Arch::sm90;

/// The registers of a thread of each role; {0, 0} keeps what the launch gave.
struct RegisterSplit {
  int producer = 0;  // of a thread that loads
  int consumer = 0;  // of a thread that multiplies
};

/// The shapes of one MMA instruction.
struct MmaShape {
  int m = 0;        // rows of D
  int n_least = 0;  // columns of D, at least
  int n_most = 0;   // columns of D, at most
  int n_step = 0;   // columns of D are a multiple of this
  /// Returns whether the instruction exists for `n` columns.
  WW_HOST_DEVICE constexpr bool takes_n(int n) const { return n >= n_least && n <= n_most && n % n_step == 0; }
};

/// The limits of an architecture. The initial values are those that the architectures here share.
struct MachineTraits {
  // --- threads: the same for every architecture, so that kernels need no config to name them
  static constexpr int kWarpThreads = 32;
  static constexpr int kWarpgroupWarps = 4;
  static constexpr int kWarpgroupThreads = kWarpgroupWarps * kWarpThreads;
  static constexpr int kCtaThreads = 1024;
  static constexpr int kNamedBarriers = 16;        // of a CTA
  static constexpr int kArrivals = (1 << 20) - 1;  // of one phase of an mbarrier; of bytes too, either way
  static constexpr int kSwizzleBytes = 128;        // of the widest swizzle: a row of an operand
  static constexpr int kSwizzleRows = 8;           // after which a swizzle repeats
  static constexpr int kSwizzleAlignment = kSwizzleBytes * kSwizzleRows;  // of what is swizzled, in bytes
  static constexpr int kInstructionBytes = 32;                            // of K that one MMA reads of each row
  static constexpr int kTmaBox = 256;                                     // elements of a box along each dimension
  static constexpr int kTmaAlignment = 16;  // bytes, of addresses, strides and rows of a box

  // --- names
  const char* name = "";             // in configs: "sm90"
  const char* target = "";           // of the compilers: "sm_90a"
  const char* emulated_device = "";  // "emu:sm90"
  int capability = 0;                // compute capability, 10 * major + minor
  const char* family = "";           // "Hopper"
  bool measured = false;             // this library has run on such a device

  // --- shared memory, bytes
  int shared_bytes_of_sm = 228 * 1024;
  int shared_bytes_of_system = 1024;  // taken from each CTA's share

  // --- registers, 32 bits each
  int registers_of_sm = 65536;
  int register_step = 8;                   // of a thread's registers
  int fewest_registers = 24;               // of a thread, by setmaxnreg
  int most_registers = 256;                // of a thread as allocated; it can name one fewer
  int producer_registers = 0;              // of a producer thread, unless the config says otherwise
  int quantising_producer_registers = 0;   // the same beside consumers that quantise 128 sums a thread
  int most_producer_registers = 0;         // that a config may ask for
  int accumulator_registers = 0;           // of a consumer thread, beside addresses and scales
  int accumulator_registers_of_three = 0;  // the same with three consumer warpgroups
  int accumulator_columns_of_three = 0;    // of an MMA with three consumer warpgroups

  // --- clusters, CTAs
  int largest_cluster = 16;  // needs cudaFuncAttributeNonPortableClusterSizeAllowed
  int portable_cluster = 8;  // of any device of the architecture

  // --- the largest device of the architecture
  int most_sms = 0;

  // --- tensor memory
  int tensor_columns = 0, tensor_lanes = 0;  // of an SM, 32 bits each

  // --- MMA instructions
  int mma_threads = 0;        // that issue one together
  MmaShape mma[2] = {};       // of one CTA
  MmaShape pair_mma[2] = {};  // of two CTAs; M counts the rows of both

  /// Returns the dynamic shared memory of each of `ctas` CTAs on an SM.
  WW_HOST_DEVICE constexpr int shared_bytes(int ctas = 1) const {
    return shared_bytes_of_sm / ctas - shared_bytes_of_system;
  }
  /// Returns the registers of each thread at the launch of a CTA of `threads` that may take the whole file.
  WW_HOST_DEVICE constexpr int registers_at_launch(int threads) const {
    const int even = registers_of_sm / threads / register_step * register_step;
    return even < most_registers ? even : most_registers;
  }
  /// Returns the registers of each role with one producer warpgroup, whose threads keep `producer`, and `consumers`
  /// consumer warpgroups, which share what it gives up.
  WW_HOST_DEVICE constexpr RegisterSplit split_registers(int consumers, int producer) const {
    const int all = (1 + consumers) * registers_at_launch((1 + consumers) * kWarpgroupThreads);
    return {producer, (all - producer) / consumers / register_step * register_step};
  }
  /// Returns whether setmaxnreg takes `count` registers.
  WW_HOST_DEVICE constexpr bool takes_registers(int count) const {
    return count % register_step == 0 && count >= fewest_registers && count <= most_registers;
  }
};

/// Hopper: a warpgroup multiplies, and accumulators are registers of its threads.
struct Sm90 : MachineTraits {
  WW_HOST_DEVICE constexpr Sm90() {
    name = "sm90", target = "sm_90a", emulated_device = "emu:sm90", capability = 90, family = "Hopper";
    measured = true;
    most_sms = 132;  // of an H200
    producer_registers = 56, quantising_producer_registers = 40, most_producer_registers = 120;
    accumulator_registers = 192, accumulator_registers_of_three = 128;
    // One wgmma names its whole accumulator, and with three its thread starts with 128 registers.
    accumulator_columns_of_three = 200;
    mma_threads = kWarpgroupThreads;
    mma[0] = {64, 8, 256, 8};
  }
};

/// Blackwell: one thread multiplies for its CTA or for a pair of CTAs, and accumulators are in tensor memory.
// Unmeasured. Where sources differ on the step of N, the wider one stands here.
struct Sm100 : MachineTraits {
  WW_HOST_DEVICE constexpr Sm100() {
    name = "sm100", target = "sm_100a", emulated_device = "emu:sm100", capability = 100, family = "Blackwell";
    most_sms = 148;  // of a B200
    producer_registers = quantising_producer_registers = 56, most_producer_registers = 120;
    accumulator_registers = 192;
    tensor_columns = 512, tensor_lanes = 128;
    mma_threads = 1;
    mma[0] = {64, 8, 256, 8}, mma[1] = {128, 16, 256, 16};
    pair_mma[0] = {128, 32, 256, 32}, pair_mma[1] = {256, 32, 256, 32};
  }
};

/// Returns the limits of an architecture.
WW_HOST_DEVICE constexpr MachineTraits machine_of(Arch arch) {
  switch (arch) {
    case Arch::sm90: break;
    case Arch::sm100: return Sm100();
  }
  return Sm90();
}
/// Returns the name that configs have: "sm90".
WW_HOST_DEVICE constexpr const char* name_of(Arch arch) { return machine_of(arch).name; }

}  // namespace ww
