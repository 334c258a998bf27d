// SPDX-License-Identifier: Apache-2.0
// Fields of the C structs by name, kind and place.
#include "problems.hpp"

#include <cstddef>
#include <cstring>

#include "errors.hpp"

namespace wwpy {
namespace {

/// The names of an enumeration, each at its number; null: no such number.
struct Names {
  const char* const* name;
  int count;
};
constexpr const char* kTypes[] = {nullptr, "e4m3", "e5m2", "bf16", "f16", "f32",
                                  "tf32",  "e2m1", "e3m2", "e2m3", "e8m0"};
constexpr const char* kScales[] = {"none", "tensor", "row-column", "block", "block-1d", "block-swapped", "mx", "nv"};
constexpr const char* kScaleTypes[] = {"f32", "e8m0", "e4m3"};
constexpr const char* kMajors[] = {"k", "mn"};
constexpr const char* kPackings[] = {"joint", "per-group"};
constexpr const char* kLayouts[] = {"row", "column"};
constexpr const char* kEncodings[] = {"offsets", "indptr", "starts-counts", "row-ids", "masked"};
constexpr const char* kPdl[] = {"auto", "off", "on"};
constexpr const char* kSchedules[] = {"", "fifo", "random", "pct", "adversarial"};
constexpr const char* kMath[] = {"exact", "fp32-chain", "off"};
template <std::size_t kCount> constexpr Names names(const char* const (&list)[kCount]) {
  return {list, static_cast<int>(kCount)};
}

enum class Kind { integer64, integer32, boolean, number, text, choice, batch };
struct Field {
  const char* name;
  Kind kind;
  std::size_t offset;
  Names names = {nullptr, 0};
};

#define FIELD(kind, name) \
  Field { #name, Kind::kind, offsetof(STRUCT, name) }
#define CHOICE(key, name, list) \
  Field { #key, Kind::choice, offsetof(STRUCT, name), names(list) }
#define STRUCT ww_gemm_problem
constexpr Field kDense[] = {FIELD(integer64, m),
                            FIELD(integer64, n),
                            FIELD(integer64, k),
                            CHOICE(a, a_type, kTypes),
                            CHOICE(b, b_type, kTypes),
                            CHOICE(d, d_type, kTypes),
                            CHOICE(scale, scale, kScales),
                            CHOICE(scale_type, scale_type, kScaleTypes),
                            CHOICE(a_major, a_major, kMajors),
                            CHOICE(b_major, b_major, kMajors),
                            CHOICE(d_layout, d_layout, kLayouts),
                            CHOICE(c_layout, c_layout, kLayouts),
                            FIELD(integer64, lda),
                            FIELD(integer64, ldb),
                            FIELD(integer64, ldd),
                            FIELD(integer64, scale_a_row),
                            FIELD(integer64, scale_a_k),
                            FIELD(integer64, scale_b_n),
                            FIELD(integer64, scale_b_k),
                            FIELD(batch, batch),
                            FIELD(integer64, batch_a),
                            FIELD(integer64, batch_b),
                            FIELD(integer64, batch_d),
                            FIELD(integer64, batch_scale_a),
                            FIELD(integer64, batch_scale_b),
                            FIELD(integer64, pointer_array),
                            FIELD(text, epilogue)};
#undef STRUCT
#define STRUCT ww_grouped_problem
constexpr Field kGrouped[] = {FIELD(integer64, groups),
                              FIELD(integer64, rows),
                              FIELD(integer64, n),
                              FIELD(integer64, k),
                              CHOICE(a, a_type, kTypes),
                              CHOICE(b, b_type, kTypes),
                              CHOICE(d, d_type, kTypes),
                              CHOICE(scale, scale, kScales),
                              CHOICE(scale_type, scale_type, kScaleTypes),
                              CHOICE(encoding, encoding, kEncodings),
                              CHOICE(b_major, b_major, kMajors),
                              FIELD(boolean, zero_outside),
                              FIELD(integer64, alignment),
                              FIELD(integer64, lda),
                              FIELD(integer64, ldb),
                              FIELD(integer64, ldd),
                              FIELD(integer64, stride_b_group),
                              FIELD(integer64, scale_a_row),
                              FIELD(integer64, scale_a_k),
                              FIELD(integer64, scale_a_group),
                              FIELD(integer64, scale_b_n),
                              FIELD(integer64, scale_b_k),
                              FIELD(integer64, scale_b_group),
                              FIELD(text, epilogue),
                              FIELD(text, expected_sizes)};
#undef STRUCT
#define STRUCT ww_k_grouped_problem
constexpr Field kKGrouped[] = {FIELD(integer64, groups),
                               FIELD(integer64, m),
                               FIELD(integer64, n),
                               FIELD(integer64, k),
                               CHOICE(a, a_type, kTypes),
                               CHOICE(b, b_type, kTypes),
                               CHOICE(d, d_type, kTypes),
                               CHOICE(scale, scale, kScales),
                               CHOICE(scale_type, scale_type, kScaleTypes),
                               CHOICE(encoding, encoding, kEncodings),
                               CHOICE(a_major, a_major, kMajors),
                               CHOICE(b_major, b_major, kMajors),
                               CHOICE(packing, packing, kPackings),
                               FIELD(boolean, accumulate),
                               FIELD(integer64, alignment),
                               FIELD(integer64, lda),
                               FIELD(integer64, ldb),
                               FIELD(integer64, ldd),
                               FIELD(integer64, stride_d_group),
                               FIELD(integer64, scale_a_row),
                               FIELD(integer64, scale_a_k),
                               FIELD(integer64, scale_a_group),
                               FIELD(integer64, scale_b_n),
                               FIELD(integer64, scale_b_k),
                               FIELD(integer64, scale_b_group)};
#undef STRUCT
#define STRUCT ww_options
constexpr Field kOptions[] = {FIELD(text, config), FIELD(integer64, workspace_limit), FIELD(integer32, sms),
                              CHOICE(pdl, pdl, kPdl), FIELD(boolean, batch_invariant)};
#undef STRUCT
#define STRUCT ww_check_options
constexpr Field kCheck[] = {FIELD(integer64, schedules), FIELD(integer64, seed),
                            FIELD(number, seconds),      CHOICE(only, only, kSchedules),
                            CHOICE(math, math, kMath),   FIELD(integer32, processes),
                            FIELD(integer32, pct_depth), FIELD(boolean, no_shrink),
                            FIELD(boolean, traffic),     FIELD(text, cache_dir),
                            FIELD(text, worker),         FIELD(text, relaxed),
                            FIELD(text, strict),         FIELD(integer32, launches),
                            FIELD(boolean, verify)};
#undef STRUCT
#define STRUCT ww_check_groups
constexpr Field kGroups[] = {FIELD(integer64, gap)};
#undef STRUCT
#define STRUCT ww_kernel_source
constexpr Field kKernel[] = {FIELD(text, source), FIELD(text, text), FIELD(text, entry), FIELD(text, launch),
                             FIELD(integer32, sms)};
#undef STRUCT
#undef FIELD
#undef CHOICE

/// Writes the fields of a dictionary into a struct.
class Writer {
 public:
  Writer(void* to, std::vector<Ref>& kept) : to_(static_cast<char*>(to)), kept_(kept) {}

  template <std::size_t kCount> bool run(PyObject* fields, const Field (&table)[kCount]) {
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t position = 0;
    if (!PyDict_Check(fields)) return PyErr_SetString(PyExc_TypeError, "expected a dictionary of fields"), false;
    while (PyDict_Next(fields, &position, &key, &value)) {
      const Field* field = nullptr;
      for (const Field& candidate : table)
        if (PyUnicode_Check(key) && PyUnicode_CompareWithASCIIString(key, candidate.name) == 0) field = &candidate;
      if (field == nullptr) return PyErr_Format(PyExc_TypeError, "unexpected field %R", key), false;
      if (value != Py_None && !write(*field, value)) return false;
    }
    return true;
  }

 private:
  template <class T> void put(const Field& field, T value) { std::memcpy(to_ + field.offset, &value, sizeof value); }

  bool write(const Field& field, PyObject* value) {
    switch (field.kind) {
      case Kind::boolean: {
        bool truth = false;
        return read_flag(field.name, value, truth) && (put<std::int32_t>(field, truth), true);
      }
      case Kind::number: {
        const double number = PyFloat_AsDouble(value);
        if (number == -1 && PyErr_Occurred() != nullptr)
          return PyErr_Clear(), invalid(field.name, "a number", repr(value));
        return put(field, number), true;
      }
      case Kind::text: return text(field, value);
      case Kind::choice: return choice(field, value);
      default: return integer(field, value);
    }
  }

  bool integer(const Field& field, PyObject* value) {
    const Ref index(PyNumber_Index(value));
    const long long number = index ? PyLong_AsLongLong(index.get()) : -1;
    const bool narrow = field.kind == Kind::integer32;
    if (PyErr_Occurred() != nullptr || (narrow && (number > 0x7fffffff || number < -0x7fffffff)))
      return PyErr_Clear(),
             invalid(field.name, narrow ? "an integer of 32 bits" : "an integer of 64 bits", repr(value));
    if (narrow) put<std::int32_t>(field, static_cast<std::int32_t>(number));
    else put<std::int64_t>(field, number);
    if (field.kind == Kind::batch) reinterpret_cast<ww_gemm_problem*>(to_)->batched = 1;
    return true;
  }

  bool text(const Field& field, PyObject* value) {
    const char* const bytes = whole_text(value);
    if (bytes == nullptr) return invalid(field.name, "a text without null characters or surrogates", repr(value));
    put(field, bytes);
    kept_.push_back(Ref::borrowed(value));
    return true;
  }

  bool choice(const Field& field, PyObject* value) {
    std::string all;
    for (int i = 0; i < field.names.count; ++i) {
      const char* const name = field.names.name[i];
      if (name == nullptr) continue;
      if (PyUnicode_Check(value) && PyUnicode_CompareWithASCIIString(value, name) == 0)
        return put<std::int32_t>(field, i), true;
      if (name[0] != '\0') all += (all.empty() ? "" : ", ") + std::string(name);
    }
    return invalid(field.name, all, repr(value));
  }

  char* to_;
  std::vector<Ref>& kept_;
};

template <class T> bool read_list(PyObject* fields, const char* name, std::vector<T>& to) {
  PyObject* const given = PyDict_GetItemString(fields, name);  // borrowed
  if (given == nullptr) return true;
  if (given == Py_None) return PyDict_DelItemString(fields, name) == 0;
  const Ref list(PySequence_List(given));
  if (!list) return PyErr_Clear(), invalid(name, "integers", repr(given));
  for (Py_ssize_t i = 0; i < PyList_Size(list.get()); ++i) {
    const Ref index(PyNumber_Index(PyList_GetItem(list.get(), i)));
    const long long number = index ? PyLong_AsLongLong(index.get()) : -1;
    if (PyErr_Occurred() != nullptr || static_cast<long long>(static_cast<T>(number)) != number)
      return PyErr_Clear(), invalid(name, "integers", repr(given));
    to.push_back(static_cast<T>(number));
  }
  return PyDict_DelItemString(fields, name) == 0;
}

}  // namespace

bool Description::read(PyObject* operation_name, PyObject* fields, PyObject* option_fields) {
  const auto is = [&](const char* name) {
    return PyUnicode_Check(operation_name) && PyUnicode_CompareWithASCIIString(operation_name, name) == 0;
  };
  options.struct_size = sizeof options;
  if (!Writer(&options, kept).run(option_fields, kOptions)) return false;
  if (is("gemm")) {
    operation = WW_GEMM, dense.struct_size = sizeof dense;
    return Writer(&dense, kept).run(fields, kDense);
  }
  if (is("grouped_gemm")) {
    operation = WW_GROUPED_GEMM, grouped.struct_size = sizeof grouped;
    return Writer(&grouped, kept).run(fields, kGrouped);
  }
  if (is("k_grouped_gemm")) {
    operation = WW_K_GROUPED_GEMM, k_grouped.struct_size = sizeof k_grouped;
    return Writer(&k_grouped, kept).run(fields, kKGrouped);
  }
  return invalid("operation", "gemm, grouped_gemm or k_grouped_gemm", repr(operation_name));
}

bool CheckDescription::read(PyObject* fields, PyObject* group_fields) {
  options.struct_size = sizeof options;
  groups.struct_size = sizeof groups;
  const Ref rest(PyDict_Copy(group_fields));
  if (!rest || !Writer(&options, kept).run(fields, kCheck) || !read_list(rest.get(), "counts", counts) ||
      !read_list(rest.get(), "sizes", sizes) || !read_list(rest.get(), "sizes2", sizes2) ||
      !Writer(&groups, kept).run(rest.get(), kGroups))
    return false;
  if (!counts.empty()) groups.counts = counts.data();
  if (!sizes.empty()) groups.sizes = sizes.data();
  if (!sizes2.empty()) groups.sizes2 = sizes2.data();
  return true;
}

bool read_kernel(PyObject* fields, ww_kernel_source& kernel, std::vector<Ref>& kept) {
  kernel.struct_size = sizeof kernel;
  return Writer(&kernel, kept).run(fields, kKernel);
}

}  // namespace wwpy
