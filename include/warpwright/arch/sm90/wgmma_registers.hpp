// SPDX-License-Identifier: Apache-2.0
// PTX bodies of wgmma with A in registers; a part of arch/sm90/wgmma.hpp, which includes it.
#pragma once

#if !defined(WARPWRIGHT_WGMMA_ONLY) || defined(WARPWRIGHT_WGMMA_e4m3_e4m3)
#include "warpwright/arch/sm90/generated/wgmma_sm90_e4m3_e4m3_registers.hpp"
#endif
#if !defined(WARPWRIGHT_WGMMA_ONLY) || defined(WARPWRIGHT_WGMMA_e4m3_e5m2)
#include "warpwright/arch/sm90/generated/wgmma_sm90_e4m3_e5m2_registers.hpp"
#endif
#if !defined(WARPWRIGHT_WGMMA_ONLY) || defined(WARPWRIGHT_WGMMA_e5m2_e4m3)
#include "warpwright/arch/sm90/generated/wgmma_sm90_e5m2_e4m3_registers.hpp"
#endif
#if !defined(WARPWRIGHT_WGMMA_ONLY) || defined(WARPWRIGHT_WGMMA_e5m2_e5m2)
#include "warpwright/arch/sm90/generated/wgmma_sm90_e5m2_e5m2_registers.hpp"
#endif
#if !defined(WARPWRIGHT_WGMMA_ONLY) || defined(WARPWRIGHT_WGMMA_bf16_bf16)
#include "warpwright/arch/sm90/generated/wgmma_sm90_bf16_bf16_registers.hpp"
#endif
#if !defined(WARPWRIGHT_WGMMA_ONLY) || defined(WARPWRIGHT_WGMMA_f16_f16)
#include "warpwright/arch/sm90/generated/wgmma_sm90_f16_f16_registers.hpp"
#endif
#if !defined(WARPWRIGHT_WGMMA_ONLY) || defined(WARPWRIGHT_WGMMA_tf32_tf32)
#include "warpwright/arch/sm90/generated/wgmma_sm90_tf32_tf32_registers.hpp"
#endif
