// SPDX-License-Identifier: Apache-2.0
// One function for each group of arguments that dense and grouped products share.
#include "ops/operand_checks.hpp"

#include <fmt/format.h>

#include <tuple>

#include "config/config_text.hpp"

namespace ww::ops {
namespace {

constexpr int kRowAlignment = 16;                               // bytes; TMA strides and bases
constexpr std::int64_t kLargestStride = std::int64_t{1} << 40;  // bytes; TMA's limit

}  // namespace

Result<void> check_extent(const char* name, std::int64_t value) {
  if (value < 0) return failure(ErrorCode::invalid, name, "at least 0", fmt::format("{}", value));
  if (value > kLargestExtent)
    return failure(ErrorCode::unsupported, name, fmt::format("at most {}", kLargestExtent), fmt::format("{}", value));
  return {};
}

Result<void> check_types(DType a, DType b, DType d, Scale scale) {
  const auto is_operand = [](DType t) { return t == e4m3 || t == bf16 || t == f16; };
  if (!is_operand(a)) return failure(ErrorCode::unsupported, "a (type)", "e4m3, bf16 or f16", name_of(a));
  if (b != a) return failure(ErrorCode::unsupported, "b (type)", fmt::format("{}, as a", name_of(a)), name_of(b));
  if (is_fp8(d) || d == tf32 || d == e8m0 || is_packed(d))
    return failure(ErrorCode::unsupported, "d (type)", "bf16, f16 or f32", name_of(d));
  if (scale == Scale::block_1x128_1x128 || scale == Scale::block_128x128_1x128 || is_microscaled(scale))
    return failure(ErrorCode::unsupported, "scale", "none, tensor, row-column or block for groups", name_of(scale));
  if (scale == Scale::block_1x128_128x128 && a != e4m3)
    return failure(ErrorCode::unsupported, "scale", fmt::format("none, tensor or row-column for {}", name_of(a)),
                   "block");
  return {};
}

Result<void> check_dense_types(const GemmProblem& p, DType d) {
  const auto is_operand = [](DType t) { return t != f32 && t != e8m0 && !is_packed(t); };
  if (!is_operand(p.a))
    return failure(ErrorCode::unsupported, "a (type)", "e4m3, e5m2, bf16, f16 or tf32", name_of(p.a));
  if (is_fp8(p.a) ? !is_fp8(p.b) : p.b != p.a)
    return failure(ErrorCode::unsupported, "b (type)",
                   is_fp8(p.a) ? "e4m3 or e5m2 beside an FP8 a" : fmt::format("{}, as a", name_of(p.a)), name_of(p.b));
  if (is_fp8(d) || d == tf32 || d == e8m0 || is_packed(d))
    return failure(ErrorCode::unsupported, "d (type)", "bf16, f16 or f32", name_of(d));
  if (p.scale == Scale::block_128x128_1x128 || is_microscaled(p.scale))
    return failure(ErrorCode::unsupported, "scale", "none, tensor, row-column, block or block-1d", name_of(p.scale));
  if (is_block(p.scale) && !is_fp8(p.a))
    return failure(ErrorCode::unsupported, "scale", fmt::format("none, tensor or row-column for {}", name_of(p.a)),
                   name_of(p.scale));
  for (const auto& [name, type, major] :
       {std::tuple("a (layout)", p.a, p.a_major), std::tuple("b (layout)", p.b, p.b_major)})
    if (major != Major::k && is_fp8(type))
      return failure(ErrorCode::unsupported, name, fmt::format("K-major: wgmma takes {} no other way", name_of(type)),
                     name[0] == 'a' ? "M-major" : "N-major");
  return {};
}

Result<void> check_scale_type(Scale scale, ScaleType type) {
  if (scale == Scale::none || type == ScaleType::f32) return {};
  return failure(ErrorCode::unsupported, "scale_type", "f32: no kernel here reads scales of 8 bits", name_of(type));
}

Result<void> check_multiples(std::int64_t n, std::int64_t k, DType type, bool packed) {
  if (n % 8 != 0) return failure(ErrorCode::unsupported, "n", "a multiple of 8", fmt::format("{}", n));
  const int multiple = kRowAlignment / bytes_of(type);
  if (packed && k % multiple != 0)
    return failure(ErrorCode::unsupported, "k",
                   fmt::format("a multiple of {} for packed {} rows", multiple, name_of(type)), fmt::format("{}", k));
  return {};
}

Result<void> check_rows(const char* stride_name, const char* width_name, std::int64_t rows, std::int64_t width,
                        std::int64_t stride, DType type) {
  const int element = bytes_of(type);
  const int multiple = kRowAlignment / element;
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
  const int element = bytes_of(type);
  const int multiple = kRowAlignment / element;
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
  if (options.config.arch == arch || options.config == open) return made;
  return failure(ErrorCode::unsupported, "config, arch", fmt::format("{}, the device's", name_of(arch)),
                 name_of(options.config.arch), "config " + to_text(options.config));
}

Result<void> check_sms(int sms, int cluster) {
  if (sms < 0) return failure(ErrorCode::invalid, "sms", "at least 0 (0: all of the device)", fmt::format("{}", sms));
  if (sms > 0 && sms < cluster)
    return failure(ErrorCode::invalid, "sms", fmt::format("at least one cluster of {} CTAs", cluster),
                   fmt::format("{}", sms));
  return {};
}

}  // namespace ww::ops
