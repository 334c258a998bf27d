// SPDX-License-Identifier: Apache-2.0
// TMA loads of a pair of CTAs as atoms: each CTA loads a part of its own, and the bytes of both are counted on the
// barrier of one of them. The interface is that of atom/tma_atom.hpp.
#pragma once

#include "warpwright/arch/sm100/tma_pair.hpp"
#include "warpwright/atom/tma_atom.hpp"

namespace ww::atom {

/// A load bound to a barrier of either CTA of the pair: to the CTAs of `mask` with kMulticast.
template <bool kMulticast> struct BoundTmaPairLoad {
  const arch::TensorMap& map;
  arch::MBarrier full;
  u16 mask;
  arch::CachePolicy policy;
};

struct TmaPairLoadAtom {
  const arch::TensorMap& map;
  arch::CachePolicy policy = arch::CachePolicy::evict_normal;
  template <bool kMulticast = false>
  WW_DEVICE BoundTmaPairLoad<kMulticast> with(arch::MBarrier full, u16 mask = 0) const {
    return {map, full, mask, policy};
  }
};

/// Loads the box that starts at gX into sX.
template <bool kMulticast, bool kBatched, Major kMajor>
WW_DEVICE void copy(const BoundTmaPairLoad<kMulticast>& atom, const Box<kBatched>& gX, const SharedTile<kMajor>& sX) {
  const int x = kMajor == Major::k ? gX.column : gX.row, y = kMajor == Major::k ? gX.row : gX.column;
  if constexpr (kBatched && kMulticast)
    arch::tma::load_pair_multicast_3d(atom.map, atom.full, sX.address, atom.mask, x, y, gX.batch, atom.policy);
  else if constexpr (kBatched) arch::tma::load_pair_3d(atom.map, atom.full, sX.address, x, y, gX.batch, atom.policy);
  else if constexpr (kMulticast)
    arch::tma::load_pair_multicast_2d(atom.map, atom.full, sX.address, atom.mask, x, y, atom.policy);
  else arch::tma::load_pair_2d(atom.map, atom.full, sX.address, x, y, atom.policy);
}

}  // namespace ww::atom
