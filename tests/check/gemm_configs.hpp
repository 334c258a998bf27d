// SPDX-License-Identifier: Apache-2.0
// The shapes of the shipped GEMM in the corpus: recipes, clusters, MMA_M blocks, types.
#pragma once

#include "warpwright/collective/builder.hpp"

namespace ww::check_test {

inline constexpr Scale kBlock = Scale::block_1x128_128x128;
inline constexpr GemmConfig kBlock2x1 =
    collective::resolve({.scale = kBlock, .tile_m = 128, .tile_n = 64, .cluster_m = 2, .stages = 2});
inline constexpr GemmConfig kBlock1x2 =
    collective::resolve({.scale = kBlock, .tile_m = 128, .tile_n = 64, .cluster_n = 2, .stages = 3});
inline constexpr GemmConfig kBlockUnits =
    collective::resolve({.scale = kBlock, .tile_m = 256, .tile_n = 32, .stages = 2});
inline constexpr GemmConfig kColumnScales =
    collective::resolve({.scale = Scale::block_1x128_1x128, .tile_m = 128, .tile_n = 64, .cluster_m = 2, .stages = 2});
inline constexpr GemmConfig kColumnScalesMultistage = collective::resolve(
    {.scale = Scale::block_1x128_1x128, .tile_m = 128, .tile_n = 72, .stages = 2, .schedule = Schedule::multistage});
inline constexpr GemmConfig kTwoScales =
    collective::resolve({.scale = kBlock, .tile_m = 192, .tile_n = 96, .cluster_m = 2, .stages = 2});
inline constexpr GemmConfig kTall =
    collective::resolve({.scale = kBlock, .tile_m = 192, .tile_n = 128, .stages = 3, .math_warpgroups = 3});
inline constexpr GemmConfig kWide =
    collective::resolve({.scale = Scale::tensor, .tile_m = 128, .tile_n = 256, .cluster_m = 2, .stages = 3});
inline constexpr GemmConfig kPlainBf16 = collective::resolve(
    {.a = DType::bf16, .b = DType::bf16, .tile_m = 64, .tile_n = 64, .stages = 2, .math_warpgroups = 1});
// D staged in parts: an even number of them, which alternate between two buffers, and an odd one, which have one
// buffer.
inline constexpr GemmConfig kEvenParts = collective::resolve(
    {.a = DType::bf16, .b = DType::bf16, .tile_m = 64, .tile_n = 64, .stages = 2, .epilogue_n = 16});
inline constexpr GemmConfig kOddParts = collective::resolve(
    {.d = DType::f16, .scale = Scale::tensor, .tile_m = 128, .tile_n = 96, .stages = 2, .epilogue_n = 32});
inline constexpr GemmConfig kPlain2x1 =
    collective::resolve({.d = DType::f16, .tile_m = 128, .tile_n = 128, .cluster_m = 2, .stages = 2});
inline constexpr GemmConfig kTensorF32 =
    collective::resolve({.d = DType::f32, .scale = Scale::tensor, .tile_m = 128, .tile_n = 40, .stages = 4});

inline constexpr GemmConfig kMixed =
    collective::resolve({.a = DType::e5m2, .scale = kBlock, .tile_m = 64, .tile_n = 64, .cluster_n = 2, .stages = 2});
inline constexpr GemmConfig kTf32 =
    collective::resolve({.a = DType::tf32, .b = DType::tf32, .tile_m = 128, .tile_n = 64, .stages = 2});
inline constexpr GemmConfig kTf32MnMajor = collective::resolve({.a = DType::tf32,
                                                                .b = DType::tf32,
                                                                .tile_m = 128,
                                                                .tile_n = 96,
                                                                .cluster_n = 2,
                                                                .stages = 2,
                                                                .a_major = Major::mn,
                                                                .b_major = Major::mn});
inline constexpr GemmConfig kTf32Pingpong = collective::resolve({.a = DType::tf32,
                                                                 .b = DType::tf32,
                                                                 .tile_m = 64,
                                                                 .tile_n = 64,
                                                                 .cluster_m = 2,
                                                                 .stages = 3,
                                                                 .b_major = Major::mn,
                                                                 .schedule = Schedule::pingpong});
inline constexpr GemmConfig kRegistersBf16 = collective::resolve({.a = DType::bf16,
                                                                  .b = DType::bf16,
                                                                  .tile_m = 256,
                                                                  .tile_n = 64,
                                                                  .cluster_m = 2,
                                                                  .stages = 2,
                                                                  .a_major = Major::mn,
                                                                  .a_source = OperandSource::registers});
inline constexpr GemmConfig kRegistersBlock = collective::resolve(
    {.scale = kBlock, .tile_m = 128, .tile_n = 64, .cluster_n = 2, .stages = 2, .a_source = OperandSource::registers});
inline constexpr GemmConfig kMnMajor = collective::resolve({.a = DType::bf16,
                                                            .b = DType::bf16,
                                                            .tile_m = 128,
                                                            .tile_n = 128,
                                                            .cluster_m = 2,
                                                            .stages = 2,
                                                            .a_major = Major::mn,
                                                            .b_major = Major::mn});
inline constexpr GemmConfig kColumns = collective::resolve({.a = DType::bf16,
                                                            .b = DType::bf16,
                                                            .tile_m = 128,
                                                            .tile_n = 72,
                                                            .stages = 2,
                                                            .batched = true,
                                                            .d_layout = OutputLayout::column});
inline constexpr GemmConfig kColumnsF32 = collective::resolve({.d = DType::f32,
                                                               .scale = Scale::tensor,
                                                               .tile_m = 64,
                                                               .tile_n = 64,
                                                               .stages = 2,
                                                               .d_layout = OutputLayout::column,
                                                               .schedule = Schedule::pingpong});
inline constexpr GemmConfig kBatched =
    collective::resolve({.scale = kBlock, .tile_m = 128, .tile_n = 64, .cluster_m = 2, .stages = 2, .batched = true});
inline constexpr GemmConfig kPingpongBlock = collective::resolve(
    {.scale = kBlock, .tile_m = 64, .tile_n = 64, .cluster_m = 2, .stages = 3, .schedule = Schedule::pingpong});
inline constexpr GemmConfig kPingpongPlain = collective::resolve({.d = DType::f16,
                                                                  .scale = Scale::row_column,
                                                                  .tile_m = 64,
                                                                  .tile_n = 64,
                                                                  .cluster_n = 2,
                                                                  .stages = 2,
                                                                  .schedule = Schedule::pingpong});
inline constexpr GemmConfig kMultistageBlock = collective::resolve(
    {.scale = kBlock, .tile_m = 128, .tile_n = 64, .cluster_n = 2, .stages = 3, .schedule = Schedule::multistage});
inline constexpr GemmConfig kMultistageBf16 = collective::resolve({.a = DType::bf16,
                                                                   .b = DType::bf16,
                                                                   .tile_m = 128,
                                                                   .tile_n = 64,
                                                                   .cluster_m = 2,
                                                                   .stages = 2,
                                                                   .schedule = Schedule::multistage});
// the schedulers; bands hold all of M, as the reference has it
inline constexpr GemmConfig kStreamK = collective::resolve(
    {.scale = kBlock, .tile_m = 64, .tile_n = 64, .stages = 2, .raster = 64, .order = TileOrder::stream_k});
inline constexpr GemmConfig kStreamK2x1 = collective::resolve({.a = DType::bf16,
                                                               .b = DType::bf16,
                                                               .tile_m = 64,
                                                               .tile_n = 64,
                                                               .cluster_m = 2,
                                                               .stages = 2,
                                                               .raster = 64,
                                                               .order = TileOrder::stream_k});
inline constexpr GemmConfig kSplitCluster = collective::resolve({.scale = kBlock,
                                                                 .tile_m = 64,
                                                                 .tile_n = 64,
                                                                 .stages = 2,
                                                                 .raster = 64,
                                                                 .order = TileOrder::split_k,
                                                                 .split = 4,
                                                                 .cluster_k = 4});
inline constexpr GemmConfig kSplitWorkspace = collective::resolve({.d = DType::f32,
                                                                   .scale = Scale::tensor,
                                                                   .tile_m = 128,
                                                                   .tile_n = 64,
                                                                   .stages = 2,
                                                                   .raster = 64,
                                                                   .order = TileOrder::split_k,
                                                                   .split = 3,
                                                                   .cluster_k = 1});
inline constexpr GemmConfig kSplitBoth = collective::resolve({.scale = kBlock,
                                                              .tile_m = 64,
                                                              .tile_n = 64,
                                                              .cluster_m = 2,
                                                              .stages = 2,
                                                              .raster = 64,
                                                              .order = TileOrder::split_k,
                                                              .split = 4,
                                                              .cluster_k = 2});
inline constexpr GemmConfig kDynamic =
    collective::resolve({.scale = kBlock, .tile_m = 64, .tile_n = 64, .stages = 2, .order = TileOrder::dynamic});
inline constexpr GemmConfig kDynamic2x2 = collective::resolve({.scale = kBlock,
                                                               .tile_m = 64,
                                                               .tile_n = 64,
                                                               .cluster_m = 2,
                                                               .cluster_n = 2,
                                                               .stages = 2,
                                                               .order = TileOrder::dynamic});
// under swap-AB; the kernel's view, in which tails of M are tails of N
inline constexpr GemmConfig kSwapped = collective::kernel_config(
    collective::resolve({.scale = kBlock, .tile_m = 192, .tile_n = 24, .stages = 3, .swap_ab = SwapAb::on}));
inline constexpr GemmConfig kSwappedSplit = collective::kernel_config(collective::resolve({.scale = kBlock,
                                                                                           .tile_m = 64,
                                                                                           .tile_n = 8,
                                                                                           .stages = 4,
                                                                                           .raster = 64,
                                                                                           .swap_ab = SwapAb::on,
                                                                                           .order = TileOrder::split_k,
                                                                                           .split = 4,
                                                                                           .cluster_k = 4}));
inline constexpr GemmConfig kPlain4x4 =
    collective::resolve({.tile_m = 64, .tile_n = 64, .cluster_m = 4, .cluster_n = 4, .stages = 2});

}  // namespace ww::check_test
