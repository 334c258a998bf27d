// SPDX-License-Identifier: Apache-2.0
// Reads tensors, and caches for each Python type how that is done: a failed search for an attribute costs a
// microsecond.
#include "tensor.hpp"

#include <cstring>

#include "dlpack/dlpack.h"
#include "errors.hpp"
#include "torch.hpp"

namespace wwpy {
namespace {

/// How tensors of one Python type are read.
struct Reader {
  PyTypeObject* type = nullptr;  // owned, so that the address stays this type's
  Source source = Source::dlpack;
  Framework framework = Framework::other;
  const DLPackExchangeAPI* api = nullptr;
};
constexpr std::size_t kReaders = 64;
Reader readers[kReaders];

/// NumPy's PyArrayInterface, which __array_struct__ points to. Its layout is fixed.
struct ArrayInterface {
  int two;
  int rank;
  char kind;
  int itemsize;
  int flags;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  void* data;
  PyObject* description;
};
constexpr int kNotSwapped = 0x0200, kWriteable = 0x0400;

bool has(PyObject* object, const char* name) {
  const Ref found(PyObject_GetAttrString(object, name));
  if (!found) PyErr_Clear();
  return static_cast<bool>(found);
}

Framework framework_of(PyObject* type) {
  const Ref module(PyObject_GetAttrString(type, "__module__"));
  const char* const name =
      module && PyUnicode_Check(module.get()) ? PyUnicode_AsUTF8AndSize(module.get(), nullptr) : nullptr;
  if (name == nullptr) return PyErr_Clear(), Framework::other;
  const auto begins = [&](const char* with) { return std::strncmp(name, with, std::strlen(with)) == 0; };
  return begins("jax")     ? Framework::jax
         : begins("numpy") ? Framework::numpy
         : begins("cupy")  ? Framework::cupy
         : begins("torch") ? Framework::torch
                           : Framework::other;
}

/// The framework of a type, or of the nearest of its bases that has one.
Framework framework_of_bases(PyObject* type) {
  const Ref bases(PyObject_GetAttrString(type, "__mro__"));
  const Py_ssize_t count = bases && PyTuple_Check(bases.get()) ? PyTuple_Size(bases.get()) : 0;
  PyErr_Clear();
  for (Py_ssize_t i = 0; i < count; ++i)
    if (const Framework found = framework_of(PyTuple_GetItem(bases.get(), i)); found != Framework::other) return found;
  return Framework::other;
}

/// Finds out how tensors of `type` are read. False: not at all, without an exception.
bool make_reader(PyTypeObject* type, Reader& reader) {
  PyObject* const object = reinterpret_cast<PyObject*>(type);
  reader = {type, Source::dlpack, framework_of_bases(object), nullptr};
  const Ref capsule(PyObject_GetAttrString(object, "__dlpack_c_exchange_api__"));
  if (capsule && PyCapsule_IsValid(capsule.get(), "dlpack_exchange_api")) {
    const void* found = PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api");
    const auto* header = static_cast<const DLPackExchangeAPIHeader*>(found);
    while (header != nullptr && header->version.major != DLPACK_MAJOR_VERSION) header = header->prev_api;
    const auto* const api = reinterpret_cast<const DLPackExchangeAPI*>(header);
    if (api != nullptr && api->dltensor_from_py_object_no_sync != nullptr && api->current_work_stream != nullptr)
      return reader.source = Source::exchange, reader.api = api, true;
  }
  PyErr_Clear();
  if (has(object, "__array_struct__")) return reader.source = Source::array_struct, true;
  if (reader.framework == Framework::torch && has(object, "data_ptr")) return reader.source = Source::attributes, true;
  return has(object, "__dlpack__") && has(object, "__dlpack_device__");
}

const Reader* reader_of(PyTypeObject* type) {
  Reader& reader = readers[(reinterpret_cast<std::uintptr_t>(type) >> 5) % kReaders];
  if (reader.type == type) return &reader;
  Reader made;
  if (!make_reader(type, made)) return nullptr;
  Py_INCREF(reinterpret_cast<PyObject*>(type));
  Py_XDECREF(reinterpret_cast<PyObject*>(reader.type));
  reader = made;
  return &reader;
}

Type type_of(DLDataType type) {
  // torch's float4_e2m1fn_x2, whose elements are bytes of two each.
  if (type.code == kDLFloat4_e2m1fn && type.bits == 4 && type.lanes == 2) return Type::e2m1;
  if (type.lanes != 1) return Type::other;
  switch (type.code) {
    case kDLFloat:
      return type.bits == 32 ? Type::f32 : type.bits == 16 ? Type::f16 : type.bits == 64 ? Type::f64 : Type::other;
    case kDLComplex: return type.bits == 64 ? Type::c64 : type.bits == 128 ? Type::c128 : Type::other;
    case kDLBool: return type.bits == 8 ? Type::boolean : Type::other;
    case kDLBfloat: return type.bits == 16 ? Type::bf16 : Type::other;
    case kDLFloat8_e4m3fn: return type.bits == 8 ? Type::e4m3 : Type::other;
    case kDLFloat8_e5m2: return type.bits == 8 ? Type::e5m2 : Type::other;
    case kDLFloat8_e8m0fnu: return type.bits == 8 ? Type::e8m0 : Type::other;
    case kDLInt:
      return type.bits == 8    ? Type::i8
             : type.bits == 16 ? Type::i16
             : type.bits == 32 ? Type::i32
             : type.bits == 64 ? Type::i64
                               : Type::other;
    case kDLUInt:
      return type.bits == 8    ? Type::u8
             : type.bits == 16 ? Type::u16
             : type.bits == 32 ? Type::u32
             : type.bits == 64 ? Type::u64
                               : Type::other;
    default: return Type::other;
  }
}

bool refuse_rank(const char* argument, int rank) {
  return invalid(argument, "a tensor of at most " + std::to_string(kMaxRank) + " dimensions",
                 std::to_string(rank) + " dimensions");
}

bool from_dlpack(const DLTensor& from, const char* argument, Tensor& to) {
  if (from.ndim > kMaxRank || from.ndim < 0) return refuse_rank(argument, from.ndim);
  switch (from.device.device_type) {
    case kDLCPU: to.place = {false, 0}; break;
    case kDLCUDA:
    case kDLCUDAManaged: to.place = {true, from.device.device_id}; break;
    default:
      return invalid(argument, "a tensor on the CPU or on a CUDA device",
                     "DLPack device type " + std::to_string(static_cast<int>(from.device.device_type)));
  }
  to.data = static_cast<char*>(from.data) + from.byte_offset;
  to.type = type_of(from.dtype);
  to.rank = from.ndim;
  std::uint64_t packed = 1;  // unsigned, because check_extents() has not seen the extents yet
  for (int i = from.ndim - 1; i >= 0; --i) {
    to.shape[i] = from.shape[i];
    to.stride[i] = from.strides != nullptr ? from.strides[i] : static_cast<std::int64_t>(packed);
    packed *= static_cast<std::uint64_t>(from.shape[i]);
  }
  return true;
}

/// The type of a NumPy array whose kind does not tell: ml_dtypes' types are known by the identity of their scalars.
/// Those of 4 and 6 bits are answered as packed types, although NumPy keeps each element in a byte of its own.
Type type_of_scalar(PyObject* array) {
  PyObject* const modules = PyImport_GetModuleDict();  // borrowed
  PyObject* const ml_dtypes = modules != nullptr ? PyDict_GetItemString(modules, "ml_dtypes") : nullptr;
  if (ml_dtypes == nullptr) return Type::other;
  const Ref dtype(PyObject_GetAttrString(array, "dtype"));
  const Ref scalar(dtype ? PyObject_GetAttrString(dtype.get(), "type") : nullptr);
  Type type = Type::other;
  for (const char* const name : {"float8_e4m3fn", "float8_e5m2", "bfloat16", "float8_e8m0fnu", "float4_e2m1fn",
                                 "float6_e3m2fn", "float6_e2m3fn"}) {
    const Ref candidate(scalar ? PyObject_GetAttrString(ml_dtypes, name) : nullptr);
    if (candidate && candidate.get() == scalar.get()) type = type_named(name);
    PyErr_Clear();
  }
  PyErr_Clear();
  return type;
}

bool from_array_struct(PyObject* object, const char* argument, Tensor& to) {
  static PyObject* const name = PyUnicode_InternFromString("__array_struct__");
  Ref capsule(PyObject_GetAttr(object, name));
  if (!capsule) return false;
  const auto* const from = static_cast<const ArrayInterface*>(PyCapsule_GetPointer(capsule.get(), nullptr));
  if (from == nullptr) return false;
  if (from->two != 2) return invalid(argument, "an array interface of version 3", "another one");
  if (from->rank > kMaxRank || from->rank < 0) return refuse_rank(argument, from->rank);
  if ((from->flags & kNotSwapped) == 0) return invalid(argument, "the byte order of this machine", "the other one");
  to.place = {false, 0};
  to.data = static_cast<char*>(from->data);
  to.readonly = (from->flags & kWriteable) == 0;
  to.rank = from->rank;
  const int bytes = from->itemsize;
  to.type = from->kind == 'f'   ? bytes == 4   ? Type::f32
                                  : bytes == 2 ? Type::f16
                                  : bytes == 8 ? Type::f64
                                               : Type::other
            : from->kind == 'c' ? bytes == 8    ? Type::c64
                                  : bytes == 16 ? Type::c128
                                                : Type::other
            : from->kind == 'b' ? Type::boolean
            : from->kind == 'i' ? bytes == 8   ? Type::i64
                                  : bytes == 4 ? Type::i32
                                  : bytes == 2 ? Type::i16
                                  : bytes == 1 ? Type::i8
                                               : Type::other
            : from->kind == 'u' ? bytes == 8   ? Type::u64
                                  : bytes == 4 ? Type::u32
                                  : bytes == 2 ? Type::u16
                                  : bytes == 1 ? Type::u8
                                               : Type::other
                                : Type::other;
  if (to.type == Type::other && bytes <= 2) to.type = type_of_scalar(object);
  if (is_packed(to.type))
    return invalid(argument, "packed bytes of " + std::string(name_of(to.type)) + ", which pack_elements() makes",
                   "an array with a byte for each element");
  if (to.type == Type::other) return true;
  for (int i = 0; i < from->rank; ++i) {
    to.shape[i] = from->shape[i];
    to.stride[i] = from->strides[i] / bytes;
    if (from->strides[i] % bytes != 0 && from->shape[i] > 1)
      return invalid(argument, "strides of whole elements", std::to_string(from->strides[i]) + " bytes");
  }
  to.keep = std::move(capsule);
  return true;
}

void* current_stream_of_module(Framework framework, int index) {
  // The frameworks are in use already, because a tensor of theirs was given; nothing is imported here.
  PyObject* const modules = PyImport_GetModuleDict();
  if (framework == Framework::torch) {
    PyObject* const cuda = PyDict_GetItemString(modules, "torch.cuda");
    const Ref stream(cuda ? PyObject_CallMethod(cuda, "current_stream", "i", index) : nullptr);
    const Ref value(stream ? PyObject_GetAttrString(stream.get(), "cuda_stream") : nullptr);
    return value ? PyLong_AsVoidPtr(value.get()) : nullptr;
  }
  if (framework == Framework::cupy) {
    PyObject* const cuda = PyDict_GetItemString(modules, "cupy.cuda");
    const Ref stream(cuda ? PyObject_CallMethod(cuda, "get_current_stream", nullptr) : nullptr);
    const Ref value(stream ? PyObject_GetAttrString(stream.get(), "ptr") : nullptr);
    return value ? PyLong_AsVoidPtr(value.get()) : nullptr;
  }
  return nullptr;
}

/// Calls object.__dlpack__ with max_version and, for CUDA, the stream on which the data must be ready.
Ref dlpack_capsule(PyObject* object, Framework framework, Place place) {
  const Ref method(PyObject_GetAttrString(object, "__dlpack__"));
  const Ref none(PyTuple_New(0)), keywords(PyDict_New());
  if (!method || !none || !keywords) return Ref();
  if (place.cuda) {
    void* const stream = current_stream_of_module(framework, place.index);
    if (stream == nullptr && PyErr_Occurred()) return Ref();
    // DLPack spells the legacy default stream 1.
    const Ref value(PyLong_FromVoidPtr(stream != nullptr ? stream : reinterpret_cast<void*>(1)));
    if (!value || PyDict_SetItemString(keywords.get(), "stream", value.get()) != 0) return Ref();
  }
  const Ref version(Py_BuildValue("(ii)", 1, 3));
  if (!version || PyDict_SetItemString(keywords.get(), "max_version", version.get()) != 0) return Ref();
  Ref capsule(PyObject_Call(method.get(), none.get(), keywords.get()));
  if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {  // a producer from before DLPack 1.0
    PyErr_Clear();
    PyDict_DelItemString(keywords.get(), "max_version");
    capsule = Ref(PyObject_Call(method.get(), none.get(), keywords.get()));
  }
  return capsule;
}

bool from_dlpack_method(PyObject* object, const char* argument, Tensor& to) {
  const Ref device(PyObject_CallMethod(object, "__dlpack_device__", nullptr));
  int type = 0, index = 0;
  if (!device || !PyArg_ParseTuple(device.get(), "ii", &type, &index)) return false;
  Ref capsule = dlpack_capsule(object, to.framework, {type == kDLCUDA || type == kDLCUDAManaged, index});
  if (!capsule) return false;
  const DLTensor* from = nullptr;
  // The capsule is not renamed to "used": its own destructor releases the memory after the call.
  if (PyCapsule_IsValid(capsule.get(), "dltensor_versioned")) {
    const auto* const managed =
        static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule.get(), "dltensor_versioned"));
    if (managed->version.major != DLPACK_MAJOR_VERSION)
      return invalid(argument, "DLPack 1", "DLPack " + std::to_string(managed->version.major));
    from = &managed->dl_tensor;
    to.readonly = (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
    if ((managed->flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0) to.readonly = true;  // writes would be lost
  } else if (PyCapsule_IsValid(capsule.get(), "dltensor")) {
    from = &static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.get(), "dltensor"))->dl_tensor;
  } else {
    return invalid(argument, "a DLPack capsule", repr(capsule.get()));
  }
  if (to.framework == Framework::jax) to.readonly = true;  // JAX's arrays never change
  if (!from_dlpack(*from, argument, to)) return false;
  to.keep = std::move(capsule);
  return true;
}

bool read_integers(PyObject* owned, std::int64_t (&to)[kMaxRank], int& count) {
  const Ref list(owned);
  const Ref tuple(list ? PySequence_Tuple(list.get()) : nullptr);
  if (!tuple) return false;
  count = static_cast<int>(PyTuple_Size(tuple.get()));
  for (int i = 0; i < count && i < kMaxRank; ++i) to[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple.get(), i));
  return PyErr_Occurred() == nullptr;
}

/// torch before the exchange API: its __dlpack__ refuses FP8 and tensors that require gradients.
bool from_attributes(PyObject* object, const char* argument, Tensor& to) {
  const Ref pointer(PyObject_CallMethod(object, "data_ptr", nullptr));
  const Ref cuda(PyObject_GetAttrString(object, "is_cuda"));
  const Ref cpu(PyObject_GetAttrString(object, "is_cpu"));
  const Ref dtype(PyObject_GetAttrString(object, "dtype"));
  if (!pointer || !cuda || !cpu || !dtype) return false;
  const Ref name(PyObject_Str(dtype.get()));
  const char* const words = name ? PyUnicode_AsUTF8AndSize(name.get(), nullptr) : nullptr;
  if (words == nullptr) return false;
  const char* const dot = std::strrchr(words, '.');
  to.type = type_named(dot != nullptr ? dot + 1 : words);
  to.data = static_cast<char*>(PyLong_AsVoidPtr(pointer.get()));
  if (to.data == nullptr && PyErr_Occurred()) return false;
  int strides = 0;
  if (!read_integers(PyObject_GetAttrString(object, "shape"), to.shape, to.rank)) return false;
  if (!read_integers(PyObject_CallMethod(object, "stride", nullptr), to.stride, strides)) return false;
  if (to.rank > kMaxRank || strides != to.rank) return refuse_rank(argument, to.rank);
  if (PyObject_IsTrue(cuda.get()) == 1) {
    const Ref index(PyObject_CallMethod(object, "get_device", nullptr));
    to.place = {true, index ? static_cast<int>(PyLong_AsLong(index.get())) : 0};
    return PyErr_Occurred() == nullptr;
  }
  if (PyObject_IsTrue(cpu.get()) != 1)
    return invalid(argument, "a tensor on the CPU or on a CUDA device", "one on another device");
  to.place = {false, 0};
  return true;
}

/// Refuses strides that no kernel follows and sizes whose products would overflow. A tensor without elements gets
/// strides of 0, "packed", but for its last dimension, because frameworks disagree about the strides of nothing.
bool check_extents(const char* argument, Tensor& tensor) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 59;
  std::int64_t reach = 1;
  bool fits = true, empty = false;
  for (int i = 0; i < tensor.rank; ++i) {
    const std::int64_t extent = tensor.shape[i], stride = tensor.stride[i];
    if (extent < 0) return invalid(argument, "extents of at least 0", tensor.shape_words());
    empty = empty || extent == 0;
    if (extent <= 1) continue;
    if (stride < 0)
      return invalid(argument, "strides of at least 0",
                     "stride " + std::to_string(stride) + " of dimension " + std::to_string(i));
    fits = fits && extent <= kLargest && stride <= kLargest / extent && extent <= kLargest / reach;
    reach = fits ? reach * extent : 1;
  }
  if (!fits) return invalid(argument, "a tensor within 2^59 elements", tensor.shape_words());
  for (int i = 0; empty && i < tensor.rank; ++i) tensor.stride[i] = i == tensor.rank - 1 ? 1 : 0;
  return true;
}

}  // namespace

std::string name_of(Place place) { return place.cuda ? "cuda:" + std::to_string(place.index) : "the CPU"; }

std::string Tensor::shape_words() const { return "shape " + shape_text(shape, rank); }

bool read_tensor(PyObject* object, const char* argument, Tensor& tensor) {
  const Reader* const reader = reader_of(Py_TYPE(object));
  if (reader == nullptr)
    return invalid(argument, "a tensor (DLPack or NumPy)", "an object of type " + type_name(object));
  tensor.framework = reader->framework;
  tensor.readonly = false;
  bool good = false;
  switch (reader->source) {
    case Source::exchange: {
      DLTensor from{};
      good = reader->api->dltensor_from_py_object_no_sync(object, &from) == 0 && from_dlpack(from, argument, tensor);
      break;
    }
    case Source::array_struct: good = from_array_struct(object, argument, tensor); break;
    case Source::dlpack: good = from_dlpack_method(object, argument, tensor); break;
    case Source::attributes: good = from_attributes(object, argument, tensor); break;
  }
  if (!good) {
    // What the framework says about a tensor that it does not hand out goes on as it is.
    if (PyErr_Occurred() == nullptr) invalid(argument, "a tensor", "one that its framework does not hand out");
    return false;
  }
  if (tensor.framework == Framework::torch && (tensor.type == Type::f32 || tensor.type == Type::f16) &&
      may_be_negated(reinterpret_cast<std::uintptr_t>(tensor.data), bytes_of(tensor.type), tensor.rank, tensor.shape,
                     tensor.stride) &&
      is_negated(object))
    return invalid(argument, "values as they are in memory, which resolve_neg() makes",
                   "the imaginary part of a conjugate, whose negation is still to come");
  return check_extents(argument, tensor);
}

const DLPackExchangeAPI* exchange_of(PyTypeObject* type) {
  const Reader& reader = readers[(reinterpret_cast<std::uintptr_t>(type) >> 5) % kReaders];
  return reader.type == type ? reader.api : nullptr;
}

bool current_stream(PyObject* object, int index, void*& stream) {
  stream = nullptr;
  const Reader* const reader = reader_of(Py_TYPE(object));
  if (reader == nullptr) return true;
  if (reader->source == Source::exchange) return reader->api->current_work_stream(kDLCUDA, index, &stream) == 0;
  stream = current_stream_of_module(reader->framework, index);
  return stream != nullptr || PyErr_Occurred() == nullptr;
}

}  // namespace wwpy
