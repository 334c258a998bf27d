// SPDX-License-Identifier: Apache-2.0
// Groups of rows. Rows of A in no group hold NaN where the operands are generated, and D is filled with a pattern
// before the run: what leaks from padding into a group, or is written outside one, does not stay hidden.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "operations/operation.hpp"
#include "warpwright/config/epilogue_stages.hpp"
#include "warpwright/core/meta.hpp"

namespace ww::operations {
namespace {

constexpr const char* kSizes = "--rows, --n, --k";
constexpr unsigned char kUntouched = 0xff;

/// NaN in every type: all bits set.
void spoil(Matrix& matrix, const GroupMeaning& meaning) {
  std::vector<bool> used(static_cast<std::size_t>(matrix.rows()));
  for (const GroupRows& group : meaning.groups) std::fill_n(used.begin() + group.first, group.count, true);
  for (std::int64_t row = 0; row < matrix.rows(); ++row)
    if (!used[static_cast<std::size_t>(row)])
      std::memset(matrix.row(row), 0xff, static_cast<std::size_t>(matrix.cols() * bytes_of(matrix.type())));
}

class GroupedOperation final : public Operation {
 public:
  GroupedOperation(const GroupedInput& grouped, Inputs inputs) : Operation(std::move(inputs)), case_(grouped) {}

  std::string title() const override {
    const GroupedProblem& p = case_.problem;
    return fmt::format("grouped {} groups, {} of {} rows, x {} x {}, {} -> {}, scale {}, {}", p.groups,
                       case_.meaning.rows(), p.total_rows(), p.n, p.k, name_of(p.a), name_of(p.d), name_of(p.scale),
                       name_of(p.encoding));
  }
  Fields sizes() const override {
    const GroupedProblem& p = case_.problem;
    return {{"encoding", name_of(p.encoding)},     {"groups", p.groups}, {"rows", p.total_rows()},
            {"useful_rows", case_.meaning.rows()}, {"n", p.n},           {"k", p.k}};
  }
  double flops() const override {
    const GroupedProblem& p = case_.problem;
    return 2.0 * static_cast<double>(case_.meaning.rows()) * static_cast<double>(p.n) * static_cast<double>(p.k);
  }

  Result<void> can_implement() const override { return ww::can_implement(case_.problem, inputs_.options); }
  Result<void> check_memory(const DeviceInfo& device) const override {
    return check_fits(device, shapes().bytes(), kSizes);
  }
  PrepareCase prepare_case() const override { return {case_.problem, inputs_.options}; }
  Result<Explanation> explain(const Device* device) const override {
    return device ? ww::explain(*device, case_.problem, inputs_.options) : ww::explain(case_.problem, inputs_.options);
  }

  Result<void> plan(const Device& device) override {
    WW_TRY(plan_, plan_grouped(device, case_.problem, inputs_.options));
    device_ = device;
    return {};
  }
  const GemmConfig& config() const override { return plan_->config(); }
  std::optional<EmuStats> last_stats() const override { return plan_->last_stats(); }

  Result<void> make_tensors() override {
    const GroupedProblem& p = case_.problem;
    WW_CHECK(make_operands(shapes(), kSizes));
    WW_TRY(host_.epilogue,
           make_group_tensors(p.epilogue, p.total_rows(), p.n, p.groups, inputs_.seed, inputs_.epilogue_files));
    host_.epilogue.scalar = inputs_.scalar;
    if (!inputs_.a) spoil(host_.a, case_.meaning);
    const bool scale_of_row = p.scale == Scale::row_column || p.scale == Scale::block_1x128_128x128;
    if (!inputs_.scale_a && scale_of_row) spoil(host_.scale_a, case_.meaning);
    return {};
  }
  Result<void> upload() override;
  Result<void> run() const override { return plan_->run(operands_); }
  Result<void> download() override;
  Result<Judgement> judge(EmuMath math, std::atomic<int>* progress) override;

  std::optional<GroupFacts> groups() const override {
    return GroupFacts{status_, case_.meaning.status, widths_, case_.problem.zero_outside ? "zero" : "untouched"};
  }
  std::int64_t matrices() const override {
    return case_.problem.encoding == GroupEncoding::masked ? case_.problem.groups : 0;
  }

 private:
  Shapes shapes() const;

  GroupedInput case_;
  std::optional<GroupedPlan> plan_;
  GroupedOperands operands_;
  Buffer sizes_, sizes2_, status_word_;
  std::uint32_t status_ = 0;
  std::vector<TileWidth> widths_;
};

Operation::Shapes GroupedOperation::shapes() const {
  const GroupedProblem& p = case_.problem;
  const std::int64_t rows = p.total_rows(), blocks = ceil_div(p.k, std::int64_t{128});
  const std::int64_t columns = config::output_columns(p.epilogue, p.n);
  Shapes s{.a = {p.a, rows, p.k, p.lda}, .b = {p.b, p.groups * p.n, p.k, p.ldb}, .d = {p.d, rows, columns, columns}};
  switch (p.scale) {
    case Scale::none: break;
    case Scale::tensor:
      s.scale_a = {DType::f32, case_.scale_a_of_group ? p.groups : 1, 1, 1};
      s.scale_b = {DType::f32, case_.scale_b_of_group ? p.groups : 1, 1, 1};
      break;
    case Scale::row_column:
      s.scale_a = {DType::f32, rows, 1, 1};
      s.scale_b = {DType::f32, p.groups, p.n, p.n};
      break;
    case Scale::block_1x128_1x128:
    case Scale::block_128x128_1x128: break;  // refused: groups have no kernel for them
    case Scale::block_1x128_128x128:
      s.scale_a = {DType::f32, rows, blocks, blocks};
      s.scale_b = {DType::f32, p.groups * ceil_div(p.n, std::int64_t{128}), blocks, blocks};
  }
  return s;
}

Result<void> GroupedOperation::upload() {
  WW_CHECK(upload_operands(*device_, host_.d));
  WW_TRY(sizes_, upload_sizes(*device_, case_.layout.sizes));
  WW_TRY(sizes2_, upload_sizes(*device_, case_.layout.sizes2));
  WW_TRY(on_device_.workspace, upload_zeros(*device_, plan_->workspace_bytes()));
  WW_TRY(status_word_, upload_zeros(*device_, sizeof status_));
  operands_ = {.a = on_device_.a.data(), .b = on_device_.b.data(), .d = on_device_.d.data()};
  if (case_.problem.scale != Scale::none) {
    operands_.scale_a = static_cast<const float*>(on_device_.scale_a.data());
    operands_.scale_b = static_cast<const float*>(on_device_.scale_b.data());
  }
  operands_.sizes = static_cast<const std::int32_t*>(sizes_.data());
  if (!case_.layout.sizes2.empty()) operands_.sizes2 = static_cast<const std::int32_t*>(sizes2_.data());
  operands_.status = static_cast<std::uint32_t*>(status_word_.data());
  operands_.workspace = on_device_.workspace.data();
  operands_.workspace_bytes = plan_->workspace_bytes();
  operands_.epilogue = on_device_.epilogue.operands;
  return {};
}

Result<void> GroupedOperation::download() {
  if (host_.d.bytes() > 0) WW_CHECK(device_->download(host_.d.data(), on_device_.d.data(), host_.d.bytes()));
  WW_CHECK(operations::download(*device_, on_device_.epilogue, host_.epilogue));
  WW_CHECK(device_->download(&status_, status_word_.data(), sizeof status_));
  WW_TRY(widths_, plan_->widths(on_device_.workspace.data()));
  return {};
}

/// The product alone; or the product with its bounds, and then the tree over the rows of every group.
Result<Judgement> GroupedOperation::judge(EmuMath math, std::atomic<int>* progress) {
  const GroupedProblem& p = case_.problem;
  const bool scales = p.scale != Scale::none;
  Claim claim{.a = host_.a,
              .b = host_.b,
              .d = host_.d,
              .scale = p.scale,
              .scale_a = scales ? &host_.scale_a : nullptr,
              .scale_b = scales ? &host_.scale_b : nullptr,
              .math = math,
              .groups = &case_.meaning.groups,
              .outside = p.zero_outside ? static_cast<unsigned char>(0) : kUntouched};
  if (p.epilogue.empty()) return Judgement{.verdict = verify(claim, progress), .elements = case_.meaning.rows() * p.n};
  BoundedProduct product{p.total_rows(), p.n, {}, {}, 1, claim.groups};
  product.reference.resize(static_cast<std::size_t>(p.total_rows() * p.n));
  product.error.resize(product.reference.size());
  claim.reference = product.reference.data(), claim.error = product.error.data();
  const ref::Comparison outside = verify(claim, progress);
  Judgement judged = verify_epilogue(p.epilogue, product, host_.epilogue, host_.d);
  judged.verdict.outside = outside.outside, judged.verdict.outside_wrong = outside.outside_wrong;
  judged.verdict.first_outside = outside.first_outside;
  return judged;
}

}  // namespace

std::unique_ptr<Operation> make_operation(const GroupedInput& grouped, Inputs inputs) {
  return std::make_unique<GroupedOperation>(grouped, std::move(inputs));
}

}  // namespace ww::operations
