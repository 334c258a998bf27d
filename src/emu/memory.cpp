// SPDX-License-Identifier: Apache-2.0
// Bounds, alignment and lifetime of shared and global accesses.
#include "emu/memory.hpp"

#include <fmt/format.h>

#include "emu/check/checker.hpp"
#include "emu/machine.hpp"

namespace ww::emu {
namespace {

/// Returns the natural alignment: the access size, up to 16 bytes.
u32 natural_alignment(u32 bytes) { return bytes == 0 ? 1 : min(bytes & (~bytes + 1), 16u); }

/// Reports why shared_place() finds no memory. It is a separate function, because every access to shared memory calls
/// shared_place().
[[noreturn, gnu::noinline]] void refuse_place(Thread& thread, u32 rank, u32 offset, u32 bytes, u32 alignment,
                                              Origin origin, u32 address) {
  Machine& machine = *thread.machine;
  const Cluster& cluster = *thread.cta->cluster;
  if (rank >= cluster.ctas.size())
    machine.fail(
        origin,
        fmt::format("shared address 0x{:x} names CTA {} of a cluster of {}", address, rank, cluster.ctas.size()),
        Rule::out_of_bounds);
  const Cta& cta = *cluster.ctas[rank];
  if (offset < kSharedBase || offset >= cta.shared_end || bytes > cta.shared_end - offset)
    machine.fail(origin,
                 fmt::format("shared memory out of bounds: {} bytes at offset 0x{:x}; the CTA has [0x{:x}, 0x{:x})",
                             bytes, offset, kSharedBase, cta.shared_end),
                 Rule::out_of_bounds);
  if (offset % alignment != 0)
    machine.fail(origin,
                 fmt::format("misaligned shared access: offset 0x{:x}, {} bytes, expected a multiple of {}", offset,
                             bytes, alignment),
                 Rule::misaligned);
  machine.fail(
      origin, fmt::format("access to the shared memory of CTA {} (cluster rank {}), which has exited", cta.index, rank),
      Rule::exited_cta, {.cta = &cta});
}

}  // namespace

SharedPlace shared_place(Thread& thread, u32 address, u32 bytes, u32 alignment, arch::Site site) {
  Cluster& cluster = *thread.cta->cluster;
  const u32 rank = address >> arch::kSharedRankShift, offset = address & arch::kSharedOffsetMask;
  if (rank < cluster.ctas.size()) [[likely]] {
    Cta& cta = *cluster.ctas[rank];
    const bool inside = offset >= kSharedBase && offset < cta.shared_end && bytes <= cta.shared_end - offset;
    if (inside && (offset & (alignment - 1)) == 0 && !cta.exited()) [[likely]]
      return {&cta, offset};
  }
  refuse_place(thread, rank, offset, bytes, alignment, {&thread, site}, address);
}

SharedPlace own_shared_place(Thread& thread, u32 address, u32 bytes, u32 alignment, const char* what, arch::Site site) {
  const SharedPlace place = shared_place(thread, address, bytes, alignment, site);
  if (place.cta != thread.cta)
    thread.machine->fail(
        {&thread, site},
        fmt::format("{} needs an address in the CTA's own shared memory, got cluster rank {}", what, place.cta->rank));
  return place;
}

void* shared_access(Thread& thread, u32 address, u32 bytes, arch::Access access, arch::Ordering ordering,
                    arch::Site site) {
  if (access != arch::Access::read) thread.machine->progress_of(thread);
  const SharedPlace place = shared_place(thread, address, bytes, natural_alignment(bytes), site);
  if (Checker* checker = thread.machine->checker()) {
    const Access kind = access == arch::Access::read    ? Access::load_shared
                        : access == arch::Access::write ? Access::store_shared
                                                        : Access::atomic_shared;
    checker->shared_access(thread, *place.cta, place.offset, bytes, kind, site, ordering);
  }
  if (place.cta != thread.cta) thread.machine->counters().dsmem_bytes += bytes;
  return place.data();
}

void store_async(Thread& thread, u32 address, const u32* words, u32 bytes, u32 barrier, arch::Site site) {
  Machine& machine = *thread.machine;
  const SharedPlace place = shared_place(thread, address, bytes, bytes, site);
  const SharedPlace signal = shared_place(thread, barrier, 8, 8, site);
  if (place.cta != signal.cta)
    machine.fail({&thread, site},
                 fmt::format("st.async to CTA {} of the cluster with an mbarrier of CTA {}; expected the same CTA",
                             place.cta->rank, signal.cta->rank),
                 Rule::invalid_operation);
  if (thread.cta->cluster->ctas.size() == 1)  // hardware: "an illegal instruction was encountered" (H200)
    machine.fail({&thread, site}, "st.async in a launch without clusters: an illegal instruction",
                 Rule::invalid_operation);
  machine.progress();
  if (place.cta != thread.cta) machine.counters().dsmem_bytes += bytes;
  Operation& operation = machine.new_operation(Operation::Kind::store_async, {&thread, site});
  operation.cta = place.cta;
  operation.shared = place.offset;
  operation.barrier = signal.offset;
  operation.bytes.assign(reinterpret_cast<const u8*>(words), reinterpret_cast<const u8*>(words) + bytes);
  if (Checker* checker = machine.checker())
    operation.note = checker->store_async(thread, *place.cta, place.offset, bytes,
                                          barrier_at(*place.cta, signal.offset, {&thread, site}), site);
  machine.submit(operation);
}

void land_store(Operation& operation) {
  Cta& cta = *operation.cta;
  if (cta.exited())
    cta.machine->fail(operation.origin,
                      fmt::format("st.async into CTA {} (cluster rank {}), which has exited", cta.index, cta.rank),
                      Rule::exited_cta, {.cta = &cta});
  std::memcpy(cta.shared.get() + operation.shared, operation.bytes.data(), operation.bytes.size());
  signal_now(cta, operation.barrier, 0, 0, static_cast<i64>(operation.bytes.size()), operation.origin, operation.note);
}

std::string words_of_place(const runtime::Launch& launch, u64 address, u64 bytes) {
  constexpr u64 kNear = 1u << 20;
  for (const runtime::MemoryRange& range : launch.memory) {
    const u64 begin = reinterpret_cast<u64>(range.base), end = begin + range.bytes;
    if (address >= begin && address + bytes <= end)
      return fmt::format("{} bytes at byte {} of operand {}", bytes, address - begin, range.name);
  }
  for (const runtime::MemoryRange& range : launch.memory) {
    const u64 begin = reinterpret_cast<u64>(range.base), end = begin + range.bytes;
    if (address >= begin && address < end + kNear)
      return fmt::format("{} bytes at {} bytes past the start of operand {}, which has {}", bytes, address - begin,
                         range.name, range.bytes);
    if (address < begin && begin - address < kNear)
      return fmt::format("{} bytes at {} bytes before operand {}", bytes, begin - address, range.name);
  }
  return fmt::format("{} bytes in no operand of the launch", bytes);
}

int range_of(const Machine& machine, u64 base, u64 bytes, bool write) {
  const auto memory = machine.context().launch.memory;
  int found = -1;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const u64 start = reinterpret_cast<u64>(memory[i].base);
    if (base < start || bytes > memory[i].bytes || base - start > memory[i].bytes - bytes) continue;
    if (!write || memory[i].writable) return static_cast<int>(i);
    if (found < 0) found = static_cast<int>(i);
  }
  return found;
}

void* global_access(Thread& thread, const void* address, u32 bytes, arch::Access access, arch::Ordering ordering,
                    arch::Site site) {
  Machine& machine = *thread.machine;
  const u64 value = reinterpret_cast<u64>(address);
  const int range = range_of(machine, value, bytes, access != arch::Access::read);
  if (range < 0)
    machine.fail({&thread, site},
                 "global memory out of bounds: " + words_of_place(machine.context().launch, value, bytes),
                 Rule::out_of_bounds, {.global = true});
  if (value % natural_alignment(bytes) != 0)
    machine.fail({&thread, site},
                 fmt::format("misaligned global access: {}; expected a multiple of {}",
                             words_of_place(machine.context().launch, value, bytes), natural_alignment(bytes)),
                 Rule::misaligned, {.global = true});
  RangeBytes& counted = machine.counters().ranges[static_cast<std::size_t>(range)];
  if (ordering.order == arch::MemoryOrder::weak)
    (access == arch::Access::read ? counted.thread_read : counted.thread_write) += bytes;
  const runtime::MemoryRange& memory = machine.context().launch.memory[static_cast<std::size_t>(range)];
  if (access != arch::Access::read) {
    if (!memory.writable)
      machine.fail({&thread, site}, fmt::format("write to read-only operand {}", memory.name), Rule::out_of_bounds,
                   {.global = true});
    machine.progress_of(thread);
  }
  if (Checker* checker = machine.checker()) checker->global_access(thread, value, bytes, access, ordering, site);
  return const_cast<void*>(address);
}

}  // namespace ww::emu
