// SPDX-License-Identifier: Apache-2.0
// An engine that only some machines have: it carries out instructions of its own for a warpgroup or for a CTA. The
// shared parts of the emulator know it by this interface alone; the machine's model (machine_model.hpp) makes it.
#pragma once

#include <string>

#include "warpwright/arch/common/emu_table.hpp"

namespace ww::emu {

class Checker;
struct Operation;
struct Thread;

class Engine {
 public:
  /// `kind` identifies the class of the engine: the address of a constant of that class.
  explicit Engine(const void* kind) : kind(kind) {}
  virtual ~Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Prepares for another CTA.
  virtual void reset() = 0;
  /// Prepares the engine's rules for a checked run of its CTA; follows reset().
  virtual void start_check(Checker&) {}
  /// Executes an operation of Operation::Kind::engine that the engine has submitted. Called by the machine.
  virtual void execute(Operation& operation) = 0;
  /// Reports what must have ended when the CTA's last thread exits.
  virtual void cta_exits(Thread&) {}
  /// Returns whether instructions are issued and not yet executed.
  virtual bool busy() const { return false; }
  /// Returns what a thread in Wait::warpgroup_engine or Wait::cta_engine waits for.
  virtual std::string waits_on(const Thread& thread) const = 0;
  /// Checks a plain access of the thread to its own stack, where registers may lie that the engine owns.
  virtual void local_access(Checker&, Thread&, u64 address, u32 bytes, bool write, arch::Site) const {
    static_cast<void>(address), static_cast<void>(bytes), static_cast<void>(write);
  }

  const void* const kind;
};

}  // namespace ww::emu
