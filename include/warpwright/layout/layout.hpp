// SPDX-License-Identifier: Apache-2.0
// Layout<Shape, Stride>: a function from coordinates to offsets, written (4,(2,2)):(2,(1,8)).
//   layout(i, (j, k)) = 2 i + 1 j + 8 k          layout(n) first unfolds n, the leftmost mode fastest
// Shape and stride are congruent nested tuples; each leaf is static (Int<8>) or a run-time integer.
// Extents are positive and strides not negative. Operations on layouts are in algebra.hpp and divide.hpp.
#pragma once

#include "warpwright/core/underscore.hpp"
#include "warpwright/layout/tuple.hpp"

namespace ww {

template <> inline constexpr bool is_leaf_v<Underscore> = true;

/// Whether `Underscore` occurs anywhere in a coordinate.
template <class T> inline constexpr bool has_underscore_v = is_same_v<T, Underscore>;
template <class... T> inline constexpr bool has_underscore_v<Tuple<T...>> = (has_underscore_v<T> || ...);

template <class... T> WW_HOST_DEVICE constexpr Tuple<T...> make_shape(const T&... t) {
  if constexpr (__is_empty(Tuple<T...>)) return {};
  else return {t...};
}
template <class... T> WW_HOST_DEVICE constexpr Tuple<T...> make_stride(const T&... t) {
  if constexpr (__is_empty(Tuple<T...>)) return {};
  else return {t...};
}
template <class... T> WW_HOST_DEVICE constexpr Tuple<T...> make_coord(const T&... t) {
  if constexpr (__is_empty(Tuple<T...>)) return {};
  else return {t...};
}
template <class... T> WW_HOST_DEVICE constexpr Tuple<T...> make_tile(const T&... t) {
  if constexpr (__is_empty(Tuple<T...>)) return {};
  else return {t...};
}
template <class... T> using Shape = Tuple<T...>;
template <class... T> using Stride = Tuple<T...>;
template <class... T> using Coord = Tuple<T...>;
template <class... T> using Tile = Tuple<T...>;
template <class... T> using Step = Tuple<T...>;

// --- nested integers ------------------------------------------------------------------------------
template <class T> inline constexpr bool is_shape_v = Integer<T>;
template <class... T> inline constexpr bool is_shape_v<Tuple<T...>> = (is_shape_v<T> && ...);
template <class T> concept IntTuple = is_shape_v<T>;

/// Whether every leaf is a static integer.
template <class T> inline constexpr bool is_static_v = is_static_int_v<T>;
template <class... T> inline constexpr bool is_static_v<Tuple<T...>> = (is_static_v<T> && ...);

/// Whether two nested tuples have the same profile, with leaves in the same positions.
template <class T, class U> inline constexpr bool is_congruent_v = is_leaf_v<T>&& is_leaf_v<U>;
template <> inline constexpr bool is_congruent_v<Tuple<>, Tuple<>> = true;
template <class T, class... TS, class U, class... US>
inline constexpr bool is_congruent_v<Tuple<T, TS...>, Tuple<U, US...>> =
    is_congruent_v<T, U>&& is_congruent_v<Tuple<TS...>, Tuple<US...>>;

template <IntTuple S> WW_HOST_DEVICE constexpr auto size(const S& shape);
template <class S, int... I> WW_HOST_DEVICE constexpr auto product_of(const S& shape, index_sequence<I...>) {
  WW_RETURN((_1{} * ... * size(get<I>(shape))));
}
/// Returns the product of all extents.
template <IntTuple S> WW_HOST_DEVICE constexpr auto size(const S& shape) {
  if constexpr (is_tuple_v<S>) return product_of(shape, make_index_sequence<rank_v<S>>{});
  else return shape;
}
template <int I, int... J, IntTuple S> WW_HOST_DEVICE constexpr auto size(const S& shape) {
  return size(get<I, J...>(shape));
}

// --- coordinate -> offset --------------------------------------------------------------------------
template <class C, class S, class D>
WW_HOST_DEVICE constexpr auto crd2idx(const C& coord, const S& shape, const D& stride);

// Unfolds an integer coordinate on a nested shape, mode by mode from the left. The last mode is not wrapped.
template <int I, class C, class S, class D>
WW_HOST_DEVICE constexpr auto unfold_offset(const C& index, const S& shape, const D& stride) {
  if constexpr (I + 1 == rank_v<S>) {
    return crd2idx(index, get<I>(shape), get<I>(stride));
  } else {
    auto extent = size(get<I>(shape));
    return crd2idx(index % extent, get<I>(shape), get<I>(stride)) + unfold_offset<I + 1>(index / extent, shape, stride);
  }
}
template <class C, class S, class D, int... I>
WW_HOST_DEVICE constexpr auto sum_offsets(const C& coord, const S& shape, const D& stride, index_sequence<I...>) {
  WW_RETURN((_0{} + ... + crd2idx(get<I>(coord), get<I>(shape), get<I>(stride))));
}

/// Returns the offset of `coord`, which is an integer, or a tuple of the shape's rank whose members are coordinates in
/// turn. An Underscore contributes nothing.
template <class C, class S, class D>
WW_HOST_DEVICE constexpr auto crd2idx(const C& coord, const S& shape, const D& stride) {
  if constexpr (is_same_v<C, Underscore> || is_same_v<S, Tuple<>>) {
    return _0{};
  } else if constexpr (is_tuple_v<C>) {
    static_assert(rank_v<C> == rank_v<S>, "the coordinate and the shape differ in rank");
    return sum_offsets(coord, shape, stride, make_index_sequence<rank_v<C>>{});
  } else if constexpr (is_tuple_v<S>) {
    return unfold_offset<0>(coord, shape, stride);
  } else {
    return coord * stride;
  }
}

// --- shape -> compact strides ----------------------------------------------------------------------
template <class S, class Current> WW_HOST_DEVICE constexpr auto compact_left(const S& shape, const Current& current);
template <int I, class S, class Current>
WW_HOST_DEVICE constexpr auto compact_left_from(const S& shape, const Current& current) {
  if constexpr (I == rank_v<S>) {
    return make_tuple();
  } else {
    WW_RETURN(concat(make_tuple(compact_left(get<I>(shape), current)),
                     compact_left_from<I + 1>(shape, current * size(get<I>(shape)))));
  }
}
/// Returns the strides of a dense array whose leftmost mode is fastest, starting at `current`; a static extent of 1
/// gets stride 0.
template <class S, class Current> WW_HOST_DEVICE constexpr auto compact_left(const S& shape, const Current& current) {
  if constexpr (is_tuple_v<S>) return compact_left_from<0>(shape, current);
  else if constexpr (is_constant_v<1, S>) return _0{};
  else return current;
}

template <int I, class S, class O, class Limit>
WW_HOST_DEVICE constexpr auto stride_in_order(const S& shape, const O& order, Limit limit) {
  if constexpr (I == rank_v<S>) {
    return _1{};
  } else if constexpr (remove_cvref_t<decltype(get<I>(order))>::value < Limit::value) {
    return size(get<I>(shape)) * stride_in_order<I + 1>(shape, order, limit);
  } else {
    return stride_in_order<I + 1>(shape, order, limit);
  }
}

// --- offset -> coordinate --------------------------------------------------------------------------
template <int I, class N, class S> WW_HOST_DEVICE constexpr auto unfold_coord(const N& index, const S& shape);
template <class N, class S, class D, int... I>
WW_HOST_DEVICE constexpr auto read_off(const N& offset, const S& shape, const D& stride, index_sequence<I...>);
/// Returns the coordinate of the index-th element, leftmost mode fastest: the inverse of an integer coordinate.
template <Integer N, IntTuple S> WW_HOST_DEVICE constexpr auto idx2crd(const N& index, const S& shape) {
  if constexpr (is_same_v<S, Tuple<>>) return make_tuple();
  else if constexpr (is_tuple_v<S>) return unfold_coord<0>(index, shape);
  else return index;
}
template <int I, class N, class S> WW_HOST_DEVICE constexpr auto unfold_coord(const N& index, const S& shape) {
  if constexpr (I + 1 == rank_v<S>) {
    return make_tuple(idx2crd(index, get<I>(shape)));
  } else {
    auto extent = size(get<I>(shape));
    return concat(make_tuple(idx2crd(index % extent, get<I>(shape))), unfold_coord<I + 1>(index / extent, shape));
  }
}
/// Returns the coordinate whose offset is `offset`, each mode by its own stride: (offset / stride) % extent. It is
/// correct for layouts that do not overlap and whose strides divide one another.
template <Integer N, class S, class D>
WW_HOST_DEVICE constexpr auto idx2crd(const N& offset, const S& shape, const D& stride) {
  if constexpr (is_tuple_v<S>) {
    return read_off(offset, shape, stride, make_index_sequence<rank_v<S>>{});
  } else if constexpr (is_constant_v<1, S> || is_constant_v<0, D>) {
    return _0{};
  } else {
    return (offset / stride) % shape;
  }
}

template <class N, class S, class D, int... I>
WW_HOST_DEVICE constexpr auto read_off(const N& offset, const S& shape, const D& stride, index_sequence<I...>) {
  return make_tuple(idx2crd(offset, get<I>(shape), get<I>(stride))...);
}
/// Returns one integer per top-level mode for a nested coordinate.
template <class C, class S, int... I>
WW_HOST_DEVICE constexpr auto flat_coord(const C& coord, const S& shape, index_sequence<I...>) {
  return make_tuple(crd2idx(get<I>(coord), get<I>(shape), compact_left(get<I>(shape), _1{}))...);
}

// --- slicing ---------------------------------------------------------------------------------------
template <class C, class T> WW_HOST_DEVICE constexpr auto slice_members(const C& coord, const T& t);
template <class C, class T, int... I>
WW_HOST_DEVICE constexpr auto slice_indices(const C& coord, const T& t, index_sequence<I...>) {
  WW_RETURN(concat(slice_members(get<I>(coord), get<I>(t))...));
}
/// Returns the members of `t` that correspond to an Underscore of `coord`; each top-level Underscore keeps one level of
/// nesting.
template <class C, class T> WW_HOST_DEVICE constexpr auto slice_members(const C& coord, const T& t) {
  if constexpr (is_same_v<C, Underscore>) {
    return make_tuple(t);
  } else if constexpr (is_tuple_v<C> && has_underscore_v<C>) {
    static_assert(rank_v<C> == rank_v<T>, "the coordinate and the sliced tuple differ in rank");
    return slice_indices(coord, t, make_index_sequence<rank_v<C>>{});
  } else {
    return make_tuple();
  }
}

// --- the class -------------------------------------------------------------------------------------
template <class S, class D>
requires(IntTuple<S>&& is_congruent_v<S, D>) struct Layout : TupleLeaf<0, S>, TupleLeaf<1, D> {
  constexpr Layout() = default;
  WW_HOST_DEVICE constexpr Layout(const S& shape, const D& stride) : TupleLeaf<0, S>(shape), TupleLeaf<1, D>(stride) {}

  WW_HOST_DEVICE constexpr S shape() const {
    if constexpr (__is_empty(S)) return {};
    else return TupleLeaf<0, S>::value;
  }
  WW_HOST_DEVICE constexpr D stride() const {
    if constexpr (__is_empty(D)) return {};
    else return TupleLeaf<1, D>::value;
  }

  /// Returns the offset of a coordinate; if an Underscore occurs in it, the layout of the remaining modes (see
  /// `slice`).
  template <class C> WW_HOST_DEVICE constexpr auto operator()(const C& coord) const {
    if constexpr (has_underscore_v<C>) return slice(coord, *this);
    else return crd2idx(coord, shape(), stride());
  }
  template <class C0, class C1, class... C>
  WW_HOST_DEVICE constexpr auto operator()(const C0& c0, const C1& c1, const C&... c) const {
    return (*this)(make_coord(c0, c1, c...));
  }

  /// Returns the coordinate at an offset, shaped like the layout.
  template <Integer N> WW_HOST_DEVICE constexpr auto get_hier_coord(const N& offset) const {
    return idx2crd(offset, shape(), stride());
  }
  /// Returns the same with one integer per top-level mode, such as a CTA's coordinate (v, m, n, k) in its cluster.
  template <Integer N> WW_HOST_DEVICE constexpr auto get_flat_coord(const N& offset) const {
    if constexpr (is_tuple_v<S>) return flat_coord(get_hier_coord(offset), shape(), make_index_sequence<rank_v<S>>{});
    else return get_hier_coord(offset);
  }
};

template <class T> inline constexpr bool is_layout_v = false;
template <class S, class D> inline constexpr bool is_layout_v<Layout<S, D>> = true;
template <class T> concept LayoutType = is_layout_v<T>;
template <class S, class D> inline constexpr bool is_static_v<Layout<S, D>> = is_static_v<S>&& is_static_v<D>;
template <class S, class D> inline constexpr int rank_v<Layout<S, D>> = rank_v<S>;
template <class S, class D> inline constexpr int depth_v<Layout<S, D>> = depth_v<S>;

// --- making ----------------------------------------------------------------------------------------
template <IntTuple S, class D>
requires(!is_layout_v<D>) WW_HOST_DEVICE constexpr Layout<S, D> make_layout(const S& shape, const D& stride) {
  if constexpr (__is_empty(Layout<S, D>)) return {};
  else return {shape, stride};
}
/// Makes a dense layout, leftmost mode fastest: (4,8) is (4,8):(1,4).
template <IntTuple S> WW_HOST_DEVICE constexpr auto make_layout(const S& shape) {
  WW_RETURN(make_layout(shape, compact_left(shape, _1{})));
}
/// Concatenates layouts: the modes of the result are the arguments.
template <LayoutType L, LayoutType... M> WW_HOST_DEVICE constexpr auto make_layout(const L& first, const M&... more) {
  WW_RETURN(make_layout(make_shape(first.shape(), more.shape()...), make_stride(first.stride(), more.stride()...)));
}
template <class S, class O, int... I>
WW_HOST_DEVICE constexpr auto ordered_strides(const S& shape, const O& order, index_sequence<I...>) {
  WW_RETURN(make_stride(compact_left(get<I>(shape), stride_in_order<0>(shape, order, get<I>(order)))...));
}
/// Makes a dense layout with the modes in the given order: make_ordered_layout((4,8), Step<_1, _0>) is (4,8):(8,1).
template <IntTuple S, TupleLike O> WW_HOST_DEVICE constexpr auto make_ordered_layout(const S& shape, const O& order) {
  static_assert(is_static_v<O> && rank_v<O> == rank_v<S>, "make_ordered_layout: expected one static integer per mode");
  WW_RETURN(make_layout(shape, ordered_strides(shape, order, make_index_sequence<rank_v<S>>{})));
}

// --- asking ----------------------------------------------------------------------------------------
template <LayoutType L> WW_HOST_DEVICE constexpr auto shape(const L& layout) { return layout.shape(); }
template <LayoutType L> WW_HOST_DEVICE constexpr auto stride(const L& layout) { return layout.stride(); }
template <LayoutType L> WW_HOST_DEVICE constexpr auto size(const L& layout) { return size(layout.shape()); }
template <int I, int... J, LayoutType L> WW_HOST_DEVICE constexpr auto size(const L& layout) {
  return size(get<I, J...>(layout.shape()));
}
template <class T> WW_HOST_DEVICE constexpr auto rank(const T&) { return Int<rank_v<T>>{}; }
template <class T> WW_HOST_DEVICE constexpr auto depth(const T&) { return Int<depth_v<T>>{}; }

/// Returns one more than the largest offset.
template <LayoutType L> WW_HOST_DEVICE constexpr auto cosize(const L& layout) {
  WW_RETURN(layout(size(layout) - _1{}) + _1{});
}

// --- modes -----------------------------------------------------------------------------------------
template <int I, LayoutType L> WW_HOST_DEVICE constexpr auto get(const L& layout) {
  WW_RETURN(make_layout(get<I>(layout.shape()), get<I>(layout.stride())));
}
template <int... I, LayoutType L> WW_HOST_DEVICE constexpr auto select(const L& layout) {
  return make_layout(select<I...>(layout.shape()), select<I...>(layout.stride()));
}
template <int kFirst, int kLast, LayoutType L> WW_HOST_DEVICE constexpr auto take(const L& layout) {
  return make_layout(take<kFirst, kLast>(layout.shape()), take<kFirst, kLast>(layout.stride()));
}
/// Makes modes kFirst to kLast - 1 one mode: (a,b,c) -> ((a,b),c).
template <int kFirst, int kLast, LayoutType L> WW_HOST_DEVICE constexpr auto group_modes(const L& layout) {
  return make_layout(group<kFirst, kLast>(layout.shape()), group<kFirst, kLast>(layout.stride()));
}
template <LayoutType L> WW_HOST_DEVICE constexpr auto flatten(const L& layout) {
  WW_RETURN(make_layout(flatten(layout.shape()), flatten(layout.stride())));
}
/// Appends modes of extent 1 and stride 0 until the rank is N.
template <int N, LayoutType L> WW_HOST_DEVICE constexpr auto append(const L& layout) {
  if constexpr (rank_v<L> == N) return layout;
  else return make_layout(append<N>(layout.shape(), _1{}), append<N>(layout.stride(), _0{}));
}
/// Returns what remains of `layout` when the coordinates that are not Underscore are fixed; layout(coord) is its
/// offset.
template <class C, LayoutType L> WW_HOST_DEVICE constexpr auto slice(const C& coord, const L& layout) {
  WW_RETURN(make_layout(slice_members(coord, layout.shape()), slice_members(coord, layout.stride())));
}

template <LayoutType A, LayoutType B> WW_HOST_DEVICE constexpr bool operator==(const A& a, const B& b) {
  return a.shape() == b.shape() && a.stride() == b.stride();
}

}  // namespace ww
