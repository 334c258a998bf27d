// SPDX-License-Identifier: Apache-2.0
// The ring by which one thread of a CTA tells the CTA's other roles which tiles it works on.
//   the announcing thread:   announce(tile), ..., announce_end()
//   other roles:             while (take(tile)) ...
// A record is 16 bytes. The tile packs itself into them; the sign of the first word marks the end.
#pragma once

#include "warpwright/arch/common/shared.hpp"
#include "warpwright/config/shared_memory.hpp"
#include "warpwright/pipeline/async_pipeline.hpp"
#include "warpwright/scheduler/tile_source.hpp"

namespace ww::scheduler {

/// kReaders warps read every tile. Tile::pack() returns four words, the first without its sign bit, and
/// Tile::unpack(words) the tile.
template <class Tile, int kReaders> class ItemRing {
  using Pipeline = pipeline::AsyncPipeline<config::kItemStages, kReaders>;
  static constexpr u32 kEnd = 0xffff0000;

 public:
  WW_DEVICE ItemRing(arch::SharedAddress barriers, arch::SharedAddress records, pipeline::Role role)
      : pipeline_(barriers, role), records_(records) {}

  /// Initialises the barriers. One thread of the CTA calls it, before make_barriers_visible.
  WW_DEVICE static void initialize(arch::SharedAddress barriers) { Pipeline::initialize(barriers); }

  /// Announces a tile once every reader has taken the one that used its record. The announcing thread calls it.
  WW_DEVICE void announce(const Tile& tile) { put(tile.pack()); }
  /// Tells the readers that no tile follows. The announcing thread calls it.
  WW_DEVICE void announce_end() { put({{kEnd, 0, 0, 0}}); }

  /// Sets `tile` to the next one; returns false when there is none. All lanes of a reading warp call it, or the one
  /// thread that reads for its warp.
  WW_DEVICE bool take(Tile& tile, Reader reader = Reader::warp) {
    const u32 stage = pipeline_.consumer_wait();
    arch::Words<4> record = arch::shared::load4(records_ + stage * config::kItemBytes);
    if (reader == Reader::warp) pipeline_.consumer_release();
    else pipeline_.consumer_release_alone();
    record.w[0] = static_cast<u32>(uniform_for(reader, static_cast<i32>(record.w[0])));
    if (static_cast<i32>(record.w[0]) < 0) return false;
    tile = Tile::unpack(record);
    return true;
  }

 private:
  WW_DEVICE void put(const arch::Words<4>& record) {
    const u32 stage = pipeline_.producer_acquire();
    arch::shared::store4(records_ + stage * config::kItemBytes, record);
    pipeline_.producer_commit();
  }

  Pipeline pipeline_;
  arch::SharedAddress records_;
};

}  // namespace ww::scheduler
