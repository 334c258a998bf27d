// SPDX-License-Identifier: Apache-2.0
// The emulator's sm_100 instructions in a kernel module; empty for a GPU.
#pragma once

#include "warpwright/arch/common/executor.hpp"
#if !defined(__CUDACC__)
#include "warpwright/arch/sm100/emu_instructions.hpp"

namespace ww::arch {
inline namespace emu {
/// The emulator's operations, under two names for the reason given at `installed` (arch/common/executor.hpp).
__attribute__((used, visibility("hidden"))) inline Sm100Instructions sm100_installed asm(
    "warpwright_sm100_instructions") = {};
__attribute__((visibility("hidden"))) extern const Sm100Instructions sm100_operations asm(
    "warpwright_sm100_instructions");
inline constexpr const Sm100Instructions* sm100_table = &sm100_operations;
inline InstructionPart sm100_part{kSm100Instructions, kSm100InstructionsVersion, sizeof(Sm100Instructions),
                                  &sm100_installed, nullptr};
inline const Need sm100_needed{sm100_part};
}  // namespace emu
}  // namespace ww::arch
#endif
