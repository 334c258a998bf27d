// SPDX-License-Identifier: Apache-2.0
// Groups of rows in normal orientation (variants contiguous and masked) for the warp-specialised kernel: tiles that
// start at any row, and weights that have a batch coordinate. The kernel itself is kernel/warp_specialised_gemm.hpp;
// kernel/grouped_gemm.hpp and kernel/sm100_grouped_gemm.hpp join the two.
//   all:    sizes on the device -> {start, count} -> token tiles in one rasterised order (scheduler/raster_groups.hpp)
// It suits groups of many rows: two token tiles of one group share their weights through a cluster. In a tile that ends
// early, a consumer warpgroup without rows issues no MMA; outside clusters its operand rows are not loaded either.
#pragma once

#include "warpwright/config/config_parameter.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/config/grouped_arguments.hpp"
#include "warpwright/config/resolve.hpp"
#include "warpwright/kernel/gemm_params.hpp"
#include "warpwright/kernel/warp_specialised_gemm.hpp"
#include "warpwright/mainloop/scale_addresses.hpp"
#include "warpwright/scheduler/raster_groups.hpp"

namespace ww::kernel {

/// TheMainloop is that of the config's architecture.
template <ConfigParameter kConfig, class TheMainloop> struct RowGroupProblem {
  static_assert(!config::fault_of_raster(kConfig), "GemmConfig: resolve_grouped() it and look at fault_of_grouped()");
  static constexpr bool kScalesInMma = config::scales_in_mma(kConfig);
  using Params = conditional_t<kScalesInMma, ScaledGroupedParams, config::GroupedArguments>;
  using Mainloop = TheMainloop;
  using Epilogue = epilogue::Epilogue<kConfig, typename Mainloop::Accumulator>;
  using Pipeline = typename Mainloop::Pipeline;
  // The producer, the thread that multiplies on Blackwell, scale warps and consumer warps.
  static constexpr int kReaders =
      1 + config::is_sm100(kConfig) + static_cast<int>(Mainloop::kScaleWarps) + config::consumer_warps(kConfig);
  using Source = scheduler::RasterGroups<kConfig, kReaders>;
  using Tile = typename Source::Tile;
  // Consumer warpgroups may have no rows of a tile, unless their rows alternate.
  static constexpr bool kEndsEarly = !config::is_sm100(kConfig);
  static constexpr bool kLoadsParts = config::loads_parts(kConfig);
  // CTAs that are alone, or a pair of one group, share their weights with all of the cluster.
  static constexpr bool kAlwaysShares = kConfig.cluster.m == config::ctas_of_mma(kConfig);

  WW_DEVICE static void prefetch(const Params& arguments) {
    if (arguments.k_blocks > 0) {
      arch::tma::prefetch(arguments.a[0]);
      if constexpr (kLoadsParts) arch::tma::prefetch(arguments.a[1]);
      arch::tma::prefetch(arguments.b);
    }
    arch::tma::prefetch(arguments.d);
  }

  struct Loader {
    typename Mainloop::LoadState state;

    WW_DEVICE void load(const Params& arguments, arch::SharedAddress shared, Pipeline& pipeline, const Source& source,
                        const Tile& tile) {
      const atom::TileRow<kConfig.tile.m, kConfig.tile.k> gA{tile.row};                          // (TILE_M, TILE_K, k)
      const auto gB = Mainloop::template tile_of_b<true>(tile.tile_n, tile.group, arguments.n);  // (TILE_N, TILE_K, k)
      const typename Mainloop::OperandLoad load_a{arguments.a[0]}, load_b{arguments.b};
      if constexpr (kLoadsParts) {
        if (Source::is_part(tile))
          return Mainloop::fill_parts(atom::TmaLoadAtom{arguments.a[1]}, gA, load_b, gB, Source::parts_of(tile),
                                      arguments.k_blocks, shared, pipeline);
      }
      if constexpr (kScalesInMma) {
        const config::TileCoord scales{tile.scale_block, tile.tile_n, tile.group};
        const auto load_scales = Mainloop::scale_loads(arguments.scales, shared, scales, source, tile, state);
        if (kAlwaysShares || tile.shares)
          Mainloop::template fill<true>(load_a, gA, load_b, gB, 0, arguments.k_blocks, shared, pipeline, {},
                                        load_scales);
        else if constexpr (!kAlwaysShares)
          Mainloop::template fill<false>(load_a, gA, load_b, gB, 0, arguments.k_blocks, shared, pipeline, {},
                                         load_scales);
        return;
      }
      if (kAlwaysShares || tile.shares)
        Mainloop::template fill<true>(load_a, gA, load_b, gB, arguments.k_blocks, shared, pipeline);
      else if constexpr (!kAlwaysShares)
        Mainloop::template fill<false>(load_a, gA, load_b, gB, arguments.k_blocks, shared, pipeline);
    }
  };
  WW_DEVICE static void load_scales(const Params& arguments, arch::SharedAddress shared,
                                    typename Mainloop::ScalePipeline& pipeline, const Source&, const Tile& tile,
                                    u32 warp) {
    Mainloop::load_scales(block_scales(arguments, tile), shared, pipeline, warp);
  }
  /// Returns the offset of the tile's first column within the 128 columns of weights that share a scale. Every group
  /// has scales of its own, which begin with its first column.
  WW_DEVICE static int scale_offset(const Source&, const Tile& tile) {
    if constexpr (config::promotes(kConfig) && Mainloop::Scales::kBlocks > 1)
      return Mainloop::scale_offset({0, tile.tile_n, 0});
    else return 0;
  }

  /// Returns whether a consumer warpgroup has rows of the tile.
  WW_DEVICE static bool has_rows(const Tile& tile, int part) { return tile.rows > part * Source::kPartRows; }
  /// K is not split.
  struct Sums {
    WW_DEVICE Sums(arch::SharedAddress, int) {}
    WW_DEVICE static void initialize(arch::SharedAddress) {}
    WW_DEVICE static bool is_first_along_k() { return true; }
  };
  WW_DEVICE static bool complete(const Params&, const Sums&, typename Mainloop::Accumulator (&)[Mainloop::kMmaBlocks],
                                 const typename Source::Walk&, const Tile&) {
    return true;
  }
  WW_DEVICE static void scale(const Params& arguments, int part,
                              typename Mainloop::Accumulator (&acc)[Mainloop::kMmaBlocks], const Tile& tile) {
    if constexpr (kConfig.operands.scale == Scale::nv) Epilogue::scale_all(arguments.scale_a, acc);
    else Epilogue::scale(factors(arguments, tile), part, acc, Epilogue::skip_of(arguments.n));
  }
  WW_DEVICE static void store(const Params& arguments, arch::SharedAddress output,
                              const typename Epilogue::Buffer& buffer, int part,
                              typename Mainloop::Accumulator (&acc)[Mainloop::kMmaBlocks], const Tile& tile) {
    if constexpr (kConfig.epilogue.empty()) {
      Epilogue::store_rows(rows_of(arguments, tile), output, buffer, part, acc);
    } else if (kEndsEarly || tile.rows > 0) {  // vectors along M have no element for the tile of a pair without rows
      Epilogue::store_rows(rows_of(arguments, tile), arguments.n, of_matrix(arguments.epilogue, tile.group), output,
                           buffer, part, acc);
    }
  }
  /// Stores a tile for K = 0: zeros, or the tree of zeros, whatever the scales are.
  WW_DEVICE static void store_zeros(const Params& arguments, arch::SharedAddress output,
                                    const typename Epilogue::Buffer& buffer, int part, const Tile& tile) {
    if constexpr (kConfig.epilogue.empty()) {
      Epilogue::store_zero_rows(rows_of(arguments, tile), output, buffer, part);
    } else if (tile.rows > 0) {
      typename Mainloop::Accumulator acc[Mainloop::kMmaBlocks] = {};
      store(arguments, output, buffer, part, acc, tile);
    }
  }

 private:
  WW_DEVICE static auto block_scales(const Params& arguments, const Tile& tile) {
    const int block_n = Mainloop::first_column(tile.tile_n, arguments.n) / config::kScaleBlock;
    const mainloop::TileScales scales{
        arguments.scale_a + tile.group * arguments.scale_a_group + tile.row * arguments.scale_a_row,
        arguments.scale_b + tile.group * arguments.scale_b_group + block_n * arguments.scale_b_n,
        arguments.scale_a_row,
        arguments.scale_a_k,
        arguments.scale_b_k,
        max(tile.rows, 1),
        arguments.k_blocks,
        arguments.scale_b_n,
        ceil_div(arguments.n, config::kScaleBlock) - block_n};
    if constexpr (Mainloop::kHalves) return Mainloop::of_halves(scales, tile.tile_n, arguments.n);
    else return scales;
  }
  WW_DEVICE static typename Epilogue::Factors factors(const Params& arguments, const Tile& tile) {
    const float* b = arguments.scale_b + tile.group * arguments.scale_b_group;
    if (kConfig.operands.scale == Scale::tensor)
      return {arguments.scale_a + tile.group * arguments.scale_a_group, b, 0, 0, 1, 1};
    const int column = min(tile.tile_n * epilogue::kColumnStep<kConfig>, arguments.n - 1);
    return {arguments.scale_a + tile.group * arguments.scale_a_group + tile.row * arguments.scale_a_row,
            b + column * arguments.scale_b_n,
            arguments.scale_a_row,
            arguments.scale_b_n,
            max(tile.rows, 1),
            arguments.n - column};
  }
  WW_DEVICE static typename Epilogue::PlainRows plain_rows_of(const Params& arguments, const Tile& tile) {
    // ptxas for sm_100a puts TMA stores whose coordinates may differ from lane to lane into a loop over the lanes.
    const auto uniform = [](i32 value) {
      return config::is_sm100(kConfig) ? scheduler::uniform_for(scheduler::Reader::warp, value) : value;
    };
    const i32 row = uniform(tile.row), tile_n = uniform(tile.tile_n);
    return {arguments.d,
            arguments.d_rows,
            arguments.ldd,
            config::output_columns(kConfig.epilogue, arguments.n),
            row,
            tile.rows,
            tile_n * Epilogue::kColumns,
            tile_n};
  }
  WW_DEVICE static typename Epilogue::Rows rows_of(const Params& arguments, const Tile& tile) {
    if constexpr (Epilogue::kHasChunks) {
      const bool masked = kConfig.row_groups.variant == GroupedVariant::masked;
      const int before = masked ? tile.group * ceil_div(arguments.groups.alignment, kScaleChunkRows) : 0;
      return {plain_rows_of(arguments, tile), (before + tile.scale_block) * kScaleChunkRows - tile.row};
    } else {
      return plain_rows_of(arguments, tile);
    }
  }
};

}  // namespace ww::kernel
