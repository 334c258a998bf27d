// SPDX-License-Identifier: Apache-2.0
// Conversions of enumerations by a table each. from() lists the enumerators of the library in a switch without default,
// so that the compiler names the one that this interface lacks.
#include "capi/enumerations.hpp"

#include <fmt/format.h>

namespace ww::capi {
namespace {

constexpr ww_dtype from(DType type) {
  switch (type) {
    case DType::e4m3: return WW_E4M3;
    case DType::e5m2: return WW_E5M2;
    case DType::bf16: return WW_BF16;
    case DType::f16: return WW_F16;
    case DType::f32: return WW_F32;
    case DType::tf32: return WW_TF32;
    case DType::e2m1: return WW_E2M1;
    case DType::e3m2: return WW_E3M2;
    case DType::e2m3: return WW_E2M3;
    case DType::e8m0: return WW_E8M0;
  }
  return 0;
}
constexpr ww_scale from(Scale scale) {
  switch (scale) {
    case Scale::none: return WW_SCALE_NONE;
    case Scale::tensor: return WW_SCALE_TENSOR;
    case Scale::row_column: return WW_SCALE_ROW_COLUMN;
    case Scale::block_1x128_128x128: return WW_SCALE_BLOCK;
    case Scale::block_1x128_1x128: return WW_SCALE_BLOCK_1D;
    case Scale::block_128x128_1x128: return WW_SCALE_BLOCK_SWAPPED;
    case Scale::mx: return WW_SCALE_MX;
    case Scale::nv: return WW_SCALE_NV;
  }
  return -1;
}
constexpr ww_scale_type from(ScaleType type) {
  switch (type) {
    case ScaleType::f32: return WW_SCALES_F32;
    case ScaleType::e8m0: return WW_SCALES_E8M0;
    case ScaleType::e4m3: return WW_SCALES_E4M3;
  }
  return -1;
}
constexpr ww_major from(Major major) {
  switch (major) {
    case Major::k: return WW_MAJOR_K;
    case Major::mn: return WW_MAJOR_MN;
  }
  return -1;
}
constexpr ww_output_layout from(OutputLayout layout) {
  switch (layout) {
    case OutputLayout::row: return WW_ROWS;
    case OutputLayout::column: return WW_COLUMNS;
  }
  return -1;
}
constexpr ww_encoding from(GroupEncoding encoding) {
  switch (encoding) {
    case GroupEncoding::offsets: return WW_OFFSETS;
    case GroupEncoding::indptr: return WW_INDPTR;
    case GroupEncoding::starts_counts: return WW_STARTS_COUNTS;
    case GroupEncoding::row_ids: return WW_ROW_IDS;
    case GroupEncoding::masked: return WW_MASKED;
  }
  return -1;
}
constexpr ww_k_packing from(KPacking packing) {
  switch (packing) {
    case KPacking::joint: return WW_K_JOINT;
    case KPacking::per_group: return WW_K_PER_GROUP;
  }
  return -1;
}
constexpr ww_pdl from(Pdl pdl) {
  switch (pdl) {
    case Pdl::automatic: return WW_PDL_AUTO;
    case Pdl::off: return WW_PDL_OFF;
    case Pdl::on: return WW_PDL_ON;
  }
  return -1;
}
constexpr ww_quantize_block from(QuantizeBlock block) {
  switch (block) {
    case QuantizeBlock::b1x128: return WW_BLOCK_1X128;
    case QuantizeBlock::b128x128: return WW_BLOCK_128X128;
  }
  return -1;
}
constexpr ww_math from(EmuMath math) {
  switch (math) {
    case EmuMath::exact: return WW_MATH_EXACT;
    case EmuMath::fp32_chain: return WW_MATH_FP32_CHAIN;
    case EmuMath::off: return WW_MATH_OFF;
  }
  return -1;
}
constexpr ww_schedule from(EmuSchedule schedule) {
  switch (schedule) {
    case EmuSchedule::fifo: return WW_FIFO;
    case EmuSchedule::random: return WW_RANDOM;
    case EmuSchedule::pct: return WW_PCT;
    case EmuSchedule::adversarial: return WW_ADVERSARIAL;
  }
  return -1;
}

/// The enumerator whose number is `number`, among those up to `last`; the library's enumerations count from 0.
template <class Enumeration> constexpr std::optional<Enumeration> find(std::int32_t number, Enumeration last) {
  for (int i = 0; i <= static_cast<int>(last); ++i)
    if (from(static_cast<Enumeration>(i)) == number) return static_cast<Enumeration>(i);
  return std::nullopt;
}
constexpr auto dtype_of(ww_dtype number) { return find(number, DType::e8m0); }
constexpr auto scale_of(ww_scale number) { return find(number, Scale::nv); }
constexpr auto scale_type_of(ww_scale_type number) { return find(number, ScaleType::e4m3); }
constexpr auto encoding_of(ww_encoding number) { return find(number, GroupEncoding::masked); }

template <class Enumeration>
Result<Enumeration> found(const char* field, const char* what, std::int32_t number, std::optional<Enumeration> value) {
  if (value) return *value;
  return failure(ErrorCode::invalid, field, fmt::format("an enumerator of {}", what), fmt::format("{}", number));
}

// Every enumerator of the library has a number of its own.
static_assert(dtype_of(WW_TF32) == DType::tf32 && dtype_of(WW_E5M2) == DType::e5m2 && !dtype_of(0) && !dtype_of(11));
static_assert(scale_of(WW_SCALE_BLOCK_SWAPPED) == Scale::block_128x128_1x128 && !scale_of(8) && !scale_of(-1));
static_assert(encoding_of(WW_MASKED) == GroupEncoding::masked && !encoding_of(5));
static_assert(WW_GROUP_OVERRUN == GroupStatus::overrun && WW_GROUP_OVERLAP == GroupStatus::overlap &&
              WW_GROUP_BAD_ID == GroupStatus::bad_id && WW_GROUP_SCATTERED == GroupStatus::scattered &&
              WW_GROUP_MISALIGNED == GroupStatus::misaligned);
static_assert(WW_EPILOGUE_SLOTS == kEpilogueSlots);

}  // namespace

Result<DType> to_dtype(const char* field, ww_dtype number) {
  return found(field, "ww_dtype (WW_E4M3 = 1 and following)", number, dtype_of(number));
}
Result<Scale> to_scale(ww_scale number) { return found("scale", "ww_scale", number, scale_of(number)); }
Result<ScaleType> to_scale_type(ww_scale_type number) {
  return found("scale_type", "ww_scale_type", number, scale_type_of(number));
}
Result<Major> to_major(const char* field, ww_major number) {
  return found(field, "ww_major", number, find(number, Major::mn));
}
Result<OutputLayout> to_output_layout(const char* field, ww_output_layout number) {
  return found(field, "ww_output_layout", number, find(number, OutputLayout::column));
}
Result<GroupEncoding> to_encoding(ww_encoding number) {
  return found("encoding", "ww_encoding", number, encoding_of(number));
}
Result<KPacking> to_k_packing(ww_k_packing number) {
  return found("packing", "ww_k_packing", number, find(number, KPacking::per_group));
}
Result<Pdl> to_pdl(ww_pdl number) { return found("pdl", "ww_pdl", number, find(number, Pdl::on)); }
Result<QuantizeBlock> to_quantize_block(ww_quantize_block number) {
  return found("block", "ww_quantize_block", number, find(number, QuantizeBlock::b128x128));
}
Result<EmuMath> to_math(const char* field, ww_math number) {
  return found(field, "ww_math", number, find(number, EmuMath::off));
}
Result<std::optional<EmuSchedule>> to_schedule(const char* field, ww_schedule number) {
  if (number == WW_SCHEDULE_DEFAULT) return std::optional<EmuSchedule>{};
  return found(field, "ww_schedule", number, find(number, EmuSchedule::adversarial));
}
ww_verdict from_verdict(Verdict verdict) {
  switch (verdict) {
    case Verdict::clean: return WW_CLEAN;
    case Verdict::findings: return WW_FINDINGS;
    case Verdict::incomplete: return WW_INCOMPLETE;
  }
  return WW_INCOMPLETE;
}

}  // namespace ww::capi

using namespace ww::capi;

extern "C" {

const char* ww_dtype_name(ww_dtype type) {
  const auto found = dtype_of(type);
  return found ? ww::name_of(*found) : nullptr;
}
const char* ww_scale_name(ww_scale scale) {
  const auto found = scale_of(scale);
  return found ? ww::name_of(*found) : nullptr;
}
const char* ww_scale_type_name(ww_scale_type type) {
  const auto found = scale_type_of(type);
  return found ? ww::name_of(*found) : nullptr;
}
const char* ww_encoding_name(ww_encoding encoding) {
  const auto found = encoding_of(encoding);
  return found ? ww::name_of(*found) : nullptr;
}
int32_t ww_dtype_bytes(ww_dtype type) {
  const auto found = dtype_of(type);
  return found && !ww::is_packed(*found) ? ww::bytes_of(*found) : 0;
}
const char* ww_rule_name(int32_t index) {
  if (index < 0 || index > static_cast<int32_t>(ww::Rule::unsupported)) return nullptr;
  return ww::rule_name(static_cast<ww::Rule>(index));
}

}  // extern "C"
