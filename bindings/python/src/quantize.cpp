// SPDX-License-Identifier: Apache-2.0
// Casts to FP8 with scales of blocks, and transposes of FP8 matrices. warpwright._quantize allocates the outputs and
// calls these with every tensor given; plans are cached by the library.
#include "errors.hpp"
#include "operands.hpp"
#include "operations.hpp"
#include "plan.hpp"

namespace wwpy {
namespace {

/// One call: the tensor that is read, which says where everything lies, and the others.
class Call {
 public:
  explicit Call(PyObject* input, PyObject* device, PyObject* stream) : device_(device) {
    work_.arguments.set(Argument::a, input);
    work_.arguments.set(Argument::stream, stream != Py_None ? stream : nullptr);
  }

  bool begin(const char* name) {
    follow_fork();
    if (!read_tensor(work_.arguments[Argument::a], name, work_.a)) return false;
    if (work_.a.rank != 2 && work_.a.rank != 3) return invalid(name, "2 or 3 dimensions", work_.a.shape_words());
    found_ = device_of(device_ != Py_None ? device_ : nullptr, work_.a.place);
    return found_ != nullptr && read_stream(work_);
  }

  const Tensor& input() const { return work_.a; }
  void* stream() const { return work_.stream; }
  ww_device device() const { return found_->handle; }
  std::int64_t batch() const { return work_.a.rank == 3 ? work_.a.shape[0] : 1; }

  /// Reads another tensor of the call, if there is one.
  bool read(PyObject* object, const char* name, bool written, Tensor& tensor) {
    if (!read_tensor(object, name, tensor)) return false;
    if (!(tensor.place == work_.a.place))
      return invalid(name, "a tensor on " + name_of(work_.a.place), "one on " + name_of(tensor.place));
    if (written && tensor.readonly) return invalid(name, "memory that may be written", "a read-only array");
    return work_.keep(tensor), true;
  }

  /// Reads a matrix by rows, or a batch of them. `type`: its elements, or bits of the same size.
  bool matrix(PyObject* object, const char* name, Type type, std::int64_t rows, std::int64_t columns, void*& data,
              std::int64_t& ld, std::int64_t& step) {
    if (object == Py_None) return true;
    Tensor t;
    if (!read(object, name, true, t)) return false;
    if (t.type != type && t.type != Type::u8 && t.type != Type::i8)
      return invalid(name, name_of(type), name_of(t.type));
    data = t.data;
    return check(t, name, rows, columns) && rows_of(t, name, ld, step);
  }

  bool rows_of(const Tensor& t, const char* name, std::int64_t& ld, std::int64_t& step) const {
    const int first = t.rank - 2;
    const bool empty = t.elements() == 0;
    if (!empty && t.shape[first + 1] > 1 && t.stride[first + 1] != 1)
      return invalid(name, "contiguous rows", "stride " + std::to_string(t.stride[first + 1]));
    ld = !empty && t.shape[first] > 1 ? t.stride[first] : 0;
    step = !empty && t.rank == 3 && t.shape[0] > 1 ? t.stride[0] : 0;
    const bool none = !empty && ((t.shape[first] > 1 && ld == 0) || (t.rank == 3 && t.shape[0] > 1 && step == 0));
    return !none || invalid(name, "rows that do not overlap", "a stride of 0");
  }

  /// Reads scales of any strides.
  bool scales(PyObject* object, const char* name, bool written, std::int64_t rows, std::int64_t columns, float*& data,
              std::int64_t& row, std::int64_t& column, std::int64_t& step) {
    if (object == Py_None) return true;
    Tensor t;
    if (!read(object, name, written, t) || !check(t, name, rows, columns)) return false;
    if (t.type != Type::f32) return invalid(name, "float32", name_of(t.type));
    data = reinterpret_cast<float*>(t.data);
    const int first = t.rank - 2;
    if (t.elements() == 0) return true;
    row = rows > 1 ? t.stride[first] : columns;
    column = columns > 1 ? t.stride[first + 1] : row == 1 ? rows : 1;
    step = t.rank == 3 && t.shape[0] > 1 ? t.stride[0] : 0;
    if (row == 0 || column == 0 || (t.rank == 3 && t.shape[0] > 1 && step == 0))
      return invalid(name, "scales that do not overlap", "a stride of 0");
    return true;
  }

  /// Reads a vector of int32.
  bool integers(PyObject* object, const char* name, bool written, std::int64_t count, std::int32_t*& data) {
    if (object == Py_None) return true;
    Tensor t;
    if (!read(object, name, written, t)) return false;
    if (t.type != Type::i32 || t.rank != 1 || t.shape[0] != count || (count > 1 && t.stride[0] != 1))
      return invalid(name, std::to_string(count) + " contiguous elements of int32",
                     std::string(name_of(t.type)) + " of " + t.shape_words());
    data = reinterpret_cast<std::int32_t*>(t.data);
    return true;
  }

 private:
  bool check(const Tensor& t, const char* name, std::int64_t rows, std::int64_t columns) const {
    const bool fits = t.rank == work_.a.rank && t.shape[t.rank - 2] == rows && t.shape[t.rank - 1] == columns &&
                      (t.rank == 2 || t.shape[0] == work_.a.shape[0]);
    const std::int64_t want[] = {batch(), rows, columns};
    return fits || invalid(name, shape_text(want + (work_.a.rank == 2), work_.a.rank), t.shape_words());
  }

  Work work_;
  PyObject* device_;
  DeviceObject* found_ = nullptr;
};

constexpr std::int64_t blocks(std::int64_t extent) { return (extent + 127) / 128; }

bool fp8_type(PyObject* named, const Tensor* own, Type& type) {
  if (named == Py_None && own != nullptr) type = own->type;
  else if (!read_type(named, "dtype", type)) return false;
  return type == Type::e4m3 || type == Type::e5m2 || invalid("dtype", "e4m3 or e5m2", name_of(type));
}

PyObject* quantize(PyObject*, PyObject* args) {
  PyObject *x, *q, *scales, *transposed, *transposed_scales, *sizes, *padded_ends, *status, *dtype, *device, *stream;
  ww_quantize_problem problem{};
  ww_quantize_operands operands{};
  problem.struct_size = sizeof problem, operands.struct_size = sizeof operands;
  long long alignment = 0, padding = 0;
  if (!PyArg_ParseTuple(args, "OOOOOOOOOipdLLOO:quantize", &x, &q, &scales, &transposed, &transposed_scales, &sizes,
                        &padded_ends, &status, &dtype, &problem.block, &problem.power_of_two, &problem.min_amax,
                        &alignment, &padding, &device, &stream))
    return nullptr;
  Call call(x, device, stream);
  Type type{};
  if (!call.begin("x") || !fp8_type(dtype, nullptr, type)) return nullptr;
  const Tensor& input = call.input();
  if (input.type != Type::bf16 && input.type != Type::f16 && input.type != Type::f32)
    return invalid("x", "bf16, f16 or f32", name_of(input.type)), nullptr;
  problem.m = input.shape[input.rank - 2], problem.k = input.shape[input.rank - 1], problem.batch = call.batch();
  problem.x_type = library_type(input.type), problem.q_type = library_type(type);
  problem.outputs = (q != Py_None ? WW_QUANTIZE_ROWS : 0) | (transposed != Py_None ? WW_QUANTIZE_TRANSPOSED : 0);
  problem.alignment = alignment, problem.padding = padding;
  if (sizes != Py_None) {
    Tensor ends;
    if (!call.read(sizes, "offs", false, ends)) return nullptr;
    problem.groups = ends.rank == 1 ? ends.shape[0] : 0;
    if (problem.groups == 0) return invalid("offs", "the end of each group", ends.shape_words()), nullptr;
  }
  std::int64_t columns = 0;
  if (!succeeded(ww_quantize_columns(&problem, &columns))) return nullptr;
  const bool square = problem.block == WW_BLOCK_128X128;
  const std::int64_t m = problem.m, k = problem.k;
  std::int32_t *ends = nullptr, *padded = nullptr, *word = nullptr;
  operands.x = input.data;
  if (!call.rows_of(input, "x", problem.ldx, problem.batch_x) ||
      !call.matrix(q, "out", type, m, k, operands.q, problem.ldq, problem.batch_q) ||
      !call.scales(scales, "out_scales", true, square ? blocks(m) : m, blocks(k), operands.scales, problem.scale_m,
                   problem.scale_k, problem.batch_scales) ||
      !call.matrix(transposed, "out_transposed", type, k, columns, operands.transposed, problem.ld_transposed,
                   problem.batch_transposed) ||
      !call.scales(transposed_scales, "out_transposed_scales", true, square ? blocks(k) : k, blocks(columns),
                   operands.transposed_scales, problem.transposed_scale_k, problem.transposed_scale_m,
                   problem.batch_transposed_scales) ||
      !call.integers(sizes, "offs", false, problem.groups, ends) ||
      !call.integers(padded_ends, "padded_ends", true, problem.groups, padded) ||
      !call.integers(status, "status", true, 1, word))
    return nullptr;
  operands.sizes = ends, operands.padded_ends = padded, operands.status = reinterpret_cast<std::uint32_t*>(word);
  ww_status result = WW_OK;
  {
    const WithoutGil others;
    result = ww_quantize(call.device(), &problem, nullptr, &operands, call.stream());
  }
  return succeeded(result) ? none() : nullptr;
}

PyObject* transpose(PyObject*, PyObject* args) {
  PyObject *w, *scales, *transposed, *transposed_scales, *dtype, *device, *stream;
  if (!PyArg_ParseTuple(args, "OOOOOOO:transpose", &w, &scales, &transposed, &transposed_scales, &dtype, &device,
                        &stream))
    return nullptr;
  ww_transpose_problem problem{};
  ww_transpose_operands operands{};
  problem.struct_size = sizeof problem, operands.struct_size = sizeof operands;
  Call call(w, device, stream);
  Type type{};
  if (!call.begin("w") || !fp8_type(dtype, &call.input(), type)) return nullptr;
  const Tensor& input = call.input();
  if (bytes_of(input.type) != 1) return invalid("w", name_of(type), name_of(input.type)), nullptr;
  problem.n = input.shape[input.rank - 2], problem.k = input.shape[input.rank - 1], problem.batch = call.batch();
  problem.type = library_type(type);
  operands.w = input.data;
  float* given = nullptr;
  const std::int64_t nb = blocks(problem.n), kb = blocks(problem.k);
  if (!call.rows_of(input, "w", problem.ld, problem.batch_w) ||
      !call.scales(scales, "scales", false, nb, kb, given, problem.scale_n, problem.scale_k, problem.batch_scales) ||
      !call.matrix(transposed, "out", type, problem.k, problem.n, operands.transposed, problem.ld_transposed,
                   problem.batch_transposed) ||
      !call.scales(transposed_scales, "out_scales", true, kb, nb, operands.transposed_scales,
                   problem.transposed_scale_k, problem.transposed_scale_n, problem.batch_transposed_scales))
    return nullptr;
  operands.scales = given;
  ww_status result = WW_OK;
  {
    const WithoutGil others;
    result = ww_transpose(call.device(), &problem, nullptr, &operands, call.stream());
  }
  return succeeded(result) ? none() : nullptr;
}

/// The columns of the transpose of x (m, k) in `groups` groups that are padded to multiples of `padding`.
PyObject* quantize_columns(PyObject*, PyObject* args) {
  long long m = 0, k = 0, groups = 0, alignment = 0, padding = 0;
  if (!PyArg_ParseTuple(args, "LLLLL:quantize_columns", &m, &k, &groups, &alignment, &padding)) return nullptr;
  ww_quantize_problem problem{};
  problem.struct_size = sizeof problem;
  problem.m = m, problem.k = k, problem.groups = groups, problem.alignment = alignment, problem.padding = padding;
  problem.x_type = WW_BF16;
  problem.outputs = WW_QUANTIZE_ROWS | WW_QUANTIZE_TRANSPOSED;
  std::int64_t columns = 0;
  return succeeded(ww_quantize_columns(&problem, &columns)) ? PyLong_FromLongLong(columns) : nullptr;
}

}  // namespace

bool add_quantize(PyObject* module) {
  static PyMethodDef methods[] = {
      {"quantize", quantize, METH_VARARGS,
       "quantize(x, q, scales, transposed, transposed_scales, offs, padded_ends, status, dtype, block, power_of_two, "
       "min_amax, alignment, padding, device, stream, /)\n--\n\n"},
      {"transpose", transpose, METH_VARARGS,
       "transpose(w, scales, transposed, transposed_scales, dtype, device, stream, /)\n--\n\n"},
      {"quantize_columns", quantize_columns, METH_VARARGS,
       "quantize_columns(m, k, groups, alignment, padding, /)\n--\n\n"},
      {nullptr, nullptr, 0, nullptr}};
  return PyModule_AddFunctions(module, methods) == 0;
}

}  // namespace wwpy
