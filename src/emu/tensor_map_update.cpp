// SPDX-License-Identifier: Apache-2.0
// Checks and executes changes of tensor maps, and decides which version a TMA operation sees.
#include "emu/tensor_map_update.hpp"

#include <fmt/format.h>

#include <cstring>

#include "emu/check/checker.hpp"
#include "emu/machine.hpp"
#include "emu/memory.hpp"
#include "emu/warp_meeting.hpp"

namespace ww::emu {
namespace {

constexpr u32 kMapBytes = sizeof(arch::TensorMap);
constexpr u32 kReleaseKind = 48;  // kind of the warp exchange: after shuffle, vote and ldmatrix

bool same(const TensorMapData& a, const TensorMapData& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

TensorMapData map_at(const void* bytes) {
  TensorMapData data;
  std::memcpy(&data, bytes, sizeof data);
  return data;
}

bool is_parameter(const Thread& thread, u64 address) {
  const LaunchContext& context = thread.machine->context();
  return address - reinterpret_cast<u64>(context.params) < context.launch.params_bytes;
}

/// Returns the memory range that holds the map in global memory; reports when there is none or it is not aligned.
const runtime::MemoryRange& memory_of(Thread& thread, const void* map, u32 alignment, bool write, arch::Site site) {
  Machine& machine = *thread.machine;
  const u64 address = reinterpret_cast<u64>(map);
  if (address % alignment != 0)
    machine.fail({&thread, site}, fmt::format("tensor map: not {}-byte aligned", alignment), Rule::misaligned,
                 {.global = true});
  const int range = range_of(machine, address, kMapBytes, write);
  if (range < 0)
    machine.fail({&thread, site},
                 "tensor map: no parameter and in no operand of the launch: " +
                     words_of_place(machine.context().launch, address, kMapBytes),
                 Rule::out_of_bounds, {.global = true});
  return machine.context().launch.memory[static_cast<std::size_t>(range)];
}

void check_magic(Thread& thread, const TensorMapData& data, arch::Site site) {
  if (data.magic != kTensorMapMagic)
    thread.machine->fail({&thread, site}, "tensor map: these 128 bytes are no tensor map of this device");
}

CachedMap* cached(Cta& cta, u64 address) {
  for (CachedMap& entry : cta.maps)
    if (entry.address == address) return &entry;
  return nullptr;
}

/// Returns the elements of which the innermost extent is a multiple.
u64 extent_step(const TensorMapData& data) { return data.padded() ? 128 : data.elements; }

/// Returns what is wrong with `value` for the field; empty when nothing is.
std::string wrong_with(const TensorMapData& data, arch::TensorMapField field, int dimension, u64 value) {
  const bool has_dimension = dimension < data.rank;
  const u64 alignment = data.padded() ? 32 : 16;
  switch (field) {
    case arch::TensorMapField::address:
      if (value == 0 || value % alignment != 0)
        return fmt::format("global address {}; expected a multiple of {} other than 0",
                           value == 0 ? "0" : fmt::format("with the remainder {}", value % alignment), alignment);
      return {};
    case arch::TensorMapField::extent:
      if (!has_dimension) return fmt::format("extent of dimension {} of a map of rank {}", dimension, data.rank);
      if (value < 1) return fmt::format("extent 0 of dimension {}; expected at least 1", dimension);
      if (dimension == 0 && value % extent_step(data) != 0)
        return fmt::format("extent {} of dimension 0; expected a multiple of {}", value, extent_step(data));
      return {};
    case arch::TensorMapField::stride:
      if (!has_dimension) return fmt::format("stride of dimension {} of a map of rank {}", dimension, data.rank);
      if (value % alignment != 0 || value >= u64{1} << 40)
        return fmt::format("stride {} of dimension {}; expected a multiple of {} below 2^40", value, dimension,
                           alignment);
      return {};
  }
  return {};
}

}  // namespace

SeenMap see_tensor_map(Thread& thread, const void* map, arch::Site site) {
  Machine& machine = *thread.machine;
  const u64 address = reinterpret_cast<u64>(map);
  if (is_parameter(thread, address)) {
    if (address % 64 != 0) machine.fail({&thread, site}, "tensor map: not 64-byte aligned", Rule::misaligned);
    const SeenMap seen{map_at(map), false};
    check_magic(thread, seen.data, site);
    return seen;
  }
  memory_of(thread, map, 64, false, site);
  const TensorMapData now = map_at(map);
  CachedMap* entry = cached(*thread.cta, address);
  const TensorMapData* old = entry ? (entry->holds ? &entry->data : nullptr) : machine.map_before(address);
  if (old && !same(*old, now) && machine.fails_spuriously(2)) {
    const SeenMap seen{*old, true};
    if (!entry) thread.cta->maps.push_back({address, true, *old});
    return seen;
  }
  check_magic(thread, now, site);
  if (!entry) entry = &thread.cta->maps.emplace_back();
  *entry = {address, true, now};
  return {now, true};
}

void tensor_map_replace(Thread& thread, u32 copy, arch::TensorMapField field, int dimension, u64 value,
                        arch::Site site) {
  Machine& machine = *thread.machine;
  machine.progress();
  const SharedPlace place = own_shared_place(thread, copy, kMapBytes, kMapBytes, "tensormap.replace", site);
  if (Checker* checker = machine.checker()) checker->tensor_map_replaced(thread, place.offset, site);
  TensorMapData data = map_at(place.data());
  check_magic(thread, data, site);
  if (const std::string wrong = wrong_with(data, field, dimension, value); !wrong.empty())
    machine.fail({&thread, site}, "tensormap.replace: " + wrong);
  switch (field) {
    case arch::TensorMapField::address: data.base = value; break;
    case arch::TensorMapField::extent: data.extent[dimension] = dimension == 0 ? value / data.elements : value; break;
    case arch::TensorMapField::stride: data.stride[dimension - 1] = value; break;
  }
  std::memcpy(place.data(), &data, sizeof data);
}

void tensor_map_release(Thread& thread, void* map, u32 copy, arch::Site site) {
  Machine& machine = *thread.machine;
  const SharedPlace place = own_shared_place(thread, copy, kMapBytes, kMapBytes, "tensormap.cp_fenceproxy", site);
  const runtime::MemoryRange& memory = memory_of(thread, map, kMapBytes, true, site);
  if (!memory.writable)
    machine.fail({&thread, site}, fmt::format("tensor map: written to read-only operand {}", memory.name),
                 Rule::out_of_bounds, {.global = true});
  const u64 address = reinterpret_cast<u64>(map);
  // Checked before the lanes synchronise: .sync converges them, but does not order memory that another lane wrote.
  if (Checker* checker = machine.checker()) checker->tensor_map_released(thread, place.offset, address, site);
  const u32 half = meet(thread, kReleaseKind, static_cast<u32>(address) ^ copy, site, [&](u32 lanes) {
    for (const u32 value : thread.warp->values[lanes])
      if (value != (static_cast<u32>(address) ^ copy))
        machine.fail({&thread, site}, "tensormap.cp_fenceproxy: lanes of the warp name different maps",
                     Rule::divergent_call);
    const TensorMapData data = map_at(place.data());
    check_magic(thread, data, site);
    machine.keep_map_before(address, map_at(map));
    std::memcpy(map, place.data(), kMapBytes);
  });
  static_cast<void>(half);
}

void tensor_map_acquire(Thread& thread, const void* map, arch::Site site) {
  memory_of(thread, map, 64, false, site);
  thread.machine->progress();
  const u64 address = reinterpret_cast<u64>(map);
  CachedMap* entry = cached(*thread.cta, address);
  if (!entry) entry = &thread.cta->maps.emplace_back();
  *entry = {address, false, {}};
  if (Checker* checker = thread.machine->checker()) checker->tensor_map_acquired(thread, address, site);
}

}  // namespace ww::emu
