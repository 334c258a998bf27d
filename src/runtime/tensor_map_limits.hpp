// SPDX-License-Identifier: Apache-2.0
// The limits of a tiled tensor map (PTX ISA, tensormap; CUDA driver, cuTensorMapEncodeTiled), checked before an encoder
// sees the spec: the driver answers all of them with one INVALID_VALUE, this names the field, the limit and the value.
// Encoding itself is the backend's.
#pragma once

#include "runtime/backend.hpp"

namespace ww::runtime {

/// Errors: invalid, argument "tensor_map.<field>".
Result<void> check_limits(const TensorMapSpec& spec);

/// Bytes of the shared memory pattern that repeats: the widest inner box of a swizzle. 0 for none.
int span_bytes(SmemSwizzle swizzle);

/// Bytes from the first to past the last element of the tensor.
std::uint64_t extent_bytes(const TensorMapSpec& spec);

}  // namespace ww::runtime
