// SPDX-License-Identifier: Apache-2.0
// The dense product, alone or as a batch. A batch is judged as groups: matrix l of A and D against rows l N of B and
// on.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "config/config_text.hpp"
#include "operations/dense_shapes.hpp"
#include "operations/planned.hpp"
#include "reference/scale_chunks.hpp"
#include "warpwright/config/epilogue_stages.hpp"
#include "warpwright/config/swap_ab.hpp"

namespace ww::operations {
namespace {

/// How many matrices of a batch, or sets of scales, there are when they are `stride` apart.
std::int64_t count_of(const GemmProblem& p, std::int64_t stride) { return stride == 0 && p.batch > 0 ? 1 : p.batch; }

/// The scales of all of a batch, set after set.
OperandShape scale_shape(const GemmProblem& p, bool of_a) {
  const std::int64_t sets = count_of(p, of_a ? p.batch_scale_a : p.batch_scale_b), blocks = ceil_div(p.k, kScaleBlock);
  switch (p.scale) {
    case Scale::none: return {};
    case Scale::tensor: return {DType::f32, sets, 1, 1};
    case Scale::row_column:
      return of_a ? OperandShape{DType::f32, sets * p.m, 1, 1} : OperandShape{DType::f32, sets, p.n, p.n};
    case Scale::block_1x128_128x128:
    case Scale::block_1x128_1x128:
    case Scale::block_128x128_1x128: break;  // the last is refused: of kernels only
    case Scale::mx:
    case Scale::nv: {
      const std::int64_t scales = ceil_div(p.k, std::int64_t{scale_vector(p.scale)});
      return {scale_element(p.scale), sets * (of_a ? p.m : p.n), scales, scales};
    }
  }
  return {DType::f32, sets * (of_a ? p.m : scale_rows_of_b(p)), blocks, blocks};
}

/// Repeats what the matrices of a batch share, so that each has its own.
Result<void> repeat(Matrix& matrix, std::int64_t rows) {
  if (matrix.rows() == 0 || matrix.rows() >= rows) return {};
  WW_TRY(Matrix all, Matrix::allocate(matrix.type(), rows, matrix.cols(), matrix.ld(), "--batch"));
  for (std::int64_t row = 0; row < rows; row += matrix.rows()) std::memcpy(all.row(row), matrix.data(), matrix.bytes());
  matrix = std::move(all);
  return {};
}

/// An MN-major operand with a row for each of M or N, which is how operands are judged.
Result<void> to_k_major(Matrix& matrix, Major major, std::int64_t k) {
  if (major == Major::k) return {};
  WW_TRY(matrix, transposed(matrix, k, "--layout"));
  return {};
}

class DenseOperation final : public PlannedOperation<GemmProblem, GemmPlan, GemmOperands> {
 public:
  using PlannedOperation::PlannedOperation;

  const char* name() const override { return "gemm"; }
  std::string title() const override {
    const GemmProblem& p = problem_;
    return fmt::format("gemm {}{} x {} x {}, {} -> {}, scale {}", p.batch == 1 ? "" : fmt::format("{} of ", p.batch),
                       p.m, p.n, p.k, name_of(p.a), name_of(p.d), name_of(p.scale));
  }
  Fields sizes() const override {
    Fields fields{{"m", problem_.m}, {"n", problem_.n}, {"k", problem_.k}};
    if (problem_.batch != 1) fields.emplace_back("batch", problem_.batch);
    return fields;
  }
  double flops() const override {
    const GemmProblem& p = problem_;
    return 2.0 * static_cast<double>(p.batch) * static_cast<double>(p.m) * static_cast<double>(p.n) *
           static_cast<double>(p.k);
  }
  CheckTarget check_target() const override { return GemmCheck{problem_, resolved_options()}; }
  std::string flags() const override {
    const GemmProblem& p = problem_;
    return fmt::format("--m {} --n {} --k {}{}", p.m, p.n, p.k,
                       p.batch == 1 ? "" : fmt::format(" --batch {}", p.batch));
  }
  std::unique_ptr<Operation> halved(int axis) const override;

  Result<void> upload() override;
  Result<void> download() override;
  Result<Judgement> judge(EmuMath math, std::atomic<int>* progress) override;
  Result<void> point_to(const OperandSet& set) override;

  OperandBytes operand_bytes() const override;
  std::vector<ProductExtents> products() const override {
    return {static_cast<std::size_t>(problem_.batch), ProductExtents{problem_.m, problem_.n, problem_.k}};
  }
  DotProduct dot_product(std::int64_t product, std::int64_t row, std::int64_t column) const override;

  std::int64_t matrices() const override { return problem_.batch == 1 ? 0 : problem_.batch; }
  std::optional<float> amax() const override {
    if (!problem_.epilogue.has(EpilogueOp::quantise)) return std::nullopt;
    float largest = 0;
    for (const float amax : host_.epilogue.amax) largest = std::max(largest, amax);
    return largest;
  }

 private:
  const char* sizes_argument() const override { return "--m, --n, --k"; }
  Shapes shapes() const override {
    const GemmProblem& p = problem_;
    const std::int64_t columns = config::output_columns(p.epilogue, p.n);
    return {.a = {p.a, count_of(p, p.batch_a) * rows_of_a(p), p.a_major == Major::k ? p.k : p.m, p.lda},
            .b = {p.b, count_of(p, p.batch_b) * rows_of_b(p), p.b_major == Major::k ? p.k : p.n, p.ldb},
            .scale_a = scale_shape(p, true),
            .scale_b = scale_shape(p, false),
            .d = {p.d, p.batch * p.m, columns, columns}};
  }
  Result<EpilogueTensors> epilogue_tensors() const override {
    const GemmProblem& p = problem_;
    WW_TRY(EpilogueTensors made,
           operations::make_tensors(p.epilogue, p.m, p.n, inputs_.seed, inputs_.epilogue_files, 0, p.batch));
    made.layout = p.c_layout;
    made.scalar = inputs_.scalar;
    return made;
  }
  Result<std::optional<Matrix>> stored_scales(bool of_a) const override {
    if (!is_microscaled(problem_.scale)) return std::nullopt;
    return chunked(of_a ? host_.scale_a : host_.scale_b, of_a ? problem_.m : problem_.n, "--m, --n");
  }
  Result<void> adapt_operands() override { return make_global_scale(); }
  /// D as the device has it: as on the host, or (N, M) for each matrix.
  Result<Matrix> stored_output() const {
    const GemmProblem& p = plan_->problem();
    const Matrix& d = host_.d;
    const bool transposed = p.d_layout == OutputLayout::column;
    return Matrix::allocate(p.d, transposed ? p.batch * d.cols() : d.rows(), transposed ? p.m : d.cols(),
                            transposed ? p.ldd : d.ld(), "--m, --n");
  }
  GemmOperands operands_of(const OperandSet& set) const override {
    GemmOperands made = PlannedOperation::operands_of(set);
    if (!problem_.pointer_array) return made;
    made.a_pointers = static_cast<const void* const*>(a_pointers_.data());
    made.b_pointers = static_cast<const void* const*>(b_pointers_.data());
    made.c_pointers = static_cast<const void* const*>(c_pointers_.data());
    made.d_pointers = static_cast<void* const*>(d_pointers_.data());
    made.a = made.b = made.epilogue.c = nullptr, made.d = nullptr;
    return made;
  }
  /// The problem with every stride, also those at which a campaign puts the matrices of arrays of pointers.
  GemmProblem placed() const {
    GemmProblem p = resolved();
    if (!p.pointer_array) return p;
    p.batch_a = rows_of_a(p) * p.lda, p.batch_b = rows_of_b(p) * p.ldb;
    p.batch_d = (p.d_layout == OutputLayout::row ? p.m : config::output_columns(p.epilogue, p.n)) * p.ldd;
    return p;
  }
  /// Bytes from one matrix of an operand to the next.
  struct Steps {
    std::int64_t a = 0, b = 0, c = 0, d = 0;
  };
  Result<void> make_pointers(const OperandSet& set, const Steps& steps, bool last_first);
  Result<void> upload_pointers();
  Result<void> as_groups(std::vector<GroupRows>& groups);

  Buffer a_pointers_, b_pointers_, c_pointers_, d_pointers_;
};

/// M, N or K halved, and every stride packed again.
std::unique_ptr<Operation> DenseOperation::halved(int axis) const {
  GemmCheck half{problem_, resolved_options()};
  GemmProblem& p = half.problem;
  const GemmConfig& c = half.options.config;
  std::int64_t& size = axis == 0 ? p.m : axis == 1 ? p.n : p.k;
  const std::int64_t least = axis == 2 ? c.tile.k : (axis == 0) != config::swaps(c) ? c.tile.m : c.tile.n;
  const bool any = axis == 0 && p.a_major == Major::k && p.d_layout == OutputLayout::row;
  if (!halve_size(size, least, any ? 1 : kHalvedStep)) return nullptr;
  p.lda = row_of(p.a_major == Major::k ? p.k : p.m, p.a);
  p.ldb = row_of(p.b_major == Major::k ? p.k : p.n, p.a);
  if (p.ldd != 0) p.ldd = row_of(p.d_layout == OutputLayout::row ? config::output_columns(p.epilogue, p.n) : p.m, p.d);
  p.scale_a_row = p.scale_a_k = p.scale_b_n = p.scale_b_k = 0;
  pack_batch(p);
  return make_operation(half).value_or(nullptr);
}

OperandBytes DenseOperation::operand_bytes() const {
  const GemmProblem p = placed();
  const std::int64_t columns = config::output_columns(p.epilogue, p.n);
  const auto matrix = [&](std::int64_t rows, std::int64_t ld, std::int64_t step, DType type) {
    return bytes_in(type, span_of({{p.batch, step}, {rows, ld}, {ld, 1}}));
  };
  OperandBytes made;
  made.a = matrix(rows_of_a(p), p.lda, p.batch_a, p.a);
  made.b = matrix(rows_of_b(p), p.ldb, p.batch_b, p.b);
  made.d = matrix(p.d_layout == OutputLayout::row ? p.m : columns, p.ldd, p.batch_d, p.d);
  add_scale_bytes(p, p.m, p.k, {p.batch, p.batch_scale_a}, {p.batch, p.batch_scale_b}, made);
  return made;
}

DotProduct DenseOperation::dot_product(std::int64_t l, std::int64_t row, std::int64_t column) const {
  const GemmProblem p = resolved();
  DotProduct made{.scale_a = l * p.batch_scale_a, .scale_b = l * p.batch_scale_b};
  const bool a_rows = p.a_major == Major::k, b_rows = p.b_major == Major::k, d_rows = p.d_layout == OutputLayout::row;
  made.a = l * p.batch_a + row * (a_rows ? p.lda : 1), made.a_step = a_rows ? 1 : p.lda;
  made.b = l * p.batch_b + column * (b_rows ? p.ldb : 1), made.b_step = b_rows ? 1 : p.ldb;
  made.d = l * p.batch_d + (d_rows ? row * p.ldd + column : column * p.ldd + row);
  add_scales(p, row, column, made);
  return made;
}

Result<void> DenseOperation::upload() {
  WW_TRY(Matrix stored, stored_output());
  std::memset(stored.data(), 0xff, stored.bytes());
  WW_CHECK(upload_operands(stored));
  WW_CHECK(upload_rest());
  return upload_pointers();
}

/// Makes arrays of pointers to the matrices of a batch, instead of the batch.
Result<void> DenseOperation::make_pointers(const OperandSet& set, const Steps& steps, bool last_first) {
  const GemmProblem& p = plan_->problem();
  if (!p.pointer_array) return {};
  const auto batch = static_cast<std::size_t>(p.batch);
  const auto array = [&](const void* base, std::int64_t step) -> Result<Buffer> {
    std::vector<const void*> pointers(batch);
    for (std::size_t l = 0; l < batch; ++l)
      pointers[last_first ? batch - 1 - l : l] =
          static_cast<const std::byte*>(base) + static_cast<std::int64_t>(l) * step;
    WW_TRY(Buffer buffer, device_->allocate(std::max<std::size_t>(batch * sizeof(void*), 16)));
    if (batch > 0) WW_CHECK(device_->upload(buffer.data(), pointers.data(), batch * sizeof(void*)));
    return buffer;
  };
  WW_TRY(a_pointers_, array(set.a.data(), steps.a));
  WW_TRY(b_pointers_, array(set.b.data(), steps.b));
  WW_TRY(c_pointers_, array(on_device_.epilogue.operands.c, steps.c));
  WW_TRY(d_pointers_, array(set.d.data(), steps.d));
  return {};
}

Result<void> DenseOperation::upload_pointers() {
  const GemmProblem& p = plan_->problem();
  const auto step = [&](const Matrix& matrix, std::int64_t rows_of_one) {
    return p.batch > 0 && matrix.rows() > rows_of_one ? static_cast<std::int64_t>(matrix.bytes()) / p.batch : 0;
  };
  const Steps steps{step(host_.a, rows_of_a(p)), step(host_.b, rows_of_b(p)), step(host_.epilogue.c, p.m),
                    p.batch > 0 ? static_cast<std::int64_t>(host_.d.bytes()) / p.batch : 0};
  return make_pointers(set_, steps, false);
}

Result<void> DenseOperation::point_to(const OperandSet& set) {
  const GemmProblem p = placed();
  const Matrix& c = host_.epilogue.c;
  return make_pointers(set,
                       {bytes_in(p.a, p.batch_a), bytes_in(p.b, p.batch_b),
                        on_device_.epilogue.operands.batch_c * bytes_of(c.type()), p.batch_d * bytes_of(p.d)},
                       true);
}

Result<void> DenseOperation::download() {
  if (problem_.d_layout == OutputLayout::row) return Operation::download();
  WW_TRY(Matrix stored, stored_output());
  if (stored.bytes() > 0) WW_CHECK(device_->download(stored.data(), set_.d.data(), stored.bytes()));
  WW_TRY(host_.d, transposed(stored, host_.d.cols(), "--m, --n"));
  return operations::download(*device_, on_device_.epilogue, host_.epilogue);
}

Result<void> DenseOperation::as_groups(std::vector<GroupRows>& groups) {
  const GemmProblem& p = problem_;
  WW_CHECK(to_k_major(host_.a, p.a_major, p.k));
  WW_CHECK(to_k_major(host_.b, p.b_major, p.k));
  if (p.batch == 1) return {};
  for (std::int64_t l = 0; l < p.batch; ++l) groups.push_back({l * p.m, p.m});
  WW_CHECK(repeat(host_.a, p.batch * p.m));
  WW_CHECK(repeat(host_.b, p.batch * p.n));
  if (p.scale == Scale::row_column) {
    WW_CHECK(repeat(host_.scale_a, p.batch * p.m));
    WW_CHECK(repeat(host_.scale_b, p.batch));
  } else if (is_microscaled(p.scale)) {
    WW_CHECK(repeat(host_.scale_a, p.batch * p.m));
    WW_CHECK(repeat(host_.scale_b, p.batch * p.n));
  } else if (is_block(p.scale)) {
    WW_CHECK(repeat(host_.scale_a, p.batch * p.m));
    WW_CHECK(repeat(host_.scale_b, p.batch * scale_rows_of_b(p)));
  }
  return {};
}

/// The matrices of a batch are judged as groups.
Result<Judgement> DenseOperation::judge(EmuMath math, std::atomic<int>* progress) {
  const GemmProblem& p = problem_;
  std::vector<GroupRows> groups;
  WW_CHECK(as_groups(groups));
  Claim claim = host_claim(math);
  if (p.batch != 1) claim.groups = &groups;
  return verify_product(claim, p.epilogue, {p.m, p.n, {}, {}, p.batch}, host_.epilogue, progress);
}

}  // namespace

void pack_batch(GemmProblem& p) {
  const std::int64_t blocks = ceil_div(p.k, kScaleBlock);
  const bool block = is_block(p.scale), vector = p.scale == Scale::row_column;
  const auto pack = [](std::int64_t& stride, std::int64_t elements) {
    if (stride != 0) stride = elements;
  };
  pack(p.batch_a, rows_of_a(p) * p.lda);
  pack(p.batch_b, rows_of_b(p) * p.ldb);
  pack(p.batch_d, p.m * config::output_columns(p.epilogue, p.n));
  if (is_microscaled(p.scale)) {
    pack(p.batch_scale_a, scale_bytes(p.m, p.k, scale_vector(p.scale)));
    return pack(p.batch_scale_b, scale_bytes(p.n, p.k, scale_vector(p.scale)));
  }
  pack(p.batch_scale_a, block ? p.m * blocks : vector ? p.m : 1);
  pack(p.batch_scale_b, block ? scale_rows_of_b(p) * blocks : vector ? p.n : 1);
}

std::unique_ptr<Operation> make_operation(const GemmProblem& problem, Inputs inputs) {
  return std::make_unique<DenseOperation>(problem, std::move(inputs));
}

Result<std::unique_ptr<Operation>> make_operation(const GemmCheck& check) {
  return make_operation(check.problem, Inputs{.options = check.options});
}

}  // namespace ww::operations
