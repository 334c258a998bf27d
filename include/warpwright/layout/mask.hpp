// SPDX-License-Identifier: Apache-2.0
// The image of a layout as a set of CTAs: bit r of a mask is the CTA of rank r in the cluster, as multicast takes it.
//   cluster (4,4):(1,4), CTA (1,2):  row (1,_) = 0x2222 shares its tile of A,  column (_,2) = 0x0F00 its tile of B
// Clusters have at most 16 CTAs.
#pragma once

#include "warpwright/layout/layout.hpp"

namespace ww {

/// Returns the ranks that `cluster` gives to all coordinates matching `coord`, whose Underscores match anything.
template <LayoutType L, class C> WW_HOST_DEVICE constexpr u16 cta_mask(const L& cluster, const C& coord) {
  auto sharers = slice(coord, cluster);
  const int first = int(crd2idx(coord, cluster.shape(), cluster.stride()));
  u32 mask = 0;
  for (int i = 0; i < int(size(sharers)); ++i) mask |= 1u << (first + int(sharers(i)));
  return static_cast<u16>(mask);
}

template <int I, int... kModes, class C> WW_HOST_DEVICE constexpr auto member_unless_free(const C& coord) {
  if constexpr (((kModes == I) || ...)) return Underscore{};
  else return get<I>(coord);
}
template <int... kModes, class C, int... I>
WW_HOST_DEVICE constexpr auto free_modes(const C& coord, index_sequence<I...>) {
  return make_coord(member_unless_free<I, kModes...>(coord)...);
}
/// Returns the CTAs that differ from `coord` in the given modes only: cta_mask<2>(cluster_vmnk, (v,m,n,k)) shares A's
/// tile.
template <int... kModes, LayoutType L, TupleLike C>
requires(sizeof...(kModes) > 0) WW_HOST_DEVICE constexpr u16 cta_mask(const L& cluster, const C& coord) {
  return cta_mask(cluster, free_modes<kModes...>(coord, make_index_sequence<rank_v<C>>{}));
}

}  // namespace ww
