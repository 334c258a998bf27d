// SPDX-License-Identifier: Apache-2.0
// Memory is compared with what the process and the device have; then files are read or values drawn.
#include "operations/host_operand.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "operations/memory.hpp"

namespace ww::operations {

Result<void> check_fits(const DeviceInfo& device, WideBytes once, const char* argument) {
  const auto fits = [argument](const char* where, WideBytes needed, std::uint64_t present) -> Result<void> {
    if (needed <= present) return {};
    const double gigabytes = static_cast<double>(needed) * 1e-9;
    const std::string exact =
        needed <= UINT64_MAX ? fmt::format("{}", static_cast<std::uint64_t>(needed)) : "over 2^64";
    return failure(ErrorCode::could_not_finish, argument, fmt::format("at most {} bytes, {}", present, where),
                   fmt::format("{} bytes needed ({:.1f} GB)", exact, gigabytes));
  };
  // an emulated device's memory is this process's memory
  WW_CHECK(fits("the memory available to this process", device.emulated ? 2 * once : once, available_memory()));
  if (device.emulated || device.memory_bytes == 0) return {};
  return fits("the memory of the device", once, device.memory_bytes);
}

Result<Matrix> host_operand(const std::optional<ArrayFile>& file, const OperandShape& shape, std::uint64_t seed,
                            Operand which, const char* argument) {
  if (file) return read_matrix(*file, shape.type, shape.rows, shape.cols, shape.ld);
  WW_TRY(Matrix matrix, Matrix::allocate(shape.type, shape.rows, shape.cols, shape.ld, argument));
  const bool scales = which == Operand::scale_a || which == Operand::scale_b;
  scales ? fill_scales(matrix, seed, which) : fill_normal(matrix, seed, which);
  return matrix;
}

Result<Buffer> upload(const Device& device, const Matrix& matrix) {
  WW_TRY(Buffer buffer, device.allocate(std::max<std::size_t>(matrix.bytes(), 16)));
  if (matrix.bytes() > 0) WW_CHECK(device.upload(buffer.data(), matrix.data(), matrix.bytes()));
  return buffer;
}

Result<void> fill_operand(const Device& device, const Buffer& buffer, DType type, std::int64_t bytes, Operand which,
                          std::uint64_t seed) {
  const std::int64_t elements = bytes * 8 / bits_of(type);
  if (elements == 0) return {};
  WW_TRY(const Matrix matrix, host_operand({}, {type, 1, elements, elements}, seed, which, "operands"));
  return device.upload(buffer.data(), matrix.data(), matrix.bytes());
}

Result<Buffer> upload_sizes(const Device& device, const std::vector<std::int32_t>& sizes) {
  const std::size_t bytes = sizes.size() * sizeof(std::int32_t);
  WW_TRY(Buffer buffer, device.allocate(std::max<std::size_t>(bytes, 16)));
  if (bytes > 0) WW_CHECK(device.upload(buffer.data(), sizes.data(), bytes));
  return buffer;
}

}  // namespace ww::operations
