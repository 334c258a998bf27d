// SPDX-License-Identifier: Apache-2.0
// One check for each requirement of a tensor map.
#include "runtime/tensor_map_limits.hpp"

#include <fmt/format.h>

namespace ww::runtime {
namespace {

constexpr std::uint64_t kMaxStride = 1ull << 40;
constexpr std::uint32_t kMaxBox = MachineTraits::kTmaBox;
constexpr std::uint64_t kAlignment = MachineTraits::kTmaAlignment;

template <class T> auto invalid(std::string_view field, std::string expected, const T& actual) {
  return failure(ErrorCode::invalid, fmt::format("tensor_map.{}", field), std::move(expected),
                 fmt::format("{}", actual));
}

bool is_padded(const TensorMapSpec& spec) {
  return spec.narrow == NarrowElements::bits4_padded || spec.narrow == NarrowElements::bits6_padded;
}

/// Checks what the driver asks of maps whose units are padded in shared memory.
Result<void> check_padded(const TensorMapSpec& spec) {
  constexpr std::uint64_t kUnits = 128, kStep = 32;
  if (reinterpret_cast<std::uintptr_t>(spec.base) % kStep != 0)
    return invalid("base", "an address that is a multiple of 32, because of padded narrow elements",
                   fmt::format("{:#x}", reinterpret_cast<std::uintptr_t>(spec.base)));
  if (spec.extent[0] % kUnits != 0)
    return invalid("extent[0]", "a multiple of 128 padded narrow elements", spec.extent[0]);
  for (int i = 1; i < spec.rank; ++i)
    if (spec.stride_bytes[i] % kStep != 0)
      return invalid(fmt::format("stride_bytes[{}]", i), "a multiple of 32 bytes, because of padded narrow elements",
                     spec.stride_bytes[i]);
  if (spec.box[0] != kUnits) return invalid("box[0]", "128 padded narrow elements", spec.box[0]);
  if (spec.swizzle != SmemSwizzle::none && spec.swizzle != SmemSwizzle::b128)
    return invalid(
        "swizzle", "none or b128, because of padded narrow elements",
        fmt::format("b{}{}", span_bytes(spec.swizzle), spec.swizzle == SmemSwizzle::b128_unit32 ? "_unit32" : ""));
  return {};
}

Result<void> check_dimension(const TensorMapSpec& spec, int i) {
  if (spec.extent[i] < 1 || spec.extent[i] > kMaxExtent)
    return invalid(fmt::format("extent[{}]", i), "1 to 2^32 elements", spec.extent[i]);
  if (spec.box[i] < 1 || spec.box[i] > kMaxBox)
    return invalid(fmt::format("box[{}]", i), "1 to 256 elements", spec.box[i]);
  if (i > 0 && (spec.stride_bytes[i] % kAlignment != 0 || spec.stride_bytes[i] >= kMaxStride))
    return invalid(fmt::format("stride_bytes[{}]", i), "a multiple of 16 bytes below 2^40", spec.stride_bytes[i]);
  return {};
}

}  // namespace

std::uint64_t inner_bytes(const TensorMapSpec& spec, std::uint64_t elements) {
  switch (spec.narrow) {
    case NarrowElements::none: break;
    case NarrowElements::bits4:
    case NarrowElements::bits4_padded: return elements / 2;
    case NarrowElements::bits6_padded: return elements * 3 / 4;
  }
  return elements * static_cast<std::uint64_t>(bytes_of(spec.element));
}

int span_bytes(SmemSwizzle swizzle) {
  switch (swizzle) {
    case SmemSwizzle::none: return 0;
    case SmemSwizzle::b32: return 32;
    case SmemSwizzle::b64: return 64;
    case SmemSwizzle::b128:
    case SmemSwizzle::b128_unit32: return 128;
  }
  return 0;
}

Result<void> check_blackwell(const TensorMapSpec& spec, bool is_blackwell, std::string_view device) {
  if (spec.narrow == NarrowElements::none && is_packed(spec.element))
    return invalid("element", "a type of whole bytes, or `narrow` for elements of 4 and 6 bits", name_of(spec.element));
  if (spec.swizzle == SmemSwizzle::b128_unit32 && !is_blackwell)
    return failure(ErrorCode::unsupported, "tensor_map.swizzle",
                   fmt::format("none, b32, b64 or b128: units of 32 bytes need {}", machine_of(Arch::sm100).family),
                   fmt::format("b128_unit32 on {}", device));
  if (spec.narrow == NarrowElements::none || is_blackwell) return {};
  return failure(ErrorCode::unsupported, "tensor_map.narrow",
                 fmt::format("none: elements of 4 and 6 bits need {}", machine_of(Arch::sm100).family),
                 fmt::format("elements of {} bits on {}", spec.narrow == NarrowElements::bits6_padded ? 6 : 4, device));
}

std::uint64_t extent_bytes(const TensorMapSpec& spec) {
  std::uint64_t bytes = inner_bytes(spec, spec.extent[0]);
  for (int i = 1; i < spec.rank; ++i) bytes += (spec.extent[i] - 1) * spec.stride_bytes[i];
  return bytes;
}

Result<void> check_limits(const TensorMapSpec& spec) {
  if (spec.rank < 1 || spec.rank > 5) return invalid("rank", "1 to 5", spec.rank);
  const auto base = reinterpret_cast<std::uintptr_t>(spec.base);
  if (base == 0) return invalid("base", "an address", "null");
  if (base % kAlignment != 0) return invalid("base", "an address that is a multiple of 16", fmt::format("{:#x}", base));
  for (int i = 0; i < spec.rank; ++i) WW_CHECK(check_dimension(spec, i));

  if (is_padded(spec)) return check_padded(spec);
  if (spec.narrow == NarrowElements::bits4 && spec.extent[0] % 2 != 0)
    return invalid("extent[0]", "an even number of 4-bit elements", spec.extent[0]);
  if (spec.narrow == NarrowElements::bits4 && spec.box[0] % 2 != 0)
    return invalid("box[0]", "an even number of 4-bit elements", spec.box[0]);
  const std::uint64_t inner = inner_bytes(spec, spec.box[0]);
  if (inner % kAlignment != 0) return invalid("box[0]", "a multiple of 16 bytes", fmt::format("{} bytes", inner));
  const auto span = static_cast<std::uint64_t>(span_bytes(spec.swizzle));
  if (span != 0 && inner > span)
    return invalid("box[0]", fmt::format("at most {} bytes, the span of its swizzle", span),
                   fmt::format("{} bytes", inner));
  return {};
}

}  // namespace ww::runtime
