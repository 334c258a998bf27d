// SPDX-License-Identifier: Apache-2.0
// Pointers, spans and tensor maps of row-major operands.
#include "launch/operand_maps.hpp"

#include <fmt/format.h>

#include "warpwright/config/sizes.hpp"

namespace ww::adapters {

using runtime::SmemSwizzle;
using runtime::TensorMapSpec;

std::uint64_t span_bytes(std::int64_t rows, std::int64_t columns, std::int64_t stride, int element) {
  if (rows == 0 || columns == 0) return 0;
  return static_cast<std::uint64_t>((rows - 1) * stride + columns) * element;
}

std::uint64_t span_bytes(std::int64_t rows, std::int64_t columns, std::int64_t stride, DType type) {
  if (rows == 0 || columns == 0) return 0;
  return static_cast<std::uint64_t>(bytes_in(type, (rows - 1) * stride + columns));
}

TensorMapSpec k_major_map(const GemmConfig& config, const void* base, DType type, std::int64_t rows, std::int64_t k,
                          std::int64_t ld, int box_rows) {
  if (!is_packed(type))
    return TensorMapSpec::matrix(base, type, rows, k, ld, box_rows, config.tile.k, SmemSwizzle::b128);
  TensorMapSpec map{.base = base, .element = type};
  map.extent[0] = static_cast<std::uint64_t>(k), map.extent[1] = static_cast<std::uint64_t>(rows);
  map.stride_bytes[1] = static_cast<std::uint64_t>(bytes_in(type, ld));
  map.box[0] = static_cast<std::uint32_t>(config.tile.k), map.box[1] = static_cast<std::uint32_t>(box_rows);
  map.swizzle = SmemSwizzle::b128;
  map.narrow = bits_of(type) == 6              ? NarrowElements::bits6_padded
               : config::packs_nibbles(config) ? NarrowElements::bits4
                                               : NarrowElements::bits4_padded;
  return map;
}

TensorMapSpec mn_major_map(const GemmConfig& config, const void* base, DType type, std::int64_t rows, std::int64_t k,
                           std::int64_t ld) {
  const bool unit32 = config::is_sm100(config) && bits_of(type) == 32;
  return TensorMapSpec::matrix(base, type, k, rows, ld, config.tile.k, config::mn_block(type),
                               unit32 ? SmemSwizzle::b128_unit32 : SmemSwizzle::b128);
}

std::uint64_t alignment_of(const GemmConfig& config, DType type) {
  return is_packed(type) && !config::packs_nibbles(config) ? kPaddedMapAlignment : kMapAlignment;
}

TensorMapSpec scale_map(const void* base, std::int64_t blocks, std::int64_t chunks, int box_blocks, int box_chunks) {
  // (word of a chunk, chunk along K, 128 rows)
  TensorMapSpec map{.base = base, .element = DType::f32, .rank = 3, .swizzle = SmemSwizzle::none};
  map.extent[0] = kScaleChunkBytes / 4, map.extent[1] = static_cast<std::uint64_t>(chunks);
  map.extent[2] = static_cast<std::uint64_t>(blocks);
  map.stride_bytes[1] = kScaleChunkBytes, map.stride_bytes[2] = static_cast<std::uint64_t>(chunks * kScaleChunkBytes);
  map.box[0] = kScaleChunkBytes / 4, map.box[1] = static_cast<std::uint32_t>(box_chunks);
  map.box[2] = static_cast<std::uint32_t>(box_blocks);
  return map;
}

TensorMapSpec batch_of(TensorMapSpec spec, std::int64_t count, std::int64_t stride) {
  spec.rank = 3;
  spec.extent[2] = stride == 0 ? 1 : static_cast<std::uint64_t>(count);
  // Not 0, because a stride that one matrix does not need must still be legal.
  spec.stride_bytes[2] =
      stride == 0 ? spec.stride_bytes[1] : static_cast<std::uint64_t>(bytes_in(spec.element, stride));
  spec.box[2] = 1;
  return spec;
}

SmemSwizzle panel_swizzle(int panel_bytes) {
  return panel_bytes == 128  ? SmemSwizzle::b128
         : panel_bytes == 64 ? SmemSwizzle::b64
         : panel_bytes == 32 ? SmemSwizzle::b32
                             : SmemSwizzle::none;
}

Result<void> global_scale_fault() {
  return failure(ErrorCode::unsupported, "global_scale", "null: only scales of nv have one", "a pointer");
}

Result<void> pointer_fault(const char* name, const void* pointer, std::uint64_t alignment) {
  if (pointer == nullptr) return failure(ErrorCode::invalid, name, "a device pointer", "null");
  return failure(ErrorCode::invalid, name, fmt::format("a pointer aligned to {} bytes", alignment),
                 fmt::format("{:#x}", reinterpret_cast<std::uintptr_t>(pointer)));
}

}  // namespace ww::adapters
