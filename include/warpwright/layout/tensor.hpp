// SPDX-License-Identifier: Apache-2.0
// Tensor<Engine, Layout>: where the data starts, and how coordinates become offsets from there. A view, owning nothing.
//   tensor(i, j)   the element (or, for an engine that only names addresses, the address)
//   tensor(_, j)   the column, again a tensor           local_tile(tensor, tile, coord)   one tile, or a row of tiles
// An engine is anything to which an offset can be added: a pointer, a shared-memory address, a CoordIterator.
#pragma once

#include "warpwright/layout/coordinate.hpp"
#include "warpwright/layout/swizzle.hpp"

namespace ww {

template <class T, class Offset> concept Addable = requires(const T& engine, const Offset& offset) { engine + offset; };
template <class T> concept Dereferenceable = requires(const T& engine) { *engine; };

template <class Engine, AnyLayout L> struct Tensor : TupleLeaf<0, Engine>, TupleLeaf<1, L> {
  using layout_type = L;
  using engine_type = Engine;
  constexpr Tensor() = default;
  WW_HOST_DEVICE constexpr Tensor(const Engine& engine, const L& layout)
      : TupleLeaf<0, Engine>(engine), TupleLeaf<1, L>(layout) {}

  WW_HOST_DEVICE constexpr Engine data() const { return leaf_of<0>(*this); }
  WW_HOST_DEVICE constexpr L layout() const { return leaf_of<1>(*this); }
  WW_HOST_DEVICE constexpr auto shape() const { return layout().shape(); }

  template <class C> WW_HOST_DEVICE constexpr decltype(auto) operator()(const C& coord) const {
    if constexpr (has_underscore_v<C>) {
      return slice(coord, *this);
    } else {
      static_assert(Addable<Engine, decltype(layout()(coord))>, "the layout's offsets cannot be added to this engine");
      if constexpr (Dereferenceable<decltype(data() + layout()(coord))>) return *(data() + layout()(coord));
      else return data() + layout()(coord);
    }
  }
  template <class C0, class C1, class... C>
  WW_HOST_DEVICE constexpr decltype(auto) operator()(const C0& c0, const C1& c1, const C&... c) const {
    return (*this)(make_coord(c0, c1, c...));
  }

  /// Returns the engine at coordinate 0: the start address of a TMA box or a matrix descriptor.
  WW_HOST_DEVICE constexpr auto origin() const { return data() + layout()(_0{}); }
};

template <class T> inline constexpr bool is_tensor_v = false;
template <class E, class L> inline constexpr bool is_tensor_v<Tensor<E, L>> = true;
template <class T> concept TensorType = is_tensor_v<T>;
template <class E, class L> inline constexpr int rank_v<Tensor<E, L>> = rank_v<L>;

// --- making ----------------------------------------------------------------------------------------
template <class Engine, AnyLayout L>
WW_HOST_DEVICE constexpr Tensor<Engine, L> make_tensor(Engine engine, const L& layout) {
  return {engine, layout};
}
template <class Engine, IntTuple S, class... D>
WW_HOST_DEVICE constexpr auto make_tensor(Engine engine, const S& shape, const D&... stride) {
  return make_tensor(engine, make_layout(shape, stride...));
}
/// Returns a tensor of coordinates that starts at the origin. The layout's strides are basis vectors: (M,K):(1@1,1@0).
template <LayoutType L> WW_HOST_DEVICE constexpr auto make_coord_tensor(const L& layout) {
  return make_tensor(CoordIterator<ArithTuple<>>{}, layout);
}
/// Returns the tensor whose element at (i, j, ...) is the coordinate (i, j, ...).
template <TupleLike S>
requires IntTuple<S> WW_HOST_DEVICE constexpr auto make_identity_tensor(const S& shape) {
  return make_coord_tensor(make_identity_layout(shape));
}

// --- queries, and operations on the layout alone ------------------------------------------------------
template <TensorType T> WW_HOST_DEVICE constexpr auto shape(const T& tensor) { return tensor.shape(); }
template <TensorType T> WW_HOST_DEVICE constexpr auto layout(const T& tensor) { return tensor.layout(); }
template <TensorType T> WW_HOST_DEVICE constexpr auto size(const T& tensor) { return size(tensor.layout()); }
template <int I, int... J, TensorType T> WW_HOST_DEVICE constexpr auto size(const T& tensor) {
  return size<I, J...>(tensor.shape());
}
template <int kFirst, int kLast, TensorType T> WW_HOST_DEVICE constexpr auto group_modes(const T& tensor) {
  return make_tensor(tensor.data(), group_modes<kFirst, kLast>(tensor.layout()));
}
template <TensorType T, Tiler U> WW_HOST_DEVICE constexpr auto zipped_divide(const T& tensor, const U& tiler) {
  return make_tensor(tensor.data(), zipped_divide(tensor.layout(), tiler));
}
template <TensorType T, Tiler U> WW_HOST_DEVICE constexpr auto tiled_divide(const T& tensor, const U& tiler) {
  return make_tensor(tensor.data(), tiled_divide(tensor.layout(), tiler));
}
template <TensorType T, Tiler U> WW_HOST_DEVICE constexpr auto flat_divide(const T& tensor, const U& tiler) {
  return make_tensor(tensor.data(), flat_divide(tensor.layout(), tiler));
}

// --- slicing ---------------------------------------------------------------------------------------
/// Fixes coordinates: they move the engine or, under a swizzle, the layout's offset.
template <class C, TensorType T> WW_HOST_DEVICE constexpr auto slice(const C& coord, const T& tensor) {
  auto layout = tensor.layout();
  if constexpr (ComposedType<decltype(layout)>) {
    return make_tensor(tensor.data(), slice(coord, layout));
  } else {
    return make_tensor(tensor.data() + crd2idx(coord, layout.shape(), layout.stride()), slice(coord, layout));
  }
}
/// Returns the same shape, started at `coord`; the caller keeps within bounds.
template <class C, TensorType T>
requires(LayoutType<typename T::layout_type>) WW_HOST_DEVICE
    constexpr auto domain_offset(const C& coord, const T& tensor) {
  return make_tensor(tensor.data() + tensor.layout()(coord), tensor.layout());
}

template <class P, class M> WW_HOST_DEVICE constexpr auto keep_unless_x(const P&, const M& member) {
  if constexpr (is_same_v<P, Underscore>) return make_tuple();
  else return make_tuple(member);
}
template <class T, class... P, int... I>
WW_HOST_DEVICE constexpr auto project(const Tuple<P...>& projection, const T& t, index_sequence<I...>) {
  return concat(keep_unless_x(get<I>(projection), get<I>(t))...);
}
template <class T, class... P> WW_HOST_DEVICE constexpr auto project(const Tuple<P...>& projection, const T& t) {
  static_assert(sizeof...(P) == rank_v<T>, "the projection and the tile differ in rank");
  return project(projection, t, make_index_sequence<int(sizeof...(P))>{});
}

/// Returns tile `coord` of `tensor` divided by `tiler`; Underscores in `coord` keep the tiles of that mode:
///   local_tile(gA, Shape<_128, _64>{}, make_coord(m, _))  ->  (128, 64, K / 64)
template <TensorType T, Tiler U, class C>
WW_HOST_DEVICE constexpr auto local_tile(const T& tensor, const U& tiler, const C& coord) {
  auto tiles = zipped_divide(tensor, tiler);
  using Rest = remove_cvref_t<decltype(get<1>(tiles.shape()))>;
  if constexpr (!is_tuple_v<U>) return tiles(make_coord(Underscore{}, coord));
  else if constexpr (!is_tuple_v<C>) return tiles(make_coord(repeat<rank_v<U>>(Underscore{}), coord));
  else return tiles(make_coord(repeat<rank_v<U>>(Underscore{}), append<rank_v<Rest>>(coord, Underscore{})));
}
/// With a projection, the tiler and the coordinate are over (M, N, K), and the tensor has only the modes that are not
/// X:
///   local_tile(gA, tile_mnk, coord_mnk, Step<_1, X, _1>{})
using X = Underscore;
template <TensorType T, Tiler U, class C, TupleLike P>
WW_HOST_DEVICE constexpr auto local_tile(const T& tensor, const U& tiler, const C& coord, const P& projection) {
  return local_tile(tensor, project(projection, tiler), project(projection, coord));
}

}  // namespace ww
