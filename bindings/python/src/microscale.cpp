// SPDX-License-Identifier: Apache-2.0
// microscale() of the extension, by which quantize_mx() and quantize_nv() cast; the caller allocates.
#include "device.hpp"
#include "errors.hpp"
#include "operands.hpp"
#include "operations.hpp"
#include "plan.hpp"
#include "torch.hpp"

namespace wwpy {
namespace {

struct Target {
  const char* name;
  ww_dtype number;
  int bits;
};
constexpr Target kTargets[] = {
    {"e4m3", WW_E4M3, 8}, {"e5m2", WW_E5M2, 8}, {"e3m2", WW_E3M2, 6}, {"e2m3", WW_E2M3, 6}, {"e2m1", WW_E2M1, 4}};

bool is_byte(Type type) {
  return type == Type::u8 || type == Type::i8 || type == Type::e4m3 || type == Type::e5m2 || type == Type::e8m0;
}

/// Reads an output: bytes beside x, of which those of a row follow one another.
bool read_output(PyObject* object, const char* name, const Tensor& x, Tensor& to) {
  if (!read_tensor(object, name, to)) return false;
  if (!is_byte(to.type)) return invalid(name, "elements of one byte", name_of(to.type));
  if (!(to.place == x.place)) return invalid(name, "a tensor on " + name_of(x.place), "one on " + name_of(to.place));
  if (to.readonly) return invalid(name, "memory that may be written", "a read-only array");
  if (to.rank < 1 || (to.shape[to.rank - 1] > 1 && to.stride[to.rank - 1] != 1))
    return invalid(name, "rows whose bytes are contiguous", to.shape_words());
  return true;
}

/// Fills types, extents and strides.
bool describe(const Tensor& x, const Tensor& q, const Target& target, ww_microscale_problem& problem) {
  if (x.rank != 2 && x.rank != 3) return invalid("x", "2 or 3 dimensions", x.shape_words());
  problem.x_type = x.type == Type::bf16 ? WW_BF16 : x.type == Type::f16 ? WW_F16 : x.type == Type::f32 ? WW_F32 : 0;
  if (problem.x_type == 0) return invalid("x", "bf16, f16 or f32", name_of(x.type));
  const int m = x.rank - 2, k = x.rank - 1;
  problem.m = x.shape[m], problem.k = x.shape[k], problem.batch = m == 1 ? x.shape[0] : 1;
  if (problem.k > 1 && x.stride[k] != 1)
    return invalid("x", "contiguous rows", "a stride of " + std::to_string(x.stride[k]));
  if (problem.k % (target.bits == 8 ? 1 : target.bits == 6 ? 4 : 2) != 0)
    return invalid("x", "rows that fill whole bytes of " + std::string(target.name), x.shape_words());
  if (q.rank != x.rank || q.shape[m] != x.shape[m] || (m == 1 && q.shape[0] != x.shape[0]) ||
      q.shape[k] != problem.k * target.bits / 8)
    return invalid("out", "the shape of x with " + std::to_string(problem.k * target.bits / 8) + " bytes a row",
                   q.shape_words());
  if (x.elements() == 0) return true;
  problem.ldx = problem.m > 1 ? x.stride[m] : 0;
  problem.ldq = problem.m > 1 ? q.stride[m] * 8 / target.bits : 0;
  if (problem.m > 1 && (x.stride[m] < problem.k || q.stride[m] < q.shape[k] || q.stride[m] * 8 % target.bits != 0))
    return invalid(x.stride[m] < problem.k ? "x" : "out", "rows of their own", "a stride below a row");
  if (m == 1 && problem.batch > 1) {
    problem.batch_x = x.stride[0], problem.batch_q = q.stride[0] * 8 / target.bits;
    if (problem.batch_x == 0 || problem.batch_q == 0 || q.stride[0] * 8 % target.bits != 0)
      return invalid(problem.batch_x == 0 ? "x" : "out", "matrices of their own", "another stride");
  }
  return true;
}

/// Checks that `scales` has the bytes of all matrices, one after the other.
bool check_scales(const Tensor& scales, const ww_microscale_problem& problem) {
  const std::int64_t vector = problem.scale == WW_SCALE_NV ? 16 : 32, of_row = (problem.k + vector - 1) / vector;
  const std::int64_t bytes =
      problem.row_major != 0 ? problem.m * of_row : (problem.m + 127) / 128 * ((of_row + 3) / 4) * 512;
  std::int64_t packed = 1;
  bool contiguous = true;
  for (int i = scales.rank - 1; i >= 0; --i) {
    contiguous = contiguous && (scales.shape[i] <= 1 || scales.stride[i] == packed);
    packed *= scales.shape[i];
  }
  const std::int64_t all = problem.batch * bytes;
  if (scales.elements() == all && (contiguous || all == 0)) return true;
  return invalid("out_scales", std::to_string(all) + " contiguous bytes", scales.shape_words());
}

PyObject* microscale(PyObject*, PyObject* args) {
  PyObject *x, *q, *scales, *factor, *device, *stream;
  const char *type = nullptr, *scale = nullptr;
  int row_major = 0;
  if (!PyArg_ParseTuple(args, "OOOOsspOO:microscale", &x, &q, &scales, &factor, &type, &scale, &row_major, &device,
                        &stream))
    return nullptr;
  follow_fork();
  ww_microscale_problem problem{};
  ww_microscale_operands operands{};
  problem.struct_size = sizeof problem, operands.struct_size = sizeof operands;
  const Target* target = nullptr;
  for (const Target& one : kTargets)
    if (std::string(type) == one.name) target = &one;
  if (target == nullptr) return invalid("dtype", "e4m3, e5m2, e3m2, e2m3 or e2m1", type), nullptr;
  problem.q_type = target->number;
  problem.scale = std::string(scale) == "nv" ? WW_SCALE_NV : WW_SCALE_MX;
  problem.row_major = row_major;
  Tensor from, to, of_blocks, of_tensor;
  if (!read_tensor(x, "x", from) || !read_output(q, "out", from, to) ||
      !read_output(scales, "out_scales", from, of_blocks) || !describe(from, to, *target, problem) ||
      !check_scales(of_blocks, problem))
    return nullptr;
  if (factor != Py_None) {
    if (!read_tensor(factor, "tensor_scale", of_tensor)) return nullptr;
    if (of_tensor.type != Type::f32 || of_tensor.elements() != 1 || !(of_tensor.place == from.place))
      return invalid("tensor_scale", "one float32 beside x",
                     std::string(name_of(of_tensor.type)) + " of " + of_tensor.shape_words()),
             nullptr;
  }
  DeviceObject* const on = device_of(device != Py_None ? device : nullptr, from.place);
  void* of_call = nullptr;
  if (on == nullptr || !read_stream(stream != Py_None ? stream : nullptr, from.place, x, of_call)) return nullptr;
  if (problem.batch == 0 || problem.m == 0 || problem.k == 0) return none();
  operands.x = from.data, operands.q = to.data;
  operands.scales = reinterpret_cast<std::uint8_t*>(of_blocks.data);
  operands.tensor_scale = reinterpret_cast<const float*>(of_tensor.data);
  ww_status result = WW_OK;
  {
    const WithoutGil others;
    result = ww_microscale(on->handle, &problem, nullptr, &operands, of_call);
  }
  PyObject* const written[] = {q, scales};
  return succeeded(result) && note_writes(written, 2) ? none() : nullptr;
}

}  // namespace

bool add_microscale(PyObject* module) {
  static PyMethodDef methods[] = {
      {"microscale", microscale, METH_VARARGS,
       "microscale(x, out, out_scales, tensor_scale, dtype, scale, row_major, device, stream, /)\n--\n\nStores x in "
       "dtype, one byte or less an element, in out, and its scales in out_scales."},
      {nullptr, nullptr, 0, nullptr}};
  return PyModule_AddFunctions(module, methods) == 0;
}

}  // namespace wwpy
