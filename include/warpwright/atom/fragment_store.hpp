// SPDX-License-Identifier: Apache-2.0
// Writes a fragment to shared memory in the type of D. `at` maps (line, along) to an address.
//   16 bits  stmatrix: two pairs of both lines of all lanes are four 8x8 matrices. It transposes them where memory is
//            contiguous across the lines
//   FP8      neighbouring lanes exchange a pair each, so that one has four elements of line 0, the other of line 1
//   e2m1     the four lanes of a line exchange bytes of two elements each, so that one has eight elements of a line
//   FP32     pairs of 8 bytes, or single elements where memory is contiguous across the lines
// The first two need a layout whose registers are those matrices, as Hopper's accumulator; static_asserts say so.
#pragma once

#include "warpwright/arch/common/convert.hpp"
#include "warpwright/arch/common/convert_packed.hpp"
#include "warpwright/arch/common/stmatrix.hpp"
#include "warpwright/arch/common/values.hpp"
#include "warpwright/arch/common/warp.hpp"
#include "warpwright/atom/fragment.hpp"

namespace ww::atom {

/// Returns two values rounded to 16 bits, the first in the low half.
template <DType kOut> WW_DEVICE u32 pack(float low, float high) {
  static_assert(kOut == DType::bf16 || kOut == DType::f16);
  if constexpr (kOut == DType::bf16) return arch::to_bf16x2(low, high);
  else return arch::to_f16x2(low, high);
}

/// Whether registers are matrices of stmatrix: two lines 8 apart, pairs 8 apart, four lanes a line, and the values of a
/// pair of line 0, then of line 1, then of the next pair of line 0.
template <class L>
inline constexpr bool kHasMatrices = L::kLines == 2 && L::kLineLanes == 4 &&
                                     L::line_offset(1) == 8 && L::value(1, 0) == 2 &&
                                     (L::kPairs == 1 || (L::pair_offset(1) == 8 && L::value(0, 1) == 4));

/// Stores `count` elements along the warp's lines from pair `first` on, at most kMost, both multiples of 8. `at` takes
/// the line among the warp's, and the place from pair `first` on; the address is that of 8 elements.
template <DType kOut, bool kAcross, int kMost, class F, class At>
WW_DEVICE void store_matrices(const F& fragment, int first, int count, const At& at) {
  using L = typename F::Layout;
  static_assert(kHasMatrices<L>);
  auto&& values = arch::values(fragment);
  const int lane = static_cast<int>(arch::lane_index());
  const int line = kAcross ? 8 * (lane / 8 % 2) : lane % 16;
  const int along = 8 * (lane / 16), row = kAcross ? lane % 8 : 0;
  WW_UNROLL
  for (int j = 0; j < kMost; j += 16) {
    if (j >= count) break;
    const int v = 4 * (first + j / 8);  // of both lines' pair
    const u32 low = pack<kOut>(values[v], values[v + 1]), high = pack<kOut>(values[v + 2], values[v + 3]);
    if (j + 8 < count) {
      const arch::Words<4> matrices{
          {low, high, pack<kOut>(values[v + 4], values[v + 5]), pack<kOut>(values[v + 6], values[v + 7])}};
      if constexpr (kAcross) arch::stmatrix_transposed(at(line, j + along + row), matrices);
      else arch::stmatrix(at(line, j + along), matrices);
    } else {
      const arch::Words<2> matrices{{low, high}};
      if constexpr (kAcross) arch::stmatrix_transposed(at(line, j + row), matrices);
      else arch::stmatrix(at(line, j), matrices);
    }
  }
}

/// Stores kPairs pairs of this thread's lines from pair `first` on as FP8. `at` takes the line from the thread's first
/// on, and the place from pair `first` on; the address is that of four elements.
template <DType kOut, int kPairs, class F, class At>
WW_DEVICE void store_bytes(const F& fragment, int first, const At& at) {
  using L = typename F::Layout;
  static_assert(kHasMatrices<L>);
  const u32 lane = arch::lane_index();
  const bool odd = lane % 2 != 0;
  const int line = odd ? L::line_offset(1) : 0, along = 4 * static_cast<int>(lane % 4 / 2);
  WW_UNROLL
  for (int pair = 0; pair < kPairs; ++pair) {
    const int u = L::value(0, first + pair), v = L::value(1, first + pair);
    const u32 mine = arch::to_fp8x2<kOut>(fragment[u], fragment[u + 1]) |
                     u32{arch::to_fp8x2<kOut>(fragment[v], fragment[v + 1])} << 16;
    const u32 other = arch::warp::shuffle_xor(mine, 1);
    const u32 word = odd ? other >> 16 | (mine & 0xffff0000u) : (mine & 0xffffu) | other << 16;
    arch::shared::store(at(line, along + L::pair_offset(pair)), word);
  }
}

/// Stores kPairs pairs, an even number, as e2m1. `at` takes the line from the thread's first on, and the place from
/// pair `first` on, in bytes of two elements; the address is that of four bytes.
// The four lanes of a line have a byte each of a pair. Of two pairs and two lines, every lane collects the four bytes
// of one pair and line.
template <int kPairs, class F, class At> WW_DEVICE void store_nibbles(const F& fragment, int first, const At& at) {
  using L = typename F::Layout;
  static_assert(kHasMatrices<L> && kPairs % 2 == 0);
  const u32 lane = arch::lane_index();
  const bool odd = lane % 2 != 0, high = lane % 4 / 2 != 0;
  const int line = odd ? L::line_offset(1) : 0;
  const auto byte = [&](int v) { return arch::to_packed_pair<DType::e2m1>(fragment[v], fragment[v + 1]); };
  WW_UNROLL
  for (int pair = 0; pair < kPairs; pair += 2) {
    const int p = first + pair;
    // Bytes 0 and 1 are of line 0, in the order of pairs; bytes 2 and 3 of line 1.
    const u32 mine = byte(L::value(0, p)) | byte(L::value(0, p + 1)) << 8 | byte(L::value(1, p)) << 16 |
                     byte(L::value(1, p + 1)) << 24;
    const u32 other = arch::warp::shuffle_xor(mine, 1);
    const u32 left = odd ? other >> 16 : mine & 0xffffu, right = odd ? mine >> 16 : other & 0xffffu;
    // Of this lane's line: the bytes of two neighbouring lanes, of the first pair, then of the second.
    const u32 half = (left & 0xffu) | (right & 0xffu) << 8 | (left >> 8) << 16 | (right >> 8) << 24;
    const u32 across = arch::warp::shuffle_xor(half, 2);
    const u32 word = high ? across >> 16 | (half & 0xffff0000u) : (half & 0xffffu) | across << 16;
    arch::shared::store(at(line, L::pair_offset(pair + (high ? 1 : 0)) / 2), word);
  }
}

/// Writes kCount elements along the lines of a warpgroup's fragment, from pair `first` on, to sD, a tile of rows and
/// columns whose class says which of them are contiguous. The fragment's first row is `row` of sD, and the first of
/// these elements, or column 0 of Transposed, is `column`. All threads call it.
template <DType kOut, int kCount, class SharedD, class F>
WW_DEVICE void write_fragment(const SharedD& sD, int row, int column, const F& fragment, int first) {
  using L = typename F::Layout;
  constexpr bool kAcross = SharedD::kColumnsContiguous == F::kPairsAlongM;  // memory is contiguous across the lines
  constexpr int kPairs = kCount * F::kPairs / L::kAlong;
  const int thread = static_cast<int>(arch::thread_index() % arch::kWarpgroupSize);
  const auto at = [&](int line, int along) {
    return F::kPairsAlongM ? sD(row + along, column + line) : sD(row + line, column + along);
  };
  if constexpr (kOut == DType::f32) {
    const int line = L::first_line(thread), along = L::first_along(thread);
    for_each_pair<kPairs>(fragment, first, [&](int i, int pair, float x, float y) {
      const int of_line = line + L::line_offset(i), of_pair = along + L::pair_offset(pair);
      if constexpr (kAcross) {
        arch::shared::store(at(of_line, of_pair), arch::bits_of(x));
        arch::shared::store(at(of_line, of_pair + 1), arch::bits_of(y));
      } else {
        arch::shared::store2(at(of_line, of_pair), {{arch::bits_of(x), arch::bits_of(y)}});
      }
    });
  } else if constexpr (is_fp8(kOut)) {
    static_assert(!kAcross);
    const int line = L::first_line(thread);
    store_bytes<kOut, kPairs>(fragment, first, [&](int of_thread, int along) { return at(line + of_thread, along); });
  } else if constexpr (kOut == DType::e2m1) {
    static_assert(!kAcross);
    const int line = L::first_line(thread);
    store_nibbles<kPairs>(fragment, first, [&](int of_thread, int along) { return at(line + of_thread, along); });
  } else {
    const int line = L::kWarpStep * static_cast<int>(arch::warp_index() % 4);
    store_matrices<kOut, kAcross, kCount>(fragment, first, kCount,
                                          [&](int of_warp, int along) { return at(line + of_warp, along); });
  }
}

}  // namespace ww::atom
