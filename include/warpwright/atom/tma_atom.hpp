// SPDX-License-Identifier: Apache-2.0
// TMA copies as atoms, from coordinates of the global tensor to a shared tile.
// - tma_partition: of a tile that kSharers CTAs need, this CTA loads rows [slice R / kSharers, ...) and multicasts
//   them.
// - atom.with<kMulticast>(barrier, mask) binds what changes from stage to stage; copy(atom, gX, sX) issues it from one
//   thread.
// - copy_tile(atom, gX, sX) lays such copies over a tile that one box does not cover.
// The global side is coordinates alone: only the start of a box matters, because the tensor map holds the rest.
#pragma once

#include "warpwright/arch/common/tma.hpp"
#include "warpwright/atom/tiles.hpp"

namespace ww::atom {

/// A load bound to a barrier: to the CTAs of `mask` with kMulticast, otherwise to this CTA only.
// Multicast is part of the type to work around a ptxas 13.0 miscompilation: with a branch on the mask, some kernels
// (M-major A in two boxes, B shared by peers, two stages) set a coordinate of a load under the wrong predicate and
// loaded B from elsewhere.
template <bool kMulticast> struct BoundTmaLoad {
  const arch::TensorMap& map;
  arch::MBarrier full;
  u16 mask;
  arch::CachePolicy policy;
};

struct TmaLoadAtom {
  const arch::TensorMap& map;
  arch::CachePolicy policy = arch::CachePolicy::evict_normal;
  template <bool kMulticast = false> WW_DEVICE BoundTmaLoad<kMulticast> with(arch::MBarrier full, u16 mask = 0) const {
    return {map, full, mask, policy};
  }
};

/// Loads the box that starts at gX into sX. For MN-major operands, rows are contiguous in memory.
template <bool kMulticast, bool kBatched, Major kMajor>
WW_DEVICE void copy(const BoundTmaLoad<kMulticast>& atom, const Box<kBatched>& gX, const SharedTile<kMajor>& sX) {
  const int x = kMajor == Major::k ? gX.column : gX.row, y = kMajor == Major::k ? gX.row : gX.column;
  if constexpr (kBatched && kMulticast)
    arch::tma::load_multicast_3d(atom.map, atom.full, sX.address, atom.mask, x, y, gX.batch, atom.policy);
  else if constexpr (kBatched) arch::tma::load_3d(atom.map, atom.full, sX.address, x, y, gX.batch, atom.policy);
  else if constexpr (kMulticast)
    arch::tma::load_multicast_2d(atom.map, atom.full, sX.address, atom.mask, x, y, atom.policy);
  else arch::tma::load_2d(atom.map, atom.full, sX.address, x, y, atom.policy);
}

/// Loads the tile of kRows rows that starts at gX into sX: one box if K-major, a box for each 128 bytes of rows if
/// MN-major.
template <DType kType, int kRows, class Load, bool kBatched, Major kMajor>
WW_DEVICE void copy_tile(const Load& atom, const Box<kBatched>& gX, const SharedTile<kMajor>& sX) {
  if constexpr (kMajor == Major::k) {
    copy(atom, gX, sX);
  } else {
    WW_UNROLL
    for (int row = 0; row < kRows; row += kSwizzleSpan / bytes_of(kType))
      copy(atom, gX.rows_from(row), sX.rows_from(row));
  }
}

struct TmaStoreAtom {
  const arch::TensorMap& map;
};

/// Stores sX to the box that starts at gX. For MN-major operands, rows are contiguous in memory.
template <bool kBatched, Major kMajor>
WW_DEVICE void copy(const TmaStoreAtom& atom, const SharedTile<kMajor>& sX, const Box<kBatched>& gX) {
  const int x = kMajor == Major::k ? gX.column : gX.row, y = kMajor == Major::k ? gX.row : gX.column;
  if constexpr (kBatched) arch::tma::store_3d(atom.map, sX.address, x, y, gX.batch);
  else arch::tma::store_2d(atom.map, sX.address, x, y);
}

}  // namespace ww::atom
