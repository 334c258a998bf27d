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

void take_scales(const Scales& scales, ww_gemm_problem& problem) {
  problem.scale = scales.recipe, problem.scale_type = scales.type;
  problem.scale_a_row = scales.a.row, problem.scale_a_k = scales.a.column, problem.batch_scale_a = scales.a.outer;
  problem.scale_b_n = scales.b.row, problem.scale_b_k = scales.b.column, problem.batch_scale_b = scales.b.outer;
}

bool read_matrices(Work& work, ww_gemm_problem& problem) {
  Layout a, b;
  Type type_a{}, type_b{};
  if (!read_operand(work, Argument::a, work.a) || !read_operand(work, Argument::b, work.b) ||
      !check_rank(Argument::a, work.a, 2, 3) || !check_rank(Argument::b, work.b, 2, 3) ||
      !factor_type(work, Argument::a, Argument::a_dtype, work.a, type_a) ||
      !factor_type(work, Argument::b, Argument::b_dtype, work.b, type_b) || !layout_of(Argument::a, work.a, a) ||
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
  Layout layout;
  Type type{};
  const bool read = problem.batched
                        ? read_output(work, {problem.batch, problem.m, columns}, fallback, "(batch, M, N)", type)
                        : read_output(work, {problem.m, columns}, fallback, "(M, N)", type);
  if (!read || !layout_of(Argument::out, work.out, layout)) return false;
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

  const ScaleExtents extents{problem.m, problem.n, problem.k,           problem.batched ? problem.batch : 0, true, true,
                             false,     0,         problem.batched != 0};
  Scales scales;
  if (!read_scales(work, extents, scales)) return false;
  take_scales(scales, problem);
  if (!find_device(work, problem.a_type, problem.b_type, problem.scale)) return false;

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

namespace {

/// Reads a vector of addresses, one for each product.
bool read_addresses(Work& work, Argument argument, Tensor& t, std::int64_t count, const void*& to) {
  if (work.arguments[argument] == nullptr) return invalid(name_of(argument), "a vector of addresses", "none");
  if (!read_operand(work, argument, t) || !check_rank(argument, t, 1, 1)) return false;
  if (t.type != Type::i64 && t.type != Type::u64) return invalid(name_of(argument), "int64 or uint64", name_of(t.type));
  if (count >= 0 && t.shape[0] != count)
    return invalid(name_of(argument), "an address for each of " + std::to_string(count) + " products", t.shape_words());
  if (t.shape[0] > 1 && t.stride[0] != 1)
    return invalid(name_of(argument), "contiguous elements", "stride " + std::to_string(t.stride[0]));
  return to = t.data, true;
}

bool read_choice(Work& work, Argument argument, const char* zero, const char* one, std::int32_t& to) {
  PyObject* const object = work.arguments[argument];
  if (object == nullptr) return true;
  Ref text;
  const char* name = nullptr;
  if (!intern_text(argument, object, text, name)) return false;
  to = std::strcmp(name, one) == 0;
  return to == 1 || std::strcmp(name, zero) == 0 ||
         invalid(name_of(argument), std::string(zero) + " or " + one, repr(object));
}

bool read_element(Work& work, Argument argument, Type& type) {
  PyObject* const object = work.arguments[argument];
  if (object == nullptr) return true;
  if (!read_type(object, name_of(argument), type)) return false;
  const bool packed = is_packed(type) && argument != Argument::out_dtype;
  return packed || is_element(type) ||
         invalid(name_of(argument), "e4m3, e5m2, bf16, f16, f32, tf32, or e2m1, e3m2 or e2m3 of a and b",
                 name_of(type));
}

bool read_extents(Work& work, ww_gemm_problem& problem) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  for (const Argument needed : {Argument::m, Argument::n, Argument::k, Argument::a_dtype})
    if (work.arguments[needed] == nullptr)
      return invalid(name_of(needed), needed == Argument::a_dtype ? "the type of the matrices of a" : "an extent",
                     "none");
  const Arguments& given = work.arguments;
  return given.integer(Argument::m, 0, kMost, problem.m) && given.integer(Argument::n, 0, kMost, problem.n) &&
         given.integer(Argument::k, 0, kMost, problem.k) && given.integer(Argument::lda, 0, kMost, problem.lda) &&
         given.integer(Argument::ldb, 0, kMost, problem.ldb) && given.integer(Argument::ldd, 0, kMost, problem.ldd) &&
         read_choice(work, Argument::a_major, "k", "mn", problem.a_major) &&
         read_choice(work, Argument::b_major, "k", "mn", problem.b_major) &&
         read_choice(work, Argument::out_layout, "row", "column", problem.d_layout);
}

}  // namespace

bool describe_pointers(Work& work) {
  work.request.operation = WW_GEMM;
  ww_gemm_problem& problem = work.request.dense;
  problem.struct_size = sizeof problem;
  const void *a = nullptr, *b = nullptr, *d = nullptr;
  if (!read_extents(work, problem) || !read_addresses(work, Argument::a, work.a, -1, a)) return false;
  problem.batched = 1, problem.batch = work.a.shape[0], problem.pointer_array = 1;
  Type type_a{}, type_b{};
  if (!read_element(work, Argument::a_dtype, type_a)) return false;
  type_b = type_a;
  Type type_d = output_type(type_a);
  if (!read_element(work, Argument::b_dtype, type_b) || !read_element(work, Argument::out_dtype, type_d) ||
      !read_addresses(work, Argument::b, work.b, problem.batch, b) ||
      !read_addresses(work, Argument::out, work.out, problem.batch, d) || !read_options(work))
    return false;
  problem.a_type = library_type(type_a), problem.b_type = library_type(type_b), problem.d_type = library_type(type_d);
  Scales scales;
  const ScaleExtents extents{problem.m, problem.n, problem.k, problem.batch, true, true, false, 0, true};
  if (!read_scales(work, extents, scales)) return false;
  take_scales(scales, problem);
  if (!find_device(work, problem.a_type, problem.b_type, problem.scale)) return false;

  ww_gemm_operands& operands = work.operands.dense;
  operands.struct_size = sizeof operands;
  operands.a_pointers = static_cast<const void* const*>(a), operands.b_pointers = static_cast<const void* const*>(b);
  operands.d_pointers = static_cast<void* const*>(const_cast<void*>(d));
  if (problem.scale != WW_SCALE_NONE) operands.scale_a = work.scale_a.data, operands.scale_b = work.scale_b.data;
  work.out_object = Ref::borrowed(work.arguments[Argument::out]);
  return true;
}

}  // namespace wwpy
