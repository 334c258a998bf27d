// SPDX-License-Identifier: Apache-2.0
// Integers of known size, and the macros of the whole project:
// - where a function may run;
// - WW_UNROLL before a loop over registers, which have no addresses on a GPU;
// - WW_CONSTANT for objects that device code may bind references to.
#pragma once

#if defined(__CUDACC__)
#define WW_HOST_DEVICE __host__ __device__ __forceinline__
#define WW_DEVICE __device__ __forceinline__
#define WW_UNROLL _Pragma("unroll")
#define WW_NO_UNROLL _Pragma("unroll 1")
#define WW_CONSTANT static __device__ constexpr
#else
#define WW_HOST_DEVICE inline
#define WW_DEVICE inline
#define WW_UNROLL
#define WW_NO_UNROLL
#define WW_CONSTANT inline constexpr
#endif

namespace ww {

using i8 = signed char;
using u8 = unsigned char;
using i16 = short;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;
using uptr = decltype(sizeof(0));

static_assert(sizeof(i16) == 2 && sizeof(i32) == 4 && sizeof(i64) == 8 && sizeof(uptr) == 8);

}  // namespace ww
