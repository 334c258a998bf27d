// SPDX-License-Identifier: Apache-2.0
// The numbers of the C interface and the enumerations of the library, each converted by cases: a number never changes
// its meaning because an enumeration was reordered, and one without a case is refused.
#pragma once

#include "capi/status.hpp"
#include "warpwright/host/check.hpp"
#include "warpwright/host/gemm.hpp"
#include "warpwright/host/grouped.hpp"
#include "warpwright/host/quantize.hpp"

namespace ww::capi {

// Each names `field` when it refuses.
Result<DType> to_dtype(const char* field, ww_dtype number);
Result<Scale> to_scale(ww_scale number);
Result<ScaleType> to_scale_type(ww_scale_type number);
Result<Major> to_major(const char* field, ww_major number);
Result<OutputLayout> to_output_layout(const char* field, ww_output_layout number);
Result<GroupEncoding> to_encoding(ww_encoding number);
Result<KPacking> to_k_packing(ww_k_packing number);
Result<Pdl> to_pdl(ww_pdl number);
Result<QuantizeBlock> to_quantize_block(ww_quantize_block number);
Result<EmuMath> to_math(const char* field, ww_math number);
/// Empty for WW_SCHEDULE_DEFAULT.
Result<std::optional<EmuSchedule>> to_schedule(const char* field, ww_schedule number);
ww_verdict from_verdict(Verdict verdict);

}  // namespace ww::capi
