// SPDX-License-Identifier: Apache-2.0
// How a caller describes which rows belong to which group, and what the device reports about an inconsistent
// description.
// Every encoding is reduced on the device to {start, count} per group (scheduler/group_table.hpp).
#pragma once

#include "warpwright/core/numbers.hpp"

namespace ww {

/// Encodings as int32 arrays on the device; G groups, M rows.
enum class GroupEncoding : u8 {
  offsets,  // sizes[G]: end of each group (torch `offs`); the start is the previous end, rounded up to `alignment`
  indptr,   // sizes[G + 1]: group g is rows sizes[g] .. sizes[g + 1]
  starts_counts,  // sizes[G]: first rows, sizes2[G]: counts; gaps allowed, groups in ascending order
  row_ids,  // sizes[M]: the group of every row, -1 for padding; the rows of a group are one run. With `alignment` above
            // 1, the id of the first of so many rows is that of all of them, and the other ids are not read
  masked,   // sizes[G]: rows used of each [Mmax] block of A [G, Mmax, K]
};

WW_HOST_DEVICE constexpr const char* name_of(GroupEncoding e) {
  return e == GroupEncoding::offsets         ? "offsets"
         : e == GroupEncoding::indptr        ? "indptr"
         : e == GroupEncoding::starts_counts ? "starts-counts"
         : e == GroupEncoding::row_ids       ? "row-ids"
                                             : "masked";
}

/// The bits of the device-side status word. A group that breaks a rule is cut to the rows that break none.
struct GroupStatus {
  static constexpr u32 overrun =
      1;  // a group ends after the last row (of A, or of its masked block), or starts below 0
  static constexpr u32 overlap = 2;      // a group starts before the one before it ends (or ends before it starts)
  static constexpr u32 bad_id = 4;       // a row id outside -1 .. G - 1
  static constexpr u32 scattered = 8;    // the rows of a group are several runs: the first run counts
  static constexpr u32 misaligned = 16;  // k-grouped, K-major: a group does not begin and end at a multiple of 128
};

}  // namespace ww
