// SPDX-License-Identifier: Apache-2.0
// One emulated CUDA thread: its fiber, its position, what it waits for, and the counters that match its calls with
// those of the other threads of its warp and warpgroup. Plain state; the rules are in the mechanisms that use it.
#pragma once

#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "emu/fiber.hpp"
#include "emu/looking.hpp"
#include "warpwright/arch/common/emu_table.hpp"

namespace ww::emu {

class Engine;
class Machine;
struct Cta;
struct Thread;
struct Warp;

/// What a thread that is not runnable waits for.
enum class Wait : u8 {
  none,
  mbarrier,
  named_barrier,
  cluster_barrier,
  warpgroup_engine,
  cta_engine,
  bulk,
  warp,
  registers,
  polling,         // a 32-bit value in global memory; its address is in wait_a, wait_b
  polling_shared,  // a 32-bit value in shared memory
  looping,         // nothing: it ran for seconds without waiting and was stopped
  exited,
};

/// The author of an action, for reports.
struct Origin {
  const Thread* thread = nullptr;
  arch::Site site{};
};

/// The bulk stores between two commits of one thread.
struct BulkGroup {
  u32 unread = 0;     // sources not yet read
  u32 unwritten = 0;  // results not yet in global memory
};

/// What the engine of a warpgroup keeps for one thread; zeros at its start. Here, because the thread's lines are in
/// caches when it calls its engine.
struct alignas(8) EngineState {
  unsigned char bytes[48] = {};
  template <class T> T& as() {
    static_assert(sizeof(T) <= sizeof bytes && alignof(T) <= 8 && std::is_trivially_copyable_v<T>);
    return *std::launder(reinterpret_cast<T*>(bytes));
  }
};

/// The kernel's name for a thread.
struct RoleName {
  const char* name = nullptr;
  int number = -1;
};

// Aligned, because it is prefetched line by line while another thread runs.
struct alignas(64) Thread {
  Fiber fiber;
  Machine* machine = nullptr;
  Cta* cta = nullptr;
  Warp* warp = nullptr;
  Engine* warpgroup =
      nullptr;                 // its warpgroup's engine; null when the machine has none, or for the last warps of a CTA
                               // when they do not form a warpgroup
  u32 index = 0;               // in the CTA
  const void* call = nullptr;  // return address of its last call of the table
  u32 loads = 0;               // since its last action that others see
  u32 check_slot = 0;          // the checker's name for it
  void* check_state = nullptr;  // and its state there
  RoleName role;

  Wait wait = Wait::none;
  u32 wait_a = 0, wait_b = 0;  // meaning depends on `wait`
  arch::Site site{};           // of the operation it waits in

  EngineState engine;  // of its warpgroup's engine
  u32 matrix_stores = 0;
  u32 aligned_calls = 0;
  u32 register_changes = 0, registers = 0;
  u32 cluster_phase = 0;
  bool cluster_arrived = false;

  std::unique_ptr<Looking> looking;  // from its first long run of loads on

  u32 bulk_first = 0;                  // number of bulk_groups.front(); the last group is the open one
  std::vector<BulkGroup> bulk_groups;  // empty until the first bulk store

  /// Returns the state that the hooks of checked modules read at its plain accesses.
  arch::StackHead& head() const { return *reinterpret_cast<arch::StackHead*>(fiber.stack.top); }
  bool on_stack(u64 address) const {
    return address - reinterpret_cast<u64>(fiber.stack.bottom) < static_cast<u64>(fiber.stack.top - fiber.stack.bottom);
  }
  u32 lane() const { return index % 32; }
  /// Returns whether the thread polls a value that has not changed since its last read.
  bool idle() const { return loads > kLooksAtOnce && looking && looking->idle; }
};

/// A thread to resume, and the memory it will touch first. That is stored separately, because the thread has left the
/// caches by the time it is woken.
struct Ready {
  Thread* thread = nullptr;
  const void* context = nullptr;  // where its stack was in use when it last ran
  const void* check_state = nullptr;

  Ready() = default;
  explicit Ready(Thread& t) : thread(&t), context(t.fiber.context), check_state(t.check_state) {}
};

/// Waiting threads in order of arrival.
struct WaitList {
  std::vector<Ready> threads;

  void push(Thread& thread) { threads.emplace_back(thread); }
  bool empty() const { return threads.empty(); }
};

}  // namespace ww::emu
