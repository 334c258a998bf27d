// SPDX-License-Identifier: Apache-2.0
// Casts to FP8 with scales of blocks, and transposes of FP8 matrices. Outputs that the caller does not give are
// allocated by the framework of the input; plans are cached by the library.
#include "errors.hpp"
#include "operands.hpp"
#include "operations.hpp"
#include "plan.hpp"
#include "torch.hpp"

namespace wwpy {
namespace {

constexpr std::int64_t blocks(std::int64_t extent) { return (extent + 127) / 128; }

/// One call: the matrices that are read, the others, and which of them were allocated here.
class Cast {
 public:
  explicit Cast(Entry entry) : entry_(entry) {}

  bool begin(Argument input, PyObject* const* args, Py_ssize_t positional, PyObject* names) {
    follow_fork();
    Arguments& given = work_.arguments;
    if (!given.read(entry_, args, positional, names) || !read_tensor(given[input], name_of(input), work_.a))
      return false;
    if (work_.a.rank != 2 && work_.a.rank != 3)
      return invalid(name_of(input), "2 or 3 dimensions", input_.shape_words());
    input_object_ = given[input];
    device_ = device_of(given[Argument::device], input_.place);
    return device_ != nullptr && read_stream(given[Argument::stream], input_.place, input_object_, work_.stream) &&
           rows_of(input_, input, ld, step);
  }

  Entry entry() const { return entry_; }
  Work& work() { return work_; }
  const Arguments& given() const { return work_.arguments; }
  const Tensor& input() const { return input_; }
  ww_device device() const { return device_->handle; }
  void* stream() const { return work_.stream; }
  std::int64_t batch() const { return input_.rank == 3 ? input_.shape[0] : 1; }
  std::int64_t extent(int i) const { return input_.shape[input_.rank - 2 + i]; }
  std::int64_t ld = 0, step = 0;  // of the input

  /// Reads FP8 matrices by rows, or bits of them, or has them allocated; either way they are a part of the result.
  bool matrix(Argument argument, Type type, std::int64_t rows, std::int64_t columns, void*& data, std::int64_t& row,
              std::int64_t& outer) {
    Tensor t;
    if (!output(argument, "matrix_like", rows, columns, name_of(type), t)) return false;
    if (t.type != type && t.type != Type::u8 && t.type != Type::i8)
      return invalid(name_of(argument), name_of(type), name_of(t.type));
    data = t.data;
    return rows_of(t, argument, row, outer);
  }

  /// Reads scales of any strides that the call writes, or has them allocated.
  bool new_scales(Argument argument, std::int64_t rows, std::int64_t columns, bool mn_major, float*& data,
                  std::int64_t& row, std::int64_t& column, std::int64_t& outer) {
    Tensor t;
    return output(argument, "scales_like", rows, columns, mn_major ? "mn" : "k", t) &&
           scales_of(t, argument, rows, columns, data, row, column, outer);
  }

  /// Reads scales of any strides, if there are some.
  bool scales(Argument argument, std::int64_t rows, std::int64_t columns, float*& data, std::int64_t& row,
              std::int64_t& column, std::int64_t& outer) {
    if (given()[argument] == nullptr) return true;
    Tensor t;
    return read(argument, t) && shape(argument, t, rows, columns) &&
           scales_of(t, argument, rows, columns, data, row, column, outer);
  }

  /// Reads a vector of int32, if there is one.
  bool integers(Argument argument, bool written, std::int64_t count, std::int32_t*& data) {
    if (given()[argument] == nullptr) return true;
    Tensor t;
    if (!read(argument, t) || (written && !check_writable(argument, t))) return false;
    if (t.type != Type::i32 || t.rank != 1 || t.shape[0] != count || (count > 1 && t.stride[0] != 1))
      return invalid(name_of(argument), std::to_string(count) + " contiguous elements of int32",
                     std::string(name_of(t.type)) + " of " + t.shape_words());
    data = reinterpret_cast<std::int32_t*>(t.data);
    return true;
  }

  bool read(Argument argument, Tensor& tensor) {
    if (!read_tensor(given()[argument], name_of(argument), tensor)) return false;
    if (!(tensor.place == input_.place))
      return invalid(name_of(argument), "a tensor on " + name_of(input_.place), "one on " + name_of(tensor.place));
    return work_.keep(tensor), true;
  }

  /// The outputs as a tuple.
  PyObject* result() {
    Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(count_)));
    for (int i = 0; tuple && i < count_; ++i) {
      PyObject* object = outputs_[i].release();
      if (allocated_[i] && input_.framework == Framework::jax) {
        const Ref written(object);
        const Ref module(PyImport_ImportModule("warpwright._allocate"));
        object = module ? PyObject_CallMethod(module.get(), "to_jax", "O", object) : nullptr;
      }
      if (object == nullptr || PyTuple_SetItem(tuple.get(), i, object) != 0) return nullptr;
    }
    return tuple.release();
  }
  /// Adds None to the result.
  void no_output() { outputs_[count_++] = Ref::borrowed(Py_None); }

 private:
  /// Reads or allocates an output of (rows, columns), with the batch in front.
  bool output(Argument argument, const char* allocate, std::int64_t rows, std::int64_t columns, const char* kind,
              Tensor& t) {
    const int at = count_++;
    allocated_[at] = given()[argument] == nullptr;
    if (allocated_[at]) {
      static constexpr const char* kFrameworks[] = {"numpy", "torch", "jax", "cupy", "other"};
      const Ref module(PyImport_ImportModule("warpwright._allocate"));
      const Ref extents(input_.rank == 3 ? Py_BuildValue("(LLL)", input_.shape[0], rows, columns)
                                         : Py_BuildValue("(LL)", rows, columns));
      if (!module || !extents) return false;
      outputs_[at] = Ref(PyObject_CallMethod(module.get(), allocate, "OOss", input_object_, extents.get(), kind,
                                             kFrameworks[static_cast<int>(input_.framework)]));
      if (!outputs_[at]) return false;
      work_.arguments.set(argument, outputs_[at].get());
    } else {
      outputs_[at] = Ref::borrowed(given()[argument]);
    }
    return read(argument, t) && check_writable(argument, t) && shape(argument, t, rows, columns);
  }

  bool shape(Argument argument, const Tensor& t, std::int64_t rows, std::int64_t columns) const {
    return input_.rank == 3 ? check_shape(argument, t, {input_.shape[0], rows, columns}, "(groups, rows, columns)")
                            : check_shape(argument, t, {rows, columns}, "(rows, columns)");
  }

  bool rows_of(const Tensor& t, Argument argument, std::int64_t& row, std::int64_t& outer) const {
    const int first = t.rank - 2;
    const bool empty = t.elements() == 0;
    if (!empty && t.shape[first + 1] > 1 && t.stride[first + 1] != 1)
      return invalid(name_of(argument), "contiguous rows", "stride " + std::to_string(t.stride[first + 1]));
    row = !empty && t.shape[first] > 1 ? t.stride[first] : 0;
    outer = !empty && t.rank == 3 && t.shape[0] > 1 ? t.stride[0] : 0;
    const bool none = !empty && ((t.shape[first] > 1 && row == 0) || (t.rank == 3 && t.shape[0] > 1 && outer == 0));
    return !none || invalid(name_of(argument), "rows that do not overlap", "a stride of 0");
  }

  bool scales_of(const Tensor& t, Argument argument, std::int64_t rows, std::int64_t columns, float*& data,
                 std::int64_t& row, std::int64_t& column, std::int64_t& outer) const {
    if (!check_type(argument, t, Type::f32)) return false;
    data = reinterpret_cast<float*>(t.data);
    const int first = t.rank - 2;
    if (t.elements() == 0) return true;
    row = rows > 1 ? t.stride[first] : columns;
    column = columns > 1 ? t.stride[first + 1] : row == 1 ? rows : 1;
    outer = t.rank == 3 && t.shape[0] > 1 ? t.stride[0] : 0;
    if (row == 0 || column == 0 || (t.rank == 3 && t.shape[0] > 1 && outer == 0))
      return invalid(name_of(argument), "scales that do not overlap", "a stride of 0");
    return true;
  }

  const Entry entry_;
  Work work_;
  const Tensor& input_ = work_.a;
  PyObject* input_object_ = nullptr;
  DeviceObject* device_ = nullptr;
  Ref outputs_[4];
  bool allocated_[4] = {};
  int count_ = 0;
};

bool fp8_type(Cast& cast, Type fallback, Type& type) {
  PyObject* const named = cast.given()[Argument::dtype];
  type = fallback;
  if (named != nullptr && !read_type(named, "dtype", type)) return false;
  return type == Type::e4m3 || type == Type::e5m2 || invalid("dtype", "e4m3 or e5m2", name_of(type));
}

/// The type of x: its own, or the one that the caller names for its bits.
bool input_type(Cast& cast, Argument input, Argument named, ww_dtype& to) {
  Type type = cast.input().type;
  if (cast.given()[named] != nullptr && !storage_type(cast.work(), input, named, cast.input(), type)) return false;
  if (type != Type::bf16 && type != Type::f16 && type != Type::f32)
    return invalid(name_of(input), "bf16, f16 or f32", name_of(type));
  return to = library_type(type), true;
}

/// Reads min_amax, where None is the library's default and 0 no limit.
bool read_min_amax(Cast& cast, double& to) {
  PyObject* const object = cast.given()[Argument::min_amax];
  if (object == nullptr) return true;
  const double least = PyFloat_AsDouble(object);
  if (least == -1 && PyErr_Occurred()) return PyErr_Clear(), invalid("min_amax", "a number", repr(object));
  if (least < 0) return invalid("min_amax", "a finite number of at least 0", repr(object));
  to = least == 0 ? -1.0 : least;  // NaN is refused by the library
  return true;
}

/// Reads how rows are grouped: offs, or an encoding of grouped_gemm().
bool read_row_groups(Cast& cast, ww_quantize_problem& problem, ww_quantize_operands& operands) {
  const Arguments& given = cast.given();
  std::int64_t padding = 128, alignment = 1;
  if (!given.integer(Argument::align, 1, std::int64_t{1} << 30, padding) ||
      !given.integer(Argument::alignment, 1, std::int64_t{1} << 30, alignment))
    return false;
  problem.padding = padding, problem.alignment = alignment;
  std::int32_t *padded = nullptr, *word = nullptr;
  const bool encoded = given.any(Argument::indptr, Argument::row_ids);
  if (given[Argument::offs] != nullptr) {
    Tensor ends;
    std::int32_t* sizes = nullptr;
    if (encoded) return invalid("offs", "no second encoding", "an array");
    if (!cast.read(Argument::offs, ends)) return false;
    problem.groups = ends.rank == 1 ? ends.shape[0] : 0;
    if (problem.groups == 0) return invalid("offs", "the end of each group", ends.shape_words());
    if (!cast.integers(Argument::offs, false, problem.groups, sizes)) return false;
    operands.sizes = sizes;
  } else if (encoded) {
    Tensor ends;
    std::int64_t known = -1;
    if (given[Argument::padded_ends] != nullptr) {
      if (!cast.read(Argument::padded_ends, ends)) return false;
      known = ends.rank == 1 ? ends.shape[0] : -1;
    }
    if (given[Argument::row_ids] != nullptr && known < 0)
      return invalid("padded_ends", "a tensor whose extent is the number of groups, beside row_ids", "none");
    Groups groups;
    if (!read_groups(cast.work(), known, problem.m, groups)) return false;
    problem.groups = groups.count, problem.encoding = groups.encoding;
    operands.sizes = groups.sizes, operands.sizes2 = groups.sizes2;
    if (problem.groups == 0) return invalid("groups", "at least one", "none");
  }
  const bool grouped = problem.groups > 0;
  bool transpose = false;
  if (!given.flag(Argument::transpose, transpose)) return false;
  if (grouped && !transpose)
    return invalid(given[Argument::offs] != nullptr ? "offs" : "indptr, starts, row_ids",
                   "transpose=True, because groups only shape the transpose", "transpose=False");
  if (!grouped && given[Argument::padded_ends] != nullptr) return invalid("padded_ends", "none without groups", "one");
  if (PyObject* const packing = given[Argument::packing]; packing != nullptr) {
    Ref text;
    const char* name = nullptr;
    if (!intern_text(Argument::packing, packing, text, name)) return false;
    problem.one_by_one = std::strcmp(name, "per-group") == 0;
    if (!problem.one_by_one && std::strcmp(name, "joint") != 0)
      return invalid("packing", "joint or per-group", repr(packing));
  }
  if (!cast.integers(Argument::padded_ends, true, problem.groups, padded) ||
      !cast.integers(Argument::status, true, 1, word))
    return false;
  operands.padded_ends = padded, operands.status = reinterpret_cast<std::uint32_t*>(word);
  return true;
}

template <bool kSquare> PyObject* quantize(PyObject*, PyObject* const* args, Py_ssize_t positional, PyObject* names) {
  constexpr Argument kInput = kSquare ? Argument::w : Argument::x;
  Cast cast(kSquare ? Entry::quantize_128x128 : Entry::quantize_1x128);
  ww_quantize_problem problem{};
  ww_quantize_operands operands{};
  problem.struct_size = sizeof problem, operands.struct_size = sizeof operands;
  bool rows = true, transposed = false, power_of_two = false, mn_major = false;
  Type type{};
  if (!cast.begin(kInput, args, positional, names)) return nullptr;
  const Arguments& given = cast.given();
  if (!fp8_type(cast, Type::e4m3, type) || !given.flag(Argument::rows, rows) ||
      !given.flag(Argument::transpose, transposed) || !given.flag(Argument::power_of_two, power_of_two) ||
      !given.flag(Argument::mn_major, mn_major) || !read_min_amax(cast, problem.min_amax) ||
      !input_type(cast, kInput, kSquare ? Argument::w_dtype : Argument::x_dtype, problem.x_type))
    return nullptr;
  if (!rows && !transposed) return invalid("rows", "rows=True or transpose=True", "neither"), nullptr;
  for (const auto& [wanted, first, second] : {std::tuple(rows, Argument::out, Argument::out_scales),
                                              std::tuple(transposed, Argument::out_t, Argument::out_scales_t)})
    if (!wanted && (given[first] != nullptr || given[second] != nullptr))
      return invalid(name_of(given[first] != nullptr ? first : second), "no tensor for what is not asked for", "one"),
             nullptr;
  const std::int64_t m = problem.m = cast.extent(0), k = problem.k = cast.extent(1);
  problem.batch = cast.batch(), problem.q_type = library_type(type), problem.power_of_two = power_of_two;
  problem.block = kSquare ? WW_BLOCK_128X128 : WW_BLOCK_1X128;
  problem.outputs = (rows ? WW_QUANTIZE_ROWS : 0) | (transposed ? WW_QUANTIZE_TRANSPOSED : 0);
  problem.ldx = cast.ld, problem.batch_x = cast.step;
  std::int64_t columns = 0;
  if (!read_row_groups(cast, problem, operands) || !succeeded(ww_quantize_columns(&problem, &columns))) return nullptr;
  operands.x = cast.input().data;
  if (rows && (!cast.matrix(Argument::out, type, m, k, operands.q, problem.ldq, problem.batch_q) ||
               !cast.new_scales(Argument::out_scales, kSquare ? blocks(m) : m, blocks(k), mn_major, operands.scales,
                                problem.scale_m, problem.scale_k, problem.batch_scales)))
    return nullptr;
  if (transposed && (!cast.matrix(Argument::out_t, type, k, columns, operands.transposed, problem.ld_transposed,
                                  problem.batch_transposed) ||
                     !cast.new_scales(Argument::out_scales_t, kSquare ? blocks(k) : k, blocks(columns), mn_major,
                                      operands.transposed_scales, problem.transposed_scale_k,
                                      problem.transposed_scale_m, problem.batch_transposed_scales)))
    return nullptr;
  ww_status result = WW_OK;
  {
    const WithoutGil others;  // the first call compiles
    result = ww_quantize(cast.device(), &problem, nullptr, &operands, cast.stream());
  }
  return succeeded(result) && note_writes(cast.entry(), cast.given()) ? cast.result() : nullptr;
}

PyObject* transpose(PyObject*, PyObject* const* args, Py_ssize_t positional, PyObject* names) {
  Cast cast(Entry::transpose);
  ww_transpose_problem problem{};
  ww_transpose_operands operands{};
  problem.struct_size = sizeof problem, operands.struct_size = sizeof operands;
  Type type{};
  if (!cast.begin(Argument::w, args, positional, names)) return nullptr;
  const Arguments& given = cast.given();
  const Tensor& input = cast.input();
  if (!fp8_type(cast, input.type, type)) return nullptr;
  if (input.type != type && input.type != Type::u8 && input.type != Type::i8)
    return invalid("w", name_of(type), name_of(input.type)), nullptr;
  problem.n = cast.extent(0), problem.k = cast.extent(1), problem.batch = cast.batch();
  problem.type = library_type(type);
  problem.ld = cast.ld, problem.batch_w = cast.step;
  operands.w = input.data;
  float* scales = nullptr;
  const std::int64_t nb = blocks(problem.n), kb = blocks(problem.k);
  if (!cast.scales(Argument::scales, nb, kb, scales, problem.scale_n, problem.scale_k, problem.batch_scales) ||
      !cast.matrix(Argument::out, type, problem.k, problem.n, operands.transposed, problem.ld_transposed,
                   problem.batch_transposed))
    return nullptr;
  operands.scales = scales;
  if (scales == nullptr && given[Argument::scales] == nullptr) {
    if (given[Argument::out_scales] != nullptr) return invalid("out_scales", "none without scales", "one"), nullptr;
    cast.no_output();
  } else if (!cast.new_scales(Argument::out_scales, kb, nb, false, operands.transposed_scales,
                              problem.transposed_scale_k, problem.transposed_scale_n,
                              problem.batch_transposed_scales)) {
    return nullptr;
  }
  ww_status result = WW_OK;
  {
    const WithoutGil others;
    result = ww_transpose(cast.device(), &problem, nullptr, &operands, cast.stream());
  }
  return succeeded(result) && note_writes(cast.entry(), cast.given()) ? cast.result() : nullptr;
}

constexpr const char* kQuantizeRows =
    "quantize_1x128(x, *, out=None, out_scales=None, out_t=None, out_scales_t=None, rows=True, transpose=False, "
    "offs=None, indptr=None, starts=None, counts=None, row_ids=None, align=128, alignment=1, packing=None, "
    "dtype=\"e4m3\", x_dtype=None, power_of_two=False, min_amax=None, mn_major=False, padded_ends=None, status=None, "
    "device=None, stream=None)\n--\n\n"
    "Casts x (M, K) to FP8 with a float32 scale for each row and 128 of K; returns (q, scales).\n\n"
    "scale = max(amax, min_amax) / 448 (57344 if dtype is \"e5m2\"), and q = x / scale; power_of_two rounds scales "
    "up.\n"
    "docs/numerics.md has the roundings. min_amax is\n"
    "1e-4 by default; 0 sets no limit. With transpose=True it returns (q, scales, q_t, scales_t), where q_t (K, M) is\n"
    "quantised along M: the operand of products that sum over M; with rows=False (q_t, scales_t) alone. With offs, "
    "int32\n"
    "ends of groups of rows (each starting at a multiple of `alignment`), every group begins a new block in q_t and "
    "is\n"
    "padded with zeros to a multiple of `align` columns; q_t then has as many columns as groups may need, and\n"
    "padded_ends (int32, one for each group) receives where each one ends, the offsets for k_grouped_gemm(). indptr,\n"
    "starts with counts, and row_ids say the same as there. With packing=\"per-group\", each group's transpose is a\n"
    "packed matrix (K, padded rows) of its own, one after another. mn_major stores scales that are allocated here "
    "with\n"
    "contiguous columns, rows of multiples of 16 bytes. out, out_scales, out_t and out_scales_t are tensors of the "
    "caller's,\nof any row stride; x_dtype names the type of uint16 storage. Outputs that are not given are tensors of "
    "the framework\nof x. device and stream are those of gemm(). Raises InvalidError or UnsupportedError.";
constexpr const char* kQuantizeSquare =
    "quantize_128x128(w, *, out=None, out_scales=None, out_t=None, out_scales_t=None, rows=True, transpose=False, "
    "dtype=\"e4m3\", w_dtype=None, power_of_two=False, min_amax=None, device=None, stream=None)\n--\n\n"
    "Casts w (N, K), or (groups, N, K), to FP8 with a float32 scale for each 128 x 128; returns (q, scales), or with\n"
    "transpose=True (q, scales, q_t, scales_t), which are the same values transposed. w_dtype names the "
    "type of uint16\nstorage; dtype is that of q. The other arguments are those of quantize_1x128().";
constexpr const char* kTranspose =
    "transpose_fp8(w, scales=None, *, out=None, out_scales=None, dtype=None, device=None, stream=None)\n--\n\n"
    "Transposes FP8 matrices w (N, K), or (groups, N, K), and their scales of 128 x 128 blocks; returns (w_t, "
    "scales_t),\n"
    "where scales_t is None without scales. dtype names the type of uint8 storage, whose transpose has that type. out "
    "and\nout_scales are tensors of the caller's. device and stream are those of gemm().";

using Fast = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
PyMethodDef method(const char* name, Fast function, const char* document) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), METH_FASTCALL | METH_KEYWORDS,
          document};
}

}  // namespace

bool add_quantize(PyObject* module) {
  static PyMethodDef methods[] = {method("quantize_1x128", quantize<false>, kQuantizeRows),
                                  method("quantize_128x128", quantize<true>, kQuantizeSquare),
                                  method("transpose_fp8", transpose, kTranspose),
                                  {nullptr, nullptr, 0, nullptr}};
  return PyModule_AddFunctions(module, methods) == 0;
}

}  // namespace wwpy
