// SPDX-License-Identifier: Apache-2.0
// The last nodes of an epilogue tree, which combine several columns of a row: SwiGLU and quantisation to 8 and 4 bits.
//   swiglu:          a thread holds columns 2j and 2j + 1 as a pair; results move between the lanes of a line, so that
//                    every thread again holds pairs of neighbouring columns
//   quantise_block:  the lanes of a line hold 128 columns of it; they combine their amax, then one scale and one
//                    product each
//   quantise_mx, _nv:  the same for 32 or 16 columns, with scales of 8 bits in chunks
// Lines of these fragments are rows: a tree with these nodes has no transposed tile.
#pragma once

#include "warpwright/config/sizes.hpp"
#include "warpwright/epilogue/microscaling.hpp"
#include "warpwright/epilogue/quantise_scale.hpp"
#include "warpwright/epilogue/tree.hpp"

namespace ww::epilogue {

template <TreeSpec kSpec, class F> struct EpilogueRows {
  static constexpr EpilogueStages kStages = stages_of(kSpec.tree);
  static constexpr int kMmaBlocks = kSpec.mma_blocks;
  static constexpr int kColumns = output_columns(kSpec.tree, F::kColumns);
  using Output = atom::Fragment<typename F::Layout::template Resized<kColumns>>;
  static_assert(!F::kPairsAlongM);

  /// Combines gate and up columns into out, which has half as many columns.
  WW_DEVICE static void swiglu(F (&acc)[kMmaBlocks], Output (&out)[kMmaBlocks]) {
    using L = typename F::Layout;
    constexpr bool kHalves = kStages.swiglu == EpilogueOp::swiglu_halves;
    WW_UNROLL
    for (int u = 0; u < kMmaBlocks; ++u) {
      if constexpr (kHalves) {
        WW_UNROLL
        for (int v = 0; v < Output::kValues; ++v) out[u][v] = gated(acc[u][v], acc[u][v + Output::kValues]);
      } else {
        constexpr int kChunk = chunk_of<16>(F::kValues);
        WW_NO_UNROLL
        for (int first = 0; first < F::kValues; first += kChunk) {
          WW_UNROLL
          for (int pair = 0; pair < kChunk / (2 * F::kLines); pair += 2) {  // two of the product, one of D
            WW_UNROLL
            for (int i = 0; i < F::kLines; ++i) {
              const int v = L::value(i, pair), w = L::value(i, pair + 1), to = L::value(i, pair / 2);
              const Pair moved = L::neighbours(gated(acc[u][v], acc[u][v + 1]), gated(acc[u][w], acc[u][w + 1]));
              acc[u][to] = moved.x, acc[u][to + 1] = moved.y;
            }
          }
          rotate<kChunk>(acc[u]);
        }
        // The results share registers with the operands until here, because a tile of 256 columns has no registers for
        // both.
        WW_UNROLL
        for (int v = 0; v < Output::kValues; ++v) out[u][v] = acc[u][v / (kChunk / 2) * kChunk + v % (kChunk / 2)];
      }
    }
  }

  /// Makes values ready for conversion to FP8, and writes their amax or the scales of their blocks.
  WW_DEVICE static void quantise(const EpilogueArguments& arguments, const TileExtent& extent, float scale,
                                 const EpilogueReductions<kSpec, F>& reductions, Output (&out)[kMmaBlocks]) {
    if constexpr (kStages.quantise == EpilogueOp::quantise) {
      const int first_row = extent.first_row + Output::first_row(extent.thread), first_column = column_of(extent);
      float amax = 0.0f;
      WW_UNROLL
      for (int u = 0; u < kMmaBlocks; ++u) {
        atom::for_each_element(out[u], [&](int row, int column, float& x) {
          const bool inside =
              first_row + Output::kRows * u + row < extent.m && first_column + column < columns_of(extent);
          amax = larger(amax, inside ? magnitude_of(x) : 0.0f);
          x = arch::mul(x, scale);
        });
      }
      reductions.finish_amax(amax);
    } else if constexpr (is_microscale(kStages.quantise)) {
      quantise_chunks(arguments, extent, scale, out);
    } else {
      quantise_blocks(arguments, extent, out);
    }
  }

 private:
  // Every lane of a line computes the scales of all its columns, so that one stores the four bytes of a chunk at once.
  WW_DEVICE static void quantise_chunks(const EpilogueArguments& arguments, const TileExtent& extent, float inverse,
                                        Output (&out)[kMmaBlocks]) {
    using L = typename Output::Layout;
    constexpr Scale kScale = kStages.quantise == EpilogueOp::quantise_mx ? Scale::mx : Scale::nv;
    constexpr int kVector = columns_of_out_scale(kStages.quantise), kBlockPairs = kVector * L::kPairs / kColumns;
    constexpr int kChunkColumns = columns_of_out_chunk(kStages.quantise), kChunks = kColumns / kChunkColumns;
    const int first_column = column_of(extent), columns = columns_of(extent);
    const i64 chunks = ceil_div(columns, kChunkColumns);
    WW_UNROLL
    for (int u = 0; u < kMmaBlocks; ++u) {
      WW_UNROLL
      for (int line = 0; line < Output::kLines; ++line) {
        const int row = extent.template line<Output>(u, line);
        WW_UNROLL
        for (int chunk = 0; chunk < kChunks; ++chunk) {
          u32 bytes = 0;
          WW_UNROLL
          for (int i = 0; i < kScaleChunkScales; ++i) {
            const int first = (chunk * kScaleChunkScales + i) * kBlockPairs;
            float amax = 0.0f;
            atom::for_each_of_line<kBlockPairs>(out[u], line, first, [&](int column, float x) {
              amax = larger(amax, first_column + column < columns ? magnitude_of(x) : 0.0f);
            });
            const Scaling scaling =
                microscaling<kScale, kSpec.d>(combine_lanes<false, 1, L::kLineLanes / 2>(amax), inverse);
            bytes |= scaling.byte << (8 * i);
            atom::for_each_of_line<kBlockPairs>(out[u], line, first,
                                                [&](int, float& x) { x = arch::mul(x, scaling.factor); });
          }
          const i64 index = extent.tile.n * kChunks + chunk;
          arch::global::store_if(extent.thread % L::kLineLanes == 0 && row < extent.m && index < chunks,
                                 reinterpret_cast<char*>(arguments.out_scales) +
                                     scale_place(row + extent.scale_shift, index * kScaleChunkScales, chunks),
                                 bytes);
        }
      }
    }
  }

  WW_DEVICE static float gated(float gate, float up) { return arch::mul(functions::silu(gate), up); }
  WW_DEVICE static int columns_of(const TileExtent& extent) {
    return kColumns == F::kColumns ? extent.n : extent.n / 2;
  }

  /// Returns the column of D of a thread's first value.
  WW_DEVICE static int column_of(const TileExtent& extent) {
    return extent.tile.n * kColumns + Output::first_column(extent.thread);
  }

  WW_DEVICE static void quantise_blocks(const EpilogueArguments& arguments, const TileExtent& extent,
                                        Output (&out)[kMmaBlocks]) {
    using L = typename Output::Layout;
    constexpr int kBlockPairs = kScaleBlock * L::kPairs / kColumns;  // of a line
    const int first_column = column_of(extent), columns = columns_of(extent);
    WW_UNROLL
    for (int block = 0; block < kColumns / kScaleBlock; ++block) {
      const int index = extent.tile.n * (kColumns / kScaleBlock) + block, first = block * kBlockPairs;
      WW_UNROLL
      for (int u = 0; u < kMmaBlocks; ++u) {
        float amax[Output::kLines] = {}, inverse[Output::kLines];
        WW_UNROLL
        for (int line = 0; line < Output::kLines; ++line)
          atom::for_each_of_line<kBlockPairs>(out[u], line, first, [&](int column, float x) {
            amax[line] = larger(amax[line], first_column + column < columns ? magnitude_of(x) : 0.0f);
          });
        WW_UNROLL
        for (int line = 0; line < Output::kLines; ++line) {
          const float scale = quantise_scale(combine_lanes<false, 1, L::kLineLanes / 2>(amax[line]), kFp8Step<kSpec.d>,
                                             kStages.quantise == EpilogueOp::quantise_block_pow2);
          const int row = extent.template line<Output>(u, line);
          inverse[line] = arch::reciprocal(scale);
          arch::global::store_if(
              extent.thread % L::kLineLanes == 0 && row < extent.m && index * kScaleBlock < columns,
              arguments.out_scales + row * arguments.out_scales_row + index * arguments.out_scales_block,
              arch::bits_of(scale));
        }
        WW_UNROLL
        for (int line = 0; line < Output::kLines; ++line)
          atom::for_each_of_line<kBlockPairs>(out[u], line, first,
                                              [&](int, float& x) { x = arch::mul(x, inverse[line]); });
      }
    }
  }
};

}  // namespace ww::epilogue
