// SPDX-License-Identifier: Apache-2.0
// One value that describes a GEMM kernel completely: template argument, JIT key, line of text, row of a bench result.
//   GemmConfig = arch, operands, tile, cluster, raster, one schedule per architecture, the one of {Dense, RowGroups,
//                KGroups} that `grouping` selects, epilogue
// A field of 0 or `automatic` is open; config/resolve.hpp resolves it. src/config/config_text.cpp has its text form and
// parser. All parts are plain structures, because a config is a template argument under NVRTC; those that do not apply
// keep their defaults.
#pragma once

#include "warpwright/config/enumerations.hpp"
#include "warpwright/config/epilogue_nodes.hpp"

namespace ww {

/// The types and layouts of a problem's matrices.
struct Operands {
  DType a = DType::e4m3, b = DType::e4m3, d = DType::bf16;
  Scale scale = Scale::none;
  MatrixLayout layout = {};
  OutputLayout d_layout = OutputLayout::row;  // dense
  OutputLayout c_layout = OutputLayout::row;  // of C, auxiliary matrices and stores
  bool batched = false;                       // several matrices of one shape, [L, M, N, K]; rank-3 tensor maps
  bool pointer_array = false;  // batched: arrays of pointers locate every matrix of A, B, C and D; rank-2 maps
  bool operator==(const Operands&) const = default;
};

/// CTA tile in elements; k is 128 bytes of K. Groups of rows: m is the widest token tile, n the weight tile.
struct Tile {
  int m = 0, n = 0, k = 0;
  bool operator==(const Tile&) const = default;
};

/// CTAs of a cluster along M (they share B), along N (they share A), and along K (they split it).
struct Cluster {
  int m = 0, n = 0, k = 0;
  bool operator==(const Cluster&) const = default;
};

/// The order of cluster tiles: bands that are `width` of them wide.
struct Raster {
  int width = 0;  // cluster tiles across a band (swizzle width)
  RasterBand band = RasterBand::automatic;
  bool operator==(const Raster&) const = default;
};

/// The schedule of an sm_90 kernel.
struct Sm90Schedule {
  Schedule schedule = Schedule::automatic;
  int stages = 0;                // depth of the operand ring
  int consumer_warpgroups = 0;   // 1 to 3; each owns an equal share of tile_m's rows (pingpong: a tile)
  int partial_accumulators = 0;  // block scales: 1 or 2 partial accumulators used in turn; 0: 2 if registers allow
  TileScheduler tile_scheduler = TileScheduler::automatic;
  int split = 0;  // split_k: K splits of each tile; cluster.k of them are reduced in one cluster, then all in workspace
  OperandSource a_source = OperandSource::automatic;
  SwapAb swap_ab = SwapAb::automatic;  // dense
  int producer_registers = 0;          // of each producer thread; the rest of the register file is the consumers'
  int occupancy = 0;                   // CTAs per SM; ragged: 1 to 3
  bool operator==(const Sm90Schedule&) const = default;
};

/// What the schedule of an sm_100 kernel has beside that of sm_90, whose consumer warpgroups read accumulators from
/// tensor memory here.
struct Sm100Schedule {
  bool pair = false;     // two CTAs along M issue one MMA, and each holds half of its B
  int accumulators = 0;  // in tensor memory: one is read while the next is multiplied
  bool operator==(const Sm100Schedule&) const = default;
};

/// One product, or a batch of them.
struct Dense {
  int epilogue_n = 0;            // dense: columns of D staged at a time, in two alternating buffers; 0: the tile's
  int fixed_n = 0, fixed_k = 0;  // dense: the kernel is specialised for this N or K; 0: for any
  bool operator==(const Dense&) const = default;
};

/// Groups of rows of A and D.
struct RowGroups {
  GroupedVariant variant = GroupedVariant::automatic;
  int capacity = 0;  // groups that fit the tables in shared memory
  bool operator==(const RowGroups&) const = default;
};

/// Groups of K.
struct KGroups {
  int capacity = 0;                    // groups that fit the tables in shared memory
  KPacking packing = KPacking::joint;  // per_group: the launch before this one makes tensor maps for every group
  bool operator==(const KGroups&) const = default;
};

/// Describes a kernel. With swap_ab on, tile, cluster, consumer warpgroups, raster and band refer to the instruction's
/// M and N, which are N and M of the problem. All other fields still refer to the problem (swap_ab.hpp has the kernel's
/// view).
struct GemmConfig {
  Arch arch = Arch::sm90;
  Operands operands = {};
  Tile tile = {};
  Cluster cluster = {};
  Raster raster = {};
  Sm90Schedule sm90 = {};
  Sm100Schedule sm100 = {};
  Grouping grouping = Grouping::dense;
  Dense dense = {};
  RowGroups row_groups = {};
  KGroups k_groups = {};
  EpilogueTree epilogue = {};  // applied to the scaled accumulator; if empty, D is the accumulator

  bool operator==(const GemmConfig&) const = default;
};

/// Groups that fit the tables in shared memory; 0 of a dense config.
WW_HOST_DEVICE constexpr int group_capacity(const GemmConfig& c) {
  return c.grouping == Grouping::k_groups ? c.k_groups.capacity : c.row_groups.capacity;
}

}  // namespace ww
