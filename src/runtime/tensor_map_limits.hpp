// SPDX-License-Identifier: Apache-2.0
// The limits of a tiled tensor map (PTX ISA, tensormap; CUDA driver, cuTensorMapEncodeTiled), checked before encoding.
// The driver reports each violation as INVALID_VALUE; these errors name the field, the limit and the value.
// The backend encodes.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/backend.hpp"

namespace ww::runtime {

inline constexpr std::uint64_t kMaxExtent = 1ull << 32;

/// Checks a spec. Errors: invalid, argument "tensor_map.<field>".
Result<void> check_limits(const TensorMapSpec& spec);

/// Checks that a device has what exists only from sm_100 on: narrow elements, and swizzled units of 32 bytes. `device`
/// is for the message. Errors: unsupported, argument "tensor_map.narrow" or "tensor_map.swizzle"; invalid, argument
/// "tensor_map.element", if it has fewer than 8 bits and the spec is not of narrow elements.
Result<void> check_blackwell(const TensorMapSpec& spec, bool is_blackwell, std::string_view device);

/// Returns the bytes after which the shared-memory pattern of a swizzle repeats, which is its widest inner box; 0 for
/// none.
int span_bytes(SmemSwizzle swizzle);

/// Returns the bytes of `elements` along the innermost dimension in global memory.
std::uint64_t inner_bytes(const TensorMapSpec& spec, std::uint64_t elements);

/// Returns the bytes from the start of the tensor's first element to the end of its last.
std::uint64_t extent_bytes(const TensorMapSpec& spec);

}  // namespace ww::runtime
