// SPDX-License-Identifier: Apache-2.0
// Handlers of XLA's foreign function interface (FFI) for jax.py: XLA calls them with device buffers and its stream, so
// that a product runs inside jit without returning to Python. Nothing of jaxlib is linked; the interface is the C
// header under third_party/xla. The emulated device serves the platform "cpu".
//
// Kernels are compiled in the stage INITIALIZE, before any execution or capture of a command buffer.
#include "jax.hpp"

#include <cstring>
#include <map>
#include <mutex>
#include <string_view>

#include "device.hpp"
#include "jax_call.hpp"
#include "library.hpp"
#include "xla/ffi/api/c_api.h"

namespace wwpy {
namespace {

constexpr int kHopper = -1, kBlackwell = -2;  // ordinals of the emulated devices

/// The ordinal of the emulated device that has a call's product.
int emulated_ordinal(const JaxCall& call) { return needs_blackwell(call) ? kBlackwell : kHopper; }

/// The device of a call: cuda:ordinal, or an emulated one. Opened once in a process, and once more after a fork. XLA
/// calls without the interpreter's lock, so that these are not the Device objects of Python.
ww_status open_device(int ordinal, ww_device* device) {
  static std::mutex mutex;
  static std::map<std::pair<int, int>, ww_device> opened;  // by generation of forks and ordinal
  const std::lock_guard<std::mutex> lock(mutex);
  const auto key = std::make_pair(fork_generation(), ordinal);
  if (const auto found = opened.find(key); found != opened.end()) return *device = found->second, WW_OK;
  const std::string name = ordinal == kHopper      ? "emu:sm90"
                           : ordinal == kBlackwell ? "emu:sm100"
                                                   : "cuda:" + std::to_string(ordinal);
  const ww_status status = ww_device_open(name.c_str(), nullptr, device);
  if (status == WW_OK) opened.emplace(key, *device);
  return status;
}

ww_dtype type_of(XLA_FFI_DataType type) {
  switch (type) {
    case XLA_FFI_DataType_F8E4M3FN: return WW_E4M3;
    case XLA_FFI_DataType_F8E5M2: return WW_E5M2;
    case XLA_FFI_DataType_BF16: return WW_BF16;
    case XLA_FFI_DataType_F16: return WW_F16;
    case XLA_FFI_DataType_F32: return WW_F32;
    default: return 0;
  }
}

XLA_FFI_Error* error(const XLA_FFI_CallFrame* frame, XLA_FFI_Error_Code code, const char* message) {
  XLA_FFI_Error_Create_Args args = {};
  args.struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE;
  args.message = message;
  args.errc = code;
  return frame->api->XLA_FFI_Error_Create(&args);
}

XLA_FFI_Error* library_error(const XLA_FFI_CallFrame* frame, ww_status status) {
  XLA_FFI_Error_Code code = XLA_FFI_Error_Code_INTERNAL;
  switch (status) {
    case WW_INVALID: code = XLA_FFI_Error_Code_INVALID_ARGUMENT; break;
    case WW_UNSUPPORTED: code = XLA_FFI_Error_Code_UNIMPLEMENTED; break;
    case WW_UNDER_CAPTURE:
    case WW_FORKED: code = XLA_FFI_Error_Code_FAILED_PRECONDITION; break;
    default: break;
  }
  return error(frame, code, ww_error_message());
}

/// A scalar counts as an array of one element.
void set_rank(JaxBuffer& buffer, std::int64_t rank) {
  if (rank == 0) buffer.extent[0] = 1;
  buffer.rank = rank == 0 ? 1 : static_cast<int>(rank);
}

bool read_buffer(const void* of_xla, JaxBuffer& buffer) {
  const auto& from = *static_cast<const XLA_FFI_Buffer*>(of_xla);
  if (from.rank < 0 || from.rank > 4) return false;
  buffer.data = from.data;
  buffer.type = type_of(from.dtype);
  for (std::int64_t i = 0; i < from.rank; ++i) buffer.extent[i] = from.dims[i];
  set_rank(buffer, from.rank);
  return true;
}

const void* attribute(const XLA_FFI_Attrs& attrs, const char* name, XLA_FFI_AttrType type) {
  for (std::int64_t i = 0; i < attrs.size; ++i) {
    if (std::string_view(attrs.names[i]->ptr, attrs.names[i]->len) == name)
      return attrs.types[i] == type ? attrs.attrs[i] : nullptr;
  }
  return nullptr;
}

template <class T>
bool read_array(const XLA_FFI_Attrs& attrs, const char* name, XLA_FFI_DataType type, T* values, std::size_t most,
                std::size_t* count) {
  const auto* array = static_cast<const XLA_FFI_Array*>(attribute(attrs, name, XLA_FFI_AttrType_ARRAY));
  if (array == nullptr || array->dtype != type || array->size > most) return false;
  std::memcpy(values, array->data, array->size * sizeof(T));
  *count = array->size;
  return true;
}

bool read_text(const XLA_FFI_Attrs& attrs, const char* name, std::string& text) {
  const auto* span = static_cast<const XLA_FFI_ByteSpan*>(attribute(attrs, name, XLA_FFI_AttrType_STRING));
  if (span == nullptr) return false;
  text.assign(span->ptr, span->len);
  return true;
}

/// Reads a call frame. False: it is not one that jax.py makes.
bool read_frame(const XLA_FFI_CallFrame& frame, JaxCall& call) {
  std::int64_t roles[kJaxRoles];
  std::size_t count = 0, role_count = 0;
  if (!read_array(frame.attrs, "roles", XLA_FFI_DataType_S64, roles, kJaxRoles, &role_count) ||
      static_cast<std::int64_t>(role_count) != frame.args.size || frame.rets.size < 1)
    return false;
  for (std::size_t i = 0; i < role_count; ++i) {
    if (roles[i] < 0 || roles[i] >= kJaxRoles || !read_buffer(frame.args.args[i], call.buffer[roles[i]])) return false;
  }
  // A workspace is an argument full of zeros that XLA lets the second result overwrite.
  if (!read_buffer(frame.rets.rets[0], call.buffer[static_cast<int>(JaxRole::d)])) return false;
  if (frame.rets.size > 1 && !read_buffer(frame.rets.rets[1], call.buffer[static_cast<int>(JaxRole::workspace)]))
    return false;
  return read_array(frame.attrs, "numbers", XLA_FFI_DataType_S64, call.number, kJaxNumbers, &count) &&
         count == kJaxNumbers &&
         read_array(frame.attrs, "scalars", XLA_FFI_DataType_F32, call.scalar, WW_EPILOGUE_SLOTS, &count) &&
         read_text(frame.attrs, "epilogue", call.epilogue) && read_text(frame.attrs, "config", call.config) &&
         read_text(frame.attrs, "expected_sizes", call.expected_sizes);
}

XLA_FFI_Error* fill_metadata(XLA_FFI_CallFrame* frame, bool* asked) {
  for (XLA_FFI_Extension_Base* e = frame->extension_start; e != nullptr; e = e->next) {
    if (e->type != XLA_FFI_Extension_Metadata) continue;
    XLA_FFI_Metadata* metadata = reinterpret_cast<XLA_FFI_Metadata_Extension*>(e)->metadata;
    metadata->api_version.major_version = XLA_FFI_API_MAJOR;
    metadata->api_version.minor_version = XLA_FFI_API_MINOR;
    metadata->traits = XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE;
    *asked = true;
  }
  return nullptr;
}

/// Finds or makes the plan of a request, for a run on `stream`.
ww_status find_plan(ww_device device, const JaxCall& call, const JaxRequest& request, void* stream, ww_plan* plan) {
  return call[JaxNumber::operation] == WW_GEMM
             ? ww_gemm_cached(device, &request.gemm, &request.options, stream, plan)
             : ww_grouped_cached(device, &request.grouped, &request.options, stream, plan);
}

ww_status run(ww_plan plan, const JaxCall& call, const JaxRequest& request, void* stream) {
  return call[JaxNumber::operation] == WW_GEMM ? ww_gemm_run(plan, &request.gemm_operands, stream)
                                               : ww_grouped_run(plan, &request.grouped_operands, stream);
}

/// Finds the stream and the device of a call on the platform CUDA.
XLA_FFI_Error* find_gpu(const XLA_FFI_CallFrame* frame, void** stream, ww_device* device) {
  XLA_FFI_Stream_Get_Args on = {};
  on.struct_size = XLA_FFI_Stream_Get_Args_STRUCT_SIZE;
  on.ctx = frame->ctx;
  if (XLA_FFI_Error* failed = frame->api->XLA_FFI_Stream_Get(&on)) return failed;
  XLA_FFI_DeviceOrdinal_Get_Args where = {};
  where.struct_size = XLA_FFI_DeviceOrdinal_Get_Args_STRUCT_SIZE;
  where.ctx = frame->ctx;
  if (XLA_FFI_Error* failed = frame->api->XLA_FFI_DeviceOrdinal_Get(&where)) return failed;
  *stream = on.stream;
  const ww_status status = open_device(where.device_ordinal, device);
  return status == WW_OK ? nullptr : library_error(frame, status);
}

XLA_FFI_Error* handle(XLA_FFI_CallFrame* frame, bool gpu) {
  bool asked = false;
  if (XLA_FFI_Error* failed = fill_metadata(frame, &asked); failed != nullptr || asked) return failed;
  const bool initialize = frame->stage == XLA_FFI_ExecutionStage_INITIALIZE;
  if (!initialize && frame->stage != XLA_FFI_ExecutionStage_EXECUTE) return nullptr;

  JaxCall call;
  JaxRequest request;
  if (!read_frame(*frame, call))
    return error(frame, XLA_FFI_Error_Code_INTERNAL, "warpwright: the call was not made by warpwright.jax");
  if (const std::string wrong = describe(call, request); !wrong.empty())
    return error(frame, XLA_FFI_Error_Code_INVALID_ARGUMENT, wrong.c_str());

  void* stream = nullptr;
  ww_device device = nullptr;
  if (gpu) {
    if (XLA_FFI_Error* failed = find_gpu(frame, &stream, &device)) return failed;
  } else if (const ww_status status = open_device(emulated_ordinal(call), &device); status != WW_OK) {
    return library_error(frame, status);
  }
  ww_plan plan = nullptr;
  ww_status status = find_plan(device, call, request, stream, &plan);
  if (status == WW_OK && !initialize) status = run(plan, call, request, stream);
  return status == WW_OK ? nullptr : library_error(frame, status);
}

XLA_FFI_Error* on_cpu(XLA_FFI_CallFrame* frame) { return handle(frame, false); }
XLA_FFI_Error* on_gpu(XLA_FFI_CallFrame* frame) { return handle(frame, true); }

/// Reads one (element type, extents) of Python.
bool read_spec(PyObject* spec, JaxBuffer& buffer) {
  int type = 0;
  PyObject* extents = nullptr;
  if (!PyArg_ParseTuple(spec, "iO!", &type, &PyTuple_Type, &extents)) return false;
  buffer.type = type;
  const Py_ssize_t rank = PyTuple_Size(extents);
  if (rank > 4) return invalid("shape", "at most 4 dimensions", std::to_string(rank));
  for (Py_ssize_t i = 0; i < rank; ++i) {
    buffer.extent[i] = PyLong_AsLongLong(PyTuple_GetItem(extents, i));
    if (buffer.extent[i] == -1 && PyErr_Occurred() != nullptr) return false;
  }
  set_rank(buffer, rank);
  return true;
}

bool read_call(PyObject* roles, PyObject* specs, PyObject* numbers, JaxCall& call) {
  for (Py_ssize_t i = 0; i < PyTuple_Size(roles); ++i) {
    const long role = PyLong_AsLong(PyTuple_GetItem(roles, i));
    if (role < 0 || role >= kJaxRoles || i >= PyTuple_Size(specs))
      return invalid("roles", "roles of operands", "others");
    if (!read_spec(PyTuple_GetItem(specs, i), call.buffer[role])) return false;
  }
  if (PyTuple_Size(numbers) != kJaxNumbers) return invalid("numbers", std::to_string(kJaxNumbers), "another count");
  for (int i = 0; i < kJaxNumbers; ++i) {
    call.number[i] = PyLong_AsLongLong(PyTuple_GetItem(numbers, i));
    if (call.number[i] == -1 && PyErr_Occurred() != nullptr) return false;
  }
  return true;
}

PyObject* handler(PyObject*, PyObject* platform) {
  const Ref ascii(PyUnicode_AsASCIIString(platform));
  if (!ascii) return nullptr;
  const bool gpu = std::strcmp(PyBytes_AsString(ascii.get()), "CUDA") == 0;
  return PyCapsule_New(reinterpret_cast<void*>(gpu ? on_gpu : on_cpu), "xla._CUSTOM_CALL_TARGET", nullptr);
}

PyObject* workspace_bytes(PyObject*, PyObject* args) {
  int ordinal = 0;
  PyObject *roles = nullptr, *specs = nullptr, *numbers = nullptr;
  const char *epilogue = nullptr, *config = nullptr, *expected_sizes = nullptr;
  if (!PyArg_ParseTuple(args, "iO!O!O!sss", &ordinal, &PyTuple_Type, &roles, &PyTuple_Type, &specs, &PyTuple_Type,
                        &numbers, &epilogue, &config, &expected_sizes))
    return nullptr;
  JaxCall call;
  if (!read_call(roles, specs, numbers, call)) return nullptr;
  call.epilogue = epilogue;
  call.config = config;
  call.expected_sizes = expected_sizes;
  JaxRequest request;
  if (const std::string wrong = describe(call, request); !wrong.empty()) {
    invalid("operands", "buffers that describe a product", wrong);
    return nullptr;
  }
  ww_status status = WW_OK;
  std::size_t bytes = 0;
  {
    const WithoutGil others;
    ww_device device = nullptr;
    ww_plan plan = nullptr;
    status = open_device(ordinal < 0 ? emulated_ordinal(call) : ordinal, &device);
    if (status == WW_OK) status = find_plan(device, call, request, nullptr, &plan);
    if (status == WW_OK) status = ww_plan_workspace_bytes(plan, &bytes);
  }
  return succeeded(status) ? PyLong_FromSize_t(bytes) : nullptr;
}

PyObject* counters(PyObject*, PyObject* ordinal) {
  const long number = PyLong_AsLong(ordinal);
  if (number == -1 && PyErr_Occurred() != nullptr) return nullptr;
  if (number < kBlackwell) return invalid("ordinal", "-2 or more", std::to_string(number)), nullptr;
  ww_device device = nullptr;
  return succeeded(open_device(static_cast<int>(number), &device)) ? counters_of(device) : nullptr;
}

}  // namespace

bool add_jax(PyObject* module) {
  static PyMethodDef methods[] = {
      {"jax_handler", handler, METH_O, "The FFI handler of a platform; see jax.py."},
      {"jax_workspace_bytes", workspace_bytes, METH_VARARGS, "The workspace of a call that is traced; see jax.py."},
      {"jax_counters", counters, METH_O, "What the device of an ordinal has done for JAX; see jax.py."},
      {nullptr, nullptr, 0, nullptr}};
  return PyModule_AddFunctions(module, methods) == 0;
}

}  // namespace wwpy
