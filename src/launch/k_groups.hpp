// SPDX-License-Identifier: Apache-2.0
// Groups of K: their properties in a problem, the arrays of a launch, and the memory that those take.
#pragma once

#include <array>
#include <cstdint>

#include "launch/epilogue_adapter.hpp"
#include "warpwright/config/grouped_arguments.hpp"

namespace ww::adapters {

/// The properties that are known before a launch.
struct KGroups {
  GroupEncoding encoding = GroupEncoding::offsets;
  std::int64_t groups = 0;
  std::int64_t rows = 0;         // of K in memory
  std::int64_t alignment = 1;    // offsets: of the start of a group; masked: rows of one
  std::int64_t granularity = 1;  // groups begin and end at multiples of it
};

/// Device arrays; the status word may be null.
struct KGroupPointers {
  const std::int32_t* sizes = nullptr;
  const std::int32_t* sizes2 = nullptr;
  std::uint32_t* status = nullptr;
};

Result<void> check_groups(const KGroups& groups, const KGroupPointers& pointers);
config::GroupSizes group_sizes(const KGroups& groups, const KGroupPointers& pointers);
/// Returns the memory of sizes, sizes2 and status, without bytes what the encoding or the caller leaves out.
std::array<runtime::MemoryRange, 3> memory_of(const KGroups& groups, const KGroupPointers& pointers);

}  // namespace ww::adapters
