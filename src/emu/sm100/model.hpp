// SPDX-License-Identifier: Apache-2.0
// The emulated Blackwell device, sm_100a: its description for the registry, and what its parts share.
#pragma once

#include "emu/machine_model.hpp"
#include "warpwright/arch/sm100/emu_instructions.hpp"

namespace ww::emu::sm100 {

extern const MachineModel kModel;

extern const InstructionSet kInstructions;
const arch::Sm100Instructions& instructions();

/// Accesses of the CTA's engine.
inline constexpr Access kReadOfA{144}, kReadOfB{145}, kReadOfCopy{146};

/// Rules of its instructions: allocation, lanes and columns of tensor memory; tcgen05.fence between threads.
inline constexpr Rule kTensorMemory{kFirstUnnamedRule + 128}, kTensorFence{kFirstUnnamedRule + 129};

}  // namespace ww::emu::sm100
