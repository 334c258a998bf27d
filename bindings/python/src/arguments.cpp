// SPDX-License-Identifier: Apache-2.0
// Recognises keyword names, and remembers the tuples of names that call sites pass.
#include "arguments.hpp"

#include <cstring>
#include <string>

#include "errors.hpp"

namespace wwpy {
namespace {

constexpr const char* kNames[] = {
#define WWPY_ARGUMENT(name, entries) #name,
    WWPY_ARGUMENTS(WWPY_ARGUMENT)
#undef WWPY_ARGUMENT
};
constexpr const char* kEntries[] = {
#define WWPY_ARGUMENT(name, entries) entries,
    WWPY_ARGUMENTS(WWPY_ARGUMENT)
#undef WWPY_ARGUMENT
};
PyObject* interned[kArguments] = {};

constexpr const char* kFunctions[] = {"gemm",           "grouped_gemm",     "k_grouped_gemm", "run",
                                      "quantize_1x128", "quantize_128x128", "transpose_fp8",  "gemm_pointers",
                                      "gemm",           "grouped_gemm",     "k_grouped_gemm"};
constexpr char kLetters[] = {'g', 'r', 'k', 'p', 'q', 's', 't', 'a', 'g', 'r', 'k'};

/// The arguments of an entry that may be positional, of which the first `needed` have no default.
struct Positional {
  Argument argument[5];
  int count, needed;
};
constexpr Positional positional_of(Entry entry) {
  switch (entry) {
    case Entry::quantize_1x128: return {{Argument::x}, 1, 1};
    case Entry::quantize_128x128: return {{Argument::w}, 1, 1};
    case Entry::transpose: return {{Argument::w, Argument::scales}, 2, 1};
    case Entry::pointers: return {{Argument::a, Argument::b, Argument::out}, 3, 3};
    case Entry::torch_gemm: return {{Argument::a, Argument::b, Argument::scale_a, Argument::scale_b}, 4, 2};
    case Entry::torch_grouped:
    case Entry::torch_k_grouped:
      return {{Argument::a, Argument::b, Argument::offsets, Argument::scale_a, Argument::scale_b}, 5, 2};
    default: return {{Argument::a, Argument::b}, 2, 2};
  }
}

bool accepts(Entry entry, int argument) {
  return std::strchr(kEntries[argument], kLetters[static_cast<int>(entry)]) != nullptr;
}

/// The arguments that a tuple of names stands for. The tuple is kept, so that its address stays its own.
struct Site {
  PyObject* names = nullptr;
  Entry entry = Entry::gemm;
  std::uint8_t argument[kArguments] = {};
};
constexpr std::size_t kSites = 256;
Site sites[kSites];

int find(PyObject* name) {
  for (int i = 0; i < kArguments; ++i)
    if (interned[i] == name) return i;
  for (int i = 0; i < kArguments; ++i)
    if (PyUnicode_CompareWithASCIIString(name, kNames[i]) == 0) return i;
  return -1;
}

bool refuse_name(Entry entry, PyObject* name) {
  PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument %R", kFunctions[static_cast<int>(entry)],
               name);
  return false;
}

/// Null: a name that `entry` does not accept, with an exception if `refuse`.
const Site* site_of(Entry entry, PyObject* names, Py_ssize_t count, bool refuse = true) {
  const std::size_t place = ((reinterpret_cast<std::uintptr_t>(names) >> 4) ^ static_cast<std::size_t>(entry)) % kSites;
  Site& site = sites[place];
  if (site.names == names && site.entry == entry) return &site;
  Site made{names, entry, {}};
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const name = PyTuple_GetItem(names, i);
    const int argument = find(name);
    if (argument < 0 || !accepts(entry, argument) || i >= kArguments)
      return refuse && refuse_name(entry, name), nullptr;
    made.argument[i] = static_cast<std::uint8_t>(argument);
  }
  Py_INCREF(names);
  Py_XDECREF(site.names);
  site = made;
  return &site;
}

}  // namespace

const char* name_of(Argument argument) { return kNames[static_cast<int>(argument)]; }

bool intern_arguments() {
  for (int i = 0; i < kArguments; ++i)
    if ((interned[i] = PyUnicode_InternFromString(kNames[i])) == nullptr) return false;
  return true;
}

bool Arguments::read(Entry entry, PyObject* const* args, Py_ssize_t positional, PyObject* names) {
  const Positional first = positional_of(entry);
  if (positional > first.count) {
    PyErr_Format(PyExc_TypeError, "%s() takes at most %d positional arguments (%zd given)",
                 kFunctions[static_cast<int>(entry)], first.count, positional);
    return false;
  }
  for (Py_ssize_t i = 0; i < positional; ++i)
    if (args[i] != Py_None) set(first.argument[i], args[i]);
  if (names != nullptr) {
    const Py_ssize_t count = PyTuple_Size(names);
    const Site* const site = site_of(entry, names, count);
    if (site == nullptr) return false;
    for (Py_ssize_t i = 0; i < count; ++i) {
      const int argument = site->argument[i];
      bool again = false;
      for (Py_ssize_t j = 0; j < positional; ++j) again = again || static_cast<int>(first.argument[j]) == argument;
      if (again) {
        PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%s'", kFunctions[static_cast<int>(entry)],
                     kNames[argument]);
        return false;
      }
      if (args[positional + i] != Py_None) value_[argument] = args[positional + i];
    }
  }
  for (int i = 0; i < first.needed; ++i)
    if ((*this)[first.argument[i]] == nullptr) return invalid(name_of(first.argument[i]), "a tensor", "none");
  return true;
}

bool accepts_names(Entry entry, PyObject* names) {
  return names == nullptr || site_of(entry, names, PyTuple_Size(names), false) != nullptr;
}

Argument argument_at(Entry entry, PyObject* names, Py_ssize_t i, Py_ssize_t positional) {
  if (i < positional) return positional_of(entry).argument[i];
  const Site* const site = site_of(entry, names, PyTuple_Size(names));
  if (site == nullptr) return PyErr_Clear(), Argument::count;
  return static_cast<Argument>(site->argument[i - positional]);
}

bool Arguments::flag(Argument argument, bool& value) const {
  PyObject* const given = (*this)[argument];
  return given == nullptr || read_flag(name_of(argument), given, value);
}

bool Arguments::integer(Argument argument, std::int64_t low, std::int64_t high, std::int64_t& value) const {
  PyObject* const given = (*this)[argument];
  if (given == nullptr) return true;
  const Ref index(PyNumber_Index(given));
  const std::int64_t read = index ? PyLong_AsLongLong(index.get()) : -1;
  const bool failed = !index || (read == -1 && PyErr_Occurred() != nullptr);
  if (failed) PyErr_Clear();
  if (failed || read < low || read > high)
    return invalid(name_of(argument), "an integer from " + std::to_string(low) + " to " + std::to_string(high),
                   repr(given));
  value = read;
  return true;
}

}  // namespace wwpy
