// SPDX-License-Identifier: Apache-2.0
// Casts a matrix to a format of mx or nv. A task is one chunk of scales: 128 rows by four blocks of K, of which a block
// shares a scale. A thread has four blocks, 32 rows apart: it loads a block into registers, finds the largest
// magnitude, rounds the scale, casts and packs the elements, and stores both. Neighbouring threads have neighbouring
// blocks of a row, and no thread waits for another.
#pragma once

#include "warpwright/arch/common/global_bytes.hpp"
#include "warpwright/arch/common/math.hpp"
#include "warpwright/arch/common/pdl.hpp"
#include "warpwright/arch/common/role.hpp"
#include "warpwright/config/microscale_arguments.hpp"
#include "warpwright/epilogue/microscaling.hpp"

namespace ww::kernel {

using config::MicroscaleArguments;
using config::MicroscaleKind;

template <MicroscaleKind kKind> class Microscale {
  static constexpr int kVector = scale_vector(kKind.scale);  // elements of a block
  static constexpr int kBytes = bytes_of(kKind.x);
  static constexpr int kWords = kVector * kBytes / 4;  // of a block of x
  static constexpr int kBits = ww::bits_of(kKind.q);
  static constexpr int kPackedWords = kVector * kBits / 32;  // of a block of q
  static constexpr int kRowsApart = config::kMicroscaleThreads / kScaleChunkScales;

 public:
  static constexpr int kThreads = config::kMicroscaleThreads;

  WW_DEVICE static void run(const MicroscaleArguments& a) {
    arch::role("quantizer");
    arch::pdl::launch_dependents();
    arch::pdl::wait();  // global memory is left alone before this line
    const float inverse =
        a.tensor_scale == nullptr ? 1.0f : arch::div(1.0f, arch::float_of(arch::global::load(a.tensor_scale)));
    const i32 thread = static_cast<i32>(arch::thread_index());
    for (u32 task = arch::block_index(); task < a.tasks; task += arch::grid_size()) {
      const i32 row_of_chunks = static_cast<i32>(task / static_cast<u32>(a.chunks_k));
      const i32 chunk = static_cast<i32>(task % static_cast<u32>(a.chunks_k));
      const i64 matrix = row_of_chunks / a.chunks_m;
      const i32 first = row_of_chunks % a.chunks_m * kScaleChunkRows + thread / kScaleChunkScales;
      const i32 block = chunk * kScaleChunkScales + thread % kScaleChunkScales;
      char* const scales = a.scales + matrix * a.batch_scales;
      for (i32 i = 0; i < kScaleChunkRows / kRowsApart; ++i) {
        const i32 row = first + kRowsApart * i;
        const bool there = row < a.m && block < a.row_scales;
        const u32 scale = there ? cast_block(a, matrix, row, block, inverse) : 0;
        if (a.chunked != 0)
          arch::global::store_u8(scales + scale_place(row, block, a.chunks_k), static_cast<u8>(scale));
        else if (there) arch::global::store_u8(scales + i64{row} * a.row_scales + block, static_cast<u8>(scale));
      }
    }
  }

 private:
  struct Block {
    u32 w[kWords];

    WW_DEVICE u32 bits(int j) const {
      constexpr int kEach = 4 / kBytes;
      constexpr u32 kMask = kBytes == 4 ? 0xffffffffu : 0xffffu;
      return w[j / kEach] >> (8 * kBytes * (j % kEach)) & kMask;
    }
    /// Returns the magnitude's bits in the type itself, which are ordered like the magnitudes, NaN last.
    WW_DEVICE u32 magnitude(int j) const { return bits(j) & ((1u << (8 * kBytes - 1)) - 1); }
    WW_DEVICE static float widen(u32 bits) {
      if constexpr (kKind.x == DType::f32) return arch::float_of(bits);
      else if constexpr (kKind.x == DType::f16) return arch::from_f16(static_cast<u16>(bits));
      else return arch::from_bf16(static_cast<u16>(bits));
    }
  };

  /// Casts one block and returns its scale.
  WW_DEVICE static u32 cast_block(const MicroscaleArguments& a, i64 matrix, i32 row, i32 block, float inverse) {
    const i32 column = block * kVector, count = min(kVector, a.k - column);
    const Block raw = load(a, a.x + matrix * a.batch_x + row * a.row_x + i64{column} * kBytes, count);
    u32 top = 0;
    WW_UNROLL
    for (int j = 0; j < kVector; ++j) top = max(top, raw.magnitude(j));
    const float amax = Block::widen(top);
    const epilogue::Scaling scaling = epilogue::microscaling<kKind.scale, kKind.q>(amax, inverse);
    u32 packed[kPackedWords] = {};
    WW_UNROLL
    for (int j = 0; j < kVector; ++j) {
      const u32 code = epilogue::microscale_code<kKind.q>(arch::mul(Block::widen(raw.bits(j)), scaling.factor));
      const int at = j * kBits, word = at / 32, shift = at % 32;
      packed[word] |= code << shift;
      if (shift + kBits > 32) packed[word + 1] |= code >> (32 - shift);
    }
    store(a, a.q + matrix * a.batch_q + row * a.row_q + i64{column} * kBits / 8, packed, count * kBits / 8);
    return scaling.byte;
  }

  /// Loads `count` elements; those behind are zeros.
  WW_DEVICE static Block load(const MicroscaleArguments& a, const char* from, i32 count) {
    Block raw;
    if (a.wide_x != 0 && count == kVector) {
      WW_UNROLL
      for (int i = 0; i < kWords; i += 4) {
        const arch::Words<4> words = arch::global::load4(from + 4 * i);
        WW_UNROLL
        for (int j = 0; j < 4; ++j) raw.w[i + j] = words.w[j];
      }
      return raw;
    }
    WW_UNROLL
    for (int i = 0; i < kWords; ++i) raw.w[i] = 0;
    WW_UNROLL
    for (int j = 0; j < kVector; ++j)
      if (j < count) {
        constexpr int kEach = 4 / kBytes;
        const u32 bits =
            kBytes == 4 ? arch::global::load(from + j * kBytes) : arch::global::load_u16(from + j * kBytes);
        raw.w[j / kEach] |= bits << (8 * kBytes * (j % kEach));
      }
    return raw;
  }

  /// Stores the first `bytes` of a block of q.
  WW_DEVICE static void store(const MicroscaleArguments& a, char* to, const u32 (&packed)[kPackedWords], i32 bytes) {
    WW_UNROLL
    for (int i = 0; i < kPackedWords; ++i) {
      if (a.wide_q != 0 && 4 * i + 4 <= bytes) {
        arch::global::store(to + 4 * i, packed[i]);
        continue;
      }
      WW_UNROLL
      for (int b = 0; b < 4; ++b)
        if (4 * i + b < bytes) arch::global::store_u8(to + 4 * i + b, static_cast<u8>(packed[i] >> (8 * b)));
    }
  }
};

}  // namespace ww::kernel
