// SPDX-License-Identifier: Apache-2.0
// The contract between a kernel module on the emulated device and the emulator: one C table of operations, one entry.
//   kernel code -> arch/<instruction>.hpp (emulator body) -> EmuTable -> src/emu/
// A module is a shared object with hidden visibility; it exports warpwright_module and nothing else, so that no symbol
// of one kernel can stand in for another's. Addresses of shared memory are 32 bits: CTA rank in bits 24.., byte offset
// below.
// All operations act for the calling emulated thread. They return only when the thread may go on; an error never
// returns.
#pragma once

#include "warpwright/core/dtype.hpp"

namespace ww::arch {

/// Where in the kernel's source an operation was written; filled in by default arguments on the emulator's side.
struct Site {
  const char* file;
  int line;
  WW_HOST_DEVICE static constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

inline constexpr u32 kSharedRankShift = 24;
inline constexpr u32 kSharedOffsetMask = (1u << kSharedRankShift) - 1;
inline constexpr u32 kEmuTableVersion = 9;

enum class Special : u32 {
  thread_index,
  block_size,
  block_index,
  grid_size,
  cluster_rank,
  cluster_size,
  dynamic_shared,  // shared address of the launch's dynamic shared memory, 1024-byte aligned
};
enum class Access : u32 { read, write, atomic };
enum class MemoryOrder : u32 { relaxed, acquire, release, acq_rel };
enum class Scope : u32 { cta, cluster, gpu, system };
enum class Fence : u32 {
  mbarrier_init,       // fence.mbarrier_init.release.cluster
  proxy_async_shared,  // fence.proxy.async.shared::cta
  proxy_async,         // fence.proxy.async
  acq_rel_cta,
  acq_rel_cluster,
  acq_rel_gpu,
  wgmma,  // wgmma.fence.sync.aligned
};
enum class ShuffleMode : u32 { index, up, down, butterfly };
enum class VoteMode : u32 { ballot, any, all };
enum class TensorMapField : u32 { address, extent, stride };

/// wgmma.mma_async m64n<n>: what the instruction says of itself.
struct WgmmaShape {
  DType type_a, type_b;    // the same, or two FP8 types; D is FP32
  Major major_a, major_b;  // mn: 16-bit types only
  int n;                   // 8..256, step 8
  int scale_a, scale_b;    // +1 or -1
  bool operator==(const WgmmaShape&) const = default;
};
/// And its operands: B, and A unless it is in registers, from shared memory through 64-bit matrix descriptors.
struct WgmmaCall : WgmmaShape {
  u64 descriptor_a, descriptor_b;
  bool accumulate;                   // false: D = A B
  const u32* registers_a = nullptr;  // this thread's four of A, in place of descriptor_a; read when it is carried out
};

/// Instructions one after another: `count` of them, whose descriptors are so much apart, each with four registers of A
/// more; all but the first accumulate.
struct WgmmaSteps {
  u16 count = 1, a = 0, b = 0;
};

struct TmaCoordinates {
  i32 at[5];
};  // element indices, innermost first; unused ones 0

/// What the hooks of a checked module ask about every plain access, at the top of the thread's stack. Whoever runs on a
/// stack finds it: each stack has an aligned block of addresses to itself.
///   block:  | guard | stack ... | StackHead | unused |
struct StackHead {
  u64 in_flight_begin,
      in_flight_end;   // addresses that hold all accumulators a tensor core owns; empty when there are none
  u64 params, shared;  // the launch's parameters; the shared memory of the thread's CTA
  u32 params_bytes, shared_bytes;
  bool plain_seen;  // a plain access of the thread was reported
};

inline constexpr u64 kStackBlock = 128 * 1024;
/// From the block's start to its head; the hooks need it, so it is not hooked.
/// why not one place for all: the hot ends of hundreds of stacks have to spread over the sets of caches and TLBs. So
/// neighbours are 64 bytes apart, and four of them a page from the next four. why over no more than eight lines of a
/// page: three KiB of each stack are hot, and two pages of each are more than a TLB holds.
#if !defined(__CUDACC__)
__attribute__((no_sanitize("thread"), always_inline)) constexpr u64 stack_head_offset(u64 block) {
  return kStackBlock - 64 - (block / kStackBlock * 64 & 0x1C0) - (block / kStackBlock * 1024 & 0xF000);
}
#endif

struct EmuTable {
  u32 version;  // kEmuTableVersion
  u32 bytes;    // sizeof(EmuTable)

  u32 (*special)(Special which);
  u64 (*clock)();         // scheduler steps on this SM; monotone
  u64 (*global_timer)();  // the same for the device

  // mbarrier: `barrier` is a shared address (any CTA of the cluster where the ISA allows it)
  void (*mbarrier_init)(u32 barrier, u32 count, Site);
  void (*mbarrier_invalidate)(u32 barrier, Site);
  void (*mbarrier_arrive)(u32 barrier, u32 count, Site);  // local or remote
  void (*mbarrier_expect_tx)(u32 barrier, u32 bytes, Site);
  void (*mbarrier_arrive_expect_tx)(u32 barrier, u32 bytes, Site);
  bool (*mbarrier_try_wait)(u32 barrier, u32 parity, Site);  // one try: may yield, may fail spuriously
  void (*mbarrier_wait)(u32 barrier, u32 parity, Site);      // until the phase with that parity has completed

  void (*fence)(Fence kind, Site);

  // TMA. `map` is the 128-byte opaque tensor map; `multicast` 0 = this CTA only, else a mask of cluster ranks
  void (*tma_load)(const void* map, int rank, u32 barrier, u32 destination, TmaCoordinates, u32 multicast, Site);
  void (*tma_store)(const void* map, int rank, u32 source, TmaCoordinates, Site);
  void (*tma_prefetch_map)(const void* map, Site);
  void (*bulk_commit)(Site);
  void (*bulk_wait)(int pending, bool read_only, Site);  // read_only: sources may be reused, data not yet visible

  // wgmma. `registers` are this thread's n/2 accumulators; the engine owns their values from issue until a wait names
  // them. why no WgmmaCall: a checked module announces every store to a local whose address it gives away
  void (*wgmma)(const WgmmaShape&, u64 descriptor_a, u64 descriptor_b, bool accumulate, const u32* registers_a,
                float* registers, WgmmaSteps, Site);
  void (*wgmma_commit)(Site);
  void (*wgmma_wait)(int pending, float* const* accumulators, int count, Site);
  void (*wgmma_hand_back)(const u32* registers_a, int count, Site);  // after a wait: these are read, the thread's again

  // warp matrices, 8x8 of 16-bit items: `address` is this lane's row
  void (*stmatrix)(u32 address, const u32* registers, int count, bool transposed, Site);
  void (*ldmatrix)(u32 address, u32* registers, int count, bool transposed, Site);

  // cluster and distributed shared memory
  u32 (*cluster_map)(u32 address, u32 rank, Site);
  void (*cluster_arrive)(bool relaxed, Site);
  void (*cluster_wait)(Site);
  void (*store_async)(u32 address, const u32* words, u32 bytes, u32 barrier, Site);

  void (*set_max_registers)(u32 count, bool increase, Site);
  void (*named_barrier_sync)(u32 id, u32 threads, Site);
  void (*named_barrier_arrive)(u32 id, u32 threads, Site);

  // warp; all 32 lanes take part
  bool (*elect)(Site);  // true in exactly one lane, any lane
  void (*sync_warp)(u32 mask, Site);
  u32 (*shuffle)(u32 value, u32 lane_or_delta, ShuffleMode, Site);
  u32 (*vote)(bool predicate, VoteMode, Site);

  // Memory seen by ordinary threads: the call checks bounds and alignment (natural for `bytes`) and gives a host
  // pointer through which the module then reads or writes at once.
  void* (*shared_access)(u32 address, u32 bytes, Access, Site);
  void* (*global_access)(const void* address, u32 bytes, Access, MemoryOrder, Scope, Site);
  void (*global_wait_step)(const void* address, Site);  // one failed look of wait_global: lets others run

  void (*pdl_wait)(Site);
  void (*pdl_launch_dependents)(Site);

  // A plain load or store of kernel code, told by the hooks of a checked module (arch/hooks.hpp) before it happens.
  void (*plain_access)(const void* address, u32 bytes, bool write, const void* return_address);

  // What the thread is from here on, for reports: `name` lives as long as the module; number -1 is none.
  void (*role)(const char* name, int number);
  // A tile that this CTA works on, of which it does so many k-blocks, all of them or a part.
  void (*note_work)(u32 k_blocks, bool is_part);

  // Tensor maps that change. `copy` is a map in the CTA's own shared memory, `map` one in global memory.
  void (*tensor_map_replace)(u32 copy, TensorMapField field, int dimension, u64 value, Site);
  void (*tensor_map_release)(void* map, u32 copy, Site);  // all 32 lanes
  void (*tensor_map_acquire)(const void* map, Site);
};

// --- the module's side ----------------------------------------------------------------------------

/// One kernel of a module, in a list that static registration builds.
struct KernelEntry {
  const char* name;
  void (*run)(const void* params);
  u32 params_bytes;
  u32 threads;  // of a CTA, as in __launch_bounds__
  const KernelEntry* next;
};

struct ModuleInfo {
  u32 table_version;
  u32 checked;  // 1 when plain loads and stores are instrumented
  const KernelEntry* kernels;
};

}  // namespace ww::arch

/// The one exported symbol: takes the table, returns what the module holds. Called once after dlopen.
using WarpwrightModuleEntry = const ww::arch::ModuleInfo* (*)(const ww::arch::EmuTable*);
