// SPDX-License-Identifier: Apache-2.0
// Integers as types: Int<8>{} is the number 8 known to the compiler, so layouts made of them fold to constants.
//   Int<4>{} * Int<8>{}  is  Int<32>{}        Int<4>{} * n  is  int        Int<0>{} * n  is  Int<0>{}
// Static and run-time integers mix freely. A result is static if both operands are, or if a 0 or 1 determines it.
// Not here: checked arithmetic. Static overflow is a compile error; run-time extents are checked on the host.
#pragma once

#include "warpwright/core/meta.hpp"

namespace ww {

template <int kValue> struct Int {
  static constexpr int value = kValue;
  WW_HOST_DEVICE constexpr operator int() const { return kValue; }
};

using _0 = Int<0>;
using _1 = Int<1>;
using _2 = Int<2>;
using _3 = Int<3>;
using _4 = Int<4>;
using _5 = Int<5>;
using _6 = Int<6>;
using _7 = Int<7>;
using _8 = Int<8>;
using _16 = Int<16>;
using _32 = Int<32>;
using _64 = Int<64>;
using _128 = Int<128>;
using _256 = Int<256>;
using _512 = Int<512>;
using _1024 = Int<1024>;

template <class T> inline constexpr bool is_static_int_v = false;
template <int N> inline constexpr bool is_static_int_v<Int<N>> = true;

/// T is exactly the type Int<N>.
template <int N, class T> inline constexpr bool is_constant_v = is_same_v<T, Int<N>>;

template <class T> concept StaticInteger = is_static_int_v<T>;
template <class T> concept Integer = StaticInteger<T> ||(is_integral_v<T> && !is_same_v<T, bool>);
template <class T> concept RuntimeInteger = Integer<T> && !StaticInteger<T>;

// --- both static: the answer is a type -----------------------------------------------------------
template <int A> WW_HOST_DEVICE constexpr Int<-A> operator-(Int<A>) { return {}; }
template <int A, int B> WW_HOST_DEVICE constexpr Int<A + B> operator+(Int<A>, Int<B>) { return {}; }
template <int A, int B> WW_HOST_DEVICE constexpr Int<A - B> operator-(Int<A>, Int<B>) { return {}; }
template <int A, int B> WW_HOST_DEVICE constexpr Int<A * B> operator*(Int<A>, Int<B>) { return {}; }
template <int A, int B> WW_HOST_DEVICE constexpr Int<A / B> operator/(Int<A>, Int<B>) { return {}; }
template <int A, int B> WW_HOST_DEVICE constexpr Int<A % B> operator%(Int<A>, Int<B>) { return {}; }
template <int A, int B> WW_HOST_DEVICE constexpr Int<(A & B)> operator&(Int<A>, Int<B>) { return {}; }
template <int A, int B> WW_HOST_DEVICE constexpr Int<(A | B)> operator|(Int<A>, Int<B>) { return {}; }
template <int A, int B> WW_HOST_DEVICE constexpr Int<(A ^ B)> operator^(Int<A>, Int<B>) { return {}; }
template <int A, int B> WW_HOST_DEVICE constexpr Int<(A << B)> operator<<(Int<A>, Int<B>) { return {}; }
template <int A, int B> WW_HOST_DEVICE constexpr Int<(A >> B)> operator>>(Int<A>, Int<B>) { return {}; }

// --- one static: 0 and 1 determine the result; every other mix converts to int at run time ---
template <RuntimeInteger T> WW_HOST_DEVICE constexpr T operator+(Int<0>, T b) { return b; }
template <RuntimeInteger T> WW_HOST_DEVICE constexpr T operator+(T a, Int<0>) { return a; }
template <RuntimeInteger T> WW_HOST_DEVICE constexpr Int<0> operator*(Int<0>, T) { return {}; }
template <RuntimeInteger T> WW_HOST_DEVICE constexpr Int<0> operator*(T, Int<0>) { return {}; }
template <RuntimeInteger T> WW_HOST_DEVICE constexpr T operator*(Int<1>, T b) { return b; }
template <RuntimeInteger T> WW_HOST_DEVICE constexpr T operator*(T a, Int<1>) { return a; }
template <RuntimeInteger T> WW_HOST_DEVICE constexpr Int<0> operator/(Int<0>, T) { return {}; }
template <RuntimeInteger T> WW_HOST_DEVICE constexpr T operator/(T a, Int<1>) { return a; }
template <RuntimeInteger T> WW_HOST_DEVICE constexpr Int<0> operator%(Int<0>, T) { return {}; }
template <RuntimeInteger T> WW_HOST_DEVICE constexpr Int<0> operator%(T, Int<1>) { return {}; }

// --- functions that keep a static result ---------------------------------------------------------
template <int A, int B> WW_HOST_DEVICE constexpr Int<(A < B ? A : B)> min(Int<A>, Int<B>) { return {}; }
template <int A, int B> WW_HOST_DEVICE constexpr Int<(A < B ? B : A)> max(Int<A>, Int<B>) { return {}; }
template <int A, int B> WW_HOST_DEVICE constexpr Int<(A + B - 1) / B> ceil_div(Int<A>, Int<B>) { return {}; }
template <RuntimeInteger T> WW_HOST_DEVICE constexpr T ceil_div(T a, Int<1>) { return a; }

}  // namespace ww
