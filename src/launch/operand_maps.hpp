// SPDX-License-Identifier: Apache-2.0
// Operands of every adapter: checks of pointers, sizes of memory, descriptions for TMA.
#pragma once

#include <cstdint>

#include "runtime/backend.hpp"
#include "warpwright/config/gemm_config.hpp"
#include "warpwright/core/meta.hpp"

namespace ww::adapters {

// Bytes; of the base of a tensor map, and of one whose elements TMA widens.
inline constexpr std::uint64_t kMapAlignment = 16, kPaddedMapAlignment = 32;

Result<void> pointer_fault(const char* name, const void* pointer, std::uint64_t alignment);

/// Returns invalid, naming the operand, if `pointer` is null or not a multiple of `alignment` bytes, a power of two.
inline Result<void> check_pointer(const char* name, const void* pointer, std::uint64_t alignment) {
  if (pointer != nullptr && (reinterpret_cast<std::uintptr_t>(pointer) & (alignment - 1)) == 0) [[likely]]
    return {};
  return pointer_fault(name, pointer, alignment);
}

Result<void> global_scale_fault();

/// Returns unsupported, unless it is null, for recipes without a global scale.
inline Result<void> check_global_scale(const float* global_scale) {
  if (global_scale == nullptr) [[likely]]
    return {};
  return global_scale_fault();
}

/// Returns the bytes from the first to the last element of `rows` rows of `columns` elements.
std::uint64_t span_bytes(std::int64_t rows, std::int64_t columns, std::int64_t stride, int element);

/// Returns the same for any type; rows of packed types start at whole bytes.
std::uint64_t span_bytes(std::int64_t rows, std::int64_t columns, std::int64_t stride, DType type);

/// Returns the map of a K-major operand for a config's tile: `rows` x `k` elements, `ld` from row to row. Elements of 4
/// and 6 bits are widened to bytes unless both operands stay 4 bits wide.
runtime::TensorMapSpec k_major_map(const GemmConfig& config, const void* base, DType type, std::int64_t rows,
                                   std::int64_t k, std::int64_t ld, int box_rows);

/// Returns the map of an MN-major operand: `k` rows of `rows` elements, `ld` from one to the next. Boxes are as wide as
/// the swizzle. Blackwell reads elements of 32 bits in swizzled units of 32 bytes.
runtime::TensorMapSpec mn_major_map(const GemmConfig& config, const void* base, DType type, std::int64_t rows,
                                    std::int64_t k, std::int64_t ld);

/// Returns the bytes of which the base of a K-major map is a multiple.
std::uint64_t alignment_of(const GemmConfig& config, DType type);

/// Returns the map of scales in chunks (core/scale_chunks.hpp): `blocks` times `chunks` of them, in boxes of
/// `box_blocks` times `box_chunks`.
runtime::TensorMapSpec scale_map(const void* base, std::int64_t blocks, std::int64_t chunks, int box_blocks,
                                 int box_chunks);

/// Returns a map of `count` matrices of `spec`, `stride` elements apart; 0: all are the same one.
runtime::TensorMapSpec batch_of(runtime::TensorMapSpec spec, std::int64_t count, std::int64_t stride);

/// Returns the swizzle whose span is one row of an output panel.
runtime::SmemSwizzle panel_swizzle(int panel_bytes);

}  // namespace ww::adapters
