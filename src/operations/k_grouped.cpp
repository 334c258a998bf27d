// SPDX-License-Identifier: Apache-2.0
// Groups of K, each with a D of its own. Where operands are generated, K in no group holds NaN; every group is judged
// by itself, against its own rows of K.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "operations/groups.hpp"
#include "operations/planned.hpp"
#include "reference/scale_chunks.hpp"

namespace ww::operations {
namespace {

constexpr const char* kSizes = "--ks, --m, --n";

Result<Matrix> copy_of(const Matrix& from, std::int64_t row, std::int64_t rows, std::int64_t column,
                       std::int64_t columns) {
  const DType type = from.type();
  WW_TRY(Matrix part, Matrix::allocate(type, rows, columns, columns, kSizes));
  for (std::int64_t r = 0; r < rows; ++r)
    std::memcpy(part.row(r), from.row(row + r) + bytes_in(type, column),
                static_cast<std::size_t>(bytes_in(type, columns)));
  return part;
}

/// An operand of one group, (rows, K of the group).
Result<Matrix> of_group(const Matrix& from, Major major, bool packed, const GroupRows& group) {
  if (packed) {  // the group's matrix is a piece of memory
    WW_TRY(Matrix part, Matrix::allocate(from.type(), from.rows(), group.count, group.count, kSizes));
    const std::int64_t before = from.rows() * group.first * bytes_of(from.type());
    if (part.bytes() > 0) std::memcpy(part.data(), from.data() + before, part.bytes());
    return part;
  }
  if (major == Major::k) return copy_of(from, 0, from.rows(), group.first, group.count);
  WW_TRY(Matrix part, Matrix::allocate(from.type(), from.cols(), group.count, group.count, kSizes));
  const std::int64_t width = bytes_of(from.type());
  for (std::int64_t k = 0; k < group.count; ++k)
    for (std::int64_t row = 0; row < from.cols(); ++row)
      std::memcpy(part.row(row) + k * width, from.row(group.first + k) + row * width, static_cast<std::size_t>(width));
  return part;
}

class KGroupedOperation final : public GroupsOperation<KGroupedProblem, KGroupedPlan, KGroupedOperands, KGroupedCheck> {
 public:
  KGroupedOperation(const KGroupedProblem& problem, Inputs inputs, Groups groups, std::optional<ArrayFile> c)
      : GroupsOperation(problem, std::move(inputs), std::move(groups)), c_(std::move(c)) {}

  const char* name() const override { return "k-grouped"; }
  std::string title() const override {
    const KGroupedProblem& p = problem_;
    return fmt::format("k-grouped {} groups of {} x {}, {} of {} rows of K{}, {} -> {}{}, scale {}, {}", p.groups, p.m,
                       p.n, groups_->meaning.rows(), p.total_k(),
                       p.packing == KPacking::joint ? "" : " packed one by one", name_of(p.a), name_of(p.d),
                       p.accumulate ? " added to D" : "", name_of(p.scale), name_of(p.encoding));
  }
  Fields sizes() const override {
    const KGroupedProblem& p = problem_;
    return {{"encoding", name_of(p.encoding)},
            {"packing", name_of(p.packing)},
            {"groups", p.groups},
            {"m", p.m},
            {"n", p.n},
            {"k", p.total_k()},
            {"useful_k", groups_->meaning.rows()},
            {"accumulate", p.accumulate}};
  }
  double flops() const override {
    return 2.0 * static_cast<double>(groups_->meaning.rows()) * static_cast<double>(problem_.m) *
           static_cast<double>(problem_.n);
  }
  std::string flags() const override {
    const KGroupedProblem& p = problem_;
    const std::string groups = group_flags(groups_->described, p.encoding, "--ks", "--k", p.k);
    if (groups.empty()) return {};
    return fmt::format("{} --m {} --n {} --layout {}{}{}", groups, p.m, p.n,
                       name_of(MatrixLayout{p.a_major, p.b_major}),
                       p.packing == KPacking::joint ? "" : " --packing per-group", p.accumulate ? " --accumulate" : "");
  }
  std::unique_ptr<Operation> halved(int axis) const override;

  Result<void> check_memory(const DeviceInfo& device) const override {
    const Shapes s = shapes();
    return check_fits(device, s.bytes() + (problem_.accumulate ? bytes_of(s.d) : 0), kSizes);
  }
  Result<Judgement> judge(EmuMath math, std::atomic<int>* progress) override;

  OperandBytes operand_bytes() const override;
  std::vector<ProductExtents> products() const override {
    std::vector<ProductExtents> made;
    for (const GroupRows& group : groups_->meaning.groups) made.push_back({problem_.m, problem_.n, group.count});
    return made;
  }
  DotProduct dot_product(std::int64_t product, std::int64_t row, std::int64_t column) const override;

  bool repeats() const override { return !problem_.accumulate; }  // every run adds to D
  std::optional<GroupFacts> groups() const override { return GroupFacts{status_, groups_->meaning.status, {}, ""}; }
  std::int64_t matrices() const override { return problem_.groups; }

 private:
  const char* sizes_argument() const override { return kSizes; }
  std::int64_t size_step() const override { return granularity_of(problem_); }
  Shapes shapes() const override;
  /// Whether the groups of an operand are matrices of their own, one after the other.
  bool packs(Major major) const { return problem_.packing == KPacking::per_group && major == Major::k; }
  Result<void> adapt_operands() override;
  Result<std::optional<Matrix>> stored_scales(bool of_a) const override {
    if (!is_microscaled(problem_.scale)) return std::nullopt;
    return chunked_groups_of_k(of_a ? host_.scale_a : host_.scale_b, groups_->meaning.groups,
                               scale_vector(problem_.scale), kSizes);
  }
  Result<ref::Comparison> judge_group(std::int64_t g, EmuMath math) const;

  std::optional<ArrayFile> c_;
  Matrix before_;  // D before the run, where the product is added to it
};

Operation::Shapes KGroupedOperation::shapes() const {
  const KGroupedProblem& p = problem_;
  const std::int64_t k = p.total_k(), blocks = ceil_div(k, kScaleBlock);
  Shapes s{.a = stored_shape(p.a, p.a_major, p.m, k, packs(p.a_major) ? k : p.lda),
           .b = stored_shape(p.b, p.b_major, p.n, k, packs(p.b_major) ? k : p.ldb),
           .d = {p.d, p.groups * p.m, p.n, p.n}};
  if (p.scale == Scale::tensor) s.scale_a = s.scale_b = {DType::f32, p.groups, 1, 1};
  if (p.scale == Scale::row_column)
    s.scale_a = {DType::f32, p.groups * p.m, 1, 1}, s.scale_b = {DType::f32, p.groups, p.n, p.n};
  if (is_block(p.scale)) {
    s.scale_a = {DType::f32, p.m, blocks, blocks};
    s.scale_b = {DType::f32, ceil_div(p.n, columns_of_scale(p.scale)), blocks, blocks};
  }
  if (is_microscaled(p.scale)) {
    const std::int64_t scales = ceil_div(k, std::int64_t{scale_vector(p.scale)});
    s.scale_a = {scale_element(p.scale), p.m, scales, scales};
    s.scale_b = {scale_element(p.scale), p.n, scales, scales};
  }
  return s;
}

Result<void> KGroupedOperation::adapt_operands() {
  const KGroupedProblem& p = problem_;
  const GroupMeaning& meaning = groups_->meaning;
  if (!inputs_.a) spoil_outside(host_.a, p.a_major, packs(p.a_major), meaning, 1);
  if (!inputs_.b) spoil_outside(host_.b, p.b_major, packs(p.b_major), meaning, 1);
  WW_CHECK(make_global_scale());
  if (is_block(p.scale)) {
    if (!inputs_.scale_a) spoil_outside(host_.scale_a, Major::k, false, meaning, kScaleBlock);
    if (!inputs_.scale_b) spoil_outside(host_.scale_b, Major::k, false, meaning, kScaleBlock);
  }
  if (!p.accumulate) return {};
  WW_TRY(host_.d, host_operand(c_, shapes().d, inputs_.seed + 1, Operand::a, kSizes));
  WW_TRY(before_, copy_of(host_.d, 0, host_.d.rows(), 0, host_.d.cols()));
  return {};
}

/// M, N or the rows of K of every group halved; groups stay groups, so their rows are rounded up.
std::unique_ptr<Operation> KGroupedOperation::halved(int axis) const {
  KGroupedCheck half = check();
  KGroupedProblem& p = half.problem;
  const GemmConfig& c = half.options.config;
  if (axis == 2) {
    if (!halve_counts(half.groups.counts, granularity_of(p))) return nullptr;
    p.k = 0;
  } else if (!halve_size(axis == 0 ? p.m : p.n, axis == 0 ? c.tile.m : c.tile.n, kHalvedStep)) {
    return nullptr;
  }
  if (!lay_out(half)) return nullptr;
  p.lda = row_of(p.a_major == Major::mn ? p.m : p.total_k(), p.a);
  p.ldb = row_of(p.b_major == Major::mn ? p.n : p.total_k(), p.b);
  if (packs(p.a_major)) p.lda = 0;
  if (packs(p.b_major)) p.ldb = 0;
  p.ldd = p.n, p.stride_d_group = p.m * p.n;
  if (is_block(p.scale)) p.scale_a_row = p.scale_a_k = p.scale_b_n = p.scale_b_k = 0;
  if (p.scale == Scale::row_column) {
    if (p.scale_a_group != 0) p.scale_a_group = p.m;
    if (p.scale_b_group != 0) p.scale_b_group = p.n;
  }
  return make_operation(std::move(half)).value_or(nullptr);
}

OperandBytes KGroupedOperation::operand_bytes() const {
  const KGroupedProblem p = resolved();
  const std::int64_t k = p.total_k();
  OperandBytes made;
  const std::int64_t lda = packs(p.a_major) ? k : p.lda, ldb = packs(p.b_major) ? k : p.ldb;
  made.a = bytes_in(p.a, span_of({{p.a_major == Major::mn ? k : p.m, lda}, {lda, 1}}));
  made.b = bytes_in(p.b, span_of({{p.b_major == Major::mn ? k : p.n, ldb}, {ldb, 1}}));
  made.d = span_of({{p.groups, p.stride_d_group}, {p.m, p.ldd}, {p.ldd, 1}}) * bytes_of(p.d);
  add_scale_bytes(p, p.m, k, {p.groups, p.scale_a_group}, {p.groups, p.scale_b_group}, made);
  return made;
}

DotProduct KGroupedOperation::dot_product(std::int64_t g, std::int64_t row, std::int64_t column) const {
  const KGroupedProblem p = resolved();
  const auto [first, count] = groups_->meaning.groups[static_cast<std::size_t>(g)];
  const bool a_rows = p.a_major == Major::k, b_rows = p.b_major == Major::k;
  DotProduct made{.scale_a = g * p.scale_a_group, .scale_b = g * p.scale_b_group};
  made.a_step = a_rows ? 1 : p.lda, made.a = row * (a_rows ? p.lda : 1) + first * made.a_step;
  made.b_step = b_rows ? 1 : p.ldb, made.b = column * (b_rows ? p.ldb : 1) + first * made.b_step;
  if (packs(p.a_major)) made.a = first * p.m + row * count;
  if (packs(p.b_major)) made.b = first * p.n + column * count;
  made.d = g * p.stride_d_group + row * p.ldd + column;
  add_scales(p, row, column, made);
  made.scale_a += first / kScaleBlock * made.scale_a_step, made.scale_b += first / kScaleBlock * made.scale_b_step;
  return made;
}

Result<ref::Comparison> KGroupedOperation::judge_group(std::int64_t g, EmuMath math) const {
  const KGroupedProblem& p = problem_;
  const GroupRows& group = groups_->meaning.groups[static_cast<std::size_t>(g)];
  WW_TRY(const Matrix a, of_group(host_.a, p.a_major, packs(p.a_major), group));
  WW_TRY(const Matrix b, of_group(host_.b, p.b_major, packs(p.b_major), group));
  WW_TRY(const Matrix d, copy_of(host_.d, g * p.m, p.m, 0, p.n));
  Matrix scale_a, scale_b;
  if (p.scale == Scale::tensor || p.scale == Scale::row_column) {
    const std::int64_t rows = p.scale == Scale::tensor ? 1 : p.m;
    WW_TRY(scale_a, copy_of(host_.scale_a, g * rows, rows, 0, 1));
    WW_TRY(scale_b, copy_of(host_.scale_b, g, 1, 0, host_.scale_b.cols()));
  } else if (is_block(p.scale)) {
    WW_TRY(scale_a, copy_of(host_.scale_a, 0, p.m, group.first / kScaleBlock, group.count / kScaleBlock));
    WW_TRY(scale_b,
           copy_of(host_.scale_b, 0, host_.scale_b.rows(), group.first / kScaleBlock, group.count / kScaleBlock));
  } else if (is_microscaled(p.scale)) {
    const int vector = scale_vector(p.scale);
    WW_TRY(scale_a, copy_of(host_.scale_a, 0, p.m, group.first / vector, group.count / vector));
    WW_TRY(scale_b, copy_of(host_.scale_b, 0, p.n, group.first / vector, group.count / vector));
  }
  const Claim on_host = host_claim(math);
  Claim claim{.a = a, .b = b, .d = d, .scale = p.scale, .math = math};
  claim.global_scale = on_host.global_scale, claim.arch = on_host.arch;
  if (p.scale != Scale::none) claim.scale_a = &scale_a, claim.scale_b = &scale_b;
  EpilogueTensors c;
  if (p.accumulate) {
    c.m = p.m;
    WW_TRY(c.c, copy_of(before_, g * p.m, p.m, 0, p.n));
  }
  const EpilogueTree tree = p.accumulate ? evt::acc + evt::c(p.d) : EpilogueTree{};
  return verify_product(claim, tree, {p.m, p.n, {}, {}}, c).verdict;
}

/// Every element of every D[g] within its bound; rows count on from one group to the next.
Result<Judgement> KGroupedOperation::judge(EmuMath math, std::atomic<int>* progress) {
  const std::int64_t m = problem_.m, groups = problem_.groups;
  Judgement all;
  all.elements = groups * m * problem_.n;
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

std::unique_ptr<Operation> make_operation(const KGroupedProblem& problem, Groups groups, Inputs inputs,
                                          std::optional<ArrayFile> c) {
  return std::make_unique<KGroupedOperation>(problem, std::move(inputs), std::move(groups), std::move(c));
}

Result<std::unique_ptr<Operation>> make_operation(KGroupedCheck check) {
  WW_TRY(Groups groups, lay_out(check));
  return make_operation(check.problem, std::move(groups), Inputs{.options = check.options});
}

}  // namespace ww::operations
