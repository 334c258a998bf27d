// SPDX-License-Identifier: Apache-2.0
// The few types and traits that kernel code needs in place of <cstdint>, <type_traits> and <utility>. NVRTC ships no
// standard headers, and cuda/std costs 0.6 s a compile, so kernels here include nothing else.
// It also defines WW_RETURN, for functions whose result is often a type alone. Host headers include numbers.hpp alone,
// so that `using namespace ww` brings no second min(), max() or move() into a user's program.
#pragma once

#include "warpwright/core/numbers.hpp"

namespace ww {

// --- type traits ---------------------------------------------------------------------------------
template <class T, class U> inline constexpr bool is_same_v = false;
template <class T> inline constexpr bool is_same_v<T, T> = true;

template <class T> struct remove_reference { using type = T; };
template <class T> struct remove_reference<T&> { using type = T; };
template <class T> struct remove_reference<T&&> { using type = T; };
template <class T> struct remove_const { using type = T; };
template <class T> struct remove_const<const T> { using type = T; };
template <class T> using remove_cvref_t = typename remove_const<typename remove_reference<T>::type>::type;

template <bool kCondition, class T, class F> struct conditional { using type = T; };
template <class T, class F> struct conditional<false, T, F> { using type = F; };
template <bool kCondition, class T, class F> using conditional_t = typename conditional<kCondition, T, F>::type;

template <class T> inline constexpr bool is_integral_v = false;
template <> inline constexpr bool is_integral_v<bool> = true;
template <> inline constexpr bool is_integral_v<char> = true;
template <> inline constexpr bool is_integral_v<i8> = true;
template <> inline constexpr bool is_integral_v<u8> = true;
template <> inline constexpr bool is_integral_v<i16> = true;
template <> inline constexpr bool is_integral_v<u16> = true;
template <> inline constexpr bool is_integral_v<i32> = true;
template <> inline constexpr bool is_integral_v<u32> = true;
template <> inline constexpr bool is_integral_v<long> = true;
template <> inline constexpr bool is_integral_v<unsigned long> = true;
template <> inline constexpr bool is_integral_v<i64> = true;
template <> inline constexpr bool is_integral_v<u64> = true;

template <class T> WW_HOST_DEVICE constexpr T&& forward(typename remove_reference<T>::type& t) {
  return static_cast<T&&>(t);
}
template <class T> WW_HOST_DEVICE constexpr typename remove_reference<T>::type&& move(T&& t) {
  return static_cast<typename remove_reference<T>::type&&>(t);
}

/// Returns the value of an expression. If its type is empty (static integers, tuples and layouts of them), the
/// expression is not evaluated and no function it calls is compiled. More than half of a GEMM's functions return such
/// types, and NVRTC would spend its time on inlining and deleting them.
#define WW_RETURN(...)                                            \
  using ReturnType = ::ww::remove_cvref_t<decltype(__VA_ARGS__)>; \
  if constexpr (__is_empty(ReturnType)) return ReturnType{};      \
  else return __VA_ARGS__

// --- index sequences -----------------------------------------------------------------------------
template <int... I> struct index_sequence {};
// Sequences are joined from halves, because NVRTC lacks the built-ins that other compilers have for this.
template <class Low, class High> struct join_sequences;
template <int... I, int... J> struct join_sequences<index_sequence<I...>, index_sequence<J...>> {
  using type = index_sequence<I..., (int(sizeof...(I)) + J)...>;
};
template <int N> struct count_sequence {
  using type =
      typename join_sequences<typename count_sequence<N / 2>::type, typename count_sequence<N - N / 2>::type>::type;
};
template <> struct count_sequence<0> { using type = index_sequence<>; };
template <> struct count_sequence<1> { using type = index_sequence<0>; };
template <int N> using make_index_sequence = typename count_sequence<N>::type;

// --- small arithmetic ----------------------------------------------------------------------------
template <class T> WW_HOST_DEVICE constexpr T min(T a, T b) { return b < a ? b : a; }
template <class T> WW_HOST_DEVICE constexpr T max(T a, T b) { return a < b ? b : a; }
template <class T, class U> WW_HOST_DEVICE constexpr auto ceil_div(T a, U b) { return (a + b - 1) / b; }
template <class T, class U> WW_HOST_DEVICE constexpr auto round_up(T a, U b) { return ceil_div(a, b) * b; }

}  // namespace ww
