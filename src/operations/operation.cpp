// SPDX-License-Identifier: Apache-2.0
// What operations share: operands from files or from the seed, and their way to the device.
#include "operations/operation.hpp"

#include <algorithm>

namespace ww::operations {

WideBytes Operation::Shapes::bytes() const {
  return bytes_of(a) + bytes_of(b) + bytes_of(scale_a) + bytes_of(scale_b) + bytes_of(d);
}

Result<void> Operation::make_operands(const Shapes& shapes, const char* argument) {
  const std::uint64_t seed = inputs_.seed;
  WW_TRY(host_.a, host_operand(inputs_.a, shapes.a, seed, Operand::a, argument));
  WW_TRY(host_.b, host_operand(inputs_.b, shapes.b, seed, Operand::b, argument));
  WW_TRY(host_.scale_a, host_operand(inputs_.scale_a, shapes.scale_a, seed, Operand::scale_a, argument));
  WW_TRY(host_.scale_b, host_operand(inputs_.scale_b, shapes.scale_b, seed, Operand::scale_b, argument));
  WW_TRY(host_.d, Matrix::allocate(shapes.d.type, shapes.d.rows, shapes.d.cols, shapes.d.ld, argument));
  // D is filled with NaN, so that an element which the kernel leaves unwritten cannot look right by chance.
  std::memset(host_.d.data(), 0xff, host_.d.bytes());
  return {};
}

Result<void> Operation::upload_operands(const Device& device, const Matrix& d) {
  WW_TRY(on_device_.a, operations::upload(device, host_.a));
  WW_TRY(on_device_.b, operations::upload(device, host_.b));
  WW_TRY(on_device_.scale_a, operations::upload(device, host_.scale_a));
  WW_TRY(on_device_.scale_b, operations::upload(device, host_.scale_b));
  WW_TRY(on_device_.d, operations::upload(device, d));
  WW_TRY(on_device_.epilogue, operations::upload(device, host_.epilogue));
  return {};
}

Result<Buffer> Operation::upload_zeros(const Device& device, std::size_t bytes) const {
  const std::vector<std::byte> zeros(std::max<std::size_t>(bytes, 16));
  WW_TRY(Buffer buffer, device.allocate(zeros.size()));
  WW_CHECK(device.upload(buffer.data(), zeros.data(), zeros.size()));
  return buffer;
}

}  // namespace ww::operations
