// SPDX-License-Identifier: Apache-2.0
// Makes the exception classes and raises them.
#include "errors.hpp"

namespace wwpy {
namespace {

PyObject* classes[kErrorKinds + 1] = {};  // by ErrorKind; 0: the base

struct Class {
  const char* name;
  const char* document;
  PyObject* builtin;
};

PyObject* text(const char* value) {
  PyObject* made =
      PyUnicode_DecodeUTF8(value, static_cast<Py_ssize_t>(std::char_traits<char>::length(value)), "replace");
  return made;
}

}  // namespace

bool add_exceptions(PyObject* module) {
  const Ref attributes(Py_BuildValue("{s:s,s:s,s:s}", "argument", "", "expected", "", "actual", ""));
  if (!attributes) return false;
  classes[0] = PyErr_NewExceptionWithDoc("warpwright.Error",
                                         "The base of every error of this package.\n\n"
                                         "argument, expected and actual say what is wrong; they are empty where no\n"
                                         "single argument is at fault.",
                                         nullptr, attributes.get());
  if (classes[0] == nullptr) return false;
  const Class made[kErrorKinds] = {
      {"WrongResultError", "A verification found a wrong result.", PyExc_ArithmeticError},
      {"InvalidError", "The call contradicts itself or its data.", PyExc_ValueError},
      {"UnsupportedError", "The call is legal, but no kernel here solves it.", PyExc_NotImplementedError},
      {"CouldNotFinishError", "Memory, compiler, driver or the kernel itself failed.", PyExc_RuntimeError},
      {"CaptureError", "The stream captures a graph, and the call would have to compile or allocate.",
       PyExc_RuntimeError},
      {"ForkedError", "A device or plan belongs to the parent of this process.", PyExc_RuntimeError},
      {"InternalError", "A defect of the library.", PyExc_RuntimeError},
  };
  const auto add = [module](const char* name, PyObject* made_class) {
    Py_INCREF(made_class);
    if (PyModule_AddObject(module, name, made_class) == 0) return true;
    return Py_DECREF(made_class), false;
  };
  if (!add("Error", classes[0])) return false;
  for (int i = 0; i < kErrorKinds; ++i) {
    const Ref bases(PyTuple_Pack(2, classes[0], made[i].builtin));
    const std::string name = std::string("warpwright.") + made[i].name;
    if (!bases) return false;
    classes[i + 1] = PyErr_NewExceptionWithDoc(name.c_str(), made[i].document, bases.get(), nullptr);
    if (classes[i + 1] == nullptr || !add(made[i].name, classes[i + 1])) return false;
  }
  return true;
}

bool raise_message(ErrorKind kind, const char* argument, const char* expected, const char* actual,
                   const char* message) {
  PyObject* const type = classes[static_cast<int>(kind)];
  const Ref words(text(message));
  if (!words) return false;
  const Ref error(PyObject_CallFunctionObjArgs(type, words.get(), nullptr));
  if (!error) return false;
  const char* const names[] = {"argument", "expected", "actual"};
  const char* const values[] = {argument, expected, actual};
  for (int i = 0; i < 3; ++i) {
    const Ref value(text(values[i] != nullptr ? values[i] : ""));
    if (!value || PyObject_SetAttrString(error.get(), names[i], value.get()) != 0) return false;
  }
  PyErr_SetObject(type, error.get());
  return false;
}

bool raise(ErrorKind kind, const std::string& argument, const std::string& expected, const std::string& actual) {
  static const char* const words[] = {
      "", "wrong result", "invalid", "unsupported", "could not finish", "under capture", "forked", "internal"};
  std::string message = words[static_cast<int>(kind)];
  message += ": ";
  if (!argument.empty()) message += "argument " + argument + ": ";
  message += "expected " + expected + ", got " + actual;
  return raise_message(kind, argument.c_str(), expected.c_str(), actual.c_str(), message.c_str());
}

std::string type_name(PyObject* object) {
  const Ref name(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__name__"));
  const char* const bytes = name ? PyUnicode_AsUTF8AndSize(name.get(), nullptr) : nullptr;
  if (bytes == nullptr) return PyErr_Clear(), "an object";
  return bytes;
}

const char* whole_text(PyObject* object) {
  Py_ssize_t size = 0;
  const char* const bytes = PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, &size) : nullptr;
  if (bytes == nullptr) return PyErr_Clear(), nullptr;
  return std::char_traits<char>::length(bytes) == static_cast<std::size_t>(size) ? bytes : nullptr;
}

bool read_flag(const char* argument, PyObject* object, bool& value) {
  if (PyUnicode_Check(object) || PyBytes_Check(object)) return invalid(argument, "True or False", repr(object));
  const int truth = PyObject_IsTrue(object);
  value = truth == 1;
  return truth >= 0;
}

std::string repr(PyObject* object) {
  const Ref words(PyObject_Repr(object));
  const char* const bytes = words ? PyUnicode_AsUTF8AndSize(words.get(), nullptr) : nullptr;
  if (bytes == nullptr) return PyErr_Clear(), type_name(object);
  std::string value = bytes;
  if (value.size() > 80) {
    std::size_t end = 77;
    while (end > 0 && (static_cast<unsigned char>(value[end]) & 0xc0) == 0x80) --end;
    value = value.substr(0, end) + "...";
  }
  return value;
}

std::string shape_text(const std::int64_t* shape, int rank) {
  std::string words = "(";
  for (int i = 0; i < rank; ++i) words += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return words + (rank == 1 ? ",)" : ")");
}

}  // namespace wwpy
