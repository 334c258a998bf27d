// SPDX-License-Identifier: Apache-2.0
// The handler runs on the stack of the emulated thread, which it leaves as any wait does. It does so only while the
// kernel's own code runs, because the emulator's may hold a lock; there, the thread is stopped at its next call.
#include "emu/watch.hpp"

#include <dlfcn.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "emu/machine.hpp"

namespace ww::emu {

volatile std::sig_atomic_t launch_is_late = 0;
const Thread* volatile endless_thread = nullptr;

namespace {

// Microseconds of processor time from one look at the running thread to the next, and how many looks find a loop. Once
// one thread loops, others that do not wait are like it.
constexpr long kTick = 50'000, kNextTick = 10'000, kSampleTick = 1'000;
constexpr int kTicks = 60, kNextTicks = 2;
constexpr int kSamples = 32, kNextSamples = 8;
static_assert(kSamples <= LoopPlaces::kMost);

struct Watched {
  const Thread* thread = nullptr;
  u64 run = 0, steps = 0;
  int ticks = 0;
  LoopPlaces places;
};
Watched watched;
volatile double deadline = 0;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

long interval = 0;

void tick_every(long microseconds) {
  if (std::exchange(interval, microseconds) == microseconds) return;
  const itimerval interval{{0, microseconds}, {0, microseconds}};
  ::setitimer(ITIMER_VIRTUAL, &interval, nullptr);
}

/// Returns the interrupted instruction; null where the layout of contexts is unknown.
const void* interrupted(void* context) {
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<const void*>(static_cast<ucontext_t*>(context)->uc_mcontext.pc);
#else
  static_cast<void>(context);
  return nullptr;
#endif
}

/// Returns whether `place` is in the module of the kernel that `thread` runs.
bool in_kernel(const Thread& thread, const void* place) {
  Dl_info at{}, kernel{};
  return place != nullptr && ::dladdr(place, &at) != 0 &&
         ::dladdr(reinterpret_cast<const void*>(thread.machine->context().entry.run), &kernel) != 0 &&
         at.dli_fbase == kernel.dli_fbase;
}

[[noreturn]] void stop(Thread& thread) {
  const LoopPlaces places = watched.places;
  watched = {};
  endless_thread = nullptr;
  tick_every(kNextTick);
  thread.machine->loops(thread, places);
}

void on_tick(int, siginfo_t*, void* context) {
  if (deadline > 0 && now() > deadline) launch_is_late = 1;
  Thread* const thread = current_thread;
  if (thread == nullptr) return;
  const int saved = errno;
  Machine& machine = *thread->machine;
  const void* const place = interrupted(context);
  const bool first = !machine.has_loops();
  if (thread != watched.thread || machine.runs() != watched.run || machine.steps() != watched.steps) {
    watched = {thread, machine.runs(), machine.steps(), 0, {}};
    tick_every(first ? kTick : kNextTick);
  } else if (++watched.ticks >= (first ? kTicks : kNextTicks)) {
    tick_every(kSampleTick);
    const bool inside = in_kernel(*thread, place);
    const int samples = first ? kSamples : kNextSamples;
    // Where the emulator runs, the kernel is at the call before the return address.
    const void* const seen = inside ? place : static_cast<const char*>(thread->call) - 1;
    if (watched.places.count < samples && (inside || thread->call != nullptr))
      watched.places.at[watched.places.count++] = seen;
    if (watched.places.count == samples) {
      if (inside) stop(*thread);
      endless_thread = thread;
    }
  }
  errno = saved;
}

}  // namespace

void stop_endless(Thread& thread) {
  endless_thread = nullptr;
  const Machine& machine = *thread.machine;
  if (&thread == watched.thread && machine.runs() == watched.run && machine.steps() == watched.steps) stop(thread);
}

void watch_for_endless_loops() {
  struct sigaction action = {};
  action.sa_sigaction = on_tick;
  // The handler may never return, and the next tick has to come all the same.
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
  ::sigaction(SIGVTALRM, &action, nullptr);
  tick_every(kTick);
}

void give_up_at(double monotonic) {
  deadline = monotonic;
  launch_is_late = 0;
}

}  // namespace ww::emu
