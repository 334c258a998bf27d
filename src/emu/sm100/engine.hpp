// SPDX-License-Identifier: Apache-2.0
// The tensor core and the tensor memory of one CTA. What is asynchronous takes effect at moments that the scheduler
// picks; operands are read then, not at issue.
//   a thread's MMAs and copies -> its queue: MMAs of one accumulator in order, copies before later MMAs, else any order
//   commit -> after all before it in the queue: an arrival at each barrier, at a moment of its own
//   a warp's loads and stores -> its queue, in any order; registers of loads hold a NaN until the wait
// A pair's MMA is in the queue of the CTA that issues it; it reads and writes the memory of both.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "emu/engine.hpp"
#include "emu/machine.hpp"
#include "emu/operation.hpp"
#include "emu/sequence_ring.hpp"
#include "emu/sm100/operands.hpp"
#include "emu/sm100/places.hpp"
#include "emu/sm100/rules.hpp"
#include "emu/sm100/tensor_memory.hpp"
#include "warpwright/arch/sm100/emu_instructions.hpp"
#include "warpwright/arch/sm100/instruction_descriptor.hpp"

namespace ww::emu::sm100 {

/// A thread's part of its warp's loads and stores (EngineState).
struct TensorThread {
  u32 accesses;                     // since the start of the kernel
  u32 loads, stores;                // of these
  u32 loads_waited, stores_waited;  // known to be complete
};

class TensorEngine final : public Engine {
 public:
  explicit TensorEngine(Cta& cta);
  void reset() override;
  void start_check(Checker& checker) override { rules_.start(checker, cta_); }

  // Allocation, allocation.cpp. All lanes of a warp call it.
  void alloc(Thread& thread, arch::CtaGroup group, u32 result, u32 columns, arch::Site site);
  void relinquish(Thread& thread, arch::CtaGroup group, arch::Site site);
  void dealloc(Thread& thread, arch::CtaGroup group, u32 address, u32 columns, arch::Site site);
  void cta_exits(Thread& last) override;

  // MMAs and copies, engine.cpp and mma.cpp.
  void mma(Thread& thread, const arch::UmmaCall& call, arch::Site site);
  void copy(Thread& thread, arch::CtaGroup group, arch::CopyShape shape, arch::CopyUnpack unpack, u32 address,
            u64 descriptor, arch::Site site);
  void commit(Thread& thread, arch::CtaGroup group, u32 barrier, u32 multicast, arch::Site site);

  // Loads and stores, access.cpp. All lanes of a warp call it.
  void load(Thread& thread, const TensorAccess& form, u32 address, u32* registers, arch::Site site);
  void store(Thread& thread, const TensorAccess& form, u32 address, const u32* registers, arch::Site site);
  void wait(Thread& thread, bool stores, arch::Site site);
  void fence(Thread& thread, bool before, arch::Site site);

  void execute(Operation& operation) override;
  bool busy() const override { return mmas_in_flight_ != 0; }
  std::string waits_on(const Thread& thread) const override;
  /// Reports an access to registers of a load that no wait has returned.
  void local_access(Checker& checker, Thread& thread, u64 address, u32 bytes, bool write,
                    arch::Site site) const override;

  TensorMemory& memory() { return memory_; }
  TensorRules& rules() { return rules_; }

  static constexpr char kKind = 0;

 private:
  /// What an operation of the schedule stands for (Operation::group); Operation::shared is its index.
  enum class Task : u32 { issuer, warp, arrival };
  /// What a thread in Wait::cta_engine waits for (Thread::wait_a).
  enum class For : u32 { columns, pair_columns, pair_dealloc, loads, stores };

  /// One warp's request for columns.
  struct Request {
    u32 number = 0, columns = 0, result = 0;
    arch::CtaGroup group{};
    Origin origin;
    bool done = false;
    u32 left = kLanesOfWarp;  // lanes that have not seen that it is done
  };
  /// One warp's part of a pair's dealloc.
  struct Freed {
    u32 number = 0, base = 0, columns = 0;
    Origin origin;
    bool done = false;
    u32 left = kLanesOfWarp;
  };

  struct Entry {
    enum class Kind : u8 { mma, copy, commit } kind{};
    bool done = false;
    u32 number = 0;  // in the queue, from 1
    arch::CtaGroup group{};
    Origin origin;
    const void* from = nullptr;
    // mma
    arch::UmmaCall call{};
    u32 disabled[8] = {};
    arch::sm100::MmaInstruction instruction{};
    // copy
    arch::CopyShape shape{};
    arch::CopyUnpack unpack{};
    u32 address = 0;
    u64 descriptor = 0;
    u32 flights[2] = {};  // in the tensor memory of each CTA
    // commit
    std::vector<u32> arrivals = {};  // in arrivals_

    MmaExtent extent() const { return {group, instruction.m, instruction.n}; }
  };
  /// The queue of one thread.
  struct Issuer {
    Thread* thread = nullptr;
    Operation task;
    bool queued = false;
    u32 issued = 0;
    u32 agent = 0;  // of the checker
    std::deque<Entry> entries;
  };
  struct Arrival {
    Operation task;
    Cta* target = nullptr;
    bool idle = true;
  };
  /// A load or store of a warp.
  struct WarpAccess {
    bool is_store = false, done = false;
    TensorAccess form;
    u32 address = 0;
    Origin origin;  // of the lane that came first
    const void* from = nullptr;
    u32 deposits = 0, returned = 0;     // lanes that have issued it; that have its registers again
    u32* registers[kLanesOfWarp] = {};  // of a load
    std::vector<u32> values;            // by lane, then by register
  };
  struct WarpQueue {
    Operation task;
    bool queued = false;
    SequenceRing<WarpAccess> accesses;
    WaitList waiters;
  };

  TensorEngine& of(Cta& cta) const { return static_cast<TensorEngine&>(*cta.engine); }
  bool computes() const;
  /// Returns the CTAs that an instruction works for; the second is null for one. Reports a CTA without a peer and
  /// instructions of both groups in one kernel.
  struct Ctas {
    Cta* at[2] = {};
    int count() const { return at[1] ? 2 : 1; }
  };
  Ctas ctas_of(Thread& thread, arch::CtaGroup group, const char* instruction, arch::Site site);
  [[noreturn]] void refuse(Origin origin, std::string what, Rule rule = Rule::invalid_operation,
                           Counterpart other = {}) const;

  // allocation.cpp
  void serve();
  void serve_pair(TensorEngine& peer);
  void grant(Request& request, u32 base);
  void free_pair(TensorEngine& peer, Freed& mine);

  // engine.cpp
  Issuer& issuer_of(Thread& thread);
  void queue(Issuer& issuer);
  bool may_execute(const Issuer& issuer, std::size_t at) const;
  void execute_next(Issuer& issuer);
  void execute(Entry& entry);
  static const char* name_of(Entry::Kind kind);
  void land(Arrival& arrival);

  // mma.cpp
  static bool same_accumulator(const Entry& a, const Entry& b);
  void check_mma(Entry& entry, const Ctas& ctas) const;
  void check_columns(const Entry& entry, Cta& cta, u32 first, u32 columns, const char* what) const;
  void judge_operand(Thread& thread, const Entry& entry, Cta& cta, u64 descriptor, const OperandRead& read, Access kind,
                     u32 agent);
  void judge_reads(Thread& thread, const Entry& entry, Cta& cta, const u32* offsets, u32 count, Access kind, u32 agent);
  void judge_mma(Thread& thread, const Entry& entry, const Ctas& ctas, u32 agent);
  void judge_copy(Thread& thread, const Entry& entry, const Ctas& ctas, u32 agent);
  void count_reads(const Entry& entry, const Ctas& ctas);
  void clear(const Entry& entry, const Ctas& ctas);
  void compute(const Entry& entry, const Ctas& ctas);
  void copy_rows(const Entry& entry, Cta& cta);

  // access.cpp
  WarpAccess& deposit(Thread& thread, bool is_store, const TensorAccess& form, u32 address, arch::Site site);
  void check_access(Thread& thread, bool is_store, const TensorAccess& form, u32 address, arch::Site site) const;
  void queue(WarpQueue& warp);
  void execute_next(WarpQueue& warp);
  static void drop_finished(WarpQueue& warp);
  u32 executed_accesses(const Thread& thread) const;

  Cta& cta_;
  TensorMemory memory_;
  TensorRules rules_;
  arch::CtaGroup group_{};  // of the instructions so far; 0 before the first
  bool relinquished_ = false;
  u32 least_columns_ = 0;  // of the allocations so far; 0 before the first
  std::deque<Request> requests_;
  std::deque<Freed> freed_;
  u32 last_request_ = 0;
  WaitList allocators_;
  std::deque<std::unique_ptr<Issuer>> issuers_;
  std::deque<Arrival> arrivals_;
  std::vector<WarpQueue> warps_;
  u32 mmas_in_flight_ = 0, arrivals_in_flight_ = 0;
};

/// Returns the engine of the thread's CTA; reports a machine without one.
TensorEngine& engine_of(Thread& thread, arch::Site site);

/// Returns the lanes and columns of an accumulator or copy at the address that an instruction names.
Region accumulator_region(MmaExtent extent, u32 address);
Region copy_region(arch::CopyShape shape, u32 address);

}  // namespace ww::emu::sm100
