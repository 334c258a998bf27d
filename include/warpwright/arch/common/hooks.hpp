// SPDX-License-Identifier: Apache-2.0
// How a checked module reports plain loads and stores to the emulator. Compiled with -fsanitize=thread, it calls
// __tsan_readN and __tsan_writeN before each. They are defined here, hidden; no sanitizer runtime is linked.
//   plain access -> __tsan_* of this module -> EmuTable::plain_access
// Most accesses go to the thread's own stack with no accumulator near, to parameters, or to shared memory that a call
// has checked already. These are filtered here, because a call for each would cost more than the rest of the check.
// At load the module counts one load and one store of its own, so that a module whose accesses are not instrumented
// cannot pass for a checked one.
// WW_MODULE includes this file when WW_CHECKED is set; nothing else does.
#pragma once

#include "warpwright/arch/common/executor.hpp"

#if !defined(__CUDACC__)

#define WW_HOOK extern "C" __attribute__((visibility("hidden"), used, noinline, no_sanitize("thread")))

namespace ww::arch::hooks {

struct Probe {
  bool on = false;
  u32 loads = 0, stores = 0;
  const float* local = nullptr;  // a local array whose address was passed on, as accumulators' are
  bool local_seen = false;
};
inline Probe probe;

/// Counts an access of the probe at the module's start.
__attribute__((no_sanitize("thread"), noinline)) inline void saw_probe(const void* address, bool write) {
  if (!probe.on) return;
  ++(write ? probe.stores : probe.loads);
  if (probe.local && address == probe.local + 1) probe.local_seen = true;
}

/// Returns some address of the current stack. It is an asm statement, because a local variable would need a frame, a
/// fifth of a hook's time.
__attribute__((no_sanitize("thread"), always_inline)) inline u64 here() {
#if defined(__x86_64__)
  u64 place;
  asm("mov %%rsp, %0" : "=r"(place));
  return place;
#else
  return reinterpret_cast<u64>(__builtin_frame_address(0));
#endif
}

__attribute__((no_sanitize("thread"), always_inline)) inline void saw(const void* address, u64 bytes, bool write,
                                                                      const void* from, bool is_volatile = false) {
  if (operations.version == 0) [[unlikely]]
    return saw_probe(address, write);
  const u64 block = here() & ~(kStackBlock - 1), top = stack_head_offset(block);
  auto* const head = reinterpret_cast<StackHead*>(block + top);
  head->plain_seen = true;
  const u64 at = reinterpret_cast<u64>(address);
  if (at - block < top) {
    if (at >= head->in_flight_end || at + bytes <= head->in_flight_begin) return;
  } else {
    if (!write && at - head->params < head->params_bytes) return;
    if (at - head->shared < head->shared_bytes) return;
  }
  table->plain_access(address, static_cast<u32>(bytes), write, is_volatile, from);
}

/// Loads and stores once, so that the probe sees whether the compiler calls the hooks. The asm statements hide the
/// pointer's target from the optimiser.
__attribute__((noinline)) inline void load_and_store(u32* place) {
  asm volatile("" : "+r"(place)::"memory");
  const u32 seen = *place;
  asm volatile("" ::"r"(seen) : "memory");
  *place = 1;
}
__attribute__((no_sanitize("thread"))) inline void keep(float* local) { probe.local = local; }
inline void (*volatile give_away)(float*) = keep;
/// Loads from a local whose address others know. Some compilers do not instrument such accesses, and accumulators are
/// such locals.
__attribute__((noinline)) inline void load_local(u32 which) {
  float local[4];
  give_away(local);
  const float seen = local[which];
  give_away(nullptr);
  asm volatile("" ::"r"(seen) : "memory");
}
__attribute__((no_sanitize("thread"))) inline bool work() {
  u32 place = 0;
  probe = {true, 0, 0, nullptr, false};
  load_and_store(&place);
  const bool exact = probe.loads == 1 && probe.stores == 1;
  load_local(1);
  probe.on = false;
  return exact && probe.local_seen;
}

}  // namespace ww::arch::hooks

#define WW_HOOK_PAIR(suffix, bytes)                                                                                   \
  WW_HOOK void __tsan_read##suffix(void* p) { ::ww::arch::hooks::saw(p, bytes, false, __builtin_return_address(0)); } \
  WW_HOOK void __tsan_write##suffix(void* p) { ::ww::arch::hooks::saw(p, bytes, true, __builtin_return_address(0)); } \
  WW_HOOK void __tsan_unaligned_read##suffix(void* p) {                                                               \
    ::ww::arch::hooks::saw(p, bytes, false, __builtin_return_address(0));                                             \
  }                                                                                                                   \
  WW_HOOK void __tsan_unaligned_write##suffix(void* p) {                                                              \
    ::ww::arch::hooks::saw(p, bytes, true, __builtin_return_address(0));                                              \
  }
// Both spellings of the hooks for accesses through pointers to volatile: g++ has one, clang also one for unaligned.
#define WW_HOOK_VOLATILE(name, bytes)                                           \
  WW_HOOK void __tsan_##name##volatile_read##bytes(void* p) {                   \
    ::ww::arch::hooks::saw(p, bytes, false, __builtin_return_address(0), true); \
  }                                                                             \
  WW_HOOK void __tsan_##name##volatile_write##bytes(void* p) {                  \
    ::ww::arch::hooks::saw(p, bytes, true, __builtin_return_address(0), true);  \
  }

// arch/common/global.hpp has already announced atomics, so these only execute them.
#define WW_HOOK_ATOMICS(bits, T)                                                                                  \
  WW_HOOK T __tsan_atomic##bits##_load(const volatile T* p, int) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); } \
  WW_HOOK void __tsan_atomic##bits##_store(volatile T* p, T v, int) { __atomic_store_n(p, v, __ATOMIC_SEQ_CST); } \
  WW_HOOK T __tsan_atomic##bits##_exchange(volatile T* p, T v, int) {                                             \
    return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                                           \
  }                                                                                                               \
  WW_HOOK T __tsan_atomic##bits##_fetch_add(volatile T* p, T v, int) {                                            \
    return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);                                                            \
  }                                                                                                               \
  WW_HOOK T __tsan_atomic##bits##_fetch_or(volatile T* p, T v, int) {                                             \
    return __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST);                                                             \
  }                                                                                                               \
  WW_HOOK int __tsan_atomic##bits##_compare_exchange_strong(volatile T* p, T* expected, T v, int, int) {          \
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                \
  }                                                                                                               \
  WW_HOOK T __tsan_atomic##bits##_compare_exchange_val(volatile T* p, T expected, T v, int, int) {                \
    __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                      \
    return expected;                                                                                              \
  }

WW_HOOK_PAIR(1, 1)
WW_HOOK_PAIR(2, 2)
WW_HOOK_PAIR(4, 4)
WW_HOOK_PAIR(8, 8)
WW_HOOK_PAIR(16, 16)
WW_HOOK_VOLATILE(, 1)
WW_HOOK_VOLATILE(, 2)
WW_HOOK_VOLATILE(, 4)
WW_HOOK_VOLATILE(, 8)
WW_HOOK_VOLATILE(, 16)
WW_HOOK_VOLATILE(unaligned_, 2)
WW_HOOK_VOLATILE(unaligned_, 4)
WW_HOOK_VOLATILE(unaligned_, 8)
WW_HOOK_VOLATILE(unaligned_, 16)
#pragma GCC diagnostic push
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wbuiltin-declaration-mismatch"
#endif
WW_HOOK_ATOMICS(32, unsigned)
WW_HOOK_ATOMICS(64, unsigned long)
#pragma GCC diagnostic pop
WW_HOOK void __tsan_init() {}
WW_HOOK void __tsan_func_entry(void*) {}
WW_HOOK void __tsan_func_exit() {}
WW_HOOK void __tsan_vptr_read(void**) {}
WW_HOOK void __tsan_vptr_update(void**, void*) {}
WW_HOOK void __tsan_read_range(void* p, unsigned long n) {
  ::ww::arch::hooks::saw(p, n, false, __builtin_return_address(0));
}
WW_HOOK void __tsan_write_range(void* p, unsigned long n) {
  ::ww::arch::hooks::saw(p, n, true, __builtin_return_address(0));
}
// clang's names for the copies that a struct assignment becomes.
WW_HOOK void* __tsan_memcpy(void* to, const void* from, unsigned long n) {
  ::ww::arch::hooks::saw(from, n, false, __builtin_return_address(0));
  ::ww::arch::hooks::saw(to, n, true, __builtin_return_address(0));
  return __builtin_memcpy(to, from, n);
}
WW_HOOK void* __tsan_memmove(void* to, const void* from, unsigned long n) {
  ::ww::arch::hooks::saw(from, n, false, __builtin_return_address(0));
  ::ww::arch::hooks::saw(to, n, true, __builtin_return_address(0));
  return __builtin_memmove(to, from, n);
}
WW_HOOK void* __tsan_memset(void* to, int value, unsigned long n) {
  ::ww::arch::hooks::saw(to, n, true, __builtin_return_address(0));
  return __builtin_memset(to, value, n);
}

#endif
