// SPDX-License-Identifier: Apache-2.0
// The shipped GEMM in the corpus' shapes.
#pragma once

#include "gemm_configs.hpp"
#include "warpwright/kernel/gemm.hpp"

namespace ww::check_test {

#define WW_CHECK_GEMM(name, config) \
  WW_KERNEL(check_gemm_##name, kernel::Gemm<config>::kThreads, kernel::GemmParams, p) { kernel::Gemm<config>::run(p); }
WW_CHECK_GEMM(block_2x1, kBlock2x1)
WW_CHECK_GEMM(block_1x2, kBlock1x2)
WW_CHECK_GEMM(block_units, kBlockUnits)
WW_CHECK_GEMM(plain_bf16, kPlainBf16)
WW_CHECK_GEMM(plain_2x1, kPlain2x1)
WW_CHECK_GEMM(tensor_f32, kTensorF32)
WW_CHECK_GEMM(batched, kBatched)

}  // namespace ww::check_test
