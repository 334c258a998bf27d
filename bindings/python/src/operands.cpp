// SPDX-License-Identifier: Apache-2.0
// Matrices, element types, options and outputs of a call.
#include "operands.hpp"

#include <cstring>

#include "device.hpp"
#include "errors.hpp"

namespace wwpy {

bool operand_type(const Work& work, Argument tensor_name, Argument type_argument, const Tensor& tensor, Type& type) {
  if (work.arguments[type_argument] == nullptr) {
    type = tensor.type;
    if (type == Type::f32 && tensor_name != Argument::out)
      return invalid(name_of(tensor_name),
                     std::string("e4m3, e5m2, bf16 or f16, or float32 with ") + name_of(type_argument) + "=\"tf32\"",
                     "float32");
    if (!is_element(type))
      return invalid(name_of(tensor_name),
                     std::string("an element type that is multiplied, or bits with ") + name_of(type_argument),
                     name_of(type));
    return true;
  }
  return storage_type(work, tensor_name, type_argument, tensor, type);
}

namespace {

/// Counts the elements of a packed type in a tensor that counts bytes.
bool unpack(Argument argument, Type type, Tensor& t) {
  const int bits = bits_of_packed(type), last = t.rank - 1;
  if (t.rank == 0 || (t.shape[last] > 1 && t.stride[last] != 1))
    return invalid(name_of(argument), std::string("contiguous rows of packed ") + name_of(type),
                   t.rank == 0 ? "one element" : "a stride of " + std::to_string(t.stride[last]) + " along them");
  for (int i = 0; i < t.rank; ++i) {
    if (i != last && t.shape[i] <= 1) continue;  // a stride that steps over nothing may be any number
    std::int64_t& bytes = i == last ? t.shape[i] : t.stride[i];
    if (bytes * 8 % bits != 0)
      return invalid(
          name_of(argument),
          std::string("rows of whole elements of ") + name_of(type) + ", " + std::to_string(bits) + " bits each",
          std::to_string(bytes) + " bytes");
    bytes = bytes * 8 / bits;
  }
  t.stride[last] = 1;
  t.type = type;
  return true;
}

}  // namespace

bool factor_type(const Work& work, Argument tensor_name, Argument type_argument, Tensor& tensor, Type& type) {
  PyObject* const named = work.arguments[type_argument];
  type = tensor.type;
  if (named != nullptr && !read_type(named, name_of(type_argument), type)) return false;
  if (!is_packed(type)) return operand_type(work, tensor_name, type_argument, tensor, type);
  if (tensor.type != type && tensor.type != Type::u8 && tensor.type != Type::i8)
    return invalid(name_of(type_argument),
                   std::string("the type of ") + name_of(tensor_name) + ", " + name_of(tensor.type), name_of(type));
  return unpack(tensor_name, type, tensor);
}

bool storage_type(const Work& work, Argument tensor_name, Argument type_argument, const Tensor& tensor, Type& type) {
  if (!read_type(work.arguments[type_argument], name_of(type_argument), type)) return false;
  if (!is_element(type)) return invalid(name_of(type_argument), "e4m3, e5m2, bf16, f16, f32 or tf32", name_of(type));
  const Type own = tensor.type;
  const bool bits = bytes_of(type) == 1   ? own == Type::u8 || own == Type::i8
                    : bytes_of(type) == 2 ? own == Type::u16 || own == Type::i16
                                          : own == Type::u32 || own == Type::i32;
  if (own == type || bits || (type == Type::tf32 && own == Type::f32)) return true;
  return invalid(name_of(type_argument), std::string("the type of ") + name_of(tensor_name) + ", " + name_of(own),
                 name_of(type));
}

ww_dtype library_type(Type type) {
  constexpr ww_dtype numbers[] = {WW_E4M3, WW_BF16, WW_F16, WW_F32, WW_E5M2, WW_TF32, WW_E2M1, WW_E3M2, WW_E2M3};
  return numbers[static_cast<int>(type)];
}

namespace {

/// Returns the stride of an operand's only row or column of `extent` elements. It steps over nothing, and frameworks
/// disagree about it, but operands need strides of whole 16 bytes. 0 (packed) where the extent is one.
std::int64_t only_stride(Argument argument, const Tensor& tensor, std::int64_t extent) {
  if (argument != Argument::a && argument != Argument::b) return 0;
  // 128 elements of a packed type are whole units of 16 bytes, whatever it is beside.
  const std::int64_t step = is_packed(tensor.type) ? 128 : 16 / bytes_of(tensor.type);
  const std::int64_t whole = (extent + step - 1) / step * step;
  return whole == extent ? 0 : whole;
}

}  // namespace

bool layout_of(Argument argument, const Tensor& tensor, Layout& layout) {
  const std::int64_t rows = tensor.shape[tensor.rank - 2], columns = tensor.shape[tensor.rank - 1];
  const std::int64_t row = tensor.stride[tensor.rank - 2], column = tensor.stride[tensor.rank - 1];
  if (tensor.elements() == 0) return layout = {}, true;  // frameworks disagree about the strides of nothing
  if (columns <= 1 && rows > 1 && row == 1 && bytes_of(tensor.type) > 1)
    return layout = {true, only_stride(argument, tensor, rows)}, true;
  if (columns <= 1 || column == 1) {
    layout = {false, rows > 1 ? row : only_stride(argument, tensor, columns)};
    if (rows == 1 || row > 0) return true;  // a stride of 0 would mean "packed" to the library
  } else if (rows <= 1 || row == 1) {
    layout = {true, column};
    if (column > 0) return true;
  }
  return invalid(name_of(argument), "a matrix whose rows or columns are contiguous, without a stride of 0",
                 "strides (" + std::to_string(row) + ", " + std::to_string(column) + ")");
}

bool read_operand(Work& work, Argument argument, Tensor& tensor) {
  if (!read_tensor(work.arguments[argument], name_of(argument), tensor)) return false;
  if (argument != Argument::a && !(tensor.place == work.a.place))
    return invalid(name_of(argument), "a tensor on " + name_of(work.a.place) + ", as a is",
                   "one on " + name_of(tensor.place));
  return true;
}

bool check_writable(Argument argument, const Tensor& tensor) {
  if (!tensor.readonly) return true;
  return invalid(name_of(argument), "memory that may be written",
                 tensor.framework == Framework::jax ? "a JAX array, which never changes" : "a read-only array");
}

bool check_rank(Argument argument, const Tensor& tensor, int low, int high) {
  if (tensor.rank >= low && tensor.rank <= high) return true;
  return invalid(name_of(argument),
                 std::to_string(low) + (low == high ? "" : " or " + std::to_string(high)) + " dimensions",
                 tensor.shape_words());
}

bool check_shape(Argument argument, const Tensor& tensor, std::initializer_list<std::int64_t> shape,
                 const char* meaning) {
  bool same = tensor.rank == static_cast<int>(shape.size());
  int i = 0;
  for (const std::int64_t extent : shape) same = same && tensor.shape[i++] == extent;
  if (same) return true;
  return invalid(name_of(argument),
                 std::string(meaning) + " = " + shape_text(shape.begin(), static_cast<int>(shape.size())),
                 tensor.shape_words());
}

bool check_type(Argument argument, const Tensor& tensor, Type type) {
  return tensor.type == type || invalid(name_of(argument), name_of(type), name_of(tensor.type));
}

bool intern_text(Argument argument, PyObject* object, Ref& text, const char*& bytes) {
  if (!PyUnicode_Check(object)) return invalid(name_of(argument), "a text", repr(object));
  Py_INCREF(object);
  PyUnicode_InternInPlace(&object);
  text = Ref(object);
  bytes = whole_text(object);
  return bytes != nullptr || invalid(name_of(argument), "a text without null characters or surrogates", repr(object));
}

bool read_options(Work& work) {
  const Arguments& given = work.arguments;
  ww_options& options = work.request.options;
  options.struct_size = sizeof options;
  if (given[Argument::config] != nullptr &&
      !intern_text(Argument::config, given[Argument::config], work.config, options.config))
    return false;
  if (given.any(Argument::sms, Argument::workspace_limit)) {
    std::int64_t sms = 0;
    bool invariant = false;
    if (!given.integer(Argument::sms, 0, 1 << 20, sms) || !given.flag(Argument::batch_invariant, invariant) ||
        !given.integer(Argument::workspace_limit, -1, std::int64_t{1} << 50, options.workspace_limit))
      return false;
    if (given[Argument::workspace_limit] != nullptr && options.workspace_limit == 0) options.workspace_limit = -1;
    options.sms = static_cast<std::int32_t>(sms);
    options.batch_invariant = invariant;
    if (given[Argument::pdl] != nullptr) {
      bool on = false;
      if (!given.flag(Argument::pdl, on)) return false;
      options.pdl = on ? WW_PDL_ON : WW_PDL_OFF;
    }
  }
  return true;
}

bool find_device(Work& work, ww_dtype a_type, ww_dtype b_type, ww_scale scale) {
  const auto packed = [](ww_dtype type) { return type == WW_E2M1 || type == WW_E3M2 || type == WW_E2M3; };
  const bool chunks = work.epilogue != nullptr && work.epilogue->text.chunks != WW_SCALE_NONE;
  const bool blackwell = packed(a_type) || packed(b_type) || scale == WW_SCALE_MX || scale == WW_SCALE_NV || chunks;
  work.request.device = device_of(work.arguments[Argument::device], work.a.place, blackwell);
  return work.request.device != nullptr;
}

namespace {

/// Asks warpwright._allocate for an uninitialised tensor of the framework of `a`, in bytes where the type is packed.
Ref allocate(const Work& work, std::initializer_list<std::int64_t> shape, Type type) {
  static PyObject* function = nullptr;
  if (function == nullptr) {
    const Ref module(PyImport_ImportModule("warpwright._allocate"));
    function = module ? PyObject_GetAttrString(module.get(), "empty_like") : nullptr;
    if (function == nullptr) return Ref();
  }
  const Ref extents(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
  if (!extents) return Ref();
  Py_ssize_t i = 0;
  for (const std::int64_t extent : shape) {
    const bool packs = is_packed(type) && i + 1 == static_cast<Py_ssize_t>(shape.size());
    PyObject* const number = PyLong_FromLongLong(packs ? extent * bits_of_packed(type) / 8 : extent);
    if (number == nullptr || PyTuple_SetItem(extents.get(), i++, number) != 0) return Ref();
  }
  const char* const frameworks[] = {"numpy", "torch", "jax", "cupy", "other"};
  return Ref(PyObject_CallFunction(function, "OOss", work.arguments[Argument::a], extents.get(), name_of(type),
                                   frameworks[static_cast<int>(work.a.framework)]));
}

}  // namespace

bool read_output(Work& work, std::initializer_list<std::int64_t> shape, Type fallback, const char* meaning,
                 Type& type) {
  PyObject* const given = work.arguments[Argument::out];
  const bool may_be_packed = work.epilogue != nullptr && work.epilogue->text.chunks != WW_SCALE_NONE;
  if (given == nullptr) {
    type = fallback;
    PyObject* const named = work.arguments[Argument::out_dtype];
    if (named != nullptr && !read_type(named, "out_dtype", type)) return false;
    if (!(is_element(type) || (may_be_packed && type == Type::e2m1)) || type == Type::tf32)
      return invalid("out_dtype", may_be_packed ? "e4m3, e5m2 or e2m1" : "bf16, f16, f32 or e4m3", name_of(type));
    work.out_object = allocate(work, shape, type);
    if (!work.out_object) return false;
    work.allocated = true;
    work.arguments.set(Argument::out, work.out_object.get());
  } else {
    work.out_object = Ref::borrowed(given);
  }
  return read_operand(work, Argument::out, work.out) && check_writable(Argument::out, work.out) &&
         (may_be_packed ? factor_type(work, Argument::out, Argument::out_dtype, work.out, type)
                        : operand_type(work, Argument::out, Argument::out_dtype, work.out, type)) &&
         check_shape(Argument::out, work.out, shape, meaning);
}

}  // namespace wwpy
