// SPDX-License-Identifier: Apache-2.0
// Tuple<T...>: a few values of different types, and the few traversals that layouts need.
// Empty members (static integers, tuples of them) take no storage, so a static layout is an empty object.
// A plain value counts as a tuple of one wherever that is unambiguous: rank_v<int> is 1, get<0>(5) is 5.
#pragma once

#include "warpwright/layout/integer.hpp"

namespace ww {

// --- storage --------------------------------------------------------------------------------------
// Base classes instead of [[no_unique_address]], because every compiler that passes these between host and device lays
// them out alike.
template <int I, class T, bool kEmpty = __is_empty(T)> struct TupleLeaf {
  T value{};
  constexpr TupleLeaf() = default;
  WW_HOST_DEVICE constexpr explicit TupleLeaf(const T& v) : value(v) {}
};
template <int I, class T> struct TupleLeaf<I, T, true> {
  constexpr TupleLeaf() = default;
  WW_HOST_DEVICE constexpr explicit TupleLeaf(const T&) {}
};

template <class Indices, class... T> struct TupleBase;
template <int... I, class... T> struct TupleBase<index_sequence<I...>, T...> : TupleLeaf<I, T>... {
  constexpr TupleBase() = default;
  WW_HOST_DEVICE constexpr explicit TupleBase(const T&... t) requires(sizeof...(T) > 0) : TupleLeaf<I, T>(t)... {}
};

template <class... T> struct Tuple : TupleBase<make_index_sequence<int(sizeof...(T))>, T...> {
  using Base = TupleBase<make_index_sequence<int(sizeof...(T))>, T...>;
  constexpr Tuple() = default;
  WW_HOST_DEVICE constexpr Tuple(const T&... t) requires(sizeof...(T) > 0) : Base(t...) {}
};

template <class... T> WW_HOST_DEVICE constexpr Tuple<T...> make_tuple(const T&... t) {
  if constexpr (__is_empty(Tuple<T...>)) return {};
  else return Tuple<T...>(t...);
}

// --- tuple traits ---------------------------------------------------------------------------------
template <class T> inline constexpr bool is_tuple_v = false;
template <class... T> inline constexpr bool is_tuple_v<Tuple<T...>> = true;
template <class T> concept TupleLike = is_tuple_v<T>;

/// The number of top-level members; 1 for a plain value.
template <class T> inline constexpr int rank_v = 1;
template <class... T> inline constexpr int rank_v<Tuple<T...>> = int(sizeof...(T));
template <class T> inline constexpr int rank_v<const T> = rank_v<T>;
template <class T> inline constexpr int rank_v<T&> = rank_v<T>;

/// The levels of nesting; 0 for a plain value.
template <class T> inline constexpr int depth_v = 0;
template <class T> inline constexpr int depth_v<const T> = depth_v<T>;
template <> inline constexpr int depth_v<Tuple<>> = 1;
template <class T> inline constexpr int depth_v<Tuple<T>> = depth_v<T> + 1;
template <class T, class U, class... V>
inline constexpr int depth_v<Tuple<T, U, V...>> = max(depth_v<T> + 1, depth_v<Tuple<U, V...>>);

// --- get ------------------------------------------------------------------------------------------
template <int I, class T> WW_HOST_DEVICE constexpr T leaf_of(const TupleLeaf<I, T, true>&) { return {}; }
template <int I, class T> WW_HOST_DEVICE constexpr const T& leaf_of(const TupleLeaf<I, T, false>& l) { return l.value; }
template <int I, class T> WW_HOST_DEVICE constexpr T& leaf_of(TupleLeaf<I, T, false>& l) { return l.value; }

// Overloads on the leaf let the compiler find the base class that holds member I without a call through another.
template <int I, class T> WW_HOST_DEVICE constexpr T get(const TupleLeaf<I, T, true>&) { return {}; }
template <int I, class T> WW_HOST_DEVICE constexpr const T& get(const TupleLeaf<I, T, false>& l) { return l.value; }
template <int I, class T> WW_HOST_DEVICE constexpr T& get(TupleLeaf<I, T, false>& l) { return l.value; }
/// The leaves of nested tuples: integers, and the few types that join them (Underscore, ScaledBasis).
template <class T> inline constexpr bool is_leaf_v = Integer<T>;
template <class T> concept Leaf = is_leaf_v<T>;

template <int I, Leaf T> WW_HOST_DEVICE constexpr T get(const T& value) {
  static_assert(I == 0, "get<I>: a plain value has only member 0");
  return value;
}
/// get<1, 0>(t) is get<0>(get<1>(t)).
template <int I, int J, int... K, class T> WW_HOST_DEVICE constexpr auto get(const T& t) {
  return get<J, K...>(get<I>(t));
}

// --- traversals -----------------------------------------------------------------------------------
// core/ uses index_sequence helpers and named functors, never a lambda. NVRTC takes a lambda for host code unless
// everything unannotated is compiled for the device, and then every trait above becomes a variable in the PTX.
template <class T, class F, int... I>
WW_HOST_DEVICE constexpr auto apply_indices(const T& t, F f, index_sequence<I...>) {
  return f(get<I>(t)...);
}

/// Returns f(get<0>(t), get<1>(t), ...).
template <class T, class F> WW_HOST_DEVICE constexpr auto apply(const T& t, F f) {
  return apply_indices(t, f, make_index_sequence<rank_v<T>>{});
}

template <class T, class F, int... I>
WW_HOST_DEVICE constexpr auto transform_indices(const T& t, F f, index_sequence<I...>) {
  WW_RETURN(make_tuple(f(get<I>(t))...));
}
template <class T, class F> WW_HOST_DEVICE constexpr auto transform(const T& t, F f) {
  return transform_indices(t, f, make_index_sequence<rank_v<T>>{});
}
template <class F, class T, class U, int... I>
WW_HOST_DEVICE constexpr auto transform_pairs(const T& t, const U& u, F f, index_sequence<I...>) {
  WW_RETURN(make_tuple(f(get<I>(t), get<I>(u))...));
}
template <class T, class U, class F> WW_HOST_DEVICE constexpr auto transform(const T& t, const U& u, F f) {
  static_assert(rank_v<T> == rank_v<U>, "transform: the two tuples differ in rank");
  return transform_pairs(t, u, f, make_index_sequence<rank_v<T>>{});
}

/// Returns f(... f(f(initial, get<0>(t)), get<1>(t)) ...).
template <int I = 0, class T, class V, class F> WW_HOST_DEVICE constexpr auto fold(const T& t, const V& initial, F f) {
  if constexpr (I == rank_v<T>) return initial;
  else return fold<I + 1>(t, f(initial, get<I>(t)), f);
}

// --- building -------------------------------------------------------------------------------------
WW_HOST_DEVICE constexpr Tuple<> concat() { return {}; }
template <class T, int... I> WW_HOST_DEVICE constexpr auto concat_indices(const T& t, index_sequence<I...>) {
  return make_tuple(get<I>(t)...);
}
template <class T, class U, int... I, int... J>
WW_HOST_DEVICE constexpr auto concat_indices(const T& t, const U& u, index_sequence<I...>, index_sequence<J...>) {
  WW_RETURN(make_tuple(get<I>(t)..., get<J>(u)...));
}
template <class T> WW_HOST_DEVICE constexpr auto concat(const T& t) {
  if constexpr (is_tuple_v<T>) return t;
  else return concat_indices(t, make_index_sequence<rank_v<T>>{});
}
/// Returns one tuple with the members of all; a plain value counts as a tuple of one.
template <class T, class U, class... V> WW_HOST_DEVICE constexpr auto concat(const T& t, const U& u, const V&... rest) {
  WW_RETURN(concat(concat_indices(t, u, make_index_sequence<rank_v<T>>{}, make_index_sequence<rank_v<U>>{}), rest...));
}

template <int... I, class T> WW_HOST_DEVICE constexpr auto select(const T& t) { return make_tuple(get<I>(t)...); }

template <int kFirst, class T, int... I> WW_HOST_DEVICE constexpr auto take_indices(const T& t, index_sequence<I...>) {
  WW_RETURN(make_tuple(get<kFirst + I>(t)...));
}
/// Returns members kFirst to kLast - 1.
template <int kFirst, int kLast, class T> WW_HOST_DEVICE constexpr auto take(const T& t) {
  static_assert(0 <= kFirst && kFirst <= kLast && kLast <= rank_v<T>, "take<first, last>: outside the tuple");
  return take_indices<kFirst>(t, make_index_sequence<kLast - kFirst>{});
}

template <class T, int... I> WW_HOST_DEVICE constexpr auto repeat_indices(const T& value, index_sequence<I...>) {
  return make_tuple((void(I), value)...);
}
template <int N, class T> WW_HOST_DEVICE constexpr auto repeat(const T& value) {
  return repeat_indices(value, make_index_sequence<N>{});
}

/// Returns `t` with `value` appended until it has N members.
template <int N, class T, class V> WW_HOST_DEVICE constexpr auto append(const T& t, const V& value) {
  static_assert(rank_v<T> <= N, "append<N>: the tuple is already longer");
  WW_RETURN(concat(t, repeat<N - rank_v<T>>(value)));
}

/// Makes members kFirst to kLast - 1 one tuple: group<0, 2>((a, b, c)) is ((a, b), c).
template <int kFirst, int kLast, class T> WW_HOST_DEVICE constexpr auto group(const T& t) {
  WW_RETURN(concat(take<0, kFirst>(t), make_tuple(take<kFirst, kLast>(t)), take<kLast, rank_v<T>>(t)));
}

template <class T> WW_HOST_DEVICE constexpr auto flatten(const T& t);
template <class T, int... I> WW_HOST_DEVICE constexpr auto flatten_indices(const T& t, index_sequence<I...>) {
  WW_RETURN(concat(flatten(get<I>(t))...));
}
/// Returns all leaves in one flat tuple.
template <class T> WW_HOST_DEVICE constexpr auto flatten(const T& t) {
  if constexpr (is_tuple_v<T>) return flatten_indices(t, make_index_sequence<rank_v<T>>{});
  else return make_tuple(t);
}

/// Returns the leaf of a tuple of one, however deeply nested; anything else as it is.
template <class T> WW_HOST_DEVICE constexpr auto unwrap(const T& t) {
  if constexpr (is_tuple_v<T> && rank_v<T> == 1) return unwrap(get<0>(t));
  else return t;
}

template <class T, class U, int... I>
WW_HOST_DEVICE constexpr bool equal_indices(const T& t, const U& u, index_sequence<I...>) {
  return ((get<I>(t) == get<I>(u)) && ... && true);
}
template <class... T, class... U> WW_HOST_DEVICE constexpr bool operator==(const Tuple<T...>& t, const Tuple<U...>& u) {
  if constexpr (sizeof...(T) != sizeof...(U)) return false;
  else return equal_indices(t, u, make_index_sequence<int(sizeof...(T))>{});
}

}  // namespace ww
