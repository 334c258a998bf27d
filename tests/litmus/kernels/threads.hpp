// SPDX-License-Identifier: Apache-2.0
// What the litmus kernels are written with: threads by name, locations, accesses with order and scope, tiles.
// A kernel stands below the comment that states it for the reader, for the tables of docs/memory-model.md, for the
// test, and for enumerate.py:
//   litmus NAME: VERDICT; [strict RULE; or deviation NAME;] ptx SECTIONS; [grid= cluster= threads=]
//     P<i> cta <c>: operations        a thread that enumerate.py runs
//     T<i> ...: words                 a thread that it does not model
//     also: RULE   weak: RULE   note: ...   outcome: ...
// Threads read top to bottom. Every location starts at 0, and start() has made shared memory and barriers visible.
#pragma once

#include "warpwright/arch/common/cluster.hpp"
#include "warpwright/arch/common/fence.hpp"
#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/mbarrier_scope.hpp"
#include "warpwright/arch/common/named_barrier.hpp"
#include "warpwright/arch/common/strong.hpp"
#include "warpwright/arch/common/tensor_map_update.hpp"
#include "warpwright/arch/common/tma.hpp"
#include "warpwright/arch/common/warp.hpp"
#include "warpwright/arch/sm90/wgmma.hpp"

namespace ww::litmus {

/// Words in global memory, 256 bytes apart, all 0; a tile of 32 rows of 32 words; a workspace that nobody wrote.
struct Params {
  arch::TensorMap map;  // of the tile, in boxes of 8 rows
  u32 *d, *e, *f, *g, *c, *l;
  u32* tile;
  u32* noise;
  arch::TensorMap* global_map;  // the same map in global memory, made before the launch
};

inline constexpr arch::Scope cta = arch::Scope::cta, cluster = arch::Scope::cluster, gpu = arch::Scope::gpu,
                             sys = arch::Scope::system;
inline constexpr arch::MemoryOrder relaxed = arch::MemoryOrder::relaxed, acquire = arch::MemoryOrder::acquire,
                                   release = arch::MemoryOrder::release, acq_rel = arch::MemoryOrder::acq_rel;

#define LITMUS(name) WW_KERNEL(name, 128, Params, p [[maybe_unused]])
/// The thread of a CTA that runs what follows.
#define P(block, thread) if (arch::block_index() == (block) && arch::thread_index() == (thread))
/// Polls until the condition holds, as an expression.
#define AWAIT(...) poll([&] { return __VA_ARGS__; })

template <class Condition> WW_DEVICE void poll(Condition condition) {
  while (!condition()) continue;
}

// Accesses to global memory.
WW_DEVICE u32 ld(const u32* a WW_SITE) { return arch::global::load(a, site); }
WW_DEVICE void st(u32* a, u32 v WW_SITE) { arch::global::store(a, v, site); }
// Accesses to this CTA's shared memory, and weak ones to another's.
WW_DEVICE u32 ld(arch::SharedAddress a WW_SITE) { return arch::shared::load(a, site); }
WW_DEVICE void st(arch::SharedAddress a, u32 v WW_SITE) { arch::shared::store(a, v, site); }
WW_DEVICE u32 rld(arch::SharedAddress a WW_SITE) { return arch::cluster::load(a, site); }
WW_DEVICE void rst(arch::SharedAddress a, u32 v WW_SITE) { arch::cluster::store(a, v, site); }
// Strong accesses to either.
#define WW_LITMUS_STRONG(space, Place)                                                                           \
  template <arch::Scope kScope> WW_DEVICE u32 ld_relaxed(Place a WW_SITE) {                                      \
    return arch::space::load_relaxed<kScope>(a, site);                                                           \
  }                                                                                                              \
  template <arch::Scope kScope> WW_DEVICE u32 ld_acquire(Place a WW_SITE) {                                      \
    return arch::space::load_acquire<kScope>(a, site);                                                           \
  }                                                                                                              \
  template <arch::Scope kScope> WW_DEVICE void st_relaxed(Place a, u32 v WW_SITE) {                              \
    arch::space::store_relaxed<kScope>(a, v, site);                                                              \
  }                                                                                                              \
  template <arch::Scope kScope> WW_DEVICE void st_release(Place a, u32 v WW_SITE) {                              \
    arch::space::store_release<kScope>(a, v, site);                                                              \
  }                                                                                                              \
  WW_DEVICE u32 ld_volatile(Place a WW_SITE) { return arch::space::load_volatile(a, site); }                     \
  WW_DEVICE void st_volatile(Place a, u32 v WW_SITE) { arch::space::store_volatile(a, v, site); }                \
  template <arch::MemoryOrder kOrder, arch::Scope kScope> WW_DEVICE u32 add(Place a, u32 v WW_SITE) {            \
    return arch::space::atomic_add<kOrder, kScope>(a, v, site);                                                  \
  }                                                                                                              \
  template <arch::MemoryOrder kOrder, arch::Scope kScope> WW_DEVICE u32 cas(Place a, u32 from, u32 to WW_SITE) { \
    return arch::space::atomic_cas<kOrder, kScope>(a, from, to, site);                                           \
  }
WW_LITMUS_STRONG(global, u32*)
WW_LITMUS_STRONG(shared, arch::SharedAddress)
#undef WW_LITMUS_STRONG

template <arch::Scope kScope> WW_DEVICE void fence(WW_SITE_ONLY) {
  if constexpr (kScope == cta) arch::fence::acq_rel_cta(site);
  else if constexpr (kScope == cluster) arch::fence::acq_rel_cluster(site);
  else arch::fence::acq_rel_gpu(site);
}
template <arch::Scope kScope> WW_DEVICE void fence_sc(WW_SITE_ONLY) {
  static_assert(kScope == gpu);
  arch::fence::sc_gpu(site);
}

// --- shared memory: 8 words 64 bytes apart, a row, two barriers, and two tiles from 1024 bytes on --------------------

inline constexpr u32 kTileBytes = 8 * 128, kOperandBytes = 64 * 128;

WW_DEVICE arch::SharedAddress S(u32 word) { return arch::dynamic_shared() + 64 * word; }
WW_DEVICE arch::MBarrier M(u32 barrier) { return {arch::dynamic_shared() + (1008 - 8 * barrier)}; }
WW_DEVICE arch::SharedAddress T() { return arch::dynamic_shared() + 1024; }
WW_DEVICE arch::SharedAddress U() { return T() + kTileBytes; }
WW_DEVICE arch::SharedAddress R(u32 word, u32 rank) { return arch::cluster::map(S(word), rank); }

/// A lane's word of a row for one warp.
WW_DEVICE arch::SharedAddress L(u32 lane) { return arch::dynamic_shared() + (512 + 4 * lane); }

/// The barriers of a CTA and of a cluster, after the branches of single threads: aligned instructions need whole warps.
WW_DEVICE void bar(WW_SITE_ONLY) {
  arch::warp::sync(arch::warp::kAllLanes, site);
  arch::named_barrier::sync_cta(site);
}
WW_DEVICE void meet(WW_SITE_ONLY) {
  arch::warp::sync(arch::warp::kAllLanes, site);
  arch::cluster::sync(site);
}
/// Keeps the CTAs of a cluster alive until all are done with each other's shared memory.
WW_DEVICE void finish(WW_SITE_ONLY) {
  if (arch::cluster_size() > 1) meet(site);
}
/// Clears the words and the tiles for both proxies, initialises the barriers for `arrivals` and one arrival, and
/// synchronises the cluster.
WW_DEVICE void start(u32 arrivals = 1 WW_SITE) {
  const u32 t = arch::thread_index();
  if (t < 8) arch::shared::store(S(t), 0, site);
  if (t < 32) arch::shared::store(L(t), 0, site);
  for (u32 at = 4 * t; at < 2 * kTileBytes; at += 4 * arch::block_size()) arch::shared::store(T() + at, 0, site);
  arch::fence::proxy_async_shared(site);
  if (t == 0) {
    arch::mbarrier::init(M(0), arrivals, site);
    arch::mbarrier::init(M(1), 1, site);
    arch::fence::mbarrier_init(site);
  }
  if (arch::cluster_size() > 1) meet(site);
  else bar(site);
}

/// Announces and loads the first box of the tile.
WW_DEVICE void load_tile(const Params& p WW_SITE) {
  arch::mbarrier::arrive_expect_tx(M(0), kTileBytes, site);
  arch::tma::load_2d(p.map, M(0), T(), 0, 0, arch::CachePolicy::evict_normal, site);
}
WW_DEVICE void store_tile_from(const Params& p, arch::SharedAddress from, int row = 0 WW_SITE) {
  arch::tma::store_2d(p.map, from, 0, row, site);
  arch::tma::commit(site);
}
/// Stores the tile to the box from row `row` on, as one group.
WW_DEVICE void store_tile(const Params& p, int row = 0 WW_SITE) { store_tile_from(p, T(), row, site); }

// --- wgmma, by the 128 threads of a CTA: one operand of 64 rows of 128 bytes is A and B ----------------------------

/// Writes the operand, all ones of e4m3.
WW_DEVICE void fill(WW_SITE_ONLY) {
  for (u32 i = 0; i < 64; i += 16)
    arch::shared::store4(T() + 64 * arch::thread_index() + i, {{0x38383838, 0x38383838, 0x38383838, 0x38383838}}, site);
}
/// Does start(), and then the same for an operand in place of the tiles.
WW_DEVICE void start_filled(u32 arrivals = 1 WW_SITE) {
  start(arrivals, site);
  fill(site);
  arch::fence::proxy_async_shared(site);
  arch::named_barrier::sync_cta(site);
}
WW_DEVICE arch::MatrixDescriptor operand() { return arch::make_descriptor(T(), arch::MatrixSwizzle::b128, 0, 1024); }
/// Multiplies once; `between` runs between issue and wait.
template <class Between> WW_DEVICE void multiply(Between between, bool accumulate = false WW_SITE) {
  arch::Accumulator<64> acc;
  arch::wgmma::fence(site);
  arch::wgmma::mma<DType::e4m3>(acc, operand(), operand(), accumulate, site);
  arch::wgmma::commit(site);
  between();
  arch::wgmma::wait<0>(acc, site);
}
WW_DEVICE void multiply(WW_SITE_ONLY) {
  multiply([] {}, false, site);
}
/// Multiplies, and reads an accumulator before the wait.
WW_DEVICE void read_early(const Params& p) {
  arch::Accumulator<64> acc;
  arch::wgmma::fence();
  arch::wgmma::mma<DType::e4m3>(acc, operand(), operand(), false);
  arch::wgmma::commit();
  const u32 early = arch::bits_of(acc[1]);
  arch::wgmma::wait<0>(acc);
  if (arch::thread_index() == 0) st(p.d, early);
}

// --- tensor maps in global memory ----------------------------------------------------------------------------------

/// Warp 0 changes the map in global memory, by a release of a copy or by plain stores; thread 32 loads with it, after
/// an acquire if `acquires`.
WW_DEVICE void change_and_load(const Params& p, bool releases, bool acquires) {
  start();
  const u32 lane = arch::lane_index();
  if (arch::warp_index() == 0) {
    arch::tensor_map::copy_to_shared(p.map, U());
    arch::warp::sync();
    if (lane == 0) arch::tensor_map::replace_extent<1>(U(), 16);
    arch::warp::sync();
    if (releases) arch::tensor_map::release(p.global_map, U());
    else st(reinterpret_cast<u32*>(p.global_map) + lane, ld(U() + 4 * lane));
  }
  arch::named_barrier::sync_cta();
  if (arch::thread_index() != 32) return;
  if (acquires) arch::tensor_map::acquire(*p.global_map);
  arch::mbarrier::arrive_expect_tx(M(0), kTileBytes);
  arch::tma::load_2d(*p.global_map, M(0), T(), 0, 0);
  arch::mbarrier::wait(M(0), 0);
}

}  // namespace ww::litmus
