// SPDX-License-Identifier: Apache-2.0
// The contract between a kernel module on the emulated device and the emulator: one C table of operations, one entry.
//   kernel code -> arch/<instruction>.hpp (emulator body) -> EmuTable -> src/emu/
// A module is a shared object with hidden visibility. It exports warpwright_module and nothing else, so that no symbol
// of one kernel can replace another's. Shared-memory addresses have 32 bits: CTA rank from bit 24 up, byte offset
// below.
// All operations act for the calling emulated thread. They return when that thread may continue; after an error they
// never return.
// Instructions that only some architectures have are in sets of their own (arch/<architecture>/emu_instructions.hpp); a
// module copies the sets that it uses when it is loaded.
#pragma once

#include "warpwright/arch/common/order.hpp"
#include "warpwright/core/dtype.hpp"

namespace ww::arch {

/// Where in the kernel's source an operation was written; the emulator bodies fill it in by default arguments.
struct Site {
  const char* file;
  int line;
  WW_HOST_DEVICE static constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

inline constexpr u32 kSharedRankShift = 24;
inline constexpr u32 kSharedOffsetMask = (1u << kSharedRankShift) - 1;
inline constexpr u32 kEmuTableVersion = 11;

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
enum class Fence : u32 {
  mbarrier_init,       // fence.mbarrier_init.release.cluster
  proxy_async_shared,  // fence.proxy.async.shared::cta
  proxy_async_global,  // fence.proxy.async.global
  proxy_async,         // fence.proxy.async
  acq_rel_cta,
  acq_rel_cluster,
  acq_rel_gpu,
  acq_rel_system,
  sc_cta,
  sc_cluster,
  sc_gpu,
  sc_system,
};
enum class ShuffleMode : u32 { index, up, down, butterfly };
enum class VoteMode : u32 { ballot, any, all };
enum class TensorMapField : u32 { address, extent, stride };

struct TmaCoordinates {
  i32 at[5];
};  // element indices, innermost first; unused ones are 0

/// State at the top of a thread's stack that the hooks of a checked module read at every plain access. The hooks find
/// it from the stack pointer, because each stack occupies an aligned block of addresses:
///   block:  | guard | stack ... | StackHead | unused |
struct StackHead {
  u64 in_flight_begin,
      in_flight_end;   // the address range of all registers that an engine owns; empty when there are none
  u64 params, shared;  // the launch's parameters; the shared memory of the thread's CTA
  u32 params_bytes, shared_bytes;
  bool plain_seen;  // a plain access of the thread has been reported
};

inline constexpr u64 kStackBlock = 128 * 1024;
/// Returns the offset of the head within its block. The hooks call it, so it is not instrumented itself.
/// The offset varies, because the frequently used ends of hundreds of stacks must spread over the sets of caches and
/// TLBs: neighbouring stacks differ by 64 bytes, and each four of them by a page from the next four. It spans no more
/// than eight lines of a page, because three KiB of each stack are in frequent use, and two such pages per stack would
/// exceed the TLB.
#if !defined(__CUDACC__)
__attribute__((no_sanitize("thread"), always_inline)) constexpr u64 stack_head_offset(u64 block) {
  return kStackBlock - 64 - (block / kStackBlock * 64 & 0x1C0) - (block / kStackBlock * 1024 & 0xF000);
}
#endif

/// Marks the mask of a multicast form, so that a mask of no CTA is told from the form without one.
inline constexpr u32 kMulticast = 1u << 31;

struct EmuTable {
  u32 version;  // kEmuTableVersion
  u32 bytes;    // sizeof(EmuTable)

  u32 (*special)(Special which);
  u64 (*clock)();         // steps of the scheduler on this SM; monotone
  u64 (*global_timer)();  // the same for the whole device

  // mbarrier: `barrier` is a shared address (of any CTA of the cluster where the ISA allows it)
  void (*mbarrier_init)(u32 barrier, u32 count, Site);
  void (*mbarrier_invalidate)(u32 barrier, Site);
  void (*mbarrier_arrive)(u32 barrier, u32 count, Ordering, Site);  // local or remote; release or relaxed
  void (*mbarrier_expect_tx)(u32 barrier, u32 bytes, Site);
  void (*mbarrier_arrive_expect_tx)(u32 barrier, u32 bytes, Site);
  // One try: may yield, may fail spuriously; acquire or relaxed.
  bool (*mbarrier_try_wait)(u32 barrier, u32 parity, Ordering, Site);
  void (*mbarrier_wait)(u32 barrier, u32 parity, Ordering,
                        Site);  // returns when the phase of that parity has completed

  void (*fence)(Fence kind, Site);

  // TMA: `map` is the 128-byte opaque tensor map; `multicast` is a mask of cluster ranks, with kMulticast, or 0 for
  // this CTA only
  void (*tma_load)(const void* map, int rank, u32 barrier, u32 destination, TmaCoordinates, u32 multicast, Site);
  void (*tma_store)(const void* map, int rank, u32 source, TmaCoordinates, Site);
  void (*tma_prefetch_map)(const void* map, Site);
  void (*bulk_commit)(Site);
  void (*bulk_wait)(int pending, bool read_only, Site);  // read_only: sources may be reused, but data need not be
                                                         // visible yet

  // Warp matrices, 8x8 of 16-bit items: `address` is this lane's row.
  void (*stmatrix)(u32 address, const u32* registers, int count, bool transposed, Site);
  void (*ldmatrix)(u32 address, u32* registers, int count, bool transposed, Site);

  // Cluster and distributed shared memory.
  u32 (*cluster_map)(u32 address, u32 rank, Site);
  void (*cluster_arrive)(bool relaxed, Site);
  void (*cluster_wait)(Site);
  void (*store_async)(u32 address, const u32* words, u32 bytes, u32 barrier, Site);

  void (*set_max_registers)(u32 count, bool increase, Site);
  void (*named_barrier_sync)(u32 id, u32 threads, Site);
  void (*named_barrier_arrive)(u32 id, u32 threads, Site);

  // Warp operations; all 32 lanes take part.
  bool (*elect)(Site);  // true in exactly one lane, any lane
  void (*sync_warp)(u32 mask, Site);
  u32 (*shuffle)(u32 value, u32 lane_or_delta, ShuffleMode, Site);
  u32 (*vote)(bool predicate, VoteMode, Site);

  // Memory accessed by ordinary threads. The call checks bounds and alignment (natural for `bytes`) and returns a host
  // pointer, through which the module then reads or writes at once. An acquire is a read, a release a write;
  // Access::atomic is a read-modify-write and never weak.
  void* (*shared_access)(u32 address, u32 bytes, Access, Ordering, Site);
  void* (*global_access)(const void* address, u32 bytes, Access, Ordering, Site);
  void (*global_wait_step)(const void* address, Site);  // one failed poll of wait_global; lets other threads run

  void (*pdl_wait)(Site);
  void (*pdl_launch_dependents)(Site);

  // Reports a plain load or store of kernel code before it happens; called by the hooks of a checked module
  // (arch/common/hooks.hpp). One through a pointer to volatile is relaxed at system scope, as ld.volatile is.
  void (*plain_access)(const void* address, u32 bytes, bool write, bool is_volatile, const void* return_address);

  // Sets this thread's role for reports. `name` must outlive the module; -1 means that the role has no index.
  void (*role)(const char* name, int number);
  // Counts one unit of work of a CTA: an output tile and the number of k-blocks that this CTA accumulates, all of the
  // tile's or a part.
  void (*note_work)(u32 k_blocks, bool is_part);

  // Tensor maps that change: `copy` is a map in the CTA's own shared memory, `map` one in global memory.
  void (*tensor_map_replace)(u32 copy, TensorMapField field, int dimension, u64 value, Site);
  void (*tensor_map_release)(void* map, u32 copy, Site);  // all 32 lanes
  void (*tensor_map_acquire)(const void* map, Site);

  // Returns the instruction set of that name, version and size; null when this library has none.
  const void* (*instructions)(const char* set, u32 version, u32 bytes);
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

/// An instruction set that a module uses, in a list that static registration builds.
struct InstructionPart {
  const char* set;
  u32 version, bytes;
  void* operations;  // the module's copy, of `bytes`; zeros until the module is loaded
  const InstructionPart* next;
};

struct ModuleInfo {
  u32 table_version;
  u32 checked;  // 1 when plain loads and stores are instrumented
  const KernelEntry* kernels;
  const InstructionPart* parts;
};

}  // namespace ww::arch

/// The one exported symbol: takes the table and returns the module's contents. Called once after dlopen.
using WarpwrightModuleEntry = const ww::arch::ModuleInfo* (*)(const ww::arch::EmuTable*);
