// SPDX-License-Identifier: Apache-2.0
// Groups of K, each with a D of its own. Where operands are generated, K in no group holds NaN; every group is judged
// by itself, against its own rows of K.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "operations/operation.hpp"
#include "warpwright/core/meta.hpp"

namespace ww::operations {
namespace {

constexpr const char* kSizes = "--ks, --m, --n";
constexpr std::int64_t kBlock = 128;

OperandShape stored(DType type, Major major, std::int64_t rows, std::int64_t k, std::int64_t ld) {
  return major == Major::mn ? OperandShape{type, k, rows, ld} : OperandShape{type, rows, k, ld};
}

/// NaN, which all bits set are in every type, wherever no group has `grain` of K along `major`.
void spoil(Matrix& matrix, Major major, const GroupMeaning& meaning, std::int64_t grain) {
  const std::int64_t extent = major == Major::mn ? matrix.rows() : matrix.cols(), width = bytes_of(matrix.type());
  std::vector<bool> used(static_cast<std::size_t>(extent));
  for (const GroupRows& group : meaning.groups)
    std::fill_n(used.begin() + group.first / grain, group.count / grain, true);
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

/// An operand of one group, (rows, K of the group).
Result<Matrix> of_group(const Matrix& from, Major major, const GroupRows& group) {
  if (major == Major::k) return copy_of(from, 0, from.rows(), group.first, group.count);
  WW_TRY(Matrix part, Matrix::allocate(from.type(), from.cols(), group.count, group.count, kSizes));
  const std::int64_t width = bytes_of(from.type());
  for (std::int64_t k = 0; k < group.count; ++k)
    for (std::int64_t row = 0; row < from.cols(); ++row)
      std::memcpy(part.row(row) + k * width, from.row(group.first + k) + row * width, static_cast<std::size_t>(width));
  return part;
}

class KGroupedOperation final : public Operation {
 public:
  KGroupedOperation(KGroupedInput grouped, Inputs inputs) : Operation(std::move(inputs)), case_(std::move(grouped)) {}

  std::string title() const override {
    const KGroupedProblem& p = case_.problem;
    return fmt::format("k-grouped {} groups of {} x {}, {} of {} rows of K, {} -> {}{}, scale {}, {}", p.groups, p.m,
                       p.n, case_.meaning.rows(), p.total_k(), name_of(p.a), name_of(p.d),
                       p.accumulate ? " added to D" : "", name_of(p.scale), name_of(p.encoding));
  }
  Fields sizes() const override {
    const KGroupedProblem& p = case_.problem;
    return {{"encoding", name_of(p.encoding)},  {"groups", p.groups},        {"m", p.m}, {"n", p.n}, {"k", p.total_k()},
            {"useful_k", case_.meaning.rows()}, {"accumulate", p.accumulate}};
  }
  double flops() const override {
    const KGroupedProblem& p = case_.problem;
    return 2.0 * static_cast<double>(case_.meaning.rows()) * static_cast<double>(p.m) * static_cast<double>(p.n);
  }

  Result<void> can_implement() const override { return ww::can_implement(case_.problem, inputs_.options); }
  Result<void> check_memory(const DeviceInfo& device) const override {
    const Shapes s = shapes();
    return check_fits(device, s.bytes() + (case_.problem.accumulate ? bytes_of(s.d) : 0), kSizes);
  }
  PrepareCase prepare_case() const override { return {case_.problem, inputs_.options}; }
  Result<Explanation> explain(const Device* device) const override {
    return device ? ww::explain(*device, case_.problem, inputs_.options) : ww::explain(case_.problem, inputs_.options);
  }

  Result<void> plan(const Device& device) override {
    WW_TRY(plan_, plan_k_grouped(device, case_.problem, inputs_.options));
    device_ = device;
    return {};
  }
  const GemmConfig& config() const override { return plan_->config(); }
  std::optional<EmuStats> last_stats() const override { return plan_->last_stats(); }

  Result<void> make_tensors() override;
  Result<void> upload() override;
  Result<void> run() const override { return plan_->run(operands_); }
  Result<void> download() override {
    if (host_.d.bytes() > 0) WW_CHECK(device_->download(host_.d.data(), on_device_.d.data(), host_.d.bytes()));
    return device_->download(&status_, status_word_.data(), sizeof status_);
  }
  Result<Judgement> judge(EmuMath math, std::atomic<int>* progress) override;

  bool repeats() const override { return !case_.problem.accumulate; }  // every run adds to D
  std::optional<GroupFacts> groups() const override { return GroupFacts{status_, case_.meaning.status, {}, ""}; }
  std::int64_t matrices() const override { return case_.problem.groups; }

 private:
  Shapes shapes() const;
  Result<ref::Comparison> judge_group(std::int64_t g, EmuMath math) const;

  KGroupedInput case_;
  std::optional<KGroupedPlan> plan_;
  KGroupedOperands operands_;
  Matrix before_;  // D before the run, where the product is added to it
  Buffer sizes_, sizes2_, status_word_;
  std::uint32_t status_ = 0;
};

Operation::Shapes KGroupedOperation::shapes() const {
  const KGroupedProblem& p = case_.problem;
  const std::int64_t k = p.total_k(), blocks = ceil_div(k, kBlock);
  Shapes s{.a = stored(p.a, p.a_major, p.m, k, p.lda),
           .b = stored(p.b, p.b_major, p.n, k, p.ldb),
           .d = {p.d, p.groups * p.m, p.n, p.n}};
  if (p.scale == Scale::tensor) s.scale_a = s.scale_b = {DType::f32, p.groups, 1, 1};
  if (p.scale == Scale::row_column)
    s.scale_a = {DType::f32, p.groups * p.m, 1, 1}, s.scale_b = {DType::f32, p.groups, p.n, p.n};
  if (is_block(p.scale)) {
    s.scale_a = {DType::f32, p.m, blocks, blocks};
    s.scale_b = {DType::f32, ceil_div(p.n, columns_of_scale(p.scale)), blocks, blocks};
  }
  return s;
}

Result<void> KGroupedOperation::make_tensors() {
  const KGroupedProblem& p = case_.problem;
  const Shapes s = shapes();
  WW_CHECK(make_operands(s, kSizes));
  if (!inputs_.a) spoil(host_.a, p.a_major, case_.meaning, 1);
  if (!inputs_.b) spoil(host_.b, p.b_major, case_.meaning, 1);
  if (is_block(p.scale)) {
    if (!inputs_.scale_a) spoil(host_.scale_a, Major::k, case_.meaning, kBlock);
    if (!inputs_.scale_b) spoil(host_.scale_b, Major::k, case_.meaning, kBlock);
  }
  if (!p.accumulate) return {};
  WW_TRY(host_.d, host_operand(case_.c, s.d, inputs_.seed + 1, Operand::a, kSizes));
  WW_TRY(before_, copy_of(host_.d, 0, host_.d.rows(), 0, host_.d.cols()));
  return {};
}

Result<void> KGroupedOperation::upload() {
  WW_CHECK(upload_operands(*device_, host_.d));
  WW_TRY(sizes_, upload_sizes(*device_, case_.layout.sizes));
  WW_TRY(sizes2_, upload_sizes(*device_, case_.layout.sizes2));
  WW_TRY(status_word_, upload_zeros(*device_, sizeof status_));
  operands_ = {.a = on_device_.a.data(), .b = on_device_.b.data(), .d = on_device_.d.data()};
  operands_.scale_a = static_cast<const float*>(on_device_.scale_a.data());
  operands_.scale_b = static_cast<const float*>(on_device_.scale_b.data());
  operands_.sizes = static_cast<const std::int32_t*>(sizes_.data());
  operands_.sizes2 = static_cast<const std::int32_t*>(sizes2_.data());
  operands_.status = static_cast<std::uint32_t*>(status_word_.data());
  return {};
}

Result<ref::Comparison> KGroupedOperation::judge_group(std::int64_t g, EmuMath math) const {
  const KGroupedProblem& p = case_.problem;
  const GroupRows& group = case_.meaning.groups[static_cast<std::size_t>(g)];
  WW_TRY(const Matrix a, of_group(host_.a, p.a_major, group));
  WW_TRY(const Matrix b, of_group(host_.b, p.b_major, group));
  WW_TRY(const Matrix d, copy_of(host_.d, g * p.m, p.m, 0, p.n));
  Matrix scale_a, scale_b;
  if (p.scale == Scale::tensor || p.scale == Scale::row_column) {
    const std::int64_t rows = p.scale == Scale::tensor ? 1 : p.m;
    WW_TRY(scale_a, copy_of(host_.scale_a, g * rows, rows, 0, 1));
    WW_TRY(scale_b, copy_of(host_.scale_b, g, 1, 0, host_.scale_b.cols()));
  } else if (is_block(p.scale)) {
    WW_TRY(scale_a, copy_of(host_.scale_a, 0, p.m, group.first / kBlock, group.count / kBlock));
    WW_TRY(scale_b, copy_of(host_.scale_b, 0, host_.scale_b.rows(), group.first / kBlock, group.count / kBlock));
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
  WW_TRY(c.c, copy_of(before_, g * p.m, p.m, 0, p.n));
  return verify_epilogue(evt::acc + evt::c(p.d), product, c, d).verdict;
}

/// Every element of every D[g] within its bound; rows count on from one group to the next.
Result<Judgement> KGroupedOperation::judge(EmuMath math, std::atomic<int>* progress) {
  const std::int64_t m = case_.problem.m, groups = case_.problem.groups;
  Judgement all;
  all.elements = groups * m * case_.problem.n;
  const auto moved = [&](Mismatch mismatch, std::int64_t g) { return mismatch.row += g * m, mismatch; };
  for (std::int64_t g = 0; g < groups; ++g) {
    WW_TRY(const ref::Comparison one, judge_group(g, math));
    ref::Comparison& verdict = all.verdict;
    verdict.wrong += one.wrong;
    if (one.first && !verdict.first) verdict.first = moved(*one.first, g);
    if (one.max_error >= verdict.max_error) verdict.max_error = one.max_error, verdict.worst = moved(one.worst, g);
    verdict.max_error_of_bound = std::max(verdict.max_error_of_bound, one.max_error_of_bound);
    if (progress) *progress = static_cast<int>(1000 * (g + 1) / groups);
  }
  return all;
}

}  // namespace

std::unique_ptr<Operation> make_operation(KGroupedInput grouped, Inputs inputs) {
  return std::make_unique<KGroupedOperation>(std::move(grouped), std::move(inputs));
}

}  // namespace ww::operations
