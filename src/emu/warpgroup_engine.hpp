// SPDX-License-Identifier: Apache-2.0
// The tensor core of one warpgroup. Its 128 threads each leave their call here; the last one makes the operation ready,
// and ready operations are carried out in issue order at moments the scheduler picks. Operands are read then, not at
// issue.
//   registers --(first issue)--> slot --(operations)--> slot --(a wait that names it)--> registers
// While a slot is in flight the registers hold a NaN nobody else makes, so that touching them early shows.
// Registers of A stay where they are and are read when an operation is carried out, as shared memory is.
#pragma once

#include <array>
#include <vector>

#include "emu/operation.hpp"
#include "emu/sequence_ring.hpp"

namespace ww::emu {

/// What registers in flight hold.
inline constexpr u32 kPoisonBits = 0x7FFFDEAD;

class WarpgroupEngine {
 public:
  explicit WarpgroupEngine(Cta& cta);
  void reset();

  void deposit(Thread& thread, const arch::WgmmaCall& call, float* registers, arch::Site site);
  void commit(Thread& thread);
  void wait(Thread& thread, int pending, float* const* accumulators, int count, arch::Site site);
  /// After a wait: `count` registers of A are read, they are the thread's again.
  void hand_back(Thread& thread, const u32* registers_a, int count, arch::Site site);

  /// Carries out the oldest ready operation. Called by the machine.
  void execute_next();
  /// Whether the engine holds registers of `thread` in [address, address + bytes).
  bool owns(const Thread& thread, u64 address, u32 bytes) const;
  /// Where the newest operation was issued.
  arch::Site last_issue() const { return last_issue_; }
  u32 executed() const { return operations_.begin(); }
  /// Whether operations are issued and not yet carried out.
  bool busy() const { return operations_.begin() != operations_.end(); }

 private:
  struct Wgmma {
    arch::WgmmaCall call{};
    u32 group = 0;
    u32 deposits = 0;
    u32 slot = 0;
    u32 fragment = 0;  // in fragments_, when A is in registers
    Origin origin;
  };
  /// Four registers of A of one thread, which an operation reads or has read and no wait has named since.
  struct InFlight {
    const u32* registers;
    u32 until;  // operations that must be done before they are the thread's again
    u32 seen[4];
  };
  struct Slot {
    int n = 0;
    u32 threads_in_flight = 0;
    std::vector<float> values;  // (64, n)
    float* registers[128] = {};
    u32 in_flight_until[128] = {};  // operations that must be done before this thread's part is its own again; 0: it is
  };

  void begin_operation(Thread& thread, const arch::WgmmaCall& call, const float* registers, arch::Site site);
  [[noreturn]] void refuse(Thread& thread, const Wgmma& operation, arch::Site site);
  u32 slot_for(Thread& thread, const float* registers, int n, arch::Site site);
  void take_registers(Slot& slot, u32 t, float* registers, bool accumulate);
  void hand_back(Thread& thread, float* registers, arch::Site site);
  /// Not in structure mode: operands are judged and not read, accumulators are poisoned and come back as zeros.
  bool computes() const;
  /// Whether these registers of A were the thread's own.
  bool take_fragment(Thread& thread, const Wgmma& operation, const u32* registers_a);
  /// A of an operation as rows of 32 bytes.
  void gather_fragment(const Wgmma& operation, u8* rows);
  void find_in_flight(Thread& thread);
  void queue();
  void check_operands(const Wgmma& operation, u32 turn);

  Cta& cta_;
  Operation task_;  // the engine's place in the schedule
  bool queued_ = false;
  arch::Site last_issue_{};
  u32 ready_ = 0;                   // operations that all threads have issued
  SequenceRing<Wgmma> operations_;  // from the oldest not yet carried out
  std::vector<Slot> slots_;
  SequenceRing<std::array<const u32*, 128>> fragments_;  // of operations not yet carried out, by thread
  std::array<std::vector<InFlight>, 128> in_flight_a_;   // by thread
  WaitList waiters_;
  u32 nearest_wait_ = ~0u;  // the fewest operations any waiter needs
};

}  // namespace ww::emu
