// SPDX-License-Identifier: Apache-2.0
// Layouts whose offsets are coordinates, which TMA takes in place of an address.
//   stride E<1> is the unit step of coordinate 1, so (M,K):(1@1,1@0) maps (m, k) to the coordinate (k, m)
// A sum of scaled basis vectors is an ArithTuple, added member by member; a CoordIterator is an engine pointing at one.
// Everything that divides and slices layouts works on these unchanged.
#pragma once

#include "warpwright/layout/divide.hpp"

namespace ww {

/// value @ kMode: `value` steps along coordinate kMode.
template <Integer T, int kMode> struct ScaledBasis : TupleLeaf<0, T> {
  constexpr ScaledBasis() = default;
  WW_HOST_DEVICE constexpr explicit ScaledBasis(const T& value) : TupleLeaf<0, T>(value) {}
  static constexpr int mode = kMode;
  WW_HOST_DEVICE constexpr T step() const { return leaf_of<0>(*this); }
};
template <int kMode> using E = ScaledBasis<_1, kMode>;

template <class... T> struct ArithTuple : Tuple<T...> {
  constexpr ArithTuple() = default;
  WW_HOST_DEVICE constexpr ArithTuple(const T&... t) requires(sizeof...(T) > 0) : Tuple<T...>(t...) {}
};
template <class... T> inline constexpr int rank_v<ArithTuple<T...>> = int(sizeof...(T));

template <class T> inline constexpr bool is_basis_v = false;
template <class T, int N> inline constexpr bool is_basis_v<ScaledBasis<T, N>> = true;
template <class T, int N> inline constexpr bool is_leaf_v<ScaledBasis<T, N>> = true;
template <class T> inline constexpr bool is_arith_tuple_v = false;
template <class... T> inline constexpr bool is_arith_tuple_v<ArithTuple<T...>> = true;
/// A summand of a coordinate.
template <class T> concept CoordPart = is_basis_v<T> || is_arith_tuple_v<T>;

// --- arithmetic ------------------------------------------------------------------------------------
template <Integer C, class T, int N>
WW_HOST_DEVICE constexpr auto operator*(const C& count, const ScaledBasis<T, N>& basis) {
  WW_RETURN(ScaledBasis<decltype(count * basis.step()), N>(count * basis.step()));
}
template <Integer C, class T, int N>
WW_HOST_DEVICE constexpr auto operator*(const ScaledBasis<T, N>& basis, const C& count) {
  return count * basis;
}
template <class T, class U, int N>
WW_HOST_DEVICE constexpr bool operator==(const ScaledBasis<T, N>& a, const ScaledBasis<U, N>& b) {
  return a.step() == b.step();
}

template <class... T> WW_HOST_DEVICE constexpr ArithTuple<T...> make_arith_tuple(const T&... t) {
  if constexpr (__is_empty(ArithTuple<T...>)) return {};
  else return ArithTuple<T...>(t...);
}
template <class T> WW_HOST_DEVICE constexpr auto members_of(const T& part) {
  if constexpr (is_basis_v<T>) return concat(repeat<T::mode>(_0{}), make_tuple(part.step()));
  else if constexpr (is_arith_tuple_v<T>) return concat(part);
  else return make_tuple();
}
template <class A, class B, int... I>
WW_HOST_DEVICE constexpr auto sum_members(const A& a, const B& b, index_sequence<I...>) {
  WW_RETURN(make_arith_tuple((get<I>(a) + get<I>(b))...));
}
/// Adds member by member; the shorter tuple is extended with zeros.
template <class A, class B>
requires((CoordPart<A> && (CoordPart<B> || is_constant_v<0, B>)) ||
         (CoordPart<B> && is_constant_v<0, A>)) WW_HOST_DEVICE constexpr auto
operator+(const A& a, const B& b) {
  using TA = decltype(members_of(a));
  using TB = decltype(members_of(b));
  constexpr int kRank = rank_v < TA >> rank_v<TB> ? rank_v<TA> : rank_v<TB>;
  WW_RETURN(sum_members(append<kRank>(members_of(a), _0{}), append<kRank>(members_of(b), _0{}),
                        make_index_sequence<kRank>{}));
}

// --- engine ----------------------------------------------------------------------------------------
/// Points at a coordinate as a pointer points at an element.
template <class C> struct CoordIterator {
  C coord{};
  WW_HOST_DEVICE constexpr C operator*() const { return coord; }
  template <class D> WW_HOST_DEVICE constexpr auto operator+(const D& distance) const {
    auto moved = coord + distance;
    return CoordIterator<decltype(moved)>{moved};
  }
};

template <class S, int... I> WW_HOST_DEVICE constexpr auto identity_strides(const S& shape, index_sequence<I...>) {
  WW_RETURN(make_stride(compact_left(get<I>(shape), E<I>{})...));
}
/// Returns the layout that maps (i, j, ...) to the coordinate (i, j, ...); a nested mode counts in its own coordinate.
template <TupleLike S>
requires IntTuple<S> WW_HOST_DEVICE constexpr auto make_identity_layout(const S& shape) {
  return make_layout(shape, identity_strides(shape, make_index_sequence<rank_v<S>>{}));
}

}  // namespace ww
