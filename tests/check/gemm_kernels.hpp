// SPDX-License-Identifier: Apache-2.0
// The shipped GEMM in the corpus' shapes.
#pragma once

#include "gemm_configs.hpp"
#include "warpwright/kernel/gemm.hpp"
#include "warpwright/kernel/multistage_gemm.hpp"

namespace ww::check_test {

#define WW_CHECK_GEMM(name, config) \
  WW_KERNEL(check_gemm_##name, kernel::Gemm<config>::kThreads, kernel::GemmParams, p) { kernel::Gemm<config>::run(p); }
WW_CHECK_GEMM(block_2x1, kBlock2x1)
WW_CHECK_GEMM(block_1x2, kBlock1x2)
WW_CHECK_GEMM(block_units, kBlockUnits)
WW_CHECK_GEMM(column_scales, kColumnScales)
WW_CHECK_GEMM(two_scales, kTwoScales)
WW_CHECK_GEMM(tall, kTall)
WW_CHECK_GEMM(wide, kWide)
WW_CHECK_GEMM(plain_bf16, kPlainBf16)
WW_CHECK_GEMM(even_parts, kEvenParts)
WW_CHECK_GEMM(odd_parts, kOddParts)
WW_CHECK_GEMM(plain_2x1, kPlain2x1)
WW_CHECK_GEMM(tensor_f32, kTensorF32)
WW_CHECK_GEMM(stream_k, kStreamK)
WW_CHECK_GEMM(stream_k_2x1, kStreamK2x1)
WW_CHECK_GEMM(split_cluster, kSplitCluster)
WW_CHECK_GEMM(split_workspace, kSplitWorkspace)
WW_CHECK_GEMM(split_both, kSplitBoth)
WW_CHECK_GEMM(dynamic, kDynamic)
WW_CHECK_GEMM(dynamic_2x2, kDynamic2x2)
WW_CHECK_GEMM(plain_4x4, kPlain4x4)
WW_CHECK_GEMM(batched, kBatched)
WW_CHECK_GEMM(columns, kColumns)
WW_CHECK_GEMM(columns_f32, kColumnsF32)
WW_CHECK_GEMM(swapped, kSwapped)
WW_CHECK_GEMM(swapped_split, kSwappedSplit)
WW_CHECK_GEMM(mixed, kMixed)
WW_CHECK_GEMM(tf32, kTf32)
WW_CHECK_GEMM(mn_major, kMnMajor)
WW_CHECK_GEMM(tf32_mn_major, kTf32MnMajor)
WW_CHECK_GEMM(tf32_pingpong, kTf32Pingpong)
WW_CHECK_GEMM(registers_bf16, kRegistersBf16)
WW_CHECK_GEMM(registers_block, kRegistersBlock)
WW_CHECK_GEMM(pingpong_block, kPingpongBlock)
WW_CHECK_GEMM(pingpong_plain, kPingpongPlain)
#define WW_CHECK_MULTISTAGE(name, config, release)                                                \
  WW_KERNEL(check_gemm_##name, kernel::MultistageGemm<config>::kThreads, kernel::GemmParams, p) { \
    kernel::MultistageGemm<config, mainloop::StageRelease::release>::run(p);                      \
  }
WW_CHECK_MULTISTAGE(multistage_block, kMultistageBlock, by_warp)
WW_CHECK_MULTISTAGE(multistage_column_scales, kColumnScalesMultistage, by_warp)
WW_CHECK_MULTISTAGE(multistage_bf16, kMultistageBf16, by_warp)
WW_CHECK_MULTISTAGE(multistage_cluster_barrier, kMultistageBf16, by_cluster_barrier)
WW_CHECK_MULTISTAGE(multistage_block_cluster_barrier, kMultistageBlock, by_cluster_barrier)

}  // namespace ww::check_test
