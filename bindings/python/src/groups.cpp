// SPDX-License-Identifier: Apache-2.0
// grouped_gemm and k_grouped_gemm, and the int32 arrays that say which rows belong to which group. The arrays stay
// where they are; only the device reads them.
#include <cstring>
#include <tuple>

#include "errors.hpp"
#include "operands.hpp"

namespace wwpy {
namespace {

bool read_sizes(Work& work, Argument argument, std::int64_t extent, const std::int32_t*& to, std::int64_t& count) {
  Tensor t;
  if (!read_operand(work, argument, t) || !check_type(argument, t, Type::i32) || !check_rank(argument, t, 1, 1))
    return false;
  if (extent >= 0 && t.shape[0] != extent)
    return invalid(name_of(argument), std::to_string(extent) + " elements", t.shape_words());
  if (t.shape[0] > 1 && t.stride[0] != 1)
    return invalid(name_of(argument), "contiguous elements", "stride " + std::to_string(t.stride[0]));
  to = reinterpret_cast<const std::int32_t*>(t.data);
  count = t.shape[0];
  return work.keep(t), true;
}

bool read_status(Work& work, std::uint32_t*& status) {
  if (work.arguments[Argument::status] == nullptr) return true;
  Tensor t;
  if (!read_operand(work, Argument::status, t) || !check_writable(Argument::status, t)) return false;
  if ((t.type != Type::i32 && t.type != Type::u32) || t.elements() != 1)
    return invalid("status", "one element of int32", std::string(name_of(t.type)) + " of " + t.shape_words());
  status = reinterpret_cast<std::uint32_t*>(t.data);
  return work.keep(t), true;
}

/// Rows of a tensor (G, rows, columns) that are evenly spaced over all groups.
bool check_even_rows(Argument argument, const Tensor& t) {
  if (t.shape[0] <= 1 || t.shape[1] <= 1 || t.elements() == 0 || t.stride[0] == t.shape[1] * t.stride[1]) return true;
  return invalid(name_of(argument),
                 "groups that follow one another, stride " + std::to_string(t.shape[1] * t.stride[1]),
                 "stride " + std::to_string(t.stride[0]));
}

/// The row stride of a matrix (or of a stack of them) by rows; 0: there is one row.
bool read_rows(Argument argument, const Tensor& t, std::int64_t& stride) {
  Layout layout;
  if (!layout_of(argument, t, layout)) return false;
  if (layout.transposed && t.shape[t.rank - 1] > 1)
    return invalid(name_of(argument), "contiguous rows", "contiguous columns");
  stride = layout.transposed ? 0 : layout.stride;
  if (t.rank == 3 && t.shape[1] == 1 && t.shape[0] > 1) stride = t.stride[0];
  return t.rank == 2 || check_even_rows(argument, t);
}

bool read_operands_of_groups(Work& work, ww_grouped_problem& problem, bool masked) {
  Type type_a{}, type_b{};
  if (!read_operand(work, Argument::a, work.a) || !read_operand(work, Argument::b, work.b)) return false;
  const int rank = masked ? 3 : 2;
  if (!check_rank(Argument::a, work.a, rank, rank) || !check_rank(Argument::b, work.b, 3, 3) ||
      !factor_type(work, Argument::a, Argument::a_dtype, work.a, type_a) ||
      !factor_type(work, Argument::b, Argument::b_dtype, work.b, type_b))
    return false;
  problem.a_type = library_type(type_a), problem.b_type = library_type(type_b);
  problem.groups = work.b.shape[0], problem.n = work.b.shape[1], problem.k = work.b.shape[2];
  problem.rows = work.a.shape[rank - 2];
  if (work.a.shape[rank - 1] != problem.k)
    return invalid("a", "rows of K = " + std::to_string(problem.k) + ", as b has", work.a.shape_words());
  if (masked && work.a.shape[0] != problem.groups)
    return invalid("a", "the groups of b, " + std::to_string(problem.groups), work.a.shape_words());
  Layout b;
  if (!read_rows(Argument::a, work.a, problem.lda) || !layout_of(Argument::b, work.b, b)) return false;
  problem.ldb = b.stride, problem.b_major = b.transposed ? WW_MAJOR_MN : WW_MAJOR_K;
  problem.stride_b_group = problem.groups > 1 ? work.b.stride[0] : 0;
  if (problem.groups > 1 && problem.stride_b_group == 0 && work.b.elements() > 0)
    return invalid("b", "a matrix for each group", "a stride of 0 between groups");
  return true;
}

/// Reads integers, or a text of them, as the text of the problem.
bool read_expected_sizes(Work& work, ww_grouped_problem& problem) {
  PyObject* const given = work.arguments[Argument::expected_sizes];
  if (given == nullptr) return true;
  const auto read = [&](PyObject* text) {
    return intern_text(Argument::expected_sizes, text, work.expected_sizes, problem.expected_sizes);
  };
  if (PyUnicode_Check(given)) return read(given);
  std::string text;
  const auto add = [&](PyObject* number) {
    const Ref index(PyNumber_Index(number));
    const long long rows = index ? PyLong_AsLongLong(index.get()) : -1;
    text += (text.empty() ? "" : ",") + std::to_string(rows);
    return PyErr_Occurred() == nullptr;
  };
  // An array is a sequence and may also be an index, so that the list is tried first.
  const Ref list(PySequence_Check(given) ? PySequence_List(given) : nullptr);
  PyErr_Clear();
  bool good = list || add(given);
  for (Py_ssize_t i = 0; good && list && i < PyList_Size(list.get()); ++i) good = add(PyList_GetItem(list.get(), i));
  if (!good)
    return PyErr_Clear(), invalid("expected_sizes", "integers, one for each group or one for all", repr(given));
  const Ref words(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
  return words && read(words.get());
}

template <class Problem> void take_scales(const Scales& scales, Problem& problem) {
  problem.scale = scales.recipe, problem.scale_type = scales.type;
  problem.scale_a_row = scales.a.row, problem.scale_a_k = scales.a.column, problem.scale_a_group = scales.a.outer;
  problem.scale_b_n = scales.b.row, problem.scale_b_k = scales.b.column, problem.scale_b_group = scales.b.outer;
}

template <class Problem, class Operands>
bool take_operands(Work& work, const Problem& problem, const Groups& groups, Operands& operands) {
  std::memset(&operands, 0, sizeof operands);
  operands.struct_size = sizeof operands;
  operands.a = work.a.data, operands.b = work.b.data, operands.d = work.out.data;
  if (problem.scale != WW_SCALE_NONE) operands.scale_a = work.scale_a.data, operands.scale_b = work.scale_b.data;
  operands.sizes = groups.sizes, operands.sizes2 = groups.sizes2, operands.status = groups.status;
  return read_global_scale(work, operands.global_scale);
}

}  // namespace

bool read_groups(Work& work, std::int64_t groups, std::int64_t rows, Groups& to) {
  const Arguments& given = work.arguments;
  struct Choice {
    Argument argument;
    ww_encoding encoding;
    std::int64_t extra;
  };
  constexpr Choice choices[] = {{Argument::offsets, WW_OFFSETS, 0},
                                {Argument::indptr, WW_INDPTR, 1},
                                {Argument::starts, WW_STARTS_COUNTS, 0},
                                {Argument::row_ids, WW_ROW_IDS, 0},
                                {Argument::masked, WW_MASKED, 0}};
  const Choice* chosen = nullptr;
  for (const Choice& choice : choices) {
    if (given[choice.argument] == nullptr) continue;
    if (chosen != nullptr)
      return invalid(name_of(choice.argument), std::string("no second encoding beside ") + name_of(chosen->argument),
                     "an array");
    chosen = &choice;
  }
  if (chosen == nullptr)
    return invalid("offsets", "the groups as offsets, indptr, starts and counts, row_ids or masked", "none");
  to.encoding = chosen->encoding;
  const bool by_row = to.encoding == WW_ROW_IDS;
  const std::int64_t extent = by_row ? rows : groups < 0 ? -1 : groups + chosen->extra;
  if (!read_sizes(work, chosen->argument, extent, to.sizes, to.count)) return false;
  if (by_row && groups < 0) return invalid("out", "a tensor whose first extent is the number of groups", "none");
  to.count = by_row ? groups : to.count - chosen->extra;
  if (to.count < 0) return invalid("indptr", "at least one element", "none");
  const bool counted = to.encoding == WW_STARTS_COUNTS;
  if (counted != (given[Argument::counts] != nullptr))
    return invalid("counts", counted ? "the rows of each group, beside starts" : "no array without starts",
                   counted ? "none" : "one");
  std::int64_t ignored = 0;
  if (counted && !read_sizes(work, Argument::counts, to.count, to.sizes2, ignored)) return false;
  return given.integer(Argument::alignment, 1, std::int64_t{1} << 30, to.alignment) && read_status(work, to.status);
}

bool describe_grouped(Work& work) {
  work.request.operation = WW_GROUPED_GEMM;
  ww_grouped_problem& problem = work.request.grouped;
  problem.struct_size = sizeof problem;
  const bool masked = work.arguments[Argument::masked] != nullptr;
  Groups groups;
  bool halved = false, by_column = false, zero_outside = false;
  if (!read_operands_of_groups(work, problem, masked) || !read_options(work) ||
      !read_groups(work, problem.groups, problem.rows, groups) ||
      !work.arguments.flag(Argument::zero_outside, zero_outside) || !read_expected_sizes(work, problem) ||
      !read_epilogue_text(work, halved))
    return false;
  problem.encoding = groups.encoding, problem.alignment = groups.alignment, problem.zero_outside = zero_outside;

  const std::int64_t columns = halved ? problem.n / 2 : problem.n;
  const Type fallback = problem.a_type == WW_F16 ? Type::f16 : Type::bf16;
  Type type_d{};
  if (!(masked ? read_output(work, {problem.groups, problem.rows, columns}, fallback, "(groups, rows, N)", type_d)
               : read_output(work, {problem.rows, columns}, fallback, "(M, N)", type_d)) ||
      !read_rows(Argument::out, work.out, problem.ldd))
    return false;
  problem.d_type = library_type(type_d);

  const std::int64_t rows = masked ? problem.groups * problem.rows : problem.rows;
  ScaleExtents extents{rows, problem.n, problem.k, problem.groups, false, true, true, masked ? problem.rows : 0, true};
  Scales scales;
  if (!read_scales(work, extents, scales)) return false;
  take_scales(scales, problem);
  if (!find_device(work, problem.a_type, problem.b_type, problem.scale)) return false;

  if (!read_epilogue(work, {rows, problem.n, problem.groups, false, true, masked ? problem.rows : 0}, by_column))
    return false;
  if (by_column) return invalid("c", "matrices of the epilogue by rows", "matrices by columns");
  ww_grouped_operands& operands = work.operands.grouped;
  if (!take_operands(work, problem, groups, operands)) return false;
  if (work.epilogue) {
    problem.epilogue = work.epilogue->text.bytes;
    operands.epilogue = &work.epilogue->operands;
  }
  return true;
}

namespace {

bool read_operands_of_k(Work& work, ww_k_grouped_problem& problem) {
  Type type_a{}, type_b{};
  Layout a, b;
  if (!read_operand(work, Argument::a, work.a) || !read_operand(work, Argument::b, work.b) ||
      !check_rank(Argument::a, work.a, 2, 2) || !check_rank(Argument::b, work.b, 2, 2) ||
      !factor_type(work, Argument::a, Argument::a_dtype, work.a, type_a) ||
      !factor_type(work, Argument::b, Argument::b_dtype, work.b, type_b) || !layout_of(Argument::a, work.a, a) ||
      !layout_of(Argument::b, work.b, b))
    return false;
  problem.m = work.a.shape[0], problem.k = work.a.shape[1], problem.n = work.b.shape[0];
  if (work.b.shape[1] != problem.k)
    return invalid("b", "(N, K) with K = " + std::to_string(problem.k) + ", as a has", work.b.shape_words());
  problem.a_type = library_type(type_a), problem.b_type = library_type(type_b);
  problem.a_major = a.transposed ? WW_MAJOR_MN : WW_MAJOR_K, problem.lda = a.stride;
  problem.b_major = b.transposed ? WW_MAJOR_MN : WW_MAJOR_K, problem.ldb = b.stride;
  return true;
}

/// Reads how K-major operands hold the groups. Packed one by one, each group's matrix has rows of its own length.
bool read_packing(Work& work, ww_k_grouped_problem& problem) {
  PyObject* const given = work.arguments[Argument::packing];
  if (given == nullptr) return true;
  Ref text;
  const char* name = nullptr;
  if (!intern_text(Argument::packing, given, text, name)) return false;
  if (std::strcmp(name, "joint") == 0) return true;
  if (std::strcmp(name, "per-group") != 0) return invalid("packing", "joint or per-group", repr(given));
  problem.packing = WW_K_PER_GROUP;
  for (const auto& [argument, major, stride] : {std::tuple(Argument::a, problem.a_major, &problem.lda),
                                                std::tuple(Argument::b, problem.b_major, &problem.ldb)}) {
    if (major != WW_MAJOR_K) continue;
    if (*stride != 0 && *stride != problem.k)
      return invalid(name_of(argument), "contiguous storage, because groups are packed one by one",
                     "rows " + std::to_string(*stride) + " elements apart");
    *stride = 0;
  }
  return true;
}

/// C is what D is added to: null, D itself, or matrices as D's.
bool read_c(Work& work, ww_k_grouped_problem& problem, const void*& c) {
  bool accumulate = work.arguments[Argument::c] != nullptr;
  if (!work.arguments.flag(Argument::accumulate, accumulate)) return false;
  problem.accumulate = accumulate;
  PyObject* const given = work.arguments[Argument::c];
  if (given == nullptr) return true;
  if (!accumulate) return invalid("c", "no tensor with accumulate=False", "one");
  Tensor t;
  if (!read_operand(work, Argument::c, t) || !check_type(Argument::c, t, work.out.type) ||
      !check_shape(Argument::c, t, {work.out.shape[0], work.out.shape[1], work.out.shape[2]}, "(groups, M, N)"))
    return false;
  for (int i = 0; i < 3; ++i)
    if (t.shape[i] > 1 && t.stride[i] != work.out.stride[i])
      return invalid("c", "the strides of out",
                     "stride " + std::to_string(t.stride[i]) + " of dimension " + std::to_string(i) + ", not " +
                         std::to_string(work.out.stride[i]));
  c = t.data;
  return work.keep(t), true;
}

}  // namespace

bool describe_k_grouped(Work& work) {
  work.request.operation = WW_K_GROUPED_GEMM;
  ww_k_grouped_problem& problem = work.request.k_grouped;
  problem.struct_size = sizeof problem;
  if (!read_operands_of_k(work, problem) || !read_options(work)) return false;
  const Arguments& given = work.arguments;
  const bool allocates = given[Argument::out] == nullptr;
  bool adds = false;
  if (!given.flag(Argument::accumulate, adds)) return false;
  if (allocates && adds && given[Argument::c] == nullptr)
    return invalid("out", "the tensor to which the product is added", "none");
  if (!allocates && (!read_operand(work, Argument::out, work.out) || !check_rank(Argument::out, work.out, 3, 3)))
    return false;
  Groups groups;
  if (!read_groups(work, allocates ? -1 : work.out.shape[0], problem.k, groups)) return false;
  problem.groups = groups.count, problem.encoding = groups.encoding, problem.alignment = groups.alignment;
  if (!read_packing(work, problem)) return false;
  const std::int64_t all = problem.k;
  if (groups.encoding == WW_MASKED) {
    if (problem.groups == 0 ? all != 0 : all % problem.groups != 0)
      return invalid("a", "columns that are a multiple of the groups, " + std::to_string(problem.groups),
                     work.a.shape_words());
    problem.k = problem.groups == 0 ? 0 : all / problem.groups;
  }
  Type type_d{};
  if (!read_output(work, {problem.groups, problem.m, problem.n}, Type::f32, "(groups, M, N)", type_d)) return false;
  problem.d_type = library_type(type_d);
  Layout d;
  if (!layout_of(Argument::out, work.out, d)) return false;
  if (d.transposed && problem.n > 1) return invalid("out", "contiguous rows", "contiguous columns");
  problem.ldd = d.transposed ? 0 : d.stride;
  problem.stride_d_group = problem.groups > 1 ? work.out.stride[0] : 0;
  if (problem.groups > 1 && problem.stride_d_group == 0 && work.out.elements() > 0)
    return invalid("out", "matrices that do not overlap", "a stride of 0 between groups");

  const ScaleExtents extents{problem.m, problem.n, all, problem.groups, true, false, false, 0, true};
  Scales scales;
  const void* c = nullptr;
  if (!read_scales(work, extents, scales) || !read_c(work, problem, c)) return false;
  take_scales(scales, problem);
  if (!find_device(work, problem.a_type, problem.b_type, problem.scale)) return false;
  if (!take_operands(work, problem, groups, work.operands.k_grouped)) return false;
  work.operands.k_grouped.c = c;
  return true;
}

}  // namespace wwpy
