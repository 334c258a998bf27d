// SPDX-License-Identifier: Apache-2.0
// What distinguishes one emulated machine from another: its name, its limits, its own instructions with their engines,
// and the texts of its rules. The shared engines (TMA, mbarriers, clusters, memory, schedules, shadow memory) know a
// machine by this description alone, so that another machine is another model and changes none of them.
//   module -> EmuTable::instructions(set) -> a model's instruction set -> its engine
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpwright/arch/common/emu_table.hpp"
#include "warpwright/core/machine.hpp"
#include "warpwright/host/report.hpp"

namespace ww::emu {

class Engine;
struct Counters;
struct Cta;
enum class Access : u8;

/// Instructions that only some machines have, as modules call them: a structure of function pointers.
struct InstructionSet {
  const char* name;
  u32 version, bytes;
  const void* operations;
};

/// The name of a rule and the advice to the author of a kernel that broke it.
struct RuleText {
  Rule rule;
  const char* name;
  const char* advice;
};
/// Rules that ww::Rule does not name have numbers from here on.
inline constexpr int kFirstUnnamedRule = 1024;

/// The name of an access of the machine's own engines in reports. Its number is Access::of_machines or more.
struct AccessText {
  Access kind;
  const char* name;
};

struct MachineModel {
  MachineTraits traits;  // its names and limits
  Arch arch;             // of the configs whose kernels it runs
  std::span<const InstructionSet* const> instructions = {};
  // Makes the engine that each whole warpgroup has, and the one that each CTA has; null if there is none.
  std::unique_ptr<Engine> (*warpgroup_engine)(Cta& cta) = nullptr;
  std::unique_ptr<Engine> (*cta_engine)(Cta& cta) = nullptr;
  // Clusters that a machine runs one after another in an unchecked launch whose clusters do not wait for each other.
  // Cluster launch control hands out work among them, so that who gets it does not depend on the number of OS threads.
  u32 clusters_of_a_run = 1;
  std::span<const RuleText> rules = {};  // the machine's own, and common ones that it advises on in its own terms
  std::span<const AccessText> accesses = {};
  void (*add_stats)(const Counters& counters, EmuStats& stats) = nullptr;  // counters of the machine's engines
};

/// Returns the machines that this process can emulate; the first is the default.
std::vector<const MachineModel*> machines();
/// Returns the machine of the device of that name; null if there is none.
const MachineModel* find_machine(std::string_view device);
/// Adds a machine, which must live as long as the process. Returns false if its device's name is taken.
bool add_machine(const MachineModel& model);

/// Returns the instruction set of any machine that has that name, version and size; null if there is none.
const void* find_instructions(std::string_view set, u32 version, u32 bytes);
/// Returns whether the machine has the set.
bool has_instructions(const MachineModel& model, std::string_view set);

/// Returns the machine's advice for a rule, or the common one.
const char* advice_for(Rule rule, const MachineModel& model);
/// Returns the name of an access in reports of the machine.
const char* name_of(Access kind, const MachineModel& model);

}  // namespace ww::emu
