// SPDX-License-Identifier: Apache-2.0
// The shapes of the shipped GEMM in the corpus: recipes, clusters, MMA_M blocks, types.
#pragma once

#include "warpwright/config/resolve.hpp"
#include "warpwright/config/swap_ab.hpp"

namespace ww::check_test {

inline constexpr Scale kBlock = Scale::block_1x128_128x128;
inline constexpr GemmConfig kBlock2x1 =
    config::resolve({.operands = {.scale = kBlock}, .tile = {128, 64}, .cluster = {2}, .sm90 = {.stages = 2}});
inline constexpr GemmConfig kBlock1x2 =
    config::resolve({.operands = {.scale = kBlock}, .tile = {128, 64}, .cluster = {.n = 2}, .sm90 = {.stages = 3}});
inline constexpr GemmConfig kBlockUnits =
    config::resolve({.operands = {.scale = kBlock}, .tile = {256, 32}, .sm90 = {.stages = 2}});
inline constexpr GemmConfig kColumnScales = config::resolve(
    {.operands = {.scale = Scale::block_1x128_1x128}, .tile = {128, 64}, .cluster = {2}, .sm90 = {.stages = 2}});
inline constexpr GemmConfig kColumnScalesMultistage =
    config::resolve({.operands = {.scale = Scale::block_1x128_1x128},
                     .tile = {128, 72},
                     .sm90 = {.schedule = Schedule::multistage, .stages = 2}});
inline constexpr GemmConfig kTwoScales =
    config::resolve({.operands = {.scale = kBlock}, .tile = {192, 96}, .cluster = {2}, .sm90 = {.stages = 2}});
inline constexpr GemmConfig kTall = config::resolve(
    {.operands = {.scale = kBlock}, .tile = {192, 128}, .sm90 = {.stages = 3, .consumer_warpgroups = 3}});
inline constexpr GemmConfig kWide =
    config::resolve({.operands = {.scale = Scale::tensor}, .tile = {128, 256}, .cluster = {2}, .sm90 = {.stages = 3}});
inline constexpr GemmConfig kPlainBf16 = config::resolve({.operands = {.a = DType::bf16, .b = DType::bf16},
                                                          .tile = {64, 64},
                                                          .sm90 = {.stages = 2, .consumer_warpgroups = 1}});
// D staged in parts: an even number of them, which alternate between two buffers, and an odd one, which have one
// buffer.
inline constexpr GemmConfig kEvenParts = config::resolve({.operands = {.a = DType::bf16, .b = DType::bf16},
                                                          .tile = {64, 64},
                                                          .sm90 = {.stages = 2},
                                                          .dense = {.epilogue_n = 16}});
inline constexpr GemmConfig kOddParts = config::resolve({.operands = {.d = DType::f16, .scale = Scale::tensor},
                                                         .tile = {128, 96},
                                                         .sm90 = {.stages = 2},
                                                         .dense = {.epilogue_n = 32}});
inline constexpr GemmConfig kPlain2x1 =
    config::resolve({.operands = {.d = DType::f16}, .tile = {128, 128}, .cluster = {2}, .sm90 = {.stages = 2}});
inline constexpr GemmConfig kTensorF32 =
    config::resolve({.operands = {.d = DType::f32, .scale = Scale::tensor}, .tile = {128, 40}, .sm90 = {.stages = 4}});

inline constexpr GemmConfig kMixed = config::resolve(
    {.operands = {.a = DType::e5m2, .scale = kBlock}, .tile = {64, 64}, .cluster = {.n = 2}, .sm90 = {.stages = 2}});
inline constexpr GemmConfig kTf32 =
    config::resolve({.operands = {.a = DType::tf32, .b = DType::tf32}, .tile = {128, 64}, .sm90 = {.stages = 2}});
inline constexpr GemmConfig kTf32MnMajor =
    config::resolve({.operands = {.a = DType::tf32, .b = DType::tf32, .layout = {.a = Major::mn, .b = Major::mn}},
                     .tile = {128, 96},
                     .cluster = {.n = 2},
                     .sm90 = {.stages = 2}});
inline constexpr GemmConfig kTf32Pingpong =
    config::resolve({.operands = {.a = DType::tf32, .b = DType::tf32, .layout = {.b = Major::mn}},
                     .tile = {64, 64},
                     .cluster = {2},
                     .sm90 = {.schedule = Schedule::pingpong, .stages = 3}});
inline constexpr GemmConfig kRegistersBf16 =
    config::resolve({.operands = {.a = DType::bf16, .b = DType::bf16, .layout = {.a = Major::mn}},
                     .tile = {256, 64},
                     .cluster = {2},
                     .sm90 = {.stages = 2, .a_source = OperandSource::registers}});
inline constexpr GemmConfig kRegistersBlock =
    config::resolve({.operands = {.scale = kBlock},
                     .tile = {128, 64},
                     .cluster = {.n = 2},
                     .sm90 = {.stages = 2, .a_source = OperandSource::registers}});
inline constexpr GemmConfig kMnMajor =
    config::resolve({.operands = {.a = DType::bf16, .b = DType::bf16, .layout = {.a = Major::mn, .b = Major::mn}},
                     .tile = {128, 128},
                     .cluster = {2},
                     .sm90 = {.stages = 2}});
inline constexpr GemmConfig kColumns = config::resolve(
    {.operands = {.a = DType::bf16, .b = DType::bf16, .d_layout = OutputLayout::column, .batched = true},
     .tile = {128, 72},
     .sm90 = {.stages = 2}});
inline constexpr GemmConfig kColumnsF32 =
    config::resolve({.operands = {.d = DType::f32, .scale = Scale::tensor, .d_layout = OutputLayout::column},
                     .tile = {64, 64},
                     .sm90 = {.schedule = Schedule::pingpong, .stages = 2}});
inline constexpr GemmConfig kBatched = config::resolve(
    {.operands = {.scale = kBlock, .batched = true}, .tile = {128, 64}, .cluster = {2}, .sm90 = {.stages = 2}});
inline constexpr GemmConfig kPingpongBlock = config::resolve({.operands = {.scale = kBlock},
                                                              .tile = {64, 64},
                                                              .cluster = {2},
                                                              .sm90 = {.schedule = Schedule::pingpong, .stages = 3}});
inline constexpr GemmConfig kPingpongPlain = config::resolve({.operands = {.d = DType::f16, .scale = Scale::row_column},
                                                              .tile = {64, 64},
                                                              .cluster = {.n = 2},
                                                              .sm90 = {.schedule = Schedule::pingpong, .stages = 2}});
inline constexpr GemmConfig kMultistageBlock =
    config::resolve({.operands = {.scale = kBlock},
                     .tile = {128, 64},
                     .cluster = {.n = 2},
                     .sm90 = {.schedule = Schedule::multistage, .stages = 3}});
inline constexpr GemmConfig kMultistageBf16 =
    config::resolve({.operands = {.a = DType::bf16, .b = DType::bf16},
                     .tile = {128, 64},
                     .cluster = {2},
                     .sm90 = {.schedule = Schedule::multistage, .stages = 2}});
// the schedulers; bands hold all of M, as the reference has it
inline constexpr GemmConfig kStreamK =
    config::resolve({.operands = {.scale = kBlock},
                     .tile = {64, 64},
                     .raster = {.width = 64},
                     .sm90 = {.stages = 2, .tile_scheduler = TileScheduler::stream_k}});
inline constexpr GemmConfig kStreamK2x1 =
    config::resolve({.operands = {.a = DType::bf16, .b = DType::bf16},
                     .tile = {64, 64},
                     .cluster = {2},
                     .raster = {.width = 64},
                     .sm90 = {.stages = 2, .tile_scheduler = TileScheduler::stream_k}});
inline constexpr GemmConfig kSplitCluster =
    config::resolve({.operands = {.scale = kBlock},
                     .tile = {64, 64},
                     .cluster = {.k = 4},
                     .raster = {.width = 64},
                     .sm90 = {.stages = 2, .tile_scheduler = TileScheduler::split_k, .split = 4}});
inline constexpr GemmConfig kSplitWorkspace =
    config::resolve({.operands = {.d = DType::f32, .scale = Scale::tensor},
                     .tile = {128, 64},
                     .cluster = {.k = 1},
                     .raster = {.width = 64},
                     .sm90 = {.stages = 2, .tile_scheduler = TileScheduler::split_k, .split = 3}});
inline constexpr GemmConfig kSplitBoth =
    config::resolve({.operands = {.scale = kBlock},
                     .tile = {64, 64},
                     .cluster = {.m = 2, .k = 2},
                     .raster = {.width = 64},
                     .sm90 = {.stages = 2, .tile_scheduler = TileScheduler::split_k, .split = 4}});
inline constexpr GemmConfig kDynamic = config::resolve(
    {.operands = {.scale = kBlock}, .tile = {64, 64}, .sm90 = {.stages = 2, .tile_scheduler = TileScheduler::dynamic}});
inline constexpr GemmConfig kDynamic2x2 =
    config::resolve({.operands = {.scale = kBlock},
                     .tile = {64, 64},
                     .cluster = {2, 2},
                     .sm90 = {.stages = 2, .tile_scheduler = TileScheduler::dynamic}});
// under swap-AB; the kernel's view, in which tails of M are tails of N
inline constexpr GemmConfig kSwapped = config::kernel_config(
    config::resolve({.operands = {.scale = kBlock}, .tile = {192, 24}, .sm90 = {.stages = 3, .swap_ab = SwapAb::on}}));
inline constexpr GemmConfig kSwappedSplit = config::kernel_config(config::resolve(
    {.operands = {.scale = kBlock},
     .tile = {64, 8},
     .cluster = {.k = 4},
     .raster = {.width = 64},
     .sm90 = {.stages = 4, .tile_scheduler = TileScheduler::split_k, .split = 4, .swap_ab = SwapAb::on}}));
inline constexpr GemmConfig kPlain4x4 = config::resolve({.tile = {64, 64}, .cluster = {4, 4}, .sm90 = {.stages = 2}});

}  // namespace ww::check_test
