// SPDX-License-Identifier: Apache-2.0
// Exceptions that carry argument, expected and actual. Error is their base; each status of the library has its own
// class, which is also the built-in exception that a Python programmer expects.
#pragma once

#include <cstdint>
#include <string>

#include "python.hpp"

namespace wwpy {

/// The statuses of the C interface.
enum class ErrorKind {
  wrong_result = 1,
  invalid = 2,
  unsupported = 3,
  could_not_finish = 4,
  under_capture = 5,
  forked = 6,
  internal = 7,
};
inline constexpr int kErrorKinds = 7;

/// Adds the exception classes to `module`.
bool add_exceptions(PyObject* module);

/// Raises the exception of `kind` with "<kind>: argument <argument>: expected <expected>, got <actual>". Returns false.
bool raise(ErrorKind kind, const std::string& argument, const std::string& expected, const std::string& actual);
/// The same with a complete message, as the library words it.
bool raise_message(ErrorKind kind, const char* argument, const char* expected, const char* actual, const char* message);

inline bool invalid(const std::string& argument, const std::string& expected, const std::string& actual) {
  return raise(ErrorKind::invalid, argument, expected, actual);
}
inline bool unsupported(const std::string& argument, const std::string& expected, const std::string& actual) {
  return raise(ErrorKind::unsupported, argument, expected, actual);
}

/// Returns the name of `object`'s type, for messages.
std::string type_name(PyObject* object);
/// Returns repr(object), cut after 80 characters.
std::string repr(PyObject* object);
/// Returns the text of `object` in UTF-8, or null if it is none, or has surrogates or a null character, at which the
/// library would end it. Raises nothing.
const char* whole_text(PyObject* object);
/// Reads a flag: what Python calls true or false, but no text, because "off" would be true.
bool read_flag(const char* argument, PyObject* object, bool& value);
/// Returns "(2, 3)".
std::string shape_text(const std::int64_t* shape, int rank);

}  // namespace wwpy
