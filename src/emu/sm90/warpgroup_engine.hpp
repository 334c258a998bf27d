// SPDX-License-Identifier: Apache-2.0
// The tensor core of one warpgroup. Its 128 threads each deposit their call here; the last one makes the operation
// ready. Ready operations are executed in issue order at moments that the scheduler picks. Operands are read then, not
// at issue.
//   registers --(first issue)--> slot --(operations)--> slot --(a wait that names it)--> registers
// While a slot is in flight the registers hold a NaN that nothing else produces, so that an early use shows.
// Registers of A stay where they are and are read when an operation is executed, as shared memory is.
#pragma once

#include <array>
#include <vector>

#include "emu/engine.hpp"
#include "emu/operation.hpp"
#include "emu/sequence_ring.hpp"
#include "emu/sm90/wgmma_rules.hpp"
#include "warpwright/arch/sm90/emu_instructions.hpp"

namespace ww::emu::sm90 {

/// The contents of registers in flight.
inline constexpr u32 kPoisonBits = 0x7FFFDEAD;

/// A thread's part of its warpgroup's MMAs (EngineState).
struct WgmmaThread {
  u32 issued, groups;       // since the start of the kernel
  u32 boundary[8];          // `issued` at each of the last eight commits
  u32 registers_in_flight;  // accumulators that the tensor core owns
  bool fenced;              // wgmma.fence since a wait returned registers
};

class WarpgroupEngine final : public Engine {
 public:
  explicit WarpgroupEngine(Cta& cta);
  void reset() override;
  void start_check(Checker& checker) override { rules_.start(checker); }

  void deposit(Thread& thread, const arch::WgmmaCall& call, float* registers, arch::Site site);
  /// Notes wgmma.fence, and in a checked run what the registers hold that waits have returned to the thread.
  void fence(Thread& thread);
  void commit(Thread& thread);
  void wait(Thread& thread, int pending, float* const* accumulators, int count, arch::Site site);
  /// Returns `count` registers of A to the thread after a wait, because they have been read.
  void hand_back(Thread& thread, const u32* registers_a, int count, arch::Site site);

  /// Executes the oldest ready operation.
  void execute(Operation&) override;
  bool busy() const override { return operations_.begin() != operations_.end(); }
  std::string waits_on(const Thread& thread) const override;
  /// Reports an access to registers that the tensor core owns.
  void local_access(Checker& checker, Thread& thread, u64 address, u32 bytes, bool write,
                    arch::Site site) const override;

  static constexpr char kKind = 0;

 private:
  struct Wgmma {
    arch::WgmmaCall call{};
    u32 group = 0;
    u32 deposits = 0;
    u32 slot = 0;
    u32 fragment = 0;  // in fragments_, when A is in registers
    Origin origin;
    const void* from = nullptr;  // return address of the call of the thread that came first
  };
  /// Four registers of A of one thread that an operation reads or has read and no wait has named since.
  struct InFlight {
    const u32* registers;
    u32 until;  // operations that must complete before they belong to the thread again
    u32 seen[4];
  };
  /// Registers that a wait has returned to a thread, and what they held at its wgmma.fence since.
  struct Returned {
    const u32* registers;
    u32 count;
    bool fenced;
    u32 seen[4];  // the first two and the last two
    void look(u32 (&words)[4]) const;
  };
  struct Slot {
    int n = 0;
    u32 threads_in_flight = 0;
    std::vector<float> values;  // (64, n)
    float* registers[128] = {};
    u32 in_flight_until[128] = {};  // operations that must complete before this thread's part belongs to it again; 0:
                                    // it does
  };

  u32 executed() const { return operations_.begin(); }
  /// Returns whether the engine owns registers of `thread` in [address, address + bytes).
  bool owns(const Thread& thread, u64 address, u32 bytes) const;
  void begin_operation(Thread& thread, const arch::WgmmaCall& call, const float* registers, arch::Site site);
  [[noreturn]] void refuse(Thread& thread, const Wgmma& operation, arch::Site site);
  u32 slot_for(Thread& thread, const float* registers, int n, arch::Site site);
  void take_registers(Slot& slot, u32 t, float* registers, bool accumulate);
  void hand_back(Thread& thread, float* registers, arch::Site site);
  /// Returns false in structure mode, where operands are checked and not read, and accumulators are poisoned and come
  /// back as zeros.
  bool computes() const;
  /// Returns whether these registers of A belonged to the thread.
  bool take_fragment(Thread& thread, const Wgmma& operation, const u32* registers_a);
  /// Gathers A of an operation as rows of 32 bytes.
  void gather_fragment(const Wgmma& operation, u8* rows);
  /// Notes that a wait has returned registers to a thread.
  void give_back(u32 t, const u32* registers, u32 count);
  /// Returns whether the thread has written registers between its wgmma.fence and now, when a wgmma takes them over.
  bool written_since_fence(u32 t, const u32* registers);
  void find_in_flight(Thread& thread);
  void queue();
  void check_operands(const Wgmma& operation, u32 turn);

  Cta& cta_;
  Operation task_;  // the engine's entry in the schedule
  bool queued_ = false;
  arch::Site last_issue_{};
  u32 ready_ = 0;                   // operations that all threads have issued
  SequenceRing<Wgmma> operations_;  // from the oldest not yet executed
  std::vector<Slot> slots_;
  SequenceRing<std::array<const u32*, 128>> fragments_;  // of operations not yet executed, by thread
  std::array<std::vector<InFlight>, 128> in_flight_a_;   // by thread
  std::array<std::vector<Returned>, 128> returned_;      // by thread, in checked runs
  WaitList waiters_;
  u32 nearest_wait_ = ~0u;  // the fewest operations that any waiter needs
  WgmmaRules rules_;
};

}  // namespace ww::emu::sm90
