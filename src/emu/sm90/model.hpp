// SPDX-License-Identifier: Apache-2.0
// The emulated Hopper device, sm_90a: its description for the registry, and the parts of it that another machine may
// have too.
#pragma once

#include "emu/machine_model.hpp"
#include "warpwright/arch/sm90/emu_instructions.hpp"

namespace ww::emu::sm90 {

extern const MachineModel kModel;

/// wgmma; a machine that has it has make_warpgroup_engine() as its warpgroup engine.
extern const InstructionSet kInstructions;
const arch::Sm90Instructions& instructions();
std::unique_ptr<Engine> make_warpgroup_engine(Cta& cta);

/// Accesses of the warpgroup engine, and the rules of its instructions.
inline constexpr Access kReadOfA{128}, kReadOfB{129};
extern const std::span<const AccessText> kAccesses;
extern const std::span<const RuleText> kRules;
void add_stats(const Counters& counters, EmuStats& stats);

}  // namespace ww::emu::sm90
