// SPDX-License-Identifier: Apache-2.0
// What operations share: operands from files or from the seed, and their way to the device and back.
#include "operations/operation.hpp"

#include <algorithm>
#include <cstring>

#include "operations/groups.hpp"

namespace ww::operations {

Result<OperandSet> allocate(const Device& device, const OperandBytes& bytes) {
  const auto allocated = [&](std::int64_t count) {
    return device.allocate(static_cast<std::size_t>(std::max<std::int64_t>(count, 16)));
  };
  OperandSet made;
  WW_TRY(made.a, allocated(bytes.a));
  WW_TRY(made.b, allocated(bytes.b));
  WW_TRY(made.scale_a, allocated(bytes.scale_a));
  WW_TRY(made.scale_b, allocated(bytes.scale_b));
  WW_TRY(made.d, allocated(bytes.d));
  return made;
}

WideBytes Operation::Shapes::bytes() const {
  return bytes_of(a) + bytes_of(b) + bytes_of(scale_a) + bytes_of(scale_b) + bytes_of(d);
}

Result<void> Operation::make_tensors() {
  const Shapes s = shapes();
  const std::uint64_t seed = inputs_.seed;
  const char* const argument = sizes_argument();
  WW_TRY(host_.a, host_operand(inputs_.a, s.a, seed, Operand::a, argument));
  WW_TRY(host_.b, host_operand(inputs_.b, s.b, seed, Operand::b, argument));
  WW_TRY(host_.scale_a, host_operand(inputs_.scale_a, s.scale_a, seed, Operand::scale_a, argument));
  WW_TRY(host_.scale_b, host_operand(inputs_.scale_b, s.scale_b, seed, Operand::scale_b, argument));
  WW_TRY(host_.d, Matrix::allocate(s.d.type, s.d.rows, s.d.cols, s.d.ld, argument));
  // D is filled with NaN, so that an element which the kernel leaves unwritten cannot look right by chance.
  std::memset(host_.d.data(), 0xff, host_.d.bytes());
  WW_TRY(host_.epilogue, epilogue_tensors());
  return adapt_operands();
}

Result<void> Operation::upload() {
  WW_CHECK(upload_operands(host_.d));
  return upload_rest();
}

Result<void> Operation::upload_operands(const Matrix& d) {
  const Device& device = *device_;
  WW_TRY(set_.a, operations::upload(device, host_.a));
  WW_TRY(set_.b, operations::upload(device, host_.b));
  WW_TRY(const std::optional<Matrix> scale_a, stored_scales(true));
  WW_TRY(const std::optional<Matrix> scale_b, stored_scales(false));
  WW_TRY(set_.scale_a, operations::upload(device, scale_a ? *scale_a : host_.scale_a));
  WW_TRY(set_.scale_b, operations::upload(device, scale_b ? *scale_b : host_.scale_b));
  if (host_.global_scale.bytes() > 0) {
    WW_TRY(on_device_.global_scale, operations::upload(device, host_.global_scale));
  }
  WW_TRY(set_.d, operations::upload(device, d));
  return {};
}

Result<void> Operation::upload_rest() {
  const Device& device = *device_;
  WW_TRY(on_device_.epilogue, operations::upload(device, host_.epilogue));
  WW_TRY(on_device_.workspace, device.allocate(std::max<std::size_t>(workspace_bytes(), 16)));
  WW_CHECK(clear_workspace());
  if (!groups_) return {};
  WW_TRY(on_device_.sizes, upload_sizes(device, groups_->layout.sizes));
  WW_TRY(on_device_.sizes2, upload_sizes(device, groups_->layout.sizes2));
  WW_TRY(on_device_.status, upload_sizes(device, {0}));
  return {};
}

Result<void> Operation::set_up() {
  WW_TRY(host_.epilogue, epilogue_tensors());
  return upload_rest();
}

Result<void> Operation::clear_workspace() const {
  const std::vector<std::byte> zeros(on_device_.workspace.bytes());
  return device_->upload(on_device_.workspace.data(), zeros.data(), zeros.size());
}

std::vector<Operation::Output> Operation::outputs(const OperandSet& set) const {
  const EpilogueOperands& to = on_device_.epilogue.operands;
  const EpilogueTensors& shapes = host_.epilogue;
  std::vector<Output> made;
  const auto add = [&](std::string name, void* data, std::size_t bytes) {
    if (data && bytes > 0) made.push_back({std::move(name), data, bytes});
  };
  add("d", set.d.data(), static_cast<std::size_t>(operand_bytes().d));
  for (std::size_t i = 0; i < kEpilogueSlots; ++i) add("out" + std::to_string(i), to.out[i], shapes.out[i].bytes());
  add("out_scales", to.out_scales, shapes.out_scales.bytes());
  add("amax", to.amax, shapes.amax.size() * sizeof(float));
  if (groups_) add("status", on_device_.status.data(), sizeof status_);
  return made;
}

Result<bool> Operation::draw_sizes(std::uint64_t seed) {
  if (!groups_) return false;
  const GroupLayout layout = seed == 0 ? groups_->layout : redrawn(*groups_, size_step(), seed);
  const auto replace = [&](const Buffer& buffer, const std::vector<std::int32_t>& sizes) -> Result<void> {
    if (sizes.empty()) return {};
    return device_->upload(buffer.data(), sizes.data(), sizes.size() * sizeof(std::int32_t));
  };
  WW_CHECK(replace(on_device_.sizes, layout.sizes));
  WW_CHECK(replace(on_device_.sizes2, layout.sizes2));
  return layout.sizes != groups_->layout.sizes || layout.sizes2 != groups_->layout.sizes2;
}

Result<void> Operation::download() {
  if (host_.d.bytes() > 0) WW_CHECK(device_->download(host_.d.data(), set_.d.data(), host_.d.bytes()));
  WW_CHECK(operations::download(*device_, on_device_.epilogue, host_.epilogue));
  if (!groups_) return {};
  return device_->download(&status_, on_device_.status.data(), sizeof status_);
}

}  // namespace ww::operations
