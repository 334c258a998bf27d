// SPDX-License-Identifier: Apache-2.0
// One function for each group of arguments that dense and grouped products share.
#include "ops/operand_checks.hpp"

#include <fmt/format.h>

#include <tuple>

#include "config/config_text.hpp"
#include "warpwright/core/scale_chunks.hpp"

namespace ww::ops {
namespace {

constexpr int kScaledStep = 16;    // elements of K of two operands of e2m1: what shares a scale of nv
constexpr int kRowAlignment = 16;  // bytes; TMA strides and bases
constexpr std::int64_t kLargestStride = std::int64_t{1} << 40;  // bytes; TMA's limit

}  // namespace

Result<void> check_extent(const char* name, std::int64_t value) {
  if (value < 0) return failure(ErrorCode::invalid, name, "at least 0", fmt::format("{}", value));
  if (value > kLargestExtent)
    return failure(ErrorCode::unsupported, name, fmt::format("at most {}", kLargestExtent), fmt::format("{}", value));
  return {};
}

/// Checks the types of operands whose scales the tensor core applies.
Result<void> check_scaled_types(DType a, DType b, Scale scale) {
  for (const auto& [name, type] : {std::pair("a (type)", a), std::pair("b (type)", b)}) {
    if (scale == Scale::nv && type != e2m1)
      return failure(ErrorCode::unsupported, name, "e2m1 with scales of nv", name_of(type));
    if (!is_f8f6f4(type))
      return failure(ErrorCode::unsupported, name, "e4m3, e5m2, e3m2, e2m3 or e2m1 with scales of mx", name_of(type));
  }
  return {};
}

Result<void> check_types(DType a, DType b, DType d, Scale scale) {
  const auto check_output = [d]() -> Result<void> {
    if (is_fp8(d) || d == tf32 || d == e8m0 || is_packed(d))
      return failure(ErrorCode::unsupported, "d (type)", "bf16, f16 or f32", name_of(d));
    return {};
  };
  if (is_microscaled(scale)) {
    WW_CHECK(check_scaled_types(a, b, scale));
    return check_output();
  }
  const auto is_operand = [](DType t) { return t == e4m3 || t == bf16 || t == f16; };
  if (!is_operand(a)) return failure(ErrorCode::unsupported, "a (type)", "e4m3, bf16 or f16", name_of(a));
  if (b != a) return failure(ErrorCode::unsupported, "b (type)", fmt::format("{}, as a", name_of(a)), name_of(b));
  WW_CHECK(check_output());
  if (scale == Scale::block_1x128_1x128 || scale == Scale::block_128x128_1x128)
    return failure(ErrorCode::unsupported, "scale", "none, tensor, row-column, block, mx or nv for groups",
                   name_of(scale));
  if (scale == Scale::block_1x128_128x128 && a != e4m3)
    return failure(ErrorCode::unsupported, "scale", fmt::format("none, tensor or row-column for {}", name_of(a)),
                   "block");
  return {};
}

Result<void> check_dense_types(const GemmProblem& p, DType d) {
  if (p.scale == Scale::nv)
    for (const auto& [name, type] : {std::pair("a (type)", p.a), std::pair("b (type)", p.b)})
      if (type != e2m1) return failure(ErrorCode::unsupported, name, "e2m1 with scales of nv", name_of(type));
  if (p.scale == Scale::mx && !is_f8f6f4(p.a))
    return failure(ErrorCode::unsupported, "a (type)", "e4m3, e5m2, e3m2, e2m3 or e2m1 with scales of mx",
                   name_of(p.a));
  if (p.a == f32 || p.a == e8m0)
    return failure(ErrorCode::unsupported, "a (type)", "e4m3, e5m2, bf16, f16, tf32, e3m2, e2m3 or e2m1", name_of(p.a));
  if (is_f8f6f4(p.a) ? !is_f8f6f4(p.b) : p.b != p.a)
    return failure(ErrorCode::unsupported, "b (type)",
                   is_f8f6f4(p.a) ? fmt::format("e4m3, e5m2, e3m2, e2m3 or e2m1 beside {}", name_of(p.a))
                                  : fmt::format("{}, as a", name_of(p.a)),
                   name_of(p.b));
  if (is_fp8(d) || d == tf32 || d == e8m0 || is_packed(d))
    return failure(ErrorCode::unsupported, "d (type)", "bf16, f16 or f32", name_of(d));
  if (p.scale == Scale::block_128x128_1x128)
    return failure(ErrorCode::unsupported, "scale", "none, tensor, row-column, block, block-1d, mx or nv",
                   name_of(p.scale));
  for (const DType type : {p.a, p.b})
    if (is_block(p.scale) && !is_fp8(type))
      return failure(ErrorCode::unsupported, "scale",
                     fmt::format("none, tensor{} for {}",
                                 type == e2m1      ? ", row-column, mx or nv"
                                 : is_packed(type) ? ", row-column or mx"
                                                   : " or row-column",
                                 name_of(type)),
                     name_of(p.scale));
  for (const auto& [name, type, major] :
       {std::tuple("a (layout)", p.a, p.a_major), std::tuple("b (layout)", p.b, p.b_major)})
    if (major != Major::k && is_packed(type))
      return failure(
          ErrorCode::unsupported, name,
          fmt::format("K-major: the tensor core reads {}, as all types of 4 and 6 bits, no other way", name_of(type)),
          name[0] == 'a' ? "M-major" : "N-major");
  return {};
}

Result<void> check_majors(DType a, Major a_major, DType b, Major b_major, Arch arch) {
  if (arch != Arch::sm90) return {};
  for (const auto& [name, type, major] : {std::tuple("a (layout)", a, a_major), std::tuple("b (layout)", b, b_major)})
    if (major != Major::k && is_fp8(type))
      return failure(ErrorCode::unsupported, name,
                     fmt::format("K-major on Hopper: wgmma takes {} no other way", name_of(type)),
                     name[0] == 'a' ? "M-major" : "N-major");
  return {};
}

Result<ScaleType> check_scale_type(Scale scale, ScaleType type) {
  const ScaleType own = scale == Scale::mx ? ScaleType::e8m0 : scale == Scale::nv ? ScaleType::e4m3 : ScaleType::f32;
  if (scale == Scale::none || type == ScaleType::f32 || type == own) return own;
  return failure(ErrorCode::unsupported, "scale_type",
                 own == ScaleType::f32 ? "f32: kernels read scales of 8 bits with mx and nv alone"
                                       : fmt::format("{}, or f32 for the recipe's own", name_of(own)),
                 name_of(type));
}

Result<void> check_chunked_strides(const ChunkedStrides& s) {
  for (const auto& [name, stride] : {std::pair("scale_a_row", s.a_row), std::pair("scale_a_k", s.a_k),
                                     std::pair("scale_b_n", s.b_n), std::pair("scale_b_k", s.b_k)})
    if (stride != 0)
      return failure(ErrorCode::unsupported, name, fmt::format("0: scales of {} lie in chunks", name_of(s.scale)),
                     fmt::format("{}", stride));
  return {};
}

Result<void> check_chunked_step(const char* name, Scale scale, std::int64_t rows, std::int64_t k, std::int64_t step) {
  const int vector = scale_vector(scale);
  const std::int64_t bytes = scale_bytes(rows, k, vector), block = scale_bytes(1, k, vector);
  if (step != 0 && (k == 0 || step % block != 0 || step < bytes || step / block > kLargestExtent))
    return failure(ErrorCode::invalid, name,
                   fmt::format("0, or at least {} bytes in multiples of {}, the scales of 128 rows", bytes, block),
                   fmt::format("{}", step));
  return {};
}

Result<void> check_chunked_scales(const GemmProblem& p) {
  WW_CHECK(check_chunked_strides({p.scale, p.scale_a_row, p.scale_a_k, p.scale_b_n, p.scale_b_k}));
  if (p.batch <= 1) return {};
  WW_CHECK(check_chunked_step("batch_scale_a", p.scale, p.m, p.k, p.batch_scale_a));
  return check_chunked_step("batch_scale_b", p.scale, p.n, p.k, p.batch_scale_b);
}

Result<void> check_padded_rows(const GemmProblem& p) {
  if (!is_packed(p.a) && !is_packed(p.b)) return {};
  const bool pair = p.a == e2m1 && p.b == e2m1 && is_microscaled(p.scale);
  const int multiple = pair ? row_multiple(e2m1) : row_multiple(e3m2), of_k = pair ? kScaledStep : multiple;
  const char* const why = pair ? "elements of e2m1" : "elements: TMA widens types of 4 and 6 bits by units of 128";
  for (const auto& [name, value, type, step] :
       {std::tuple("k", p.k, p.a, of_k), std::tuple("k", p.k, p.b, of_k), std::tuple("lda", p.lda, p.a, multiple),
        std::tuple("ldb", p.ldb, p.b, multiple)})
    if (is_packed(type) && value % step != 0)
      return failure(ErrorCode::unsupported, name, fmt::format("a multiple of {} {}", step, why),
                     fmt::format("{}", value));
  for (const auto& [name, value, type] : {std::tuple("batch_a", p.batch_a, p.a), std::tuple("batch_b", p.batch_b, p.b)})
    if (is_packed(type) && p.batch > 1 && !p.pointer_array && value % multiple != 0)
      return failure(ErrorCode::unsupported, name, fmt::format("a multiple of {} {}", multiple, why),
                     fmt::format("{}", value));
  return {};
}

Result<void> check_multiples(std::int64_t n, std::int64_t k, DType type, bool packed) {
  if (n % 8 != 0) return failure(ErrorCode::unsupported, "n", "a multiple of 8", fmt::format("{}", n));
  const int multiple = row_multiple(type);
  if (packed && k % multiple != 0)
    return failure(ErrorCode::unsupported, "k",
                   fmt::format("a multiple of {} for packed {} rows", multiple, name_of(type)), fmt::format("{}", k));
  return {};
}

Result<void> check_rows(const char* stride_name, const char* width_name, std::int64_t rows, std::int64_t width,
                        std::int64_t stride, DType type) {
  const int multiple = row_multiple(type), element = (bits_of(type) + 7) / 8;
  if (stride < width)
    return failure(ErrorCode::invalid, stride_name, fmt::format("at least {} = {}", width_name, width),
                   fmt::format("{}", stride));
  if (rows > 0 && width > 0 && stride % multiple != 0)
    return failure(
        ErrorCode::unsupported, stride_name,
        fmt::format("a multiple of {} elements (rows of {} bytes of {})", multiple, kRowAlignment, name_of(type)),
        fmt::format("{}", stride));
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(max<std::int64_t>(rows, 1), stride, &bytes) ||
      __builtin_mul_overflow(bytes, std::int64_t{element}, &bytes) || stride * element >= kLargestStride)
    return failure(ErrorCode::invalid, stride_name, "a matrix of fewer than 2^63 bytes and rows of fewer than 2^40",
                   fmt::format("{} rows of {} elements", rows, stride));
  return {};
}

Result<void> check_groups(const char* stride_name, std::int64_t groups, std::int64_t stride, std::int64_t rows,
                          std::int64_t row_stride, DType type) {
  const int multiple = row_multiple(type), element = (bits_of(type) + 7) / 8;
  if (stride < 0) return failure(ErrorCode::invalid, stride_name, "at least 0 elements", fmt::format("{}", stride));
  if (groups > 1 && rows > 0 && stride % multiple != 0)
    return failure(ErrorCode::unsupported, stride_name,
                   fmt::format("a multiple of {} elements ({} bytes of {})", multiple, kRowAlignment, name_of(type)),
                   fmt::format("{}", stride));
  std::int64_t last = 0, bytes = 0;
  if (stride >= kLargestStride / element || __builtin_mul_overflow(max<std::int64_t>(groups - 1, 0), stride, &last) ||
      __builtin_add_overflow(last, max<std::int64_t>(rows, 1) * row_stride, &bytes) ||
      __builtin_mul_overflow(bytes, std::int64_t{element}, &bytes))
    return failure(ErrorCode::invalid, stride_name, "groups fewer than 2^40 bytes apart, fewer than 2^63 in all",
                   fmt::format("{} groups {} elements apart", groups, stride));
  return {};
}

Result<void> check_scale_strides(const char* name, std::span<const ScaleAxis> axes) {
  std::int64_t last = 0;
  bool wrong = false;
  std::string counts, strides;
  for (const ScaleAxis& axis : axes) {
    std::int64_t part = 0;
    wrong =
        wrong || axis.stride < 0 || __builtin_mul_overflow(max<std::int64_t>(axis.count - 1, 0), axis.stride, &part);
    wrong = wrong || __builtin_add_overflow(last, part, &last) || last >= (std::int64_t{1} << 60);
    counts += fmt::format("{}{}", counts.empty() ? "" : ", ", axis.count);
    strides += fmt::format("{}{}", strides.empty() ? "" : ", ", axis.stride);
  }
  if (wrong)
    return failure(ErrorCode::invalid, fmt::format("{} (strides)", name),
                   fmt::format("strides of at least 0 that address ({}) floats", counts), fmt::format("({})", strides));
  return {};
}

tl::unexpected<Error> config_failure(const GemmConfig& config, const char* field, std::string expected) {
  return failure(ErrorCode::unsupported, fmt::format("config, {}", field), std::move(expected),
                 field_text(config, field), "config " + to_text(config));
}

Result<GemmOptions> for_arch(const GemmOptions& options, Arch arch) {
  GemmOptions made = options;
  made.config.arch = arch;
  // The problem decides types, layouts and the tree.
  const GemmConfig open{.arch = options.config.arch,
                        .operands = options.config.operands,
                        .grouping = options.config.grouping,
                        .epilogue = options.config.epilogue};
  const bool unnamed = options.config.arch == kDefaultArch && options.config == open;
  if (!unnamed) WW_CHECK(check_arch(options.config, arch));
  return made;
}

Result<void> check_sms(int sms, int cluster) {
  if (sms < 0) return failure(ErrorCode::invalid, "sms", "at least 0 (0: all of the device)", fmt::format("{}", sms));
  if (sms > 0 && sms < cluster)
    return failure(ErrorCode::invalid, "sms", fmt::format("at least one cluster of {} CTAs", cluster),
                   fmt::format("{}", sms));
  return {};
}

}  // namespace ww::ops
