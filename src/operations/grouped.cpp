// SPDX-License-Identifier: Apache-2.0
// Groups of rows. Rows of A in no group hold NaN where the operands are generated, and D is filled with a pattern
// before the run: what leaks from padding into a group, or is written outside one, does not stay hidden.
#include <fmt/format.h>

#include <algorithm>

#include "operations/groups.hpp"
#include "operations/planned.hpp"
#include "reference/scale_chunks.hpp"
#include "warpwright/config/epilogue_stages.hpp"

namespace ww::operations {
namespace {

constexpr unsigned char kUntouched = 0xff;

/// The rows of B of one group as it is stored.
std::int64_t rows_of_b(const GroupedProblem& p) { return p.b_major == Major::k ? p.n : p.k; }

class GroupedOperation final : public GroupsOperation<GroupedProblem, GroupedPlan, GroupedOperands, GroupedCheck> {
 public:
  using GroupsOperation::GroupsOperation;

  const char* name() const override { return "grouped"; }
  std::string title() const override {
    const GroupedProblem& p = problem_;
    return fmt::format("grouped {} groups, {} of {} rows, x {} x {}, {} -> {}, scale {}, {}", p.groups,
                       groups_->meaning.rows(), p.total_rows(), p.n, p.k, name_of(p.a), name_of(p.d), name_of(p.scale),
                       name_of(p.encoding));
  }
  Fields sizes() const override {
    const GroupedProblem& p = problem_;
    return {{"encoding", name_of(p.encoding)},        {"groups", p.groups}, {"rows", p.total_rows()},
            {"useful_rows", groups_->meaning.rows()}, {"n", p.n},           {"k", p.k}};
  }
  double flops() const override {
    return 2.0 * static_cast<double>(groups_->meaning.rows()) * static_cast<double>(problem_.n) *
           static_cast<double>(problem_.k);
  }
  std::string flags() const override {
    const GroupedProblem& p = problem_;
    const std::string groups = group_flags(groups_->described, p.encoding, "--rows", "--m", p.rows);
    if (groups.empty()) return {};
    return fmt::format("{} --n {} --k {}{}{}", groups, p.n, p.k, p.b_major == Major::k ? "" : " --layout nn",
                       p.zero_outside ? " --zero-outside" : "");
  }
  std::unique_ptr<Operation> halved(int axis) const override;

  Result<void> download() override {
    WW_CHECK(Operation::download());
    WW_TRY(widths_, plan_->widths(on_device_.workspace.data()));
    return {};
  }
  Result<Judgement> judge(EmuMath math, std::atomic<int>* progress) override;

  OperandBytes operand_bytes() const override;
  std::vector<ProductExtents> products() const override {
    std::vector<ProductExtents> made;
    for (const GroupRows& group : groups_->meaning.groups) made.push_back({group.count, problem_.n, problem_.k});
    return made;
  }
  DotProduct dot_product(std::int64_t product, std::int64_t row, std::int64_t column) const override;

  std::optional<GroupFacts> groups() const override {
    return GroupFacts{status_, groups_->meaning.status, widths_, problem_.zero_outside ? "zero" : "untouched"};
  }
  std::int64_t matrices() const override { return problem_.encoding == GroupEncoding::masked ? problem_.groups : 0; }

 private:
  const char* sizes_argument() const override { return "--rows, --n, --k"; }
  Shapes shapes() const override;
  Result<EpilogueTensors> epilogue_tensors() const override {
    const GroupedProblem& p = problem_;
    WW_TRY(EpilogueTensors made,
           make_group_tensors(p.epilogue, p.total_rows(), p.n, p.groups, inputs_.seed, inputs_.epilogue_files));
    made.scalar = inputs_.scalar;
    place_group_scales(groups_->meaning.groups, masked_rows(), scale_blocks(), made);
    return made;
  }
  /// Rows of a masked group, or 0, and blocks of 128 rows of scales in chunks.
  std::int64_t masked_rows() const { return problem_.encoding == GroupEncoding::masked ? problem_.rows : 0; }
  std::int64_t scale_blocks() const {
    const GroupedProblem& p = problem_;
    return masked_rows() > 0 ? p.groups * ceil_div(p.rows, std::int64_t{kScaleChunkRows})
                             : most_scale_blocks(p.rows, p.groups);
  }
  Result<void> adapt_operands() override {
    if (!inputs_.a) spoil_outside(host_.a, Major::mn, false, groups_->meaning, 1);
    const bool scale_of_row = problem_.scale == Scale::row_column || problem_.scale == Scale::block_1x128_128x128;
    if (!inputs_.scale_a && scale_of_row) spoil_outside(host_.scale_a, Major::mn, false, groups_->meaning, 1);
    return make_global_scale();
  }
  Result<std::optional<Matrix>> stored_scales(bool of_a) const override {
    const GroupedProblem& p = problem_;
    if (!is_microscaled(p.scale)) return std::nullopt;
    if (!of_a) return chunked(host_.scale_b, p.n, sizes_argument());
    return chunked_rows(host_.scale_a, groups_->meaning.groups, masked_rows(), scale_blocks(), sizes_argument());
  }

  std::vector<TileWidth> widths_;
};

Operation::Shapes GroupedOperation::shapes() const {
  const GroupedProblem& p = problem_;
  const std::int64_t rows = p.total_rows(), blocks = ceil_div(p.k, kScaleBlock);
  const std::int64_t columns = config::output_columns(p.epilogue, p.n);
  Shapes s{.a = {p.a, rows, p.k, p.lda},
           .b = {p.b, p.groups * rows_of_b(p), p.b_major == Major::k ? p.k : p.n, p.ldb},
           .d = {p.d, rows, columns, columns}};
  switch (p.scale) {
    case Scale::none: break;
    case Scale::tensor:
      s.scale_a = {DType::f32, p.scale_a_group != 0 ? p.groups : 1, 1, 1};
      s.scale_b = {DType::f32, p.scale_b_group != 0 ? p.groups : 1, 1, 1};
      break;
    case Scale::row_column:
      s.scale_a = {DType::f32, rows, 1, 1};
      s.scale_b = {DType::f32, p.groups, p.n, p.n};
      break;
    case Scale::block_1x128_1x128:
    case Scale::block_128x128_1x128:
    case Scale::mx:
    case Scale::nv: {
      const std::int64_t scales = ceil_div(p.k, std::int64_t{scale_vector(p.scale)});
      s.scale_a = {scale_element(p.scale), rows, scales, scales};
      s.scale_b = {scale_element(p.scale), p.groups * p.n, scales, scales};
      break;
    }
    case Scale::block_1x128_128x128:
      s.scale_a = {DType::f32, rows, blocks, blocks};
      s.scale_b = {DType::f32, p.groups * ceil_div(p.n, kScaleBlock), blocks, blocks};
  }
  return s;
}

/// N, K or the rows of every group halved; groups stay groups, so their rows are rounded up.
std::unique_ptr<Operation> GroupedOperation::halved(int axis) const {
  GroupedCheck half = check();
  GroupedProblem& p = half.problem;
  const GemmConfig& c = half.options.config;
  if (axis == 2) {
    if (!halve_counts(half.groups.counts, 1)) return nullptr;
    p.rows = 0;
  } else {
    if (!halve_size(axis == 0 ? p.n : p.k, axis == 0 ? c.tile.n : c.tile.k, kHalvedStep)) return nullptr;
    p.lda = row_of(p.k, p.a), p.ldb = row_of(p.b_major == Major::k ? p.k : p.n, p.b);
    p.ldd = p.stride_b_group = 0;
    if (p.scale != Scale::tensor)
      p.scale_a_row = p.scale_a_k = p.scale_a_group = p.scale_b_n = p.scale_b_k = p.scale_b_group = 0;
  }
  return make_operation(std::move(half)).value_or(nullptr);
}

OperandBytes GroupedOperation::operand_bytes() const {
  const GroupedProblem p = resolved();
  const std::int64_t rows = p.total_rows();
  OperandBytes made;
  made.a = bytes_in(p.a, span_of({{rows, p.lda}, {p.lda, 1}}));
  made.b = bytes_in(p.b, span_of({{p.groups, p.stride_b_group}, {rows_of_b(p), p.ldb}, {p.ldb, 1}}));
  made.d = bytes_in(p.d, span_of({{rows, p.ldd}, {p.ldd, 1}}));
  if (is_microscaled(p.scale) && p.encoding != GroupEncoding::masked) {
    const std::int64_t blocks = most_scale_blocks(p.rows, p.groups);  // of 128 rows
    add_scale_bytes(p, blocks * kScaleChunkRows, p.k, {1, 0}, {p.groups, p.scale_b_group}, made);
    return made;
  }
  const std::int64_t rows_of_scales = is_microscaled(p.scale) ? p.rows : rows;
  add_scale_bytes(p, rows_of_scales, p.k, {p.groups, p.scale_a_group}, {p.groups, p.scale_b_group}, made);
  return made;
}

DotProduct GroupedOperation::dot_product(std::int64_t g, std::int64_t row, std::int64_t column) const {
  const GroupedProblem p = resolved();
  row += groups_->meaning.groups[static_cast<std::size_t>(g)].first;
  DotProduct made{.scale_a = g * p.scale_a_group, .scale_b = g * p.scale_b_group};
  const bool by_k = p.b_major == Major::k;
  made.a = row * p.lda, made.b = g * p.stride_b_group + column * (by_k ? p.ldb : 1), made.d = row * p.ldd + column;
  if (!by_k) made.b_step = p.ldb;
  add_scales(p, row, column, made);
  return made;
}

Result<Judgement> GroupedOperation::judge(EmuMath math, std::atomic<int>* progress) {
  const GroupedProblem& p = problem_;
  Matrix k_major;
  if (p.b_major == Major::mn) {
    WW_TRY(k_major, transposed(host_.b, p.k, sizes_argument()));
  }
  const Claim on_host = host_claim(math);
  const Claim claim{.a = host_.a,
                    .b = p.b_major == Major::mn ? k_major : host_.b,
                    .d = host_.d,
                    .scale = p.scale,
                    .scale_a = on_host.scale_a,
                    .scale_b = on_host.scale_b,
                    .math = math,
                    .groups = &groups_->meaning.groups,
                    .outside = p.zero_outside ? static_cast<unsigned char>(0) : kUntouched,
                    .global_scale = on_host.global_scale,
                    .arch = on_host.arch};
  return verify_product(claim, p.epilogue, {p.total_rows(), p.n, {}, {}, 1, claim.groups}, host_.epilogue, progress);
}

}  // namespace

std::unique_ptr<Operation> make_operation(const GroupedProblem& problem, Groups groups, Inputs inputs) {
  return std::make_unique<GroupedOperation>(problem, std::move(inputs), std::move(groups));
}

Result<std::unique_ptr<Operation>> make_operation(GroupedCheck check) {
  WW_TRY(Groups groups, lay_out(check));
  return make_operation(check.problem, std::move(groups), Inputs{.options = check.options});
}

}  // namespace ww::operations
