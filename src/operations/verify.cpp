// SPDX-License-Identifier: Apache-2.0
// ww::verify: every problem is a list of dense products. Each is copied out of the caller's arrays, whatever their
// strides, and judged by reference/.
#include "warpwright/host/verify.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "ops/gemm_validation.hpp"
#include "ops/grouped_validation.hpp"
#include "ops/operand_checks.hpp"
#include "reference/scale_chunks.hpp"
#include "reference/verify_epilogue.hpp"
#include "warpwright/config/group_encoding.hpp"
#include "warpwright/config/sizes.hpp"

namespace ww {
namespace {

using ref::Matrix;

/// A tensor of the caller: element (row, column) is at base + row * row_step + column * column_step.
struct View {
  const char* name = "";
  const void* base = nullptr;
  DType type = DType::f32;
  std::int64_t rows = 0, columns = 0, row_step = 0, column_step = 0;
};

const void* at(const void* base, std::int64_t elements, DType type) {
  if (base == nullptr) return nullptr;
  return static_cast<const std::byte*>(base) + bytes_in(type, elements);
}

Result<Matrix> copy_of(const View& v) {
  if (v.rows == 0 || v.columns == 0) return Matrix::allocate(v.type, v.rows, v.columns, v.columns, v.name);
  if (v.base == nullptr) return failure(ErrorCode::invalid, v.name, "a host pointer", "null");
  WW_TRY(Matrix made, Matrix::allocate(v.type, v.rows, v.columns, v.columns, v.name));
  if (is_packed(v.type)) {  // K-major
    for (std::int64_t row = 0; row < v.rows; ++row)
      std::memcpy(made.row(row), at(v.base, row * v.row_step, v.type),
                  static_cast<std::size_t>(bytes_in(v.type, v.columns)));
    return made;
  }
  const auto width = static_cast<std::int64_t>(bytes_of(v.type));
  for (std::int64_t row = 0; row < v.rows; ++row) {
    const std::byte* const from = static_cast<const std::byte*>(v.base) + row * v.row_step * width;
    std::byte* const to = made.row(row);
    if (v.column_step == 1) std::memcpy(to, from, static_cast<std::size_t>(v.columns * width));
    else
      for (std::int64_t column = 0; column < v.columns; ++column)
        std::memcpy(to + column * width, from + column * v.column_step * width, static_cast<std::size_t>(width));
  }
  return made;
}

/// (rows, k) of an operand, which is stored by rows or by k.
View operand(const char* name, const void* base, DType type, Major major, std::int64_t rows, std::int64_t k,
             std::int64_t ld) {
  return major == Major::k ? View{name, base, type, rows, k, ld, 1} : View{name, base, type, rows, k, 1, ld};
}

/// (m, n) of a matrix, which is stored by rows or by columns.
View matrix(const char* name, const void* base, DType type, OutputLayout layout, std::int64_t m, std::int64_t n,
            std::int64_t ld) {
  const bool row = layout == OutputLayout::row;
  if (ld == 0) ld = row ? n : m;
  return {name, base, type, m, n, row ? ld : 1, row ? 1 : ld};
}

/// One dense product and what became of it.
struct Product {
  std::int64_t number = 0, m = 0, n = 0, k = 0;
  View a = {}, b = {}, d = {}, scale_a = {}, scale_b = {};
  float global_scale = 1;
  EpilogueTree epilogue = {};
  OutputLayout c_layout = OutputLayout::row;
  EpilogueOperands operands = {};  // of this product alone
};

/// The scales of `p`, whose strides are `row` and `k` for A, and for B likewise.
struct ScaleStrides {
  std::int64_t a_row = 0, a_k = 0, b_n = 0, b_k = 0;
};
void set_scales(Product& p, Scale scale, const void* a, const void* b, const ScaleStrides& s) {
  if (scale == Scale::none || p.k == 0) return;
  const std::int64_t blocks = ceil_div(p.k, ops::kScaleSpan);
  p.scale_a = {"scale_a", a, DType::f32, 1, 1, 0, 1}, p.scale_b = {"scale_b", b, DType::f32, 1, 1, 0, 1};
  if (is_microscaled(scale)) {  // in chunks
    const DType type = scale == Scale::mx ? DType::e8m0 : DType::e4m3;
    const std::int64_t scales = ceil_div(p.k, std::int64_t{scale_vector(scale)});
    p.scale_a = {"scale_a", a, type, p.m, scales}, p.scale_b = {"scale_b", b, type, p.n, scales};
  } else if (scale == Scale::row_column) {
    p.scale_a = {"scale_a", a, DType::f32, p.m, 1, s.a_row, 1};
    p.scale_b = {"scale_b", b, DType::f32, 1, p.n, 0, s.b_n};
  } else if (is_block(scale)) {
    p.scale_a = {"scale_a", a, DType::f32, p.m, blocks, s.a_row, s.a_k};
    p.scale_b = {"scale_b", b, DType::f32, ceil_div(p.n, columns_of_scale(scale)), blocks, s.b_n, s.b_k};
  }
}

/// Refuses C in place of D, which no longer holds it.
Result<void> check_c(const void* c, const void* d) {
  if (c == nullptr || c != d) return {};
  return failure(ErrorCode::invalid, "c", "C as it was before the run", "D, which the run wrote over it");
}

Result<void> add_node(const Product& p, const EpilogueNode& node, ref::EpilogueTensors& to) {
  const EpilogueOperands& o = p.operands;
  const int slot = node.slot;
  if (node.op == EpilogueOp::c) {
    WW_CHECK(check_c(o.c, p.d.base));
    WW_TRY(to.c, copy_of(matrix("c", o.c, node.type, p.c_layout, p.m, p.n, o.ldc)));
  } else if (node.op == EpilogueOp::row_vector) {
    WW_TRY(to.row[slot], copy_of({"row_vector", o.row_vector[slot], node.type, 1, p.n, 0, 1}));
  } else if (node.op == EpilogueOp::column_vector) {
    WW_TRY(to.column[slot], copy_of({"column_vector", o.column_vector[slot], DType::f32, p.m, 1, 1, 1}));
  } else if (node.op == EpilogueOp::auxiliary) {
    WW_TRY(to.auxiliary[slot],
           copy_of(matrix("auxiliary", o.auxiliary[slot], node.type, p.c_layout, p.m, p.n, o.ld_auxiliary[slot])));
  } else if (node.op == EpilogueOp::store) {
    WW_TRY(to.out[slot], copy_of(matrix("out", o.out[slot], node.type, p.c_layout, p.m, p.n, o.ld_out[slot])));
    to.is_store[static_cast<std::size_t>(slot)] = true;
  } else if (config::is_reduction(node.op)) {
    const bool rows = config::is_row_reduction(node.op);
    WW_TRY(to.out[slot], copy_of({"out", o.out[slot], DType::f32, rows ? p.m : 1, rows ? 1 : p.n, 1, 1}));
  }
  return {};
}

Result<ref::EpilogueTensors> tensors_of(const Product& p) {
  ref::EpilogueTensors made;
  made.m = p.m;
  for (int i = 0; i < p.epilogue.size(); ++i) WW_CHECK(add_node(p, p.epilogue.node(i), made));
  for (std::size_t i = 0; i < kEpilogueSlots; ++i)
    made.scalar[i] = p.operands.scalar_pointer[i] != nullptr ? *p.operands.scalar_pointer[i] : p.operands.scalar[i];
  const EpilogueOp quantise = config::stages_of(p.epilogue).quantise;
  if (quantise == EpilogueOp::none) return made;
  if (quantise == EpilogueOp::quantise) {
    if (p.operands.amax == nullptr) return failure(ErrorCode::invalid, "amax", "a host pointer", "null");
    made.amax = {*p.operands.amax};
    return made;
  }
  if (config::is_microscale(quantise)) {
    const std::int64_t scales = ceil_div(p.d.columns, std::int64_t{config::columns_of_out_scale(quantise)});
    if (p.operands.out_scale_chunks == nullptr && p.m > 0)
      return failure(ErrorCode::invalid, "out_scale_chunks", "a host pointer", "null");
    WW_TRY(made.out_scales,
           ref::unchunked(p.operands.out_scale_chunks, quantise == EpilogueOp::quantise_mx ? DType::e8m0 : DType::e4m3,
                          p.m, scales, "out_scale_chunks"));
    return made;
  }
  const std::int64_t blocks = ceil_div(p.d.columns, ops::kScaleSpan);
  View scales{"out_scales",
              p.operands.out_scales,
              DType::f32,
              p.m,
              blocks,
              p.operands.out_scales_row,
              p.operands.out_scales_block};
  if (scales.row_step == 0 && scales.column_step == 0) scales.row_step = blocks, scales.column_step = 1;
  WW_TRY(made.out_scales, copy_of(scales));
  return made;
}

void add(const ref::Comparison& from, const std::string& where, std::int64_t elements, std::int64_t product,
         Verification& to) {
  const auto element = [&](const ref::Mismatch& m) {
    return Verification::Element{where, product, m.row, m.column, m.got, m.expected, m.bound};
  };
  to.elements += elements, to.wrong += from.wrong;
  if (!to.first && from.first) to.first = element(*from.first);
  if (from.max_error > to.max_error) to.max_error = from.max_error, to.worst = element(from.worst);
  to.max_error_of_bound = std::max(to.max_error_of_bound, from.max_error_of_bound);
}

/// The scales of `p`, in rows.
Result<Matrix> scales_of(const View& v, Scale scale) {
  if (!is_microscaled(scale) || v.rows == 0 || v.columns == 0) return copy_of(v);
  if (v.base == nullptr) return failure(ErrorCode::invalid, v.name, "a host pointer", "null");
  return ref::unchunked(v.base, v.type, v.rows, v.columns, v.name);
}

Result<void> judge(const Product& p, Scale scale, const VerifyOptions& options, Verification& to) {
  if (p.m == 0 || p.n == 0) return {};
  WW_TRY(const Matrix a, copy_of(p.a));
  WW_TRY(const Matrix b, copy_of(p.b));
  WW_TRY(const Matrix d, copy_of(p.d));
  WW_TRY(const Matrix scale_a, scales_of(p.scale_a, scale));
  WW_TRY(const Matrix scale_b, scales_of(p.scale_b, scale));
  ref::Claim claim{.a = a, .b = b, .d = d, .scale = p.k == 0 ? Scale::none : scale, .math = options.math};
  if (claim.scale != Scale::none) claim.scale_a = &scale_a, claim.scale_b = &scale_b;
  claim.global_scale = p.global_scale, claim.arch = options.arch;
  WW_TRY(const ref::EpilogueTensors tensors, tensors_of(p));
  const ref::EpilogueComparison verdict = ref::verify_product(claim, p.epilogue, {p.m, p.n, {}, {}}, tensors);
  add(verdict.verdict, verdict.where, verdict.elements, p.number, to);
  return {};
}

DType type_of_c(const EpilogueTree& tree) {
  for (int i = 0; i < tree.size(); ++i)
    if (tree.node(i).op == EpilogueOp::c) return tree.node(i).type;
  return DType::f32;
}

/// The bytes of the scales of D in chunks, of a matrix whose product is (m, n).
std::int64_t out_chunk_bytes(const EpilogueTree& tree, std::int64_t m, std::int64_t n) {
  const int vector = config::columns_of_out_scale(config::stages_of(tree).quantise);
  return scale_bytes(m, config::output_columns(tree, n), vector);
}

/// The operands of matrix `l` of a batch.
EpilogueOperands of_matrix(const GemmProblem& p, const EpilogueOperands& all, std::int64_t l) {
  EpilogueOperands one = all;
  one.c = at(all.c, l * all.batch_c, type_of_c(p.epilogue));
  for (int i = 0; i < p.epilogue.size(); ++i) {
    const EpilogueNode node = p.epilogue.node(i);
    const int s = node.slot;
    if (node.op == EpilogueOp::row_vector)
      one.row_vector[s] = at(all.row_vector[s], l * all.batch_row_vector[s], node.type);
    if (node.op == EpilogueOp::column_vector && all.column_vector[s] != nullptr)
      one.column_vector[s] = all.column_vector[s] + l * all.batch_column_vector[s];
    if (node.op == EpilogueOp::auxiliary)
      one.auxiliary[s] = at(all.auxiliary[s], l * all.batch_auxiliary[s], node.type);
    const bool store = node.op == EpilogueOp::store;
    if (!store && !config::is_reduction(node.op)) continue;
    const bool by_row = p.c_layout == OutputLayout::row;
    const std::int64_t ld = all.ld_out[s] != 0 ? all.ld_out[s] : by_row ? p.n : p.m;
    const std::int64_t packed = store ? (by_row ? p.m : p.n) * ld : config::is_row_reduction(node.op) ? p.m : p.n;
    const std::int64_t step = all.batch_out[s] != 0 ? all.batch_out[s] : packed;
    one.out[s] = const_cast<void*>(at(all.out[s], l * step, store ? node.type : DType::f32));
  }
  for (int s = 0; s < kEpilogueSlots; ++s)
    if (all.scalar_pointer[s] != nullptr) one.scalar_pointer[s] = all.scalar_pointer[s] + l * all.batch_scalar[s];
  const std::int64_t blocks = ceil_div(config::output_columns(p.epilogue, p.n), ops::kScaleSpan);
  if (all.out_scales != nullptr)
    one.out_scales = all.out_scales + l * (all.batch_out_scales != 0 ? all.batch_out_scales : p.m * blocks);
  if (all.out_scale_chunks != nullptr)
    one.out_scale_chunks =
        static_cast<std::byte*>(all.out_scale_chunks) +
        l * (all.batch_out_scale_chunks != 0 ? all.batch_out_scale_chunks : out_chunk_bytes(p.epilogue, p.m, p.n));
  if (all.amax != nullptr) one.amax = all.amax + l * (all.batch_amax != 0 ? all.batch_amax : 1);
  return one;
}

/// The operands of the rows of D from `first` on, and of group `g`.
EpilogueOperands of_rows(const GroupedProblem& p, const EpilogueOperands& all, std::int64_t g, std::int64_t first) {
  EpilogueOperands one = all;
  const auto row = [&](std::int64_t ld) { return first * (ld != 0 ? ld : p.n); };
  one.c = at(all.c, row(all.ldc), type_of_c(p.epilogue));
  for (int i = 0; i < p.epilogue.size(); ++i) {
    const EpilogueNode node = p.epilogue.node(i);
    const int s = node.slot;
    if (node.op == EpilogueOp::row_vector)
      one.row_vector[s] = at(all.row_vector[s], g * all.batch_row_vector[s], node.type);
    if (node.op == EpilogueOp::column_vector && all.column_vector[s] != nullptr)
      one.column_vector[s] = all.column_vector[s] + first;
    if (node.op == EpilogueOp::auxiliary) one.auxiliary[s] = at(all.auxiliary[s], row(all.ld_auxiliary[s]), node.type);
    if (node.op == EpilogueOp::store) one.out[s] = const_cast<void*>(at(all.out[s], row(all.ld_out[s]), node.type));
  }
  for (int s = 0; s < kEpilogueSlots; ++s)
    if (all.scalar_pointer[s] != nullptr) one.scalar_pointer[s] = all.scalar_pointer[s] + g * all.batch_scalar[s];
  const std::int64_t blocks = ceil_div(config::output_columns(p.epilogue, p.n), ops::kScaleSpan);
  const bool packed = all.out_scales_row == 0 && all.out_scales_block == 0;
  if (all.out_scales != nullptr) one.out_scales = all.out_scales + first * (packed ? blocks : all.out_scales_row);
  return one;
}

/// The rows of every group, as the caller's arrays have them.
Result<std::vector<ref::GroupRows>> groups_of(GroupEncoding encoding, std::int64_t groups, std::int64_t rows,
                                              std::int64_t alignment, const std::int32_t* sizes,
                                              const std::int32_t* sizes2, std::int64_t block) {
  if (groups == 0) return std::vector<ref::GroupRows>{};
  const bool two = encoding == GroupEncoding::starts_counts;
  if (sizes == nullptr || (two && sizes2 == nullptr))
    return failure(ErrorCode::invalid, sizes == nullptr ? "sizes" : "sizes2", "a host pointer", "null");
  const std::int64_t count = encoding == GroupEncoding::row_ids  ? rows
                             : encoding == GroupEncoding::indptr ? groups + 1
                                                                 : groups;
  ref::GroupLayout layout{.encoding = encoding, .groups = groups, .rows = rows, .alignment = alignment};
  layout.sizes.assign(sizes, sizes + count);
  if (two) layout.sizes2.assign(sizes2, sizes2 + groups);
  WW_CHECK(ref::check_sizes(layout, "sizes", block, "sizes2"));
  return ref::meaning_of(layout).groups;
}

/// Rows of D that no group has must be zeros.
void judge_outside(const GroupedProblem& p, const void* d, const std::vector<ref::GroupRows>& groups,
                   Verification& to) {
  std::vector<bool> inside(static_cast<std::size_t>(p.total_rows()), false);
  for (const ref::GroupRows& group : groups) std::fill_n(inside.begin() + group.first, group.count, true);
  const std::int64_t columns = config::output_columns(p.epilogue, p.n), bytes = bytes_in(p.d, columns);
  for (std::int64_t row = 0; row < p.total_rows(); ++row) {
    if (inside[static_cast<std::size_t>(row)]) continue;
    const auto* const from = static_cast<const unsigned char*>(at(d, row * p.ldd, p.d));
    const auto* const found = std::find_if(from, from + bytes, [](unsigned char byte) { return byte != 0; });
    to.elements += columns;
    if (found == from + bytes) continue;
    ++to.wrong;
    if (!to.first) to.first = {"D outside every group", -1, row, (found - from) * 8 / bits_of(p.d), 1, 0, 0};
  }
}

}  // namespace

Result<Verification> verify(const GemmProblem& problem, const GemmOperands& o, const VerifyOptions& options) {
  WW_TRY(const GemmProblem p, ops::validate(problem));
  if (p.epilogue.has(EpilogueOp::c) && !p.pointer_array) WW_CHECK(check_c(o.epilogue.c, o.d));
  Verification made;
  for (std::int64_t l = 0; l < p.batch; ++l) {
    const auto base = [&](const void* one, const auto* pointers, std::int64_t step, DType type) -> const void* {
      if (!p.pointer_array) return at(one, l * step, type);
      return pointers == nullptr ? nullptr : pointers[l];
    };
    Product product{.number = l, .m = p.m, .n = p.n, .k = p.k};
    product.a = operand("a", base(o.a, o.a_pointers, p.batch_a, p.a), p.a, p.a_major, p.m, p.k, p.lda);
    product.b = operand("b", base(o.b, o.b_pointers, p.batch_b, p.b), p.b, p.b_major, p.n, p.k, p.ldb);
    product.d = matrix("d", base(o.d, o.d_pointers, p.batch_d, p.d), p.d, p.d_layout, p.m,
                       config::output_columns(p.epilogue, p.n), p.ldd);
    const DType scales = is_microscaled(p.scale) ? DType::e8m0 : DType::f32;
    set_scales(product, p.scale, at(o.scale_a, l * p.batch_scale_a, scales), at(o.scale_b, l * p.batch_scale_b, scales),
               {p.scale_a_row, p.scale_a_k, p.scale_b_n, p.scale_b_k});
    if (p.scale == Scale::nv && o.global_scale != nullptr) product.global_scale = *o.global_scale;
    product.epilogue = p.epilogue, product.c_layout = p.c_layout;
    product.operands = of_matrix(p, o.epilogue, l);
    if (p.pointer_array) product.operands.c = o.c_pointers == nullptr ? nullptr : o.c_pointers[l];
    WW_CHECK(judge(product, p.scale, options, made));
  }
  return made;
}

Result<Verification> verify(const GroupedProblem& problem, const GroupedOperands& o, const VerifyOptions& options) {
  WW_TRY(const GroupedProblem p, ops::validate(problem));
  if (p.epilogue.has(EpilogueOp::c)) WW_CHECK(check_c(o.epilogue.c, o.d));
  WW_TRY(const std::vector<ref::GroupRows> groups,
         groups_of(p.encoding, p.groups, p.rows, p.alignment, o.sizes, o.sizes2, 1));
  const bool masked = p.encoding == GroupEncoding::masked;
  std::int64_t block = 0, block_of_scales = 0;  // of 128 rows, of scales of A and D in chunks
  Verification made;
  for (std::int64_t g = 0; g < static_cast<std::int64_t>(groups.size()); ++g) {
    const auto [first, count] = groups[static_cast<std::size_t>(g)];
    Product product{.number = g, .m = count, .n = p.n, .k = p.k};
    product.a = operand("a", at(o.a, first * p.lda, p.a), p.a, Major::k, count, p.k, p.lda);
    product.b = operand("b", at(o.b, g * p.stride_b_group, p.b), p.b, p.b_major, p.n, p.k, p.ldb);
    product.d = matrix("d", at(o.d, first * p.ldd, p.d), p.d, OutputLayout::row, count,
                       config::output_columns(p.epilogue, p.n), p.ldd);
    const std::int64_t scale_row =
        p.scale == Scale::tensor ? g * p.scale_a_group : g * p.scale_a_gap() + first * p.scale_a_row;
    if (is_microscaled(p.scale)) {
      const std::int64_t first_byte = masked ? g * p.scale_a_group : block * scale_bytes(1, p.k, scale_vector(p.scale));
      set_scales(product, p.scale, at(o.scale_a, first_byte, DType::e8m0), at(o.scale_b, g * p.scale_b_group, e8m0),
                 {});
      block += ceil_div(count, std::int64_t{kScaleChunkRows});
      if (p.scale == Scale::nv && o.global_scale != nullptr) product.global_scale = *o.global_scale;
    } else {
      set_scales(product, p.scale, at(o.scale_a, scale_row, DType::f32), at(o.scale_b, g * p.scale_b_group, DType::f32),
                 {p.scale_a_row, p.scale_a_k, p.scale_b_n, p.scale_b_k});
    }
    product.epilogue = p.epilogue;
    product.operands = of_rows(p, o.epilogue, g, first);
    if (o.epilogue.out_scale_chunks != nullptr)
      product.operands.out_scale_chunks =
          static_cast<std::byte*>(o.epilogue.out_scale_chunks) + block_of_scales * out_chunk_bytes(p.epilogue, 1, p.n);
    block_of_scales += ceil_div(masked ? p.rows : count, std::int64_t{kScaleChunkRows});
    WW_CHECK(judge(product, p.scale, options, made));
  }
  if (p.zero_outside && o.d != nullptr) judge_outside(p, o.d, groups, made);
  return made;
}

Result<Verification> verify(const KGroupedProblem& problem, const KGroupedOperands& o, const VerifyOptions& options) {
  // Nothing here says whose kernel computed D.
  if (!can_implement(problem, {.config = {.arch = Arch::sm100}})) WW_CHECK(can_implement(problem));
  WW_TRY(const KGroupedProblem p, ops::validate(problem));
  if (p.accumulate) WW_CHECK(check_c(o.c != nullptr ? o.c : o.d, o.d));
  const bool block = is_block(p.scale);
  WW_TRY(const std::vector<ref::GroupRows> groups,
         groups_of(p.encoding, p.groups, p.k, p.alignment, o.sizes, o.sizes2, ops::k_granularity(p)));
  const ScaleStrides strides{p.scale_a_row, p.scale_a_k, p.scale_b_n, p.scale_b_k};
  Verification made;
  for (std::int64_t g = 0; g < static_cast<std::int64_t>(groups.size()); ++g) {
    const auto [first, count] = groups[static_cast<std::size_t>(g)];
    Product product{.number = g, .m = p.m, .n = p.n, .k = count};
    const auto of_group = [&, k = first, count = count](const char* name, const void* base, DType type, Major major,
                                                        std::int64_t rows, std::int64_t ld) {
      if (major == Major::mn) return operand(name, at(base, k * ld, type), type, major, rows, count, ld);
      if (p.packing == KPacking::joint) return operand(name, at(base, k, type), type, major, rows, count, ld);
      return operand(name, at(base, rows * k, type), type, major, rows, count, count);
    };
    product.a = of_group("a", o.a, p.a, p.a_major, p.m, p.lda);
    product.b = of_group("b", o.b, p.b, p.b_major, p.n, p.ldb);
    product.d = matrix("d", at(o.d, g * p.stride_d_group, p.d), p.d, OutputLayout::row, p.m, p.n, p.ldd);
    const std::int64_t k_block = first / ops::kScaleSpan;
    if (is_microscaled(p.scale)) {
      const int vector = scale_vector(p.scale);
      set_scales(product, p.scale, at(o.scale_a, ref::first_scale_byte(p.m, first, vector), e8m0),
                 at(o.scale_b, ref::first_scale_byte(p.n, first, vector), e8m0), {});
      if (p.scale == Scale::nv && o.global_scale != nullptr) product.global_scale = *o.global_scale;
    } else {
      set_scales(product, p.scale, at(o.scale_a, block ? k_block * strides.a_k : g * p.scale_a_group, DType::f32),
                 at(o.scale_b, block ? k_block * strides.b_k : g * p.scale_b_group, DType::f32), strides);
    }
    if (p.accumulate) {
      product.epilogue = evt::acc + evt::c(p.d);
      product.operands.c = at(o.c, g * p.stride_d_group, p.d);
      product.operands.ldc = p.ldd;
    }
    WW_CHECK(judge(product, p.scale, options, made));
  }
  return made;
}

}  // namespace ww
