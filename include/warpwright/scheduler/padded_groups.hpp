// SPDX-License-Identifier: Apache-2.0
// Groups of rows, each padded to a multiple of whole blocks of 128 rows, without gaps: which rows a block holds.
//   counts 130, 0, 5, padding 128:   block 0: rows 0..127 of group 0   1: its last two rows   2: group 2
// In shared memory: {start, count} of every group (GroupTable), and the blocks before every group.
#pragma once

#include "warpwright/scheduler/group_table.hpp"
#include "warpwright/scheduler/search.hpp"

namespace ww::scheduler {

template <int kThreads> class PaddedGroups {
 public:
  static constexpr u32 kBlock = 128;

  WW_HOST_DEVICE static constexpr int shared_bytes(int groups) {
    return 8 * groups + 4 * (groups + 1) + static_cast<int>(arch::cta::scan_bytes(kThreads));
  }

  WW_DEVICE PaddedGroups(arch::SharedAddress shared, int groups)
      : table_(shared, groups), before_(shared + 8 * groups), groups_(groups) {}

  /// All threads of the CTA call it; it ends with a barrier. CTA 0 writes the ends of the padded groups to `ends`,
  /// unless it is null. `padding` is a multiple of kBlock.
  WW_DEVICE void build(const GroupSizes& sizes, i32 padding, i32* ends) const {
    const arch::SharedAddress scratch = before_ + 4 * (groups_ + 1);
    table_.build(sizes, scratch);
    const int thread = static_cast<int>(arch::thread_index());
    const int each = ceil_div(groups_, kThreads);  // consecutive groups of one thread
    const int first = min(thread * each, groups_), last = min(first + each, groups_);
    u32 mine = 0;
    for (int g = first; g < last; ++g) mine += blocks_of(table_[g].count, padding);
    const arch::cta::Scan scan = arch::cta::exclusive_sum<kThreads>(mine, thread, scratch);
    u32 before = scan.before;
    for (int g = first; g < last; ++g) {
      arch::shared::store(before_ + 4 * g, before);
      before += blocks_of(table_[g].count, padding);
      if (ends != nullptr && arch::block_index() == 0) arch::global::store(ends + g, kBlock * before);
    }
    if (thread == 0) arch::shared::store(before_ + 4 * groups_, scan.total);
    arch::named_barrier::sync_cta();
  }

  /// Returns the blocks of all groups.
  WW_DEVICE u32 blocks() const { return arch::shared::load(before_ + 4 * groups_); }

  struct Place {
    i32 row, rows;      // the first row of the block, and how many rows of its group follow; none: negative or 0
    u32 first, blocks;  // of its group
  };
  /// Returns what is in block `block` < blocks().
  WW_DEVICE Place find(u32 block) const {
    const u32 group =
        owner_of(block, static_cast<u32>(groups_), [&](u32 g) -> u32 { return arch::shared::load(before_ + 4 * g); });
    const u32 first = arch::shared::load(before_ + 4 * group), end = arch::shared::load(before_ + 4 * (group + 1));
    const GroupRange range = table_[static_cast<int>(group)];
    const i32 skipped = static_cast<i32>(kBlock * (block - first));
    return {range.start + skipped, range.count - skipped, first, end - first};
  }

 private:
  WW_DEVICE static u32 blocks_of(i32 count, i32 padding) {
    const u32 step = static_cast<u32>(padding);
    return (static_cast<u32>(count) + step - 1) / step * (step / kBlock);
  }

  GroupTable<kThreads> table_;
  arch::SharedAddress before_;
  int groups_;
};

}  // namespace ww::scheduler
