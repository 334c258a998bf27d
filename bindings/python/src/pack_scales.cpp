// SPDX-License-Identifier: Apache-2.0
// pack_scales() of the extension, by which compat.deep_gemm packs exponents of scales; the caller allocates.
#include "device.hpp"
#include "errors.hpp"
#include "operands.hpp"
#include "operations.hpp"
#include "plan.hpp"
#include "torch.hpp"

namespace wwpy {
namespace {

std::int64_t stride(const Tensor& t, int axis, std::int64_t of_one) {
  return t.shape[axis] > 1 ? t.stride[axis] : of_one;
}

/// Fills extents and strides. `to` is int32 and has the shape of `from` but for the last extent.
bool describe(const Tensor& from, const Tensor& to, ww_pack_scales_problem& problem) {
  if (from.rank != 2 && from.rank != 3) return invalid("scales", "2 or 3 dimensions", from.shape_words());
  if (from.type != Type::f32) return invalid("scales", "float32", name_of(from.type));
  if (to.type != Type::i32) return invalid("packed", "int32", name_of(to.type));
  if (!(to.place == from.place))
    return invalid("packed", "a tensor on " + name_of(from.place), "one on " + name_of(to.place));
  if (to.readonly) return invalid("packed", "memory that may be written", "a read-only array");
  const int m = from.rank - 2, k = from.rank - 1;
  if (to.rank != from.rank || to.shape[m] != from.shape[m] || (m == 1 && to.shape[0] != from.shape[0]))
    return invalid("packed", "the shape of scales but for the last extent", to.shape_words());
  problem.m = from.shape[m], problem.k = from.shape[k], problem.batch = m == 1 ? from.shape[0] : 1;
  problem.words = to.shape[k];
  problem.scale_m = stride(from, m, 1), problem.scale_k = stride(from, k, 1);
  if (problem.scale_m == 0 && problem.scale_k == 0)  // the library reads two zeros as "packed"
    return invalid("scales", "a stride of rows or columns", "strides of 0");
  // Where an extent is 1, its stride is one that cannot overlap the other's.
  problem.packed_m = stride(to, m, stride(to, k, 1) * problem.words);
  problem.packed_k = stride(to, k, problem.packed_m * problem.m);
  if (m == 1 && problem.batch > 1) {
    problem.batch_scales = from.stride[0], problem.batch_packed = to.stride[0];
    if (problem.batch_scales == 0 || problem.batch_packed == 0)
      return invalid(problem.batch_packed == 0 ? "packed" : "scales", "matrices of their own", "a stride of 0");
  }
  return true;
}

PyObject* pack_scales(PyObject*, PyObject* args) {
  PyObject *scales, *packed, *sizes, *device, *stream;
  ww_pack_scales_problem problem{};
  ww_pack_scales_operands operands{};
  problem.struct_size = sizeof problem, operands.struct_size = sizeof operands;
  long long span = 0;
  if (!PyArg_ParseTuple(args, "OOOLOO:pack_scales", &scales, &packed, &sizes, &span, &device, &stream)) return nullptr;
  follow_fork();
  Tensor from, to, of_groups;
  if (!read_tensor(scales, "scales", from) || !read_tensor(packed, "packed", to) || !describe(from, to, problem))
    return nullptr;
  problem.span = span;
  if (sizes != Py_None) {
    if (!read_tensor(sizes, "sizes", of_groups)) return nullptr;
    problem.groups = of_groups.rank == 1 ? of_groups.shape[0] : 0;
    if (problem.groups == 0 || of_groups.type != Type::i32 || !(of_groups.place == from.place) ||
        (problem.groups > 1 && of_groups.stride[0] != 1))
      return invalid("sizes", "contiguous int32 beside scales, K of each group",
                     std::string(name_of(of_groups.type)) + " of " + of_groups.shape_words()),
             nullptr;
  }
  DeviceObject* const on = device_of(device != Py_None ? device : nullptr, from.place);
  void* of_call = nullptr;
  if (on == nullptr || !read_stream(stream != Py_None ? stream : nullptr, from.place, scales, of_call)) return nullptr;
  if (problem.batch == 0 || problem.m == 0 || problem.words == 0) return none();
  operands.scales = reinterpret_cast<const float*>(from.data);
  operands.packed = reinterpret_cast<std::uint32_t*>(to.data);
  operands.sizes = reinterpret_cast<const std::int32_t*>(of_groups.data);
  ww_status result = WW_OK;
  {
    const WithoutGil others;
    result = ww_pack_scales(on->handle, &problem, nullptr, &operands, of_call);
  }
  return succeeded(result) && note_writes(&packed, 1) ? none() : nullptr;
}

}  // namespace

bool add_pack_scales(PyObject* module) {
  static PyMethodDef methods[] = {{"pack_scales", pack_scales, METH_VARARGS,
                                   "pack_scales(scales, packed, sizes, span, device, stream, /)\n--\n\nStores "
                                   "exponents of scales in packed, int32."},
                                  {nullptr, nullptr, 0, nullptr}};
  return PyModule_AddFunctions(module, methods) == 0;
}

}  // namespace wwpy
