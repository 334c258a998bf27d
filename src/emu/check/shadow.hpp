// SPDX-License-Identifier: Apache-2.0
// The last accesses to each byte. Memory is divided into granules of 16 bytes. A granule holds a few entries, each one
// access and the bytes of it that still count: later writes take bytes from all entries, later reads of an agent from
// its own.
#pragma once

#include <array>
#include <bit>
#include <vector>

#include "emu/check/page_map.hpp"
#include "warpwright/arch/common/emu_table.hpp"

namespace ww::emu {

inline constexpr u32 kGranule = 16;

/// Kinds of accesses. outlives_cluster() names those of global memory.
enum class Access : u8 {
  load_shared,
  store_shared,
  atomic_shared,
  stmatrix,
  ldmatrix,
  load_global,
  store_global,
  atomic_global,
  tma_load,
  store_async,
  tma_load_source,
  tma_store_source,
  tma_store,
  remote_arrive,
  mbarrier,
  tensor_map_replace,
  tensor_map_copy,
  tensor_map_release,
  tensor_map_use,
  plain_load,
  plain_store,
  registers,
  barrier_wait,
  exit,
  launch_answer,
  of_machines = 128,  // from here on, those of the machines' own engines (MachineModel::accesses)
};

/// One access, shared by all the granules it touched. Aligned, because records are too many to stay in caches, and each
/// is then in one line.
struct alignas(64) AccessRecord {
  u32 slot = 0;        // agent
  u32 epoch = 0;       // ~0 while a copy is in flight
  u32 thread = 0;      // slot of the thread that did or issued it
  u32 barrier = ~0u;   // the mbarrier that it completes on
  u32 phase = 0;       // of that barrier at issue
  u32 with = ~0u;      // a record that ends when this one does
  u32 or_known = ~0u;  // a record whose end tells of the end of this one: another destination of a multicast
  u32 passed = ~0u;    // a copy: the mbarrier whose wait its issuer passed last
  Access kind{};
  u8 slots = 1;  // consecutive agents, all of which have to be known: one for each warp of a warpgroup
  bool generic : 1 = true;
  bool waited : 1 = false;  // a copy: its issuer knew of a griddepcontrol.wait
  arch::MemoryOrder order : 3 = arch::MemoryOrder::weak;
  arch::Scope scope : 2 = arch::Scope::cta;
  arch::Site site{};
  const void* from = nullptr;  // return address of the call

  bool strong() const { return order != arch::MemoryOrder::weak; }
};

struct ShadowEntry {
  u32 access = 0;
  u16 bytes = 0;  // of the granule, one bit each
  bool write = false;
  u8 unused = 0;  // explicit, because granules are compared as 64-bit values
};

struct alignas(32) Granule {
  static constexpr u32 kInline = 3;
  u32 overflow = 0;  // 0: entries are here; otherwise the number of the shadow's overflow list
  u32 count = 0;
  ShadowEntry entries[kInline];

  /// Compares as two vectors, because a run compares hundreds of thousands of granules.
  bool operator==(const Granule& other) const {
    typedef u64 Half __attribute__((vector_size(16)));
    struct Halves {
      Half h[2];
    };
    const auto a = std::bit_cast<Halves>(*this), b = std::bit_cast<Halves>(other);
    const Half different = (a.h[0] ^ b.h[0]) | (a.h[1] ^ b.h[1]);
    return (different[0] | different[1]) == 0;
  }
};

/// Entries of granules that hold many; all granules of one memory share `overflow`.
struct Overflow {
  std::vector<std::vector<ShadowEntry>> lists = std::vector<std::vector<ShadowEntry>>(1);
  u32 used = 1;  // lists from here on are of earlier runs; kept, because a run needs hundreds of them

  ShadowEntry* entries(Granule& granule) { return granule.overflow ? lists[granule.overflow].data() : granule.entries; }
  void append(Granule& granule, ShadowEntry entry) {
    if (!granule.overflow && granule.count < Granule::kInline) {
      granule.entries[granule.count++] = entry;
      return;
    }
    if (!granule.overflow) {
      granule.overflow = used++;
      if (lists.size() < used) lists.emplace_back();
      lists[granule.overflow].assign(granule.entries, granule.entries + granule.count);
    }
    auto& list = lists[granule.overflow];
    list.resize(granule.count);
    list.push_back(entry);
    ++granule.count;
  }
  void clear() { used = 1; }
};

/// The shadow of global memory, allocated page by page as it is touched.
class GlobalShadow {
 public:
  static constexpr u64 kPageBytes = 4096;
  struct Page {
    Granule granules[kPageBytes / kGranule];
  };

  Granule& at(u64 address) { return pages_.at(address / kPageBytes).granules[address % kPageBytes / kGranule]; }
  const std::unordered_map<u64, std::unique_ptr<Page>>& pages() const { return pages_.pages(); }
  void clear() { pages_.clear(); }

 private:
  PageMap<Page> pages_;
};

}  // namespace ww::emu
