// SPDX-License-Identifier: Apache-2.0
// Entries that describe a product without tensors: can_implement, explain, configs, prepare, check, version. They
// return JSON texts, which warpwright._tools turns into objects.
#include <deque>
#include <memory>
#include <string>

#include "device.hpp"
#include "operations.hpp"
#include "plan.hpp"
#include "problems.hpp"

namespace wwpy {
namespace {

PyObject* text_of(ww_report report) {
  std::size_t length = 0;
  const char* const bytes = ww_report_text(report, &length);
  PyObject* const text =
      PyUnicode_DecodeUTF8(bytes != nullptr ? bytes : "", static_cast<Py_ssize_t>(length), "replace");
  ww_report_free(report);
  return text;
}

/// The counts of a check must have one entry for each group, or the library would read beyond them.
bool check_lengths(const Description& d, const CheckDescription& check) {
  const bool dense = d.operation == WW_GEMM;
  const std::int64_t groups = d.operation == WW_GROUPED_GEMM ? d.grouped.groups : d.k_grouped.groups;
  const std::int64_t rows = d.operation == WW_GROUPED_GEMM ? d.grouped.rows : d.k_grouped.k;
  const ww_encoding encoding = d.operation == WW_GROUPED_GEMM ? d.grouped.encoding : d.k_grouped.encoding;
  // `more` is a part of the count of its own, because groups are any 64-bit number here.
  const auto fits = [](const auto& list, std::int64_t want, int more, const char* name) {
    return list.empty() || static_cast<std::int64_t>(list.size()) - more == want ||
           invalid(name, std::to_string(want) + (more > 0 ? " + 1 integers" : " integers"),
                   std::to_string(list.size()));
  };
  if (dense) return true;
  return fits(check.counts, groups, 0, "counts") &&
         fits(check.sizes, encoding == WW_ROW_IDS ? rows : groups, encoding == WW_INDPTR, "sizes") &&
         fits(check.sizes2, groups, 0, "sizes2");
}

/// Chooses a config on `device` (null: on none), without a plan, and returns the report of it.
template <bool kExplain> ww_status report_choice(ww_device device, const Description& d, ww_report* report) {
  const WithoutGil others;
  if (d.operation == WW_GEMM)
    return (kExplain ? ww_gemm_explain : ww_gemm_configs)(device, &d.dense, &d.options, report);
  if (d.operation == WW_GROUPED_GEMM)
    return (kExplain ? ww_grouped_explain : ww_grouped_configs)(device, &d.grouped, &d.options, report);
  return (kExplain ? ww_k_grouped_explain : ww_k_grouped_configs)(device, &d.k_grouped, &d.options, report);
}

/// Opens the device that a caller gave, or none for None. False: an exception is set.
bool open_given(PyObject* device, Ref& opened, ww_device& handle) {
  follow_fork();
  if (device == Py_None) return true;
  opened = Ref(reinterpret_cast<PyObject*>(open_device(device)));
  if (opened) handle = reinterpret_cast<DeviceObject*>(opened.get())->handle;
  return static_cast<bool>(opened);
}

ww_status can_implement_anywhere(const Description& d) {
  if (d.operation == WW_GEMM) return ww_gemm_can_implement(&d.dense, &d.options);
  if (d.operation == WW_GROUPED_GEMM) return ww_grouped_can_implement(&d.grouped, &d.options);
  return ww_k_grouped_can_implement(&d.k_grouped, &d.options);
}

PyObject* can_implement(PyObject*, PyObject* args) {
  PyObject *operation = nullptr, *fields = nullptr, *options = nullptr, *device = nullptr;
  Description d;
  Ref opened;
  ww_device handle = nullptr;
  if (!PyArg_ParseTuple(args, "OOOO:can_implement", &operation, &fields, &options, &device) ||
      !d.read(operation, fields, options) || !open_given(device, opened, handle))
    return nullptr;
  // A device decides what its config text means, and refuses one of another architecture.
  ww_report report = nullptr;
  const ww_status status = opened ? report_choice<true>(handle, d, &report) : can_implement_anywhere(d);
  if (status == WW_OK) return ww_report_free(report), none();
  if (status == WW_INVALID || status == WW_UNSUPPORTED) return PyUnicode_FromString(ww_error_message());
  return succeeded(status), nullptr;
}

template <bool kExplain> PyObject* describe_choice(PyObject*, PyObject* args) {
  PyObject *operation = nullptr, *fields = nullptr, *options = nullptr, *device = nullptr;
  Description d;
  Ref opened;
  ww_device handle = nullptr;
  if (!PyArg_ParseTuple(args, "OOOO", &operation, &fields, &options, &device) || !d.read(operation, fields, options) ||
      !open_given(device, opened, handle))
    return nullptr;
  ww_report report = nullptr;
  const ww_status status = report_choice<kExplain>(handle, d, &report);
  return succeeded(status) ? text_of(report) : nullptr;
}

/// Calls a Python function from whichever thread made a kernel; the first exception is kept for the caller.
struct Progress {
  PyObject* function = nullptr;
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;

  template <class... Values> PyObject* call(const char* format, Values... values) {
    if (type != nullptr) return nullptr;
    PyObject* const result = PyObject_CallFunction(function, format, values...);
    if (result == nullptr) PyErr_Fetch(&type, &value, &trace);
    return result;
  }
  bool restore() {
    if (type == nullptr) return true;
    PyErr_Restore(type, value, trace);
    return false;
  }
};

void prepared(void* context, const ww_prepared* kernel) {
  const PyGILState_STATE state = PyGILState_Ensure();
  const Ref ignored(static_cast<Progress*>(context)->call("nnzdz", static_cast<Py_ssize_t>(kernel->done),
                                                          static_cast<Py_ssize_t>(kernel->of), kernel->config,
                                                          kernel->seconds, kernel->error));
  PyGILState_Release(state);
}

PyObject* prepare(PyObject*, PyObject* args) {
  PyObject *device = nullptr, *cases = nullptr, *progress = nullptr;
  ww_prepare_options options{};
  options.struct_size = sizeof options;
  if (!PyArg_ParseTuple(args, "OOiO:prepare", &device, &cases, &options.threads, &progress)) return nullptr;
  follow_fork();
  const Ref opened(reinterpret_cast<PyObject*>(open_device(device)));
  const Ref list(opened ? PySequence_List(cases) : nullptr);
  if (!list) return nullptr;
  std::vector<std::unique_ptr<Description>> descriptions;
  std::deque<std::string> kernels;
  std::vector<ww_prepare_case> made;
  for (Py_ssize_t i = 0; i < PyList_Size(list.get()); ++i) {
    PyObject* const item = PyList_GetItem(list.get(), i);
    if (PyUnicode_Check(item)) {
      Py_ssize_t length = 0;
      const char* const text = PyUnicode_AsUTF8AndSize(item, &length);
      if (text == nullptr) return nullptr;
      kernels.emplace_back(text, static_cast<std::size_t>(length));
      if (kernels.back().find('\0') != std::string::npos)
        return invalid("problems", "texts without null characters", "one with"), nullptr;
      ww_prepare_case one{};
      one.struct_size = sizeof one;
      one.kernel = kernels.back().c_str();
      made.push_back(one);
      continue;
    }
    PyObject *operation = nullptr, *fields = nullptr, *case_options = nullptr;
    descriptions.push_back(std::make_unique<Description>());
    Description& d = *descriptions.back();
    if (!PyArg_ParseTuple(item, "OOO", &operation, &fields, &case_options) || !d.read(operation, fields, case_options))
      return nullptr;
    ww_prepare_case one{};
    one.struct_size = sizeof one;
    if (d.operation == WW_GEMM) one.gemm = &d.dense;
    else if (d.operation == WW_GROUPED_GEMM) one.grouped = &d.grouped;
    else one.k_grouped = &d.k_grouped;
    one.options = &d.options;
    made.push_back(one);
  }
  Progress calls{progress};
  if (progress != Py_None) options.progress = prepared, options.context = &calls;
  ww_report report = nullptr;
  ww_status status = WW_OK;
  {
    const WithoutGil others;
    status =
        ww_prepare(reinterpret_cast<DeviceObject*>(opened.get())->handle, made.data(), made.size(), &options, &report);
  }
  if (!calls.restore()) return ww_report_free(report), nullptr;
  if (report == nullptr) return succeeded(status), nullptr;
  return text_of(report);  // kernels that failed have their errors in it
}

void checking(void* context, const char* phase, double fraction) {
  const PyGILState_STATE state = PyGILState_Ensure();
  auto* const calls = static_cast<Progress*>(context);
  if (calls->function != Py_None) const Ref ignored(calls->call("sd", phase, fraction));
  PyGILState_Release(state);
}

/// Ends a campaign after an exception of the progress function, or Ctrl-C.
std::int32_t stopping(void* context) {
  const PyGILState_STATE state = PyGILState_Ensure();
  auto* const calls = static_cast<Progress*>(context);
  if (calls->type == nullptr && PyErr_CheckSignals() != 0) PyErr_Fetch(&calls->type, &calls->value, &calls->trace);
  const bool stop = calls->type != nullptr;
  PyGILState_Release(state);
  return stop;
}

/// Runs `check(options, verdict, report)` without the interpreter's lock, and returns the report's text.
template <class Check> PyObject* run_check(ww_check_options& options, PyObject* progress, const Check& check) {
  Progress calls{progress};
  options.progress = checking, options.stop = stopping, options.context = &calls;
  ww_verdict verdict = 0;
  ww_report report = nullptr;
  ww_status status = WW_OK;
  {
    const WithoutGil others;
    status = check(&options, &verdict, &report);
  }
  if (!calls.restore()) return report != nullptr ? ww_report_free(report) : WW_OK, nullptr;
  return succeeded(status) ? text_of(report) : nullptr;
}

PyObject* check(PyObject*, PyObject* args) {
  PyObject *operation = nullptr, *fields = nullptr, *options = nullptr, *settings = nullptr, *groups = nullptr,
           *progress = nullptr;
  Description d;
  CheckDescription c;
  if (!PyArg_ParseTuple(args, "OOOOOO:check", &operation, &fields, &options, &settings, &groups, &progress) ||
      !d.read(operation, fields, options) || !c.read(settings, groups) || !check_lengths(d, c))
    return nullptr;
  return run_check(c.options, progress, [&](const auto* checks, ww_verdict* verdict, ww_report* report) {
    if (d.operation == WW_GEMM) return ww_gemm_check(&d.dense, &d.options, checks, verdict, report);
    if (d.operation == WW_GROUPED_GEMM)
      return ww_grouped_check(&d.grouped, &c.groups, &d.options, checks, verdict, report);
    return ww_k_grouped_check(&d.k_grouped, &c.groups, &d.options, checks, verdict, report);
  });
}

PyObject* check_kernel(PyObject*, PyObject* args) {
  PyObject *fields = nullptr, *settings = nullptr, *progress = nullptr;
  ww_kernel_source kernel{};
  CheckDescription c;
  const Ref no_groups(PyDict_New());
  if (!no_groups || !PyArg_ParseTuple(args, "OOO:check_kernel", &fields, &settings, &progress) ||
      !read_kernel(fields, kernel, c.kept) || !c.read(settings, no_groups.get()))
    return nullptr;
  return run_check(c.options, progress, [&](const auto* checks, ww_verdict* verdict, ww_report* report) {
    return ww_kernel_check(&kernel, checks, verdict, report);
  });
}

PyObject* source_hash(PyObject*, PyObject*) { return PyUnicode_FromString(ww_source_hash()); }
PyObject* plan_cache_size(PyObject*, PyObject*) { return PyLong_FromSize_t(cached_plans()); }
PyObject* clear_plan_cache(PyObject*, PyObject*) { return clear_plans(), none(); }

}  // namespace

bool add_tools(PyObject* module) {
  static PyMethodDef methods[] = {
      {"can_implement", can_implement, METH_VARARGS, "can_implement(operation, fields, options, device, /)\n--\n\n"},
      {"explain", describe_choice<true>, METH_VARARGS, "explain(operation, fields, options, device, /)\n--\n\n"},
      {"configs", describe_choice<false>, METH_VARARGS, "configs(operation, fields, options, device, /)\n--\n\n"},
      {"prepare", prepare, METH_VARARGS, "prepare(device, cases, threads, progress, /)\n--\n\n"},
      {"check", check, METH_VARARGS, "check(operation, fields, options, settings, groups, progress, /)\n--\n\n"},
      {"check_kernel", check_kernel, METH_VARARGS, "check_kernel(fields, settings, progress, /)\n--\n\n"},
      {"source_hash", source_hash, METH_NOARGS, "source_hash()\n--\n\nReturns a hash over the sources of all kernels."},
      {"plan_cache_size", plan_cache_size, METH_NOARGS,
       "plan_cache_size()\n--\n\nReturns the number of plans that the operations have cached."},
      {"clear_plan_cache", clear_plan_cache, METH_NOARGS,
       "clear_plan_cache()\n--\n\nFrees the plans that the operations have cached, and their workspaces."},
      {nullptr, nullptr, 0, nullptr}};
  return PyModule_AddFunctions(module, methods) == 0;
}

}  // namespace wwpy
