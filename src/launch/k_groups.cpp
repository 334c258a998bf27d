// SPDX-License-Identifier: Apache-2.0
// Pointers, arguments and spans of the arrays that describe groups of K.
#include "launch/k_groups.hpp"

#include "launch/operand_maps.hpp"

namespace ww::adapters {

Result<void> check_groups(const KGroups& groups, const KGroupPointers& pointers) {
  // Of no rows there are no row ids, and frameworks give an array without elements as null.
  if (pointers.sizes != nullptr || groups.encoding != GroupEncoding::row_ids || groups.rows > 0)
    WW_CHECK(check_pointer("sizes", pointers.sizes, alignof(std::int32_t)));
  if (groups.encoding == GroupEncoding::starts_counts)
    WW_CHECK(check_pointer("sizes2", pointers.sizes2, alignof(std::int32_t)));
  if (pointers.status != nullptr) WW_CHECK(check_pointer("status", pointers.status, alignof(std::uint32_t)));
  return {};
}

config::GroupSizes group_sizes(const KGroups& groups, const KGroupPointers& pointers) {
  config::GroupSizes sizes{};
  sizes.encoding = groups.encoding;
  sizes.groups = static_cast<i32>(groups.groups);
  sizes.rows = static_cast<i32>(groups.rows);
  sizes.alignment = static_cast<i32>(groups.alignment);
  sizes.granularity = static_cast<i32>(groups.granularity);
  sizes.sizes = pointers.sizes;
  sizes.sizes2 = pointers.sizes2;
  sizes.status = pointers.status;
  return sizes;
}

std::array<runtime::MemoryRange, 3> memory_of(const KGroups& groups, const KGroupPointers& pointers) {
  const std::int64_t count = groups.encoding == GroupEncoding::row_ids  ? groups.rows
                             : groups.encoding == GroupEncoding::indptr ? groups.groups + 1
                                                                        : groups.groups;
  const bool two = groups.encoding == GroupEncoding::starts_counts;
  return {{{"sizes", pointers.sizes, static_cast<std::uint64_t>(count) * 4, false},
           {"sizes2", pointers.sizes2, two ? static_cast<std::uint64_t>(groups.groups) * 4 : 0, false},
           {"status", pointers.status, pointers.status != nullptr ? std::uint64_t{4} : 0, true}}};
}

}  // namespace ww::adapters
