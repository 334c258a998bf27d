// SPDX-License-Identifier: Apache-2.0
// Element types as the binding sees them: those that the library multiplies, and those that only hold bits or indices.
#pragma once

#include <cstdint>
#include <string>

#include "python.hpp"

namespace wwpy {

/// The elements of packed types (e2m1, e3m2, e2m3) follow one another in bytes, the first in the lowest bits.
enum class Type : std::uint8_t {
  e4m3,
  bf16,
  f16,
  f32,
  e5m2,
  tf32,
  e2m1,
  e3m2,
  e2m3,
  e8m0,
  u8,
  i8,
  u16,
  i16,
  i32,
  u32,
  i64,
  u64,
  f64,  // this one and those below only for messages, which name what they got
  c64,
  c128,
  boolean,
  other
};

const char* name_of(Type type);
/// Returns the bytes of an element; of packed types 1, the unit of their storage.
int bytes_of(Type type);
/// Returns whether the library multiplies or writes the type, and each element has bytes of its own.
inline bool is_element(Type type) { return type <= Type::tf32; }
/// Returns whether the library multiplies the type and packs its elements.
inline bool is_packed(Type type) { return type >= Type::e2m1 && type <= Type::e2m3; }
/// Returns the bits of an element of a packed type.
inline int bits_of_packed(Type type) { return type == Type::e2m1 ? 4 : 6; }

/// Reads a dtype that a caller named: a text ("e4m3", "float8_e4m3fn", "bf16", "bfloat16", ...), or an object of a
/// framework whose name is such a text (torch.bfloat16, numpy.dtype, ml_dtypes.float8_e4m3fn). False: an exception.
bool read_type(PyObject* object, const char* argument, Type& type);
/// Returns the type of this name, or Type::other.
Type type_named(const std::string& name);

}  // namespace wwpy
