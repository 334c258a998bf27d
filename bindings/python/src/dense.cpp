// SPDX-License-Identifier: Apache-2.0
// gemm: D (M, N) = A (M, K) B (N, K)^T, or one such product for each matrix of a batch.
#include "errors.hpp"
#include "operands.hpp"

namespace wwpy {
namespace {

/// The type of D when the caller names none.
Type output_type(Type a) { return a == Type::f16 ? Type::f16 : a == Type::tf32 ? Type::f32 : Type::bf16; }

bool read_batch(const Work& work, ww_gemm_problem& problem) {
  const std::int64_t batch_a = work.a.rank == 3 ? work.a.shape[0] : 0;
  const std::int64_t batch_b = work.b.rank == 3 ? work.b.shape[0] : 0;
  problem.batched = work.a.rank == 3 || work.b.rank == 3;
  problem.batch = work.a.rank == 3 ? batch_a : batch_b;
  if (work.a.rank == 3 && work.b.rank == 3 && batch_a != batch_b)
    return invalid("b", "the batch of a, " + std::to_string(batch_a), work.b.shape_words());
  const auto step = [&](const Tensor& t) { return t.rank == 3 && t.shape[0] > 1 ? t.stride[0] : 0; };
  problem.batch_a = step(work.a), problem.batch_b = step(work.b);
  return true;
}

bool read_matrices(Work& work, ww_gemm_problem& problem) {
  Layout a, b;
  Type type_a{}, type_b{};
  if (!read_operand(work, Argument::a, work.a) || !read_operand(work, Argument::b, work.b) ||
      !check_rank(Argument::a, work.a, 2, 3) || !check_rank(Argument::b, work.b, 2, 3) ||
      !operand_type(work, Argument::a, Argument::a_dtype, work.a, type_a) ||
      !operand_type(work, Argument::b, Argument::b_dtype, work.b, type_b) || !layout_of(Argument::a, work.a, a) ||
      !layout_of(Argument::b, work.b, b))
    return false;
  problem.m = work.a.shape[work.a.rank - 2], problem.k = work.a.shape[work.a.rank - 1];
  problem.n = work.b.shape[work.b.rank - 2];
  if (work.b.shape[work.b.rank - 1] != problem.k)
    return invalid("b", "(N, K) with K = " + std::to_string(problem.k) + ", as a has", work.b.shape_words());
  problem.a_type = library_type(type_a), problem.b_type = library_type(type_b);
  problem.a_major = a.transposed ? WW_MAJOR_MN : WW_MAJOR_K, problem.lda = a.stride;
  problem.b_major = b.transposed ? WW_MAJOR_MN : WW_MAJOR_K, problem.ldb = b.stride;
  return read_batch(work, problem);
}

bool read_result(Work& work, ww_gemm_problem& problem, bool halved, Type fallback) {
  const std::int64_t columns = halved ? problem.n / 2 : problem.n;
  const bool read = problem.batched ? read_output(work, {problem.batch, problem.m, columns}, fallback, "(batch, M, N)")
                                    : read_output(work, {problem.m, columns}, fallback, "(M, N)");
  Layout layout;
  Type type{};
  if (!read || !operand_type(work, Argument::out, Argument::out_dtype, work.out, type) ||
      !layout_of(Argument::out, work.out, layout))
    return false;
  problem.d_type = library_type(type);
  problem.d_layout = layout.transposed ? WW_COLUMNS : WW_ROWS, problem.ldd = layout.stride;
  problem.batch_d = problem.batched && problem.batch > 1 ? work.out.stride[0] : 0;
  if (problem.batched && problem.batch > 1 && problem.batch_d == 0 && work.out.elements() > 0)
    return invalid("out", "matrices that do not overlap", "a stride of 0 between them");
  return true;
}

}  // namespace

bool describe_dense(Work& work) {
  work.request.operation = WW_GEMM;
  ww_gemm_problem& problem = work.request.dense;
  problem.struct_size = sizeof problem;
  bool halved = false, by_column = false;
  if (!read_matrices(work, problem) || !read_options(work) || !read_epilogue_text(work, halved)) return false;
  Type type_a = work.a.type;
  if (problem.a_type == WW_F16) type_a = Type::f16;
  if (problem.a_type == WW_TF32) type_a = Type::tf32;
  if (!read_result(work, problem, halved, output_type(type_a))) return false;

  const ScaleExtents extents{problem.m, problem.n, problem.k, problem.batched ? problem.batch : 0, true, true};
  Scales scales;
  if (!read_scales(work, extents, scales)) return false;
  problem.scale = scales.recipe, problem.scale_type = scales.type;
  problem.scale_a_row = scales.a.row, problem.scale_a_k = scales.a.column, problem.batch_scale_a = scales.a.outer;
  problem.scale_b_n = scales.b.row, problem.scale_b_k = scales.b.column, problem.batch_scale_b = scales.b.outer;

  const bool batched = problem.batched != 0;
  if (!read_epilogue(work, {problem.m, problem.n, batched ? problem.batch : 0, batched, false}, by_column))
    return false;
  problem.c_layout = by_column ? WW_COLUMNS : WW_ROWS;

  ww_gemm_operands& operands = work.operands.dense;
  std::memset(&operands, 0, sizeof operands);
  operands.struct_size = sizeof operands;
  operands.a = work.a.data, operands.b = work.b.data, operands.d = work.out.data;
  if (problem.scale != WW_SCALE_NONE) operands.scale_a = work.scale_a.data, operands.scale_b = work.scale_b.data;
  if (!read_global_scale(work, operands.global_scale)) return false;
  if (work.epilogue) {
    problem.epilogue = work.epilogue->text.bytes;
    operands.epilogue = &work.epilogue->operands;
  }
  return true;
}

}  // namespace wwpy
