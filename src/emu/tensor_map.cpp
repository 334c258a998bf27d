// SPDX-License-Identifier: Apache-2.0
// Checks a tensor map's fields against the limits of cuTensorMapEncodeTiled and packs them.
#include "emu/tensor_map.hpp"

#include <fmt/format.h>

#include <cstring>

#include "emu/emulator.hpp"

namespace ww::emu {
namespace {

using runtime::SmemSwizzle;
using runtime::TensorMapSpec;

u32 swizzle_bits_of(SmemSwizzle swizzle) {
  switch (swizzle) {
    case SmemSwizzle::none: return 0;
    case SmemSwizzle::b32: return 1;
    case SmemSwizzle::b64:
    case SmemSwizzle::b128_unit32: return 2;
    case SmemSwizzle::b128: return 3;
  }
  return 0;
}

/// Returns the bytes that the swizzle moves together.
u32 swizzle_unit_of(SmemSwizzle swizzle) { return swizzle == SmemSwizzle::b128_unit32 ? 32 : 16; }

tl::unexpected<Error> wrong(std::string field, std::string expected, std::string actual) {
  return failure(ErrorCode::invalid, "tensor map " + std::move(field), std::move(expected), std::move(actual));
}

/// A unit of a map: how many elements it has, and its bytes in global and in shared memory.
struct Unit {
  u32 elements, bytes, container;
};
Unit unit_of(const TensorMapSpec& spec) {
  const auto bytes = static_cast<u32>(bytes_of(spec.element));
  switch (spec.narrow) {
    case NarrowElements::none: return {1, bytes, bytes};
    case NarrowElements::bits4: return {2, 1, 1};
    case NarrowElements::bits4_padded: return {16, 8, 16};
    case NarrowElements::bits6_padded: return {16, 12, 16};
  }
  return {1, bytes, bytes};
}

Result<void> check_dimension(const TensorMapSpec& spec, int d) {
  const u64 extent = spec.extent[d], stride = spec.stride_bytes[d];
  if (extent < 1 || extent > (u64{1} << 32))
    return wrong(fmt::format("extent[{}]", d), "1 to 2^32", fmt::to_string(extent));
  if (spec.box[d] < 1 || spec.box[d] > u32{MachineTraits::kTmaBox})
    return wrong(fmt::format("box[{}]", d), fmt::format("1 to {}", MachineTraits::kTmaBox),
                 fmt::to_string(spec.box[d]));
  if (d == 0) return {};
  if (stride % 16 != 0 || stride >= (u64{1} << 40))
    return wrong(fmt::format("stride_bytes[{}]", d), "a multiple of 16 below 2^40", fmt::to_string(stride));
  return {};
}

Result<void> check_box(const TensorMapSpec& spec) {
  const Unit unit = unit_of(spec);
  const u64 bytes = u64{spec.box[0] / unit.elements} * unit.container;
  if (bytes % 16 != 0 || spec.box[0] % unit.elements != 0)
    return wrong("box[0]", "a multiple of 16 bytes", fmt::format("{} elements, {} bytes", spec.box[0], bytes));
  if (spec.swizzle == SmemSwizzle::none) return {};
  const u64 span = u64{swizzle_unit_of(spec.swizzle)} << swizzle_bits_of(spec.swizzle);
  if (bytes == span) return {};
  if (bytes > span)
    return wrong("box[0]", fmt::format("at most the swizzle's {} bytes", span), fmt::format("{} bytes", bytes));
  return failure(ErrorCode::unsupported, "tensor map box[0]", fmt::format("the swizzle's full {} bytes", span),
                 fmt::format("{} bytes", bytes), "the layout of narrower boxes is not emulated; use a smaller swizzle");
}

}  // namespace

Result<arch::TensorMap> encode(const TensorMapSpec& spec) {
  const u64 base = reinterpret_cast<u64>(spec.base);
  if (spec.rank < 1 || spec.rank > 5) return wrong("rank", "1 to 5", fmt::to_string(spec.rank));
  if (base == 0 || base % 16 != 0) return wrong("base", "a 16-byte aligned address", fmt::format("0x{:x}", base));
  for (int d = 0; d < spec.rank; ++d) WW_CHECK(check_dimension(spec, d));
  WW_CHECK(check_box(spec));

  TensorMapData data{};
  data.magic = kTensorMapMagic;
  data.base = base;
  data.rank = static_cast<u8>(spec.rank);
  const Unit unit = unit_of(spec);
  data.element_bytes = static_cast<u8>(unit.bytes);
  data.elements = static_cast<u8>(unit.elements);
  data.container = static_cast<u8>(unit.container);
  data.swizzle_bits = static_cast<u8>(swizzle_bits_of(spec.swizzle));
  data.swizzle_unit = static_cast<u8>(swizzle_unit_of(spec.swizzle));
  for (int d = 0; d < spec.rank; ++d) {
    data.extent[d] = spec.extent[d];
    data.box[d] = static_cast<u16>(spec.box[d]);
    if (d > 0) data.stride[d - 1] = spec.stride_bytes[d];
  }
  data.extent[0] /= unit.elements;
  data.box[0] = static_cast<u16>(data.box[0] / unit.elements);
  arch::TensorMap map{};
  std::memcpy(&map, &data, sizeof data);
  return map;
}

}  // namespace ww::emu
