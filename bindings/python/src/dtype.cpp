// SPDX-License-Identifier: Apache-2.0
// Names of element types in this library, NumPy, ml_dtypes, torch and JAX.
#include "dtype.hpp"

#include <cstring>

#include "errors.hpp"

namespace wwpy {
namespace {

struct Named {
  const char* name;
  Type type;
};
constexpr Named kNames[] = {
    {"e4m3", Type::e4m3},
    {"float8_e4m3fn", Type::e4m3},
    {"bf16", Type::bf16},
    {"bfloat16", Type::bf16},
    {"f16", Type::f16},
    {"float16", Type::f16},
    {"half", Type::f16},
    {"f32", Type::f32},
    {"float32", Type::f32},
    {"float", Type::f32},
    {"e5m2", Type::e5m2},
    {"float8_e5m2", Type::e5m2},
    {"tf32", Type::tf32},
    {"e2m1", Type::e2m1},
    {"float4_e2m1fn_x2", Type::e2m1},
    {"float4_e2m1fn", Type::e2m1},
    {"e3m2", Type::e3m2},
    {"float6_e3m2fn", Type::e3m2},
    {"e2m3", Type::e2m3},
    {"float6_e2m3fn", Type::e2m3},
    {"e8m0", Type::e8m0},
    {"uint8", Type::u8},
    {"float8_e8m0fnu", Type::e8m0},
    {"int8", Type::i8},
    {"uint16", Type::u16},
    {"int16", Type::i16},
    {"int32", Type::i32},
    {"uint32", Type::u32},
    {"int64", Type::i64},
    {"uint64", Type::u64},
};

/// The answers of read_type() by object, because a caller passes the same few objects again and again. Objects are
/// kept alive, so that an address stays the key of one object.
struct Known {
  PyObject* object = nullptr;
  Type type = Type::other;
};
constexpr std::size_t kKnown = 64;
Known known[kKnown];

std::string name_in(PyObject* object) {
  Ref text = Ref::borrowed(object);
  if (!PyUnicode_Check(object)) {
    text = Ref(PyObject_GetAttrString(object, PyType_Check(object) ? "__name__" : "name"));
    if (!text || !PyUnicode_Check(text.get())) {
      PyErr_Clear();
      text = Ref(PyObject_Str(object));
    }
  }
  const char* const bytes = text ? whole_text(text.get()) : nullptr;
  if (bytes == nullptr) return PyErr_Clear(), "";
  const char* const dot = std::strrchr(bytes, '.');  // "torch.bfloat16"
  return dot != nullptr ? dot + 1 : bytes;
}

}  // namespace

const char* name_of(Type type) {
  static const char* const names[] = {"e4m3",    "bf16",      "f16",        "f32",    "e5m2",        "tf32",
                                      "e2m1",    "e3m2",      "e2m3",       "e8m0",   "uint8",       "int8",
                                      "uint16",  "int16",     "int32",      "uint32", "int64",       "uint64",
                                      "float64", "complex64", "complex128", "bool",   "another type"};
  return names[static_cast<int>(type)];
}

int bytes_of(Type type) {
  switch (type) {
    case Type::bf16:
    case Type::f16:
    case Type::u16:
    case Type::i16: return 2;
    case Type::f32:
    case Type::tf32:
    case Type::i32:
    case Type::u32: return 4;
    case Type::i64:
    case Type::u64:
    case Type::f64:
    case Type::c64: return 8;
    case Type::c128: return 16;
    default: return 1;
  }
}

Type type_named(const std::string& name) {
  for (const Named& known : kNames)
    if (name == known.name) return known.type;
  return Type::other;
}

bool read_type(PyObject* object, const char* argument, Type& type) {
  Known& slot = known[(reinterpret_cast<std::uintptr_t>(object) >> 4) % kKnown];
  if (slot.object == object) return type = slot.type, true;
  type = type_named(name_in(object));
  if (type == Type::other)
    return invalid(argument, "e4m3, e5m2, bf16, f16, f32, tf32, e2m1, e3m2, e2m3, e8m0 or a framework's name of one",
                   repr(object));
  Py_INCREF(object);
  Py_XDECREF(slot.object);
  slot = {object, type};
  return true;
}

}  // namespace wwpy
