// SPDX-License-Identifier: Apache-2.0
// Operands on the host, from files or from the seed, and on the device; memory is asked for before it is taken.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "io/array_file.hpp"
#include "reference/operands.hpp"
#include "warpwright/host/device.hpp"

namespace ww::operations {

using namespace io;
using namespace ref;

struct OperandShape {
  DType type = DType::f32;
  std::int64_t rows = 0, cols = 0, ld = 0;
};

/// The parts fit 63 bits, their sum need not.
__extension__ using WideBytes = unsigned __int128;
inline WideBytes bytes_of(const OperandShape& s) { return WideBytes(s.rows) * WideBytes(bytes_in(s.type, s.ld)); }

/// Refuses what neither this process nor the device has memory for; `once` are the bytes of all operands.
Result<void> check_fits(const DeviceInfo& device, WideBytes once, const char* argument);

/// From the file when there is one, else made from the seed; `argument` is named when memory runs out.
Result<Matrix> host_operand(const std::optional<ArrayFile>& file, const OperandShape& shape, std::uint64_t seed,
                            Operand which, const char* argument);

Result<Buffer> upload(const Device& device, const Matrix& matrix);
/// Fills the first `bytes` of a buffer with values drawn from the seed, whatever its rows and strides are.
Result<void> fill_operand(const Device& device, const Buffer& buffer, DType type, std::int64_t bytes, Operand which,
                          std::uint64_t seed);
/// An array that describes groups; an empty one has an address too.
Result<Buffer> upload_sizes(const Device& device, const std::vector<std::int32_t>& sizes);

}  // namespace ww::operations
