// SPDX-License-Identifier: Apache-2.0
// Swizzle<B, M, S>: the exclusive-or that spreads the rows of a shared-memory tile over the banks.
//   swizzle(o) = o ^ ((o & mask) >> S),  mask = B ones above bit M + S
//   Swizzle<3,4,3> on bytes: 16-byte chunk c of a 128-byte row r goes to chunk c ^ (r % 8)
// It holds for offsets from a base aligned to the pattern (1024 bytes for Swizzle<3,4,3>). A swizzled layout is a
// layout followed by the swizzle. Slicing one moves the fixed part into `offset`, because the exclusive-or comes last.
#pragma once

#include "warpwright/layout/divide.hpp"

namespace ww {

template <int B, int M, int S> struct Swizzle {
  static_assert(B >= 0 && M >= 0 && S >= B && M + S + B < 31, "Swizzle<B,M,S>: expected 0 <= B <= S and M >= 0");
  static constexpr int kMask = ((1 << B) - 1) << (M + S);
  /// Bytes (or elements) after which the pattern repeats.
  static constexpr int kPeriod = 1 << (B + M + S);

  template <Integer N> WW_HOST_DEVICE constexpr auto operator()(const N& offset) const {
    if constexpr (is_static_int_v<N>) return Int<(N::value ^ ((N::value & kMask) >> S))>{};
    else return static_cast<N>(offset ^ ((offset & kMask) >> S));
  }
};

template <int N> inline constexpr int log2_v = N <= 1 ? 0 : 1 + log2_v<N / 2>;
template <> inline constexpr int log2_v<0> = 0;
template <> inline constexpr int log2_v<1> = 0;

/// Returns the swizzle of byte offsets as a swizzle of offsets in elements of kBytes.
template <int kBytes, int B, int M, int S> WW_HOST_DEVICE constexpr auto upcast(Swizzle<B, M, S>) {
  static_assert((1 << log2_v<kBytes>) == kBytes && log2_v<kBytes> <= M,
                "upcast: expected a power of two up to a chunk");
  return Swizzle<B, M - log2_v<kBytes>, S>{};
}

/// Maps coord to swizzle(offset + layout(coord)).
template <class Z, Integer O, LayoutType L> struct ComposedLayout : TupleLeaf<0, Z>, TupleLeaf<1, O>, TupleLeaf<2, L> {
  constexpr ComposedLayout() = default;
  WW_HOST_DEVICE constexpr ComposedLayout(const Z& z, const O& o, const L& l)
      : TupleLeaf<0, Z>(z), TupleLeaf<1, O>(o), TupleLeaf<2, L>(l) {}

  WW_HOST_DEVICE constexpr Z swizzle() const { return leaf_of<0>(*this); }
  WW_HOST_DEVICE constexpr O offset() const { return leaf_of<1>(*this); }
  WW_HOST_DEVICE constexpr L inner() const { return leaf_of<2>(*this); }
  WW_HOST_DEVICE constexpr auto shape() const { return inner().shape(); }

  template <class C> WW_HOST_DEVICE constexpr auto operator()(const C& coord) const {
    if constexpr (has_underscore_v<C>) return slice(coord, *this);
    else return swizzle()(offset() + inner()(coord));
  }
  template <class C0, class C1, class... C>
  WW_HOST_DEVICE constexpr auto operator()(const C0& c0, const C1& c1, const C&... c) const {
    return (*this)(make_coord(c0, c1, c...));
  }
};

template <class T> inline constexpr bool is_composed_v = false;
template <class Z, class O, class L> inline constexpr bool is_composed_v<ComposedLayout<Z, O, L>> = true;
template <class Z, class O, class L>
inline constexpr bool is_static_v<ComposedLayout<Z, O, L>> = is_static_int_v<O>&& is_static_v<L>;
template <class Z, class O, class L> inline constexpr int rank_v<ComposedLayout<Z, O, L>> = rank_v<L>;
template <class T> concept ComposedType = is_composed_v<T>;
/// Anything that maps coordinates to offsets.
template <class T> concept AnyLayout = LayoutType<T> || ComposedType<T>;

template <int B, int M, int S, LayoutType L>
WW_HOST_DEVICE constexpr auto composition(const Swizzle<B, M, S>& swizzle, const L& layout) {
  return ComposedLayout<Swizzle<B, M, S>, _0, L>(swizzle, _0{}, layout);
}
/// Returns the same swizzle and offset around another layout.
template <ComposedType C, LayoutType L> WW_HOST_DEVICE constexpr auto rewrap(const C& composed, const L& inner) {
  return ComposedLayout<decltype(composed.swizzle()), decltype(composed.offset()), L>(composed.swizzle(),
                                                                                      composed.offset(), inner);
}

// --- operations on a layout, applied to the inner layout of a swizzled one ----------------------------
template <ComposedType C> WW_HOST_DEVICE constexpr auto shape(const C& c) { return c.shape(); }
template <ComposedType C> WW_HOST_DEVICE constexpr auto size(const C& c) { return size(c.shape()); }
template <int I, int... J, ComposedType C> WW_HOST_DEVICE constexpr auto size(const C& c) {
  return size<I, J...>(c.shape());
}
/// Returns a bound, because the swizzle only exchanges offsets within blocks of 2^(B+M).
template <int B, int M, int S, class O, class L>
WW_HOST_DEVICE constexpr auto cosize(const ComposedLayout<Swizzle<B, M, S>, O, L>& c) {
  return ceil_div(c.offset() + cosize(c.inner()), Int<(1 << (B + M))>{}) * Int<(1 << (B + M))>{};
}
template <int I, ComposedType C> WW_HOST_DEVICE constexpr auto get(const C& c) { return rewrap(c, get<I>(c.inner())); }
template <int kFirst, int kLast, ComposedType C> WW_HOST_DEVICE constexpr auto group_modes(const C& c) {
  return rewrap(c, group_modes<kFirst, kLast>(c.inner()));
}
template <ComposedType C, LayoutType B> WW_HOST_DEVICE constexpr auto composition(const C& c, const B& b) {
  return rewrap(c, composition(c.inner(), b));
}
template <ComposedType C, Tiler T> WW_HOST_DEVICE constexpr auto logical_divide(const C& c, const T& tiler) {
  return rewrap(c, logical_divide(c.inner(), tiler));
}
template <ComposedType C, Tiler T> WW_HOST_DEVICE constexpr auto zipped_divide(const C& c, const T& tiler) {
  return rewrap(c, zipped_divide(c.inner(), tiler));
}
template <ComposedType C, Tiler T> WW_HOST_DEVICE constexpr auto tiled_divide(const C& c, const T& tiler) {
  return rewrap(c, tiled_divide(c.inner(), tiler));
}
template <ComposedType C, Tiler T> WW_HOST_DEVICE constexpr auto flat_divide(const C& c, const T& tiler) {
  return rewrap(c, flat_divide(c.inner(), tiler));
}
template <ComposedType C, IntTuple S, class... O>
WW_HOST_DEVICE constexpr auto tile_to_shape(const C& c, const S& shape, const O&... order) {
  return rewrap(c, tile_to_shape(c.inner(), shape, order...));
}
template <class X, ComposedType C> WW_HOST_DEVICE constexpr auto slice(const X& coord, const C& c) {
  auto inner = slice(coord, c.inner());
  auto offset = c.offset() + crd2idx(coord, c.inner().shape(), c.inner().stride());
  return ComposedLayout<decltype(c.swizzle()), decltype(offset), decltype(inner)>(c.swizzle(), offset, inner);
}

}  // namespace ww
