// SPDX-License-Identifier: Apache-2.0
// Every strong access, in each order and scope, on a pair of words of the thread's own.
#pragma once

#include "params.hpp"
#include "warpwright/arch/common/strong.hpp"

namespace ww::arch_test {

#define WW_STRONG_KERNEL(space, Place)                                                                    \
  template <arch::MemoryOrder kOrder, arch::Scope kScope> WW_DEVICE u32 space##_atomics(Place p, u32 v) { \
    v += arch::space::atomic_add<kOrder, kScope>(p, v);                                                   \
    v += arch::space::atomic_or<kOrder, kScope>(p, v);                                                    \
    v += arch::space::atomic_exchange<kOrder, kScope>(p, v);                                              \
    const u32 same = arch::space::atomic_cas<kOrder, kScope>(p, v, 1);                                    \
    return v + same;                                                                                      \
  }                                                                                                       \
  template <arch::Scope kScope> WW_DEVICE u32 space##_scope(Place p, u32 v) {                             \
    arch::space::store_relaxed<kScope>(p, v);                                                             \
    v += 3 * arch::space::load_relaxed<kScope>(p);                                                        \
    arch::space::store_relaxed_u64<kScope>(p, u64{v} << 32 | 5);                                          \
    v += static_cast<u32>(arch::space::load_relaxed_u64<kScope>(p) >> 32);                                \
    arch::space::store_release<kScope>(p, v + 1);                                                         \
    v += arch::space::load_acquire<kScope>(p);                                                            \
    v = space##_atomics<arch::MemoryOrder::relaxed, kScope>(p, v);                                        \
    v = space##_atomics<arch::MemoryOrder::acquire, kScope>(p, v);                                        \
    v = space##_atomics<arch::MemoryOrder::release, kScope>(p, v);                                        \
    return space##_atomics<arch::MemoryOrder::acq_rel, kScope>(p, v);                                     \
  }                                                                                                       \
  WW_DEVICE u32 space##_scopes(Place p, u32 v) {                                                          \
    v = space##_scope<arch::Scope::cta>(p, v);                                                            \
    v = space##_scope<arch::Scope::cluster>(p, v);                                                        \
    v = space##_scope<arch::Scope::gpu>(p, v);                                                            \
    v = space##_scope<arch::Scope::system>(p, v);                                                         \
    arch::space::store_volatile(p, v + 1);                                                                \
    return v * 5 + arch::space::load_volatile(p);                                                         \
  }
WW_STRONG_KERNEL(global, u32*)
WW_STRONG_KERNEL(shared, arch::SharedAddress)
#undef WW_STRONG_KERNEL

/// One word a thread, hashed by all operations on out[64 + 2 t] and the word after it. Output: 64 hashes, then what is
/// left of the pairs.
WW_KERNEL(arch_strong_global, 64, Params, p) {
  const u32 t = arch::thread_index();
  arch::global::store(p.out + t, global_scopes(p.out + 64 + 2 * t, arch::global::load(p.in + t)));
}

/// The same on shared memory.
WW_KERNEL(arch_strong_shared, 64, Params, p) {
  const u32 t = arch::thread_index();
  const arch::SharedAddress pair = arch::dynamic_shared() + 8 * t;
  arch::global::store(p.out + t, shared_scopes(pair, arch::global::load(p.in + t)));
  const arch::Words<2> left = arch::shared::load2(pair);
  arch::global::store(p.out + 64 + 2 * t, left.w[0]);
  arch::global::store(p.out + 65 + 2 * t, left.w[1]);
}

}  // namespace ww::arch_test
