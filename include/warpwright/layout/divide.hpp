// SPDX-License-Identifier: Apache-2.0
// Divides a layout into tiles, and repeats a layout as a tile, by composition and complement:
//   logical_divide (a, t) = a after (t, complement(t, size(a)))        -> (tile, rest)
//   logical_product(a, t) = (a, complement(a, size(a) cosize(t)) after t)  -> (tile, rest)
// A tiler is an integer n (meaning n:1), a layout, or a tuple of tilers, one for each leading mode. The zipped, tiled
// and flat forms hold the same modes, grouped as ((tiles),(rests)), ((tiles),rest...) and (tile...,rest...).
#pragma once

#include "warpwright/layout/algebra.hpp"

namespace ww {

template <class T> inline constexpr bool is_tiler_v = Integer<T> || LayoutType<T>;
template <class... T> inline constexpr bool is_tiler_v<Tuple<T...>> = (is_tiler_v<T> && ...);
template <class T> concept Tiler = is_tiler_v<T>;

template <Tiler T>
requires(!TupleLike<T>) WW_HOST_DEVICE constexpr auto tiler_layout(const T& tiler) {
  if constexpr (LayoutType<T>) return tiler;
  else return make_layout(tiler, _1{});
}

// --- modes of modes --------------------------------------------------------------------------------
template <class L, int... I, int... J>
WW_HOST_DEVICE constexpr auto zip_modes(const L& pairs, index_sequence<I...>, index_sequence<J...>) {
  constexpr int kPairs = sizeof...(I);
  WW_RETURN(make_layout(make_layout(get<0>(get<I>(pairs))...),
                        make_layout(get<1>(get<I>(pairs))..., get<kPairs + J>(pairs)...)));
}
/// Maps ((t0,r0),(t1,r1),x) to ((t0,t1),(r0,r1,x)) for the first kPairs modes.
template <int kPairs, LayoutType L> WW_HOST_DEVICE constexpr auto zip_modes(const L& pairs) {
  return zip_modes(pairs, make_index_sequence<kPairs>{}, make_index_sequence<rank_v<L> - kPairs>{});
}
template <class A, class B, int... I>
WW_HOST_DEVICE constexpr auto pair_modes(const A& a, const B& b, index_sequence<I...>) {
  return make_layout(make_layout(get<I>(a), get<I>(b))...);
}
template <bool kBoth, class T> WW_HOST_DEVICE constexpr auto open_modes(const T& t) {
  if constexpr (kBoth) return concat(get<0>(t), get<1>(t));
  else return concat(make_tuple(get<0>(t)), get<1>(t));
}
/// Replaces mode 1 by its own modes, and with kBoth mode 0 likewise.
template <bool kBoth, LayoutType L> WW_HOST_DEVICE constexpr auto unpack_rest(const L& zipped) {
  WW_RETURN(make_layout(open_modes<kBoth>(zipped.shape()), open_modes<kBoth>(zipped.stride())));
}

// --- divide ----------------------------------------------------------------------------------------
template <LayoutType L, Tiler T> WW_HOST_DEVICE constexpr auto logical_divide(const L& layout, const T& tiler);

template <class L, class T, int... I, int... J>
WW_HOST_DEVICE constexpr auto divide_modes(const L& layout, const T& tiler, index_sequence<I...>,
                                           index_sequence<J...>) {
  static_assert(sizeof...(I) <= rank_v<L>, "the tiler has more modes than the layout");
  WW_RETURN(make_layout(logical_divide(get<I>(layout), get<I>(tiler))..., get<int(sizeof...(I)) + J>(layout)...));
}
template <LayoutType L, Tiler T> WW_HOST_DEVICE constexpr auto logical_divide(const L& layout, const T& tiler) {
  if constexpr (is_tuple_v<T>) {
    return divide_modes(layout, tiler, make_index_sequence<rank_v<T>>{}, make_index_sequence<rank_v<L> - rank_v<T>>{});
  } else if constexpr (StaticInteger<T> && RuntimeInteger<decltype(layout.shape())>) {
    // The mode of every global tensor takes this shortcut, which has the same result as composition and complement.
    return make_layout(make_shape(tiler, ceil_div(layout.shape(), tiler)),
                       make_stride(layout.stride(), tiler * layout.stride()));
  } else {
    auto tile = tiler_layout(tiler);
    WW_RETURN(composition(layout, make_layout(tile, complement(tile, size(layout)))));
  }
}
/// Returns ((tile...),(rest...)): one coordinate inside a tile, one that names the tile.
template <LayoutType L, Tiler T> WW_HOST_DEVICE constexpr auto zipped_divide(const L& layout, const T& tiler) {
  if constexpr (is_tuple_v<T>) return zip_modes<rank_v<T>>(logical_divide(layout, tiler));
  else return logical_divide(layout, tiler);
}
template <LayoutType L, Tiler T> WW_HOST_DEVICE constexpr auto tiled_divide(const L& layout, const T& tiler) {
  WW_RETURN(unpack_rest<false>(zipped_divide(layout, tiler)));
}
template <LayoutType L, Tiler T> WW_HOST_DEVICE constexpr auto flat_divide(const L& layout, const T& tiler) {
  WW_RETURN(unpack_rest<true>(zipped_divide(layout, tiler)));
}

// --- product ---------------------------------------------------------------------------------------
template <LayoutType L, Tiler T> WW_HOST_DEVICE constexpr auto logical_product(const L& block, const T& tiler);

template <class L, class T, int... I, int... J>
WW_HOST_DEVICE constexpr auto product_modes(const L& block, const T& tiler, index_sequence<I...>,
                                            index_sequence<J...>) {
  static_assert(sizeof...(I) <= rank_v<L>, "the tiler has more modes than the layout");
  return make_layout(logical_product(get<I>(block), get<I>(tiler))..., get<int(sizeof...(I)) + J>(block)...);
}
template <LayoutType L, Tiler T> WW_HOST_DEVICE constexpr auto logical_product(const L& block, const T& tiler) {
  if constexpr (is_tuple_v<T>) {
    return product_modes(block, tiler, make_index_sequence<rank_v<T>>{}, make_index_sequence<rank_v<L> - rank_v<T>>{});
  } else {
    auto tile = tiler_layout(tiler);
    return make_layout(block, composition(complement(block, size(block) * cosize(tile)), tile));
  }
}
template <LayoutType L, Tiler T> WW_HOST_DEVICE constexpr auto zipped_product(const L& block, const T& tiler) {
  if constexpr (is_tuple_v<T>) return zip_modes<rank_v<T>>(logical_product(block, tiler));
  else return logical_product(block, tiler);
}
template <LayoutType L, Tiler T> WW_HOST_DEVICE constexpr auto tiled_product(const L& block, const T& tiler) {
  return unpack_rest<false>(zipped_product(block, tiler));
}

template <bool kBlockFirst, class L, class M>
WW_HOST_DEVICE constexpr auto paired_product(const L& block, const M& tiler) {
  constexpr int kRank = rank_v < L >> rank_v<M> ? rank_v<L> : rank_v<M>;
  auto product = logical_product(append<kRank>(block), append<kRank>(tiler));
  if constexpr (kBlockFirst) return pair_modes(get<0>(product), get<1>(product), make_index_sequence<kRank>{});
  else return pair_modes(get<1>(product), get<0>(product), make_index_sequence<kRank>{});
}
/// Lays the block out over the tiler, block by block: mode i is (block i, tiler i).
template <LayoutType L, LayoutType M> WW_HOST_DEVICE constexpr auto blocked_product(const L& block, const M& tiler) {
  return paired_product<true>(block, tiler);
}
/// Does the same with the copies interleaved: mode i is (tiler i, block i).
template <LayoutType L, LayoutType M> WW_HOST_DEVICE constexpr auto raked_product(const L& block, const M& tiler) {
  return paired_product<false>(block, tiler);
}

struct CopiesToFill {
  template <class A, class S> WW_HOST_DEVICE constexpr auto operator()(const A& atom_extent, const S& extent) const {
    return ceil_div(extent, size(atom_extent));
  }
};
/// Repeats `atom` until it fills `shape`: dense copies, in the given order of modes (default: leftmost first).
template <LayoutType L, IntTuple S, TupleLike O>
WW_HOST_DEVICE constexpr auto tile_to_shape(const L& atom, const S& shape, const O& order) {
  auto block = append<rank_v<S>>(atom);
  auto counts = transform(block.shape(), shape, CopiesToFill{});
  return coalesce_modes(blocked_product(block, make_ordered_layout(counts, order)));
}
template <class L, class S, int... I>
WW_HOST_DEVICE constexpr auto tile_to_shape(const L& atom, const S& shape, index_sequence<I...>) {
  return tile_to_shape(atom, shape, Step<Int<I>...>{});
}
template <LayoutType L, IntTuple S> WW_HOST_DEVICE constexpr auto tile_to_shape(const L& atom, const S& shape) {
  return tile_to_shape(atom, shape, make_index_sequence<rank_v<S>>{});
}

}  // namespace ww
