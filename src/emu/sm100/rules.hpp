// SPDX-License-Identifier: Apache-2.0
// Race rules of tensor memory. State is kept for each unit of one column by 16 lanes: its last write, and the reads
// since. One object for each CTA; it does nothing until start().
//   MMA, copy       done for those that know of a commit after it; of one thread: MMAs of one accumulator are in order,
//                   and copies are before later MMAs
//   ld, st          done for their warp after its wait; for other threads after wait, fence::before_thread_sync, a
//                   synchronisation, and fence::after_thread_sync
//   alloc, dealloc  known before the first use; all uses known before the columns are freed, of a pair in both CTAs
#pragma once

#include <vector>

#include "emu/check/checker.hpp"
#include "emu/sm100/tensor_memory.hpp"

namespace ww::emu::sm100 {

enum class TensorAction : u8 { load, store, overwrite, accumulate, read_of_a, read_of_scales, copy };

/// One instruction that uses tensor memory, or one lane's part of it.
struct TensorUse {
  Thread* thread = nullptr;
  Origin origin;
  const void* from = nullptr;
  u32 agent = 0, epoch = 0;
  bool of_warp = false;
  u64 accumulator = 0;  // of an MMA: its place and shape, never 0
};

class TensorRules {
 public:
  void start(Checker& checker, const Cta& cta);

  /// Notes a use of a region of this CTA's tensor memory. `issuer` has the rules of the thread's own CTA.
  void touch(const TensorUse& use, const TensorRules& issuer, TensorAction action, const Region& region);

  // Allocation.
  void pair_allocates(Thread& thread, const Cta& peer, arch::Site site) const;
  /// Notes that columns were given to request `number` of this CTA, and that a lane of its warp continues.
  void granted(u32 base, u32 columns, u32 number);
  void allocated(Thread& thread, u32 number) const;
  /// Notes that a lane is about to free columns, here or, of a pair, in the thread's own CTA and here.
  void freed(Thread& thread, const TensorRules& issuer, u32 base, u32 columns, arch::Site site);

  // Loads and stores.
  u32 agent_of(const Thread& thread, bool is_store) const;
  void waited(Thread& thread, bool stores, u32 count) const;
  void fence_before(Thread& thread, u32 loads, u32 stores) const;
  void fence_after(Thread& thread);
  static void registers_touched(Checker& checker, Thread& thread, Origin issued, arch::Site touched, bool write,
                                const char* how);

 private:
  struct Record {
    TensorAction action{};
    bool of_warp = false;
    u32 agent = 0, epoch = 0;
    u32 fenced = 0;  // of a load or store: the agent that is known behind fences
    u32 thread = 0;  // slot
    const Warp* warp = nullptr;
    u64 accumulator = 0;
    arch::Site site{};
    const void* from = nullptr;
  };
  struct Unit {
    static constexpr u32 kReads = 12;  // of the eight warps that reach a lane, and of MMAs
    u32 write = 0;                     // of records_; 0 is none
    u32 allocated = 0;
    u32 read_count = 0;
    u32 reads[kReads] = {};
    bool operator==(const Unit&) const = default;
  };
  enum class Order { ordered, unordered, unfenced };
  static constexpr u32 kHalfQuarter = 16;
  static constexpr u32 kHalfQuarters = kLanes / kHalfQuarter;

  Unit& unit(u32 half_quarter, u32 column) { return units_[half_quarter * kColumns + column]; }
  Order order(const Record& old, const Record& mine, const Thread& thread, const TensorRules& issuer) const;
  bool knows(const Thread& thread, u32 agent, u32 epoch) const;
  /// Judges a use of one unit; true after a finding.
  bool judge(const Unit& unit, const Record& mine, const Thread& thread, const TensorRules& issuer, u32 column,
             u32 half);
  void conflict(Order order, const Record& old, const Record& mine, u32 column, u32 half);
  void read_of_nothing(const Record& mine, u32 column, u32 half);
  std::string space(u32 column, u32 half) const;

  Checker* checker_ = nullptr;
  const Cta* cta_ = nullptr;
  u32 first_agent_ = 0, alloc_agent_ = 0;
  std::vector<Unit> units_;
  std::vector<Record> records_;
  std::vector<ClockRef> after_;  // by thread: what it knew at its last fence::after_thread_sync
  // The last lane's part of a warp's access, which most lanes repeat.
  const Warp* last_warp_ = nullptr;
  u32 last_agent_ = 0, last_epoch_ = 0;
  ClockRef last_known_, last_after_;
};

}  // namespace ww::emu::sm100
