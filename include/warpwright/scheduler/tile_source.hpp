// SPDX-License-Identifier: Apache-2.0
// The interface between a kernel and the order of its tiles. A kernel takes its tiles from one source and asks neither
// which scheduler nor which grouping that is.
//   Source source(params, shared);             in every thread; it costs nothing
//   Source::initialize(shared)                 one thread, with the other barriers: those of the source's own ring
//   source.begin()                             all threads, while the barriers are initialised: loads that take long
//   source.prepare()                           all threads, once global memory may be read: tables in shared memory
//   if (Source::kServes) source.serve()        warp kServiceWarp of each CTA announces tiles to others of its cluster
//   typename Source::Walk walk(source, reader);
//   for (typename Source::Tile tile; walk.next(tile);)      each role: the same tiles in the same order
// A source that announces tiles acknowledges them in next(): `reader` says whether a warp or one thread takes them, and
// the thread also announces the bytes that it expects. Other sources have no ring and do not communicate.
// A tile carries only what next() knows; the source derives the rest, so that no register is spent on what a role does
// not ask for.
#pragma once

#include "warpwright/arch/common/shared.hpp"
#include "warpwright/arch/common/warp.hpp"
#include "warpwright/config/gemm_arguments.hpp"
#include "warpwright/core/meta.hpp"

namespace ww::scheduler {

/// The warp that calls serve(). A source may let this warp alone make its tables.
inline constexpr u32 kServiceWarp = 3;

/// What a kernel asks a source about one of its tiles.
template <class Tile, class Source> concept WorkTile = requires(const Source& source, const Tile& tile) {
  source.at(tile);  // its position; edge tiles of a cluster may lie wholly outside D
  requires is_same_v<decltype(source.k_blocks_of(tile)), i32>;    // those of this CTA
  requires is_same_v<decltype(source.is_part(tile)), bool>;       // it has fewer products than a whole tile
  requires is_same_v<decltype(source.is_empty(tile)), bool>;      // a sum without products
  requires is_same_v<decltype(source.keeps_output(tile)), bool>;  // D stays as it is
};

/// One role's iteration over the tiles of this CTA.
template <class Walk, class Tile> concept TileWalk = requires(Walk& walk, Tile& tile) {
  requires is_same_v<decltype(walk.next(tile)), bool>;
};

template <class Source>
concept TileSource = WorkTile<typename Source::Tile, Source> &&
    TileWalk<typename Source::Walk, typename Source::Tile> && requires(Source& source, arch::SharedAddress shared) {
  Source::initialize(shared);
  requires is_same_v<decltype(Source::kLoadsEarly), const bool>;  // begin() waits for the launch before, and loads
  source.begin();
  source.prepare();
  requires is_same_v<decltype(Source::kServes), const bool>;
  source.serve();
  requires is_same_v<decltype(Source::kVariesK), const bool>;     // tiles differ in their number of k-blocks
  requires is_same_v<decltype(Source::kMayBeEmpty), const bool>;  // this CTA may have no k-blocks of a tile
  requires is_same_v<decltype(source.has_products()), bool>;      // false: every tile is a sum without products
};

/// The answers of a source that has no tables and announces nothing, and whose tiles all have the same K.
struct PlainSource {
  static constexpr bool kServes = false, kVariesK = false, kMayBeEmpty = false, kLoadsEarly = false;
  WW_DEVICE static void initialize(arch::SharedAddress) {}
  WW_DEVICE static void begin() {}
  WW_DEVICE static void prepare() {}
  WW_DEVICE static void serve() {}
  template <class Tile> WW_DEVICE static bool is_part(const Tile&) { return false; }
  template <class Tile> WW_DEVICE static bool is_empty(const Tile&) { return false; }
  template <class Tile> WW_DEVICE static bool keeps_output(const Tile&) { return false; }
};

/// The caller of next(): a whole warp, or one thread that stands for its warp. Of several such threads of a CTA, one
/// announces; the others are silent.
enum class Reader { warp, thread, silent_thread };

/// Returns `value`, which is the same in all lanes of a calling warp, as a value that the compiler knows to be uniform.
// Otherwise everything that follows from the tile, such as the stage of the ring and its descriptors, lives in ordinary
// registers and is moved to uniform ones between wgmmas; a mainloop loses 15 to 25 % to that.
WW_DEVICE i32 uniform_for(Reader reader, i32 value) {
  return reader == Reader::warp ? static_cast<i32>(arch::warp::uniform(static_cast<u32>(value))) : value;
}

}  // namespace ww::scheduler
