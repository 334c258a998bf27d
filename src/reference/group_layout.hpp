// SPDX-License-Identifier: Apache-2.0
// Groups of rows on the host: the number of rows of each, the int32 arrays that encode them in one of the five
// encodings, and the meaning of those arrays row by row. The last shares no code with scheduler/group_table.hpp, which
// it checks.
//   rows 3,0,2 with a gap of 1:   starts-counts {0, 4, 5} {3, 0, 2}      row-ids {0, 0, 0, -1, -1, 2, 2}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "warpwright/config/group_encoding.hpp"
#include "warpwright/host/result.hpp"

namespace ww::ref {

inline constexpr std::int64_t kMostGroups = 4096;
inline constexpr std::int64_t kMostRows = INT32_MAX;  // the largest number that the arrays can hold

enum class Distribution { uniform, zipf, onehot, half_empty };

/// Distributes `total` rows over `groups` groups. zipf: group g in proportion to 1 / (g + 1); onehot: all in the middle
/// group; half_empty: none in every second group.
std::vector<std::int64_t> distribute(Distribution distribution, std::int64_t groups, std::int64_t total);

/// The device's view of the groups.
struct GroupLayout {
  GroupEncoding encoding = GroupEncoding::offsets;
  std::int64_t groups = 0;
  std::int64_t rows = 0;  // M; masked: of one group
  std::int64_t alignment = 1;
  std::vector<std::int32_t> sizes = {}, sizes2 = {};

  std::int64_t total_rows() const { return encoding == GroupEncoding::masked ? groups * rows : rows; }
};

/// Positions of rows beyond the counts.
struct GroupSpacing {
  std::int64_t alignment = 1;        // a group starts at a multiple of this: offsets, starts-counts, row-ids
  std::int64_t gap = 0;              // rows between groups: starts-counts, row-ids
  std::optional<std::int64_t> rows;  // M, or Mmax; default what the groups need
};

/// Encodes the groups. Errors name the flag of `grouped` that cannot be met.
Result<GroupLayout> make_layout(GroupEncoding encoding, const std::vector<std::int64_t>& counts,
                                const GroupSpacing& spacing);

struct GroupRows {
  std::int64_t first = 0, count = 0;
};

/// The rows of each group after cutting, and the GroupStatus bits for what was cut.
struct GroupMeaning {
  std::vector<GroupRows> groups;
  std::uint32_t status = 0;

  std::int64_t rows() const;  // in all groups
};
GroupMeaning meaning_of(const GroupLayout& layout);

/// Whether the arrays describe groups that lie in the rows there are, one behind the other; with `block`, groups that
/// begin and end at multiples of it. Errors name `argument` and the first group at fault: invalid, or unsupported where
/// only the block is missed. `counts` is named instead where a count of starts and counts is at fault. A kernel cuts
/// such groups and says so in the status word; whoever has the arrays on the host refuses them before anything runs.
Result<void> check_sizes(const GroupLayout& layout, const std::string& argument, std::int64_t block,
                         const std::string& counts);

/// Returns "none", or names such as "overrun, overlap".
std::string status_text(std::uint32_t status);

}  // namespace ww::ref
