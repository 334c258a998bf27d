// SPDX-License-Identifier: Apache-2.0
// The dense product, alone or as a batch. A batch is judged as groups: matrix l of A and D against rows l N of B and
// on.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "config/config_text.hpp"
#include "operations/dense_shapes.hpp"
#include "operations/operation.hpp"
#include "warpwright/config/epilogue_stages.hpp"

namespace ww::operations {
namespace {

constexpr const char* kSizes = "--m, --n, --k";

/// How many matrices of a batch, or sets of scales, there are when they are `stride` apart.
std::int64_t count_of(const GemmProblem& p, std::int64_t stride) { return stride == 0 && p.batch > 0 ? 1 : p.batch; }

/// The scales of all of a batch, set after set.
OperandShape scale_shape(const GemmProblem& p, bool of_a) {
  const std::int64_t sets = count_of(p, of_a ? p.batch_scale_a : p.batch_scale_b),
                     blocks = ceil_div(p.k, std::int64_t{128});
  switch (p.scale) {
    case Scale::none: return {};
    case Scale::tensor: return {DType::f32, sets, 1, 1};
    case Scale::row_column:
      return of_a ? OperandShape{DType::f32, sets * p.m, 1, 1} : OperandShape{DType::f32, sets, p.n, p.n};
    case Scale::block_1x128_128x128:
    case Scale::block_1x128_1x128:
    case Scale::block_128x128_1x128: break;  // the last is refused: of kernels only
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

class DenseOperation final : public Operation {
 public:
  DenseOperation(const GemmProblem& problem, Inputs inputs) : Operation(std::move(inputs)), problem_(problem) {}

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

  Result<void> can_implement() const override { return ww::can_implement(problem_, inputs_.options); }
  Result<void> check_memory(const DeviceInfo& device) const override {
    return check_fits(device, shapes().bytes(), kSizes);
  }
  PrepareCase prepare_case() const override { return {problem_, inputs_.options}; }
  Result<Explanation> explain(const Device* device) const override {
    return device ? ww::explain(*device, problem_, inputs_.options) : ww::explain(problem_, inputs_.options);
  }

  Result<void> plan(const Device& device) override {
    WW_TRY(plan_, plan_gemm(device, problem_, inputs_.options));
    device_ = device;
    return {};
  }
  const GemmConfig& config() const override { return plan_->config(); }
  std::optional<EmuStats> last_stats() const override { return plan_->last_stats(); }

  Result<void> make_tensors() override {
    const GemmProblem& p = problem_;
    WW_CHECK(make_operands(shapes(), kSizes));
    WW_TRY(host_.epilogue,
           operations::make_tensors(p.epilogue, p.m, p.n, inputs_.seed, inputs_.epilogue_files, 0, p.batch));
    host_.epilogue.layout = p.c_layout;
    host_.epilogue.scalar = inputs_.scalar;
    return {};
  }
  Result<void> upload() override;
  Result<void> run() const override { return plan_->run(operands_); }
  Result<void> download() override;
  Result<Judgement> judge(EmuMath math, std::atomic<int>* progress) override;

  std::int64_t matrices() const override { return problem_.batch == 1 ? 0 : problem_.batch; }
  std::optional<float> amax() const override {
    if (!problem_.epilogue.has(EpilogueOp::quantise)) return std::nullopt;
    float largest = 0;
    for (const float amax : host_.epilogue.amax) largest = std::max(largest, amax);
    return largest;
  }

 private:
  Shapes shapes() const {
    const GemmProblem& p = problem_;
    const std::int64_t columns = config::output_columns(p.epilogue, p.n);
    return {.a = {p.a, count_of(p, p.batch_a) * rows_of_a(p), p.a_major == Major::k ? p.k : p.m, p.lda},
            .b = {p.b, count_of(p, p.batch_b) * rows_of_b(p), p.b_major == Major::k ? p.k : p.n, p.ldb},
            .scale_a = scale_shape(p, true),
            .scale_b = scale_shape(p, false),
            .d = {p.d, p.batch * p.m, columns, columns}};
  }
  /// D as the device has it: as on the host, or (N, M) for each matrix.
  Result<Matrix> stored_output() const {
    const GemmProblem& p = plan_->problem();
    const Matrix& d = host_.d;
    const bool transposed = p.d_layout == OutputLayout::column;
    return Matrix::allocate(p.d, transposed ? p.batch * d.cols() : d.rows(), transposed ? p.m : d.cols(),
                            transposed ? p.ldd : d.ld(), "--m, --n");
  }
  Result<void> upload_pointers();
  Result<void> as_groups(std::vector<GroupRows>& groups);

  GemmProblem problem_;
  std::optional<GemmPlan> plan_;
  GemmOperands operands_;
  Buffer a_pointers_, b_pointers_, c_pointers_, d_pointers_;
};

Result<void> DenseOperation::upload() {
  WW_TRY(Matrix stored, stored_output());
  std::memset(stored.data(), 0xff, stored.bytes());
  WW_CHECK(upload_operands(*device_, stored));
  WW_TRY(on_device_.workspace, upload_zeros(*device_, plan_->workspace_bytes()));
  operands_ = {.a = on_device_.a.data(), .b = on_device_.b.data(), .d = on_device_.d.data()};
  if (problem_.scale != Scale::none) {
    operands_.scale_a = static_cast<const float*>(on_device_.scale_a.data());
    operands_.scale_b = static_cast<const float*>(on_device_.scale_b.data());
  }
  operands_.workspace = on_device_.workspace.data();
  operands_.workspace_bytes = plan_->workspace_bytes();
  operands_.epilogue = on_device_.epilogue.operands;
  return upload_pointers();
}

/// Arrays of pointers to the matrices of a batch, instead of the batch.
Result<void> DenseOperation::upload_pointers() {
  const GemmProblem& p = plan_->problem();
  if (!p.pointer_array) return {};
  const auto batch = static_cast<std::size_t>(p.batch);
  const auto array = [&](const void* base, std::size_t bytes, bool several) -> Result<Buffer> {
    std::vector<const void*> pointers(batch);
    for (std::size_t l = 0; l < batch; ++l)
      pointers[l] = static_cast<const std::byte*>(base) + (several ? l * (bytes / batch) : 0);
    WW_TRY(Buffer buffer, device_->allocate(std::max<std::size_t>(batch * sizeof(void*), 16)));
    if (batch > 0) WW_CHECK(device_->upload(buffer.data(), pointers.data(), batch * sizeof(void*)));
    return buffer;
  };
  WW_TRY(a_pointers_, array(operands_.a, host_.a.bytes(), host_.a.rows() > rows_of_a(p)));
  WW_TRY(b_pointers_, array(operands_.b, host_.b.bytes(), host_.b.rows() > rows_of_b(p)));
  WW_TRY(c_pointers_, array(operands_.epilogue.c, host_.epilogue.c.bytes(), host_.epilogue.c.rows() > p.m));
  WW_TRY(d_pointers_, array(operands_.d, host_.d.bytes(), true));
  operands_.a_pointers = static_cast<const void* const*>(a_pointers_.data());
  operands_.b_pointers = static_cast<const void* const*>(b_pointers_.data());
  operands_.c_pointers = static_cast<const void* const*>(c_pointers_.data());
  operands_.d_pointers = static_cast<void* const*>(d_pointers_.data());
  operands_.a = operands_.b = operands_.epilogue.c = nullptr, operands_.d = nullptr;
  return {};
}

Result<void> DenseOperation::download() {
  WW_TRY(Matrix stored, stored_output());
  if (stored.bytes() > 0) WW_CHECK(device_->download(stored.data(), on_device_.d.data(), stored.bytes()));
  if (problem_.d_layout == OutputLayout::row) {
    host_.d = std::move(stored);
  } else {
    WW_TRY(host_.d, transposed(stored, host_.d.cols(), "--m, --n"));
  }
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
  } else if (is_block(p.scale)) {
    WW_CHECK(repeat(host_.scale_a, p.batch * p.m));
    WW_CHECK(repeat(host_.scale_b, p.batch * scale_rows_of_b(p)));
  }
  return {};
}

/// The product alone; or the product with its bounds, and then the tree over it.
Result<Judgement> DenseOperation::judge(EmuMath math, std::atomic<int>* progress) {
  const GemmProblem& p = problem_;
  const bool scales = p.scale != Scale::none;
  std::vector<GroupRows> groups;
  WW_CHECK(as_groups(groups));
  Claim claim{.a = host_.a,
              .b = host_.b,
              .d = host_.d,
              .scale = p.scale,
              .scale_a = scales ? &host_.scale_a : nullptr,
              .scale_b = scales ? &host_.scale_b : nullptr,
              .math = math,
              .groups = p.batch == 1 ? nullptr : &groups};
  if (p.epilogue.empty()) return Judgement{.verdict = verify(claim, progress), .elements = p.batch * p.m * p.n};
  BoundedProduct product{p.m, p.n, {}, {}, p.batch};
  product.reference.resize(static_cast<std::size_t>(p.batch * p.m * p.n));
  product.error.resize(product.reference.size());
  claim.reference = product.reference.data(), claim.error = product.error.data();
  verify(claim, progress);
  return verify_epilogue(p.epilogue, product, host_.epilogue, host_.d);
}

}  // namespace

std::unique_ptr<Operation> make_operation(const GemmProblem& problem, Inputs inputs) {
  return std::make_unique<DenseOperation>(problem, std::move(inputs));
}

}  // namespace ww::operations
