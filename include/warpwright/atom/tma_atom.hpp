// SPDX-License-Identifier: Apache-2.0
// TMA copies as atoms: coordinates of the global tensor in, a shared tile out.
//   partition: of a tile that kSharers CTAs need, this CTA loads rows [slice R / kSharers, ...) and multicasts them
//   atom.with(barrier, mask) binds what changes from stage to stage; copy(atom, gX, sX) issues it from one thread
// The global side is a coordinate tensor: only where a box starts matters, the tensor map knows the rest.
#pragma once

#include "warpwright/arch/tma.hpp"
#include "warpwright/core/tensor.hpp"

namespace ww::atom {

/// A load bound to a barrier; mask 0 means this CTA only.
struct BoundTmaLoad {
  const arch::TensorMap& map;
  arch::MBarrier full;
  u16 mask;
  arch::CachePolicy policy;
};

struct TmaLoadAtom {
  const arch::TensorMap& map;
  arch::CachePolicy policy = arch::CachePolicy::evict_normal;
  WW_DEVICE BoundTmaLoad with(arch::MBarrier full, u16 mask = 0) const { return {map, full, mask, policy}; }
};

/// Rows of slice `slice` of kSharers: (R, K, rest) -> (R / kSharers, K, rest). Works on both sides of a copy.
template <int kSharers, class T> WW_DEVICE auto tma_partition(const T& tile, int slice) {
  constexpr int kRows = decltype(size<0>(tile))::value;
  static_assert(kRows % kSharers == 0, "tma_partition: expected rows that the sharing CTAs can split evenly");
  auto cut = flat_divide(tile, make_tile(Int<kRows / kSharers>{}));  // (R / kSharers, kSharers, K, rest)
  return cut(make_coord(_, slice, _, _));                            // (R / kSharers, K, rest)
}

/// Loads the box that starts at gX's first coordinate, (row, column) or (row, column, batch), into sX. MN-major: rows
/// are
/// what is contiguous in memory.
template <Major kMajor = Major::k, class G, class S>
WW_DEVICE void copy(const BoundTmaLoad& atom, const G& gX, const S& sX) {
  constexpr int kInner = kMajor == Major::k ? 1 : 0;
  const auto at = *gX.origin();
  const int row = get<1 - kInner>(at), column = get<kInner>(at);
  const arch::SharedAddress to = sX.origin().address;
  if constexpr (rank_v<decltype(at)> == 3) {
    const int batch = get<2>(at);
    if (atom.mask == 0) arch::tma::load_3d(atom.map, atom.full, to, column, row, batch, atom.policy);
    else arch::tma::load_multicast_3d(atom.map, atom.full, to, atom.mask, column, row, batch, atom.policy);
  } else {
    if (atom.mask == 0) arch::tma::load_2d(atom.map, atom.full, to, column, row, atom.policy);
    else arch::tma::load_multicast_2d(atom.map, atom.full, to, atom.mask, column, row, atom.policy);
  }
}

struct TmaStoreAtom {
  const arch::TensorMap& map;
};

/// Stores sX to the box that starts at gX's first coordinate, (row, column) or (row, column, batch).
template <class S, class G> WW_DEVICE void copy(const TmaStoreAtom& atom, const S& sX, const G& gX) {
  const auto at = *gX.origin();
  const arch::SharedAddress from = sX.origin().address;
  if constexpr (rank_v<decltype(at)> == 3) arch::tma::store_3d(atom.map, from, get<1>(at), get<0>(at), get<2>(at));
  else arch::tma::store_2d(atom.map, from, get<1>(at), get<0>(at));
}

}  // namespace ww::atom
