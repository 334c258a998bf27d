// SPDX-License-Identifier: Apache-2.0
// The last nodes of an epilogue tree, which combine several columns of a row: SwiGLU and quantisation to e4m3.
//   swiglu:          one thread holds columns 2j and 2j + 1; results move within groups of four lanes, so that every
//                    thread again holds pairs of neighbouring columns
//   quantise_block:  four lanes hold 128 columns of a row; amax takes two shuffles, then one scale and one product each
#pragma once

#include "warpwright/epilogue/quantise_scale.hpp"
#include "warpwright/epilogue/tree.hpp"

namespace ww::epilogue {

template <GemmConfig kConfig> struct EpilogueRows {
  static constexpr EpilogueStages kStages = stages_of(kConfig.epilogue);
  static constexpr int kMmaBlocks = mma_blocks_of(kConfig);
  static constexpr int kColumns = output_columns(kConfig);
  using Accumulator = atom::Fragment<atom::Sm90Accumulator<kConfig.tile.n>>;
  using Output = atom::Fragment<atom::Sm90Accumulator<kColumns>>;

  /// Combines gate and up columns into out, which is (64, TILE_N / 2) for each MMA_M block.
  WW_DEVICE static void swiglu(Accumulator (&acc)[kMmaBlocks], Output (&out)[kMmaBlocks]) {
    constexpr bool kHalves = kStages.swiglu == EpilogueOp::swiglu_halves;
    WW_UNROLL
    for (int u = 0; u < kMmaBlocks; ++u) {
      if constexpr (kHalves) {
        WW_UNROLL
        for (int v = 0; v < Output::kValues; ++v) out[u][v] = gated(acc[u][v], acc[u][v + Output::kValues]);
      } else {
        constexpr int kChunk = chunk_of<16>(Accumulator::kValues);
        WW_NO_UNROLL
        for (int first = 0; first < Accumulator::kValues; first += kChunk) {
          WW_UNROLL
          for (int v = 0; v < kChunk; v += 8) {  // 16 columns of the product, 8 of D
            WW_UNROLL
            for (int half = 0; half < 4; half += 2) {
              const float low = gated(acc[u][v + half], acc[u][v + half + 1]);
              const float high = gated(acc[u][v + half + 4], acc[u][v + half + 5]);
              const Pair moved = neighbours(low, high);
              acc[u][v / 2 + half] = moved.x, acc[u][v / 2 + half + 1] = moved.y;
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

  /// Makes values ready for conversion to e4m3, and writes their amax or the scales of their blocks.
  WW_DEVICE static void quantise(const EpilogueArguments& arguments, const TileExtent& extent, float scale,
                                 const EpilogueReductions<kConfig>& reductions, Output (&out)[kMmaBlocks]) {
    if constexpr (kStages.quantise == EpilogueOp::quantise) {
      float amax = 0.0f;
      WW_UNROLL
      for (int u = 0; u < kMmaBlocks; ++u) {
        WW_UNROLL
        for (int v = 0; v < Output::kValues; ++v) {
          const bool inside = extent.row(u, v / 2 % 2) < extent.m && column_of(extent, v) < columns_of(extent);
          amax = larger(amax, inside ? magnitude_of(out[u][v]) : 0.0f);
          out[u][v] = arch::mul(out[u][v], scale);
        }
      }
      reductions.finish_amax(amax);
    } else {
      quantise_blocks(arguments, extent, out);
    }
  }

 private:
  WW_DEVICE static float gated(float gate, float up) { return arch::mul(functions::silu(gate), up); }
  WW_DEVICE static int columns_of(const TileExtent& extent) {
    return kColumns == kConfig.tile.n ? extent.n : extent.n / 2;
  }

  /// Lane q of four holds columns q and 4 + q of eight; it gets columns 2q and 2q + 1.
  WW_DEVICE static Pair neighbours(float low, float high) {
    const u32 lane = arch::lane_index(), q = lane % 4, from = lane - q + 2 * q % 4;
    const auto at = [](float x, u32 source) { return arch::float_of(arch::warp::shuffle(arch::bits_of(x), source)); };
    const Pair of_low{at(low, from), at(low, from + 1)}, of_high{at(high, from), at(high, from + 1)};
    return q < 2 ? of_low : of_high;
  }

  /// Returns the column of D of a thread's value.
  WW_DEVICE static int column_of(const TileExtent& extent, int v) {
    return extent.tile.n * kColumns + 2 * (extent.thread % 4) + v % 2 + 8 * (v / 4);
  }

  WW_DEVICE static void quantise_blocks(const EpilogueArguments& arguments, const TileExtent& extent,
                                        Output (&out)[kMmaBlocks]) {
    constexpr int kBlockValues = kScaleBlock / 2;  // values of a thread, in two rows
    WW_UNROLL
    for (int block = 0; block < kColumns / kScaleBlock; ++block) {
      const int index = extent.tile.n * (kColumns / kScaleBlock) + block;
      WW_UNROLL
      for (int u = 0; u < kMmaBlocks; ++u) {
        float amax[2] = {0.0f, 0.0f}, inverse[2];
        WW_UNROLL
        for (int i = 0; i < kBlockValues; ++i) {
          const int v = block * kBlockValues + i, half = v / 2 % 2;
          const bool inside = column_of(extent, v) < columns_of(extent);
          amax[half] = larger(amax[half], inside ? magnitude_of(out[u][v]) : 0.0f);
        }
        WW_UNROLL
        for (int half = 0; half < 2; ++half) {
          const float scale = quantise_scale(combine_lanes<false, 1, 2>(amax[half]), kE4m3Step,
                                             kStages.quantise == EpilogueOp::quantise_block_pow2);
          const int row = extent.row(u, half);
          inverse[half] = arch::reciprocal(scale);
          arch::global::store_if(
              extent.thread % 4 == 0 && row < extent.m && index * kScaleBlock < columns_of(extent),
              arguments.out_scales + row * arguments.out_scales_row + index * arguments.out_scales_block,
              arch::bits_of(scale));
        }
        WW_UNROLL
        for (int i = 0; i < kBlockValues; ++i) {
          const int v = block * kBlockValues + i;
          out[u][v] = arch::mul(out[u][v], inverse[v / 2 % 2]);
        }
      }
    }
  }
};

}  // namespace ww::epilogue
