// SPDX-License-Identifier: Apache-2.0
// The layout algebra on types: coalesce, composition, complement and the inverses of Layout<Shape, Stride>.
//   composition(a, b)(i) = a(b(i)), shaped like b
// Fully static layouts go through the loops of flat.hpp at compile time and come back as types. Run-time extents and
// strides are processed mode by mode with the rank fixed; the caller then guarantees that steps divide evenly.
#pragma once

#include "warpwright/layout/flat.hpp"
#include "warpwright/layout/layout.hpp"

namespace ww {

// --- types <-> values ------------------------------------------------------------------------------
template <int... S, int... D>
WW_HOST_DEVICE constexpr FlatLayout flat_from_leaves(const Tuple<Int<S>...>&, const Tuple<Int<D>...>&) {
  static_assert(sizeof...(S) <= FlatLayout::kMaxRank, "the layout has more modes than FlatLayout::kMaxRank");
  FlatLayout flat;
  (flat.append(S, D), ...);
  return flat;
}
/// The modes of a static layout as a value.
template <class L>
requires(LayoutType<L>&& is_static_v<L>) inline constexpr FlatLayout flat_of = flat_from_leaves(flatten(L{}.shape()),
                                                                                                flatten(L{}.stride()));

template <FlatLayout kFlat, int... I> WW_HOST_DEVICE constexpr auto layout_of_modes(index_sequence<I...>) {
  if constexpr (kFlat.rank == 1) return make_layout(Int<kFlat.shape[0]>{}, Int<kFlat.stride[0]>{});
  else return make_layout(make_shape(Int<kFlat.shape[I]>{}...), make_stride(Int<kFlat.stride[I]>{}...));
}
/// Returns a value as a static layout; one mode is a plain integer, not a tuple.
template <FlatLayout kFlat> WW_HOST_DEVICE constexpr auto layout_of() {
  return layout_of_modes<kFlat>(make_index_sequence<kFlat.rank>{});
}

// --- coalesce --------------------------------------------------------------------------------------
// Modes are appended one by one to the reversed tail. Only merges that the types prove are made.
template <int I, class S, class D, class RS, class RD>
WW_HOST_DEVICE constexpr auto coalesce_from(const S& shape, const D& stride, const RS& rs, const RD& rd) {
  if constexpr (I == rank_v<S>) {
    if constexpr (rank_v<RS> == 0) return make_layout(_1{}, _0{});
    else if constexpr (rank_v<RS> == 1) return make_layout(get<0>(rs), get<0>(rd));
    else return make_layout(rs, rd);
  } else {
    using Extent = remove_cvref_t<decltype(get<I>(shape))>;
    using Step = remove_cvref_t<decltype(get<I>(stride))>;
    if constexpr (is_constant_v<1, Extent>) {
      return coalesce_from<I + 1>(shape, stride, rs, rd);
    } else if constexpr (rank_v<RS> == 0) {
      return coalesce_from<I + 1>(shape, stride, make_tuple(get<I>(shape)), make_tuple(get<I>(stride)));
    } else {
      constexpr int kLast = rank_v<RS> - 1;
      using End = decltype(get<kLast>(rs) * get<kLast>(rd));
      if constexpr (is_static_int_v<End> && is_same_v<End, Step>) {
        return coalesce_from<I + 1>(shape, stride,
                                    concat(take<0, kLast>(rs), make_tuple(get<kLast>(rs) * get<I>(shape))), rd);
      } else {
        return coalesce_from<I + 1>(shape, stride, append<kLast + 2>(rs, get<I>(shape)),
                                    append<kLast + 2>(rd, get<I>(stride)));
      }
    }
  }
}

/// Returns the same function of an integer coordinate, with as few modes as can be proved.
template <LayoutType L> WW_HOST_DEVICE constexpr auto coalesce(const L& layout) {
  if constexpr (is_static_v<L>) return layout_of<coalesce(flat_of<L>)>();
  else return coalesce_from<0>(flatten(layout.shape()), flatten(layout.stride()), make_tuple(), make_tuple());
}
template <class L, int... I> WW_HOST_DEVICE constexpr auto coalesce_modes(const L& layout, index_sequence<I...>) {
  return make_layout(coalesce(get<I>(layout))...);
}
/// Coalesces each top-level mode on its own, so that the rank stays.
template <LayoutType L> WW_HOST_DEVICE constexpr auto coalesce_modes(const L& layout) {
  return coalesce_modes(layout, make_index_sequence<rank_v<L>>{});
}

// --- composition -----------------------------------------------------------------------------------
template <class A, class N, class D>
WW_HOST_DEVICE constexpr auto compose_mode(const A& a, const N& extent, const D& step);

// Run-time modes of a: mode i keeps as many steps as fit in it; the remaining steps continue in mode i + 1.
template <int I, class S, class D, class N, class Step>
WW_HOST_DEVICE constexpr auto compose_runtime(const S& shape, const D& stride, const N& extent, const Step& step) {
  if constexpr (I + 1 == rank_v<S>) {
    return make_layout(make_shape(extent), make_stride(step * get<I>(stride)));
  } else {
    auto divisor = max(i64(step), i64(1));
    auto taken = min(ceil_div(i64(get<I>(shape)), divisor), i64(extent));
    auto rest =
        compose_runtime<I + 1>(shape, stride, ceil_div(i64(extent), taken), ceil_div(i64(step), i64(get<I>(shape))));
    return make_layout(concat(make_shape(taken), rest.shape()),
                       concat(make_stride(step * get<I>(stride)), rest.stride()));
  }
}

template <class A, class N, class D>
WW_HOST_DEVICE constexpr auto compose_mode(const A& a, const N& extent, const D& step) {
  if constexpr (is_static_v<A> && is_static_int_v<N> && is_static_int_v<D>) {
    constexpr FlatLayout kModes = compose(flat_of<A>, N::value, D::value);
    static_assert(kModes.valid, "composition(a, b): a stride of b does not divide the modes of a evenly");
    return layout_of<kModes>();
  } else {
    auto flat = coalesce_from<0>(flatten(a.shape()), flatten(a.stride()), make_tuple(), make_tuple());
    if constexpr (!is_tuple_v<decltype(flat.shape())>) return make_layout(extent, step * flat.stride());
    else return compose_runtime<0>(flat.shape(), flat.stride(), extent, step);
  }
}

template <LayoutType A, LayoutType B> WW_HOST_DEVICE constexpr auto composition(const A& a, const B& b);
template <class A, class B, int... I>
WW_HOST_DEVICE constexpr auto composition_modes(const A& a, const B& b, index_sequence<I...>) {
  WW_RETURN(make_layout(composition(a, get<I>(b))...));
}
/// Returns a after b: the offsets that `a` assigns to the offsets of `b`. It is shaped like b; a leaf may become
/// several.
template <LayoutType A, LayoutType B> WW_HOST_DEVICE constexpr auto composition(const A& a, const B& b) {
  if constexpr (is_tuple_v<decltype(b.shape())>) {
    return composition_modes(a, b, make_index_sequence<rank_v<B>>{});
  } else {
    return compose_mode(a, b.shape(), b.stride());
  }
}

// --- complement ------------------------------------------------------------------------------------
template <FlatLayout kGaps, class Target, int... I>
WW_HOST_DEVICE constexpr auto complement_after(const Target& target, index_sequence<I...>) {
  constexpr int kEnd = kGaps.rank - 1;
  auto repeat = Int<kGaps.stride[kEnd]>{};
  WW_RETURN(coalesce(make_layout(make_shape(Int<kGaps.shape[I]>{}..., ceil_div(target, repeat)),
                                 make_stride(Int<kGaps.stride[I]>{}..., repeat))));
}
/// Returns the layout of everything below `target` that `layout` does not reach. `target` may be a run-time number.
template <LayoutType L, Integer N> WW_HOST_DEVICE constexpr auto complement(const L& layout, const N& target) {
  if constexpr (is_static_v<L>) {
    constexpr FlatLayout kGaps = complement_gaps(flat_of<L>);
    static_assert(kGaps.valid, "complement: the modes of the layout overlap or interleave");
    if constexpr (is_static_int_v<N>) return layout_of<complement(flat_of<L>, N::value)>();
    else return complement_after<kGaps>(target, make_index_sequence<kGaps.rank - 1>{});
  } else {
    static_assert(Integer<decltype(unwrap(layout.shape()))>, "complement: run-time extents need a layout of rank 1");
    auto stride = unwrap(layout.stride());
    auto repeat = unwrap(layout.shape()) * stride;
    return coalesce(make_layout(make_shape(stride, ceil_div(target, repeat)), make_stride(_1{}, repeat)));
  }
}
template <LayoutType L> WW_HOST_DEVICE constexpr auto complement(const L& layout) {
  return complement(layout, cosize(layout));
}

// --- inverses --------------------------------------------------------------------------------------
/// Returns the longest r with layout(r(i)) == i.
template <LayoutType L>
requires is_static_v<L> WW_HOST_DEVICE constexpr auto right_inverse(const L&) {
  return layout_of<right_inverse(flat_of<L>)>();
}
/// Returns an l with l(layout(i)) == i for every i.
template <LayoutType L>
requires is_static_v<L> WW_HOST_DEVICE constexpr auto left_inverse(const L&) {
  constexpr FlatLayout kInverse = left_inverse(flat_of<L>);
  static_assert(kInverse.valid, "left_inverse: two coordinates share an offset, or the strides do not divide");
  return layout_of<kInverse>();
}

}  // namespace ww
