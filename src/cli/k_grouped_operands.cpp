// SPDX-License-Identifier: Apache-2.0
// Generates, copies and verifies the operands of groups of K.
#include "cli/k_grouped_operands.hpp"

#include <cmath>
#include <cstring>

#include "reference/verify_epilogue.hpp"

namespace ww::cli {
namespace {

constexpr const char* kSizes = "--ks, --m, --n";

struct Shapes {
  OperandShape a, b, scale_a, scale_b, d;
};

OperandShape stored(DType type, Major major, std::int64_t rows, std::int64_t k, std::int64_t ld) {
  return major == Major::mn ? OperandShape{type, k, rows, ld} : OperandShape{type, rows, k, ld};
}

Shapes shapes_of(const KGroupedProblem& p) {
  const std::int64_t k = p.total_k(), blocks = blocks_of(k);
  Shapes s{stored(p.a, p.a_major, p.m, k, p.lda),
           stored(p.b, p.b_major, p.n, k, p.ldb),
           {},
           {},
           {p.d, p.groups * p.m, p.n, p.n}};
  if (p.scale == Scale::tensor) s.scale_a = s.scale_b = {DType::f32, p.groups, 1, 1};
  if (p.scale == Scale::row_column)
    s.scale_a = {DType::f32, p.groups * p.m, 1, 1}, s.scale_b = {DType::f32, p.groups, p.n, p.n};
  if (is_block(p.scale)) {
    s.scale_a = {DType::f32, p.m, blocks, blocks};
    s.scale_b = {DType::f32, ceil_div(p.n, columns_of_scale(p.scale)), blocks, blocks};
  }
  return s;
}

/// Sets all bits, which is NaN in every type, in each run of `grain` elements of K along `major` that no group uses.
void spoil(Matrix& matrix, Major major, const GroupMeaning& meaning, std::int64_t granularity) {
  const std::int64_t extent = major == Major::mn ? matrix.rows() : matrix.cols(), width = bytes_of(matrix.type());
  std::vector<bool> used(static_cast<std::size_t>(extent));
  for (const GroupRows& group : meaning.groups)
    std::fill_n(used.begin() + group.first / granularity, group.count / granularity, true);
  for (std::int64_t at = 0; at < extent; ++at) {
    if (used[static_cast<std::size_t>(at)]) continue;
    if (major == Major::mn) std::memset(matrix.row(at), 0xff, static_cast<std::size_t>(matrix.cols() * width));
    else
      for (std::int64_t row = 0; row < matrix.rows(); ++row)
        std::memset(matrix.row(row) + at * width, 0xff, static_cast<std::size_t>(width));
  }
}

Result<Matrix> copy_of(const Matrix& from, std::int64_t row, std::int64_t rows, std::int64_t column,
                       std::int64_t columns) {
  WW_TRY(Matrix part, Matrix::allocate(from.type(), rows, columns, columns, kSizes));
  const std::int64_t width = bytes_of(from.type());
  for (std::int64_t r = 0; r < rows; ++r)
    std::memcpy(part.row(r), from.row(row + r) + column * width, static_cast<std::size_t>(columns * width));
  return part;
}

/// Returns the operand of one group, (rows, K of the group).
Result<Matrix> of_group(const Matrix& from, Major major, const GroupRows& group) {
  if (major == Major::k) return copy_of(from, 0, from.rows(), group.first, group.count);
  WW_TRY(Matrix part, Matrix::allocate(from.type(), from.cols(), group.count, group.count, kSizes));
  const std::int64_t width = bytes_of(from.type());
  for (std::int64_t k = 0; k < group.count; ++k)
    for (std::int64_t row = 0; row < from.cols(); ++row)
      std::memcpy(part.row(row) + k * width, from.row(group.first + k) + row * width, static_cast<std::size_t>(width));
  return part;
}

Result<Verdict> judge_group(const KGroupedCase& request, const KGroupedTensors& tensors, std::int64_t g, EmuMath math) {
  const KGroupedProblem& p = request.problem;
  const GroupRows& group = request.meaning.groups[static_cast<std::size_t>(g)];
  WW_TRY(const Matrix a, of_group(tensors.a, p.a_major, group));
  WW_TRY(const Matrix b, of_group(tensors.b, p.b_major, group));
  WW_TRY(const Matrix d, copy_of(tensors.d, g * p.m, p.m, 0, p.n));
  Matrix scale_a, scale_b;
  if (p.scale == Scale::tensor || p.scale == Scale::row_column) {
    const std::int64_t rows = p.scale == Scale::tensor ? 1 : p.m;
    WW_TRY(scale_a, copy_of(tensors.scale_a, g * rows, rows, 0, 1));
    WW_TRY(scale_b, copy_of(tensors.scale_b, g, 1, 0, tensors.scale_b.cols()));
  } else if (is_block(p.scale)) {
    WW_TRY(scale_a, copy_of(tensors.scale_a, 0, p.m, group.first / 128, group.count / 128));
    WW_TRY(scale_b, copy_of(tensors.scale_b, 0, tensors.scale_b.rows(), group.first / 128, group.count / 128));
  }
  Claim claim{.a = a, .b = b, .d = d, .scale = p.scale, .math = math};
  if (p.scale != Scale::none) claim.scale_a = &scale_a, claim.scale_b = &scale_b;
  if (!p.accumulate) return verify(claim);
  BoundedProduct product{p.m, p.n, {}, {}};
  product.reference.resize(static_cast<std::size_t>(p.m * p.n)), product.error.resize(product.reference.size());
  claim.reference = product.reference.data(), claim.error = product.error.data();
  verify(claim);
  EpilogueTensors c;
  c.m = p.m;
  WW_TRY(c.c, copy_of(tensors.c, g * p.m, p.m, 0, p.n));
  return verify_epilogue(evt::acc + evt::c(p.d), product, c, d).verdict;
}

Result<Buffer> upload_bytes(const Device& device, const void* data, std::size_t bytes) {
  WW_TRY(Buffer buffer, device.allocate(std::max<std::size_t>(bytes, 16)));
  if (bytes > 0) WW_CHECK(device.upload(buffer.data(), data, bytes));
  return buffer;
}

}  // namespace

WideBytes bytes_of(const KGroupedProblem& problem) {
  const Shapes s = shapes_of(problem);
  return bytes_of(s.a) + bytes_of(s.b) + bytes_of(s.scale_a) + bytes_of(s.scale_b) + 2 * bytes_of(s.d);
}

Result<KGroupedTensors> make_tensors(const KGroupedCase& r, std::uint64_t seed) {
  const KGroupedProblem& p = r.problem;
  const Shapes s = shapes_of(p);
  KGroupedTensors made;
  WW_TRY(made.a, host_operand({}, s.a, seed, Operand::a, kSizes));
  WW_TRY(made.b, host_operand({}, s.b, seed, Operand::b, kSizes));
  WW_TRY(made.scale_a, host_operand({}, s.scale_a, seed, Operand::scale_a, kSizes));
  WW_TRY(made.scale_b, host_operand({}, s.scale_b, seed, Operand::scale_b, kSizes));
  WW_TRY(made.d, Matrix::allocate(s.d.type, s.d.rows, s.d.cols, s.d.ld, kSizes));
  spoil(made.a, p.a_major, r.meaning, 1);
  spoil(made.b, p.b_major, r.meaning, 1);
  if (is_block(p.scale)) spoil(made.scale_a, Major::k, r.meaning, 128), spoil(made.scale_b, Major::k, r.meaning, 128);
  // Otherwise an element that the kernel leaves unwritten could look right because of what the memory happened to hold.
  std::memset(made.d.data(), 0xff, made.d.bytes());
  if (!p.accumulate) return made;
  fill_normal(made.d, seed + 1, Operand::a);
  WW_TRY(made.c, copy_of(made.d, 0, made.d.rows(), 0, made.d.cols()));
  return made;
}

Result<KGroupedBuffers> upload(const Device& device, const KGroupedCase& request, const KGroupedTensors& tensors) {
  KGroupedBuffers made;
  const std::uint32_t zero = 0;
  const auto& [sizes, sizes2] = std::tie(request.layout.sizes, request.layout.sizes2);
  WW_TRY(made.a, upload(device, tensors.a));
  WW_TRY(made.b, upload(device, tensors.b));
  WW_TRY(made.scale_a, upload(device, tensors.scale_a));
  WW_TRY(made.scale_b, upload(device, tensors.scale_b));
  WW_TRY(made.d, upload(device, tensors.d));
  WW_TRY(made.sizes, upload_bytes(device, sizes.data(), sizes.size() * sizeof(std::int32_t)));
  WW_TRY(made.sizes2, upload_bytes(device, sizes2.data(), sizes2.size() * sizeof(std::int32_t)));
  WW_TRY(made.status, upload_bytes(device, &zero, sizeof zero));
  made.operands = {.a = made.a.data(),
                   .b = made.b.data(),
                   .d = made.d.data(),
                   .scale_a = static_cast<const float*>(made.scale_a.data()),
                   .scale_b = static_cast<const float*>(made.scale_b.data()),
                   .sizes = static_cast<const std::int32_t*>(made.sizes.data()),
                   .sizes2 = static_cast<const std::int32_t*>(made.sizes2.data()),
                   .status = static_cast<std::uint32_t*>(made.status.data())};
  return made;
}

Result<Verdict> judge(const KGroupedCase& request, const KGroupedTensors& tensors, EmuMath math) {
  Verdict all;
  const std::int64_t m = request.problem.m;
  const auto moved = [&](Mismatch mismatch, std::int64_t g) { return mismatch.row += g * m, mismatch; };
  for (std::int64_t g = 0; g < request.problem.groups; ++g) {
    WW_TRY(const Verdict one, judge_group(request, tensors, g, math));
    all.wrong += one.wrong;
    if (one.first && !all.first) all.first = moved(*one.first, g);
    if (one.max_error >= all.max_error) all.max_error = one.max_error, all.worst = moved(one.worst, g);
    all.max_error_of_bound = std::max(all.max_error_of_bound, one.max_error_of_bound);
  }
  return all;
}

}  // namespace ww::cli
