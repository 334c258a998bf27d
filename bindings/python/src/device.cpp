// SPDX-License-Identifier: Apache-2.0
// The Device type.
#include "device.hpp"

#include <cstring>
#include <iterator>
#include <string_view>
#include <vector>

namespace wwpy {
namespace {

PyTypeObject* device_type = nullptr;
std::vector<DeviceObject*> defaults;  // [0] emu:sm90, [1] emu:sm100, [2 + N] cuda:N
constexpr const char* kEmulated[] = {"emu:sm90", "emu:sm100"};

DeviceObject* wrap(PyTypeObject* type, const char* name, const ww_device_options* options) {
  ww_device handle = nullptr;
  ww_status status = WW_OK;
  {
    const WithoutGil others;  // the first CUDA device of a process starts the driver
    status = ww_device_open(name, options, &handle);
  }
  // Options of emulated devices have a prefix in C, which the arguments here lack.
  constexpr std::string_view kPrefix = "emu_";
  const std::string argument = status == WW_OK ? "" : ww_error_argument();
  if (argument.starts_with(kPrefix)) {
    const auto kind = static_cast<ErrorKind>(status);
    return raise(kind, argument.substr(kPrefix.size()), ww_error_expected(), ww_error_actual()), nullptr;
  }
  if (!succeeded(status)) return nullptr;
  ww_device_info info{};
  info.struct_size = sizeof info;
  if (!succeeded(ww_device_get_info(handle, &info))) return ww_device_close(handle), nullptr;
  auto* const allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  auto* const device = reinterpret_cast<DeviceObject*>(allocate(type, 0));
  if (device == nullptr) return ww_device_close(handle), nullptr;
  device->handle = handle;
  device->emulated = info.emulated != 0;
  device->place = {!device->emulated, 0};
  if (const char* const colon = std::strchr(info.name, ':'); colon != nullptr && !device->emulated)
    device->place.index = std::atoi(colon + 1);
  device->generation = fork_generation();
  return device;
}

constexpr const char* kSchedules[] = {"", "fifo", "random", "pct", "adversarial"};
constexpr const char* kMath[] = {"exact", "fp32-chain", "off"};

template <std::size_t kCount>
bool choose(const char* argument, const char* given, const char* const (&names)[kCount], std::int32_t& value) {
  std::string all;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (std::strcmp(names[i], given) == 0) return value = static_cast<std::int32_t>(i), true;
    if (names[i][0] != '\0') all += (all.empty() ? "" : ", ") + std::string(names[i]);
  }
  return invalid(argument, all, std::string("\"") + given + "\"");
}

PyObject* device_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* const names[] = {"name",      "cache_dir", "seed", "schedule", "math",
                                      "pct_depth", "threads",   "sms",  "tuning",   nullptr};
  const char *name = "auto", *cache = nullptr, *schedule = "", *math = "exact", *tuning = nullptr;
  unsigned long long seed = 0;
  ww_device_options options{};
  options.struct_size = sizeof options;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|s$zKssiiiz:Device", const_cast<char**>(names), &name, &cache,
                                   &seed, &schedule, &math, &options.emu_pct_depth, &options.emu_threads,
                                   &options.emu_sms, &tuning))
    return nullptr;
  options.cache_dir = cache;
  options.tuning = tuning;
  options.emu_seed = seed;
  if (!choose("schedule", schedule, kSchedules, options.emu_schedule) || !choose("math", math, kMath, options.emu_math))
    return nullptr;
  return reinterpret_cast<PyObject*>(wrap(type, name, &options));
}

void device_dealloc(PyObject* self) {
  auto* const device = reinterpret_cast<DeviceObject*>(self);
  if (device->generation == fork_generation()) ww_device_close(device->handle);
  PyTypeObject* const type = Py_TYPE(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

bool info_of(PyObject* self, ww_device_info& info) {
  std::memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  return succeeded(ww_device_get_info(reinterpret_cast<DeviceObject*>(self)->handle, &info));
}

enum class Field : std::intptr_t { name, description, emulated, arch, sms, memory_bytes };

PyObject* device_get(PyObject* self, void* field) {
  ww_device_info info;
  if (!info_of(self, info)) return nullptr;
  switch (static_cast<Field>(reinterpret_cast<std::intptr_t>(field))) {
    case Field::name: return PyUnicode_FromString(info.name);
    case Field::description: return PyUnicode_FromString(info.description);
    case Field::emulated: return PyBool_FromLong(info.emulated);
    case Field::arch: return PyLong_FromLong(info.arch);
    case Field::sms: return PyLong_FromLong(info.sms);
    case Field::memory_bytes: return PyLong_FromUnsignedLongLong(info.memory_bytes);
  }
  return nullptr;
}

PyObject* device_repr(PyObject* self) {
  ww_device_info info;
  return info_of(self, info) ? PyUnicode_FromFormat("warpwright.Device(\"%s\")", info.name) : nullptr;
}

PyObject* device_synchronize(PyObject* self, PyObject*) {
  ww_status status = WW_OK;
  {
    const WithoutGil others;
    status = ww_device_synchronize(reinterpret_cast<DeviceObject*>(self)->handle, nullptr);
  }
  return succeeded(status) ? none() : nullptr;
}

PyObject* device_counters(PyObject* self, PyObject*) {
  return counters_of(reinterpret_cast<DeviceObject*>(self)->handle);
}

void* as_closure(Field field) { return reinterpret_cast<void*>(static_cast<std::intptr_t>(field)); }

}  // namespace

PyObject* counters_of(ww_device device) {
  ww_counters counters{};
  counters.struct_size = sizeof counters;
  if (!succeeded(ww_device_get_counters(device, &counters))) return nullptr;
  return Py_BuildValue("{s:K,s:K,s:K,s:K}", "launches", static_cast<unsigned long long>(counters.launches), "plans",
                       static_cast<unsigned long long>(counters.plans), "kernels",
                       static_cast<unsigned long long>(counters.kernels), "compiled",
                       static_cast<unsigned long long>(counters.compiled));
}

bool add_device_type(PyObject* module) {
  static PyGetSetDef properties[] = {
      {"name", device_get, nullptr, "\"emu:sm90\" or \"cuda:0\".", as_closure(Field::name)},
      {"description", device_get, nullptr, "The device in words.", as_closure(Field::description)},
      {"emulated", device_get, nullptr, "Whether kernels run on the CPU.", as_closure(Field::emulated)},
      {"arch", device_get, nullptr, "90 for sm_90.", as_closure(Field::arch)},
      {"sms", device_get, nullptr, "CTAs that a persistent kernel launches.", as_closure(Field::sms)},
      {"memory_bytes", device_get, nullptr, "Bytes of device memory.", as_closure(Field::memory_bytes)},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyMethodDef methods[] = {
      {"synchronize", device_synchronize, METH_NOARGS,
       "synchronize($self)\n--\n\nWaits for the default stream. Errors of kernels surface here."},
      {"counters", device_counters, METH_NOARGS,
       "counters($self)\n--\n\nReturns what this device has done: launches, plans, kernels, compiled kernels."},
      {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_doc,
       const_cast<char*>(
           "Device(name=\"auto\", *, cache_dir=None, seed=0, schedule=\"\", math=\"exact\", pct_depth=0, "
           "threads=0, sms=0, tuning=None)\n--\n\nA device on which kernels run: \"auto\", \"cuda:N\", \"emu:sm90\" or "
           "\"emu:sm100\".\n\n"
           "The operations find their device by their tensors; one that is made here may be given to them\n"
           "as device=. `name` \"auto\" is a GPU if there is one, else the emulated device. cache_dir is the folder\n"
           "of compiled kernels (None: WARPWRIGHT_CACHE_DIR, else ~/.cache/warpwright). tuning is a file of measured\n"
           "choices, as `warpwright tune` writes it (None: WARPWRIGHT_TUNING, or none; \"none\": none). The others "
           "are\n"
           "settings of an emulated device:\n"
           "  seed, schedule   order of asynchronous work: \"fifo\", \"random\", \"pct\" (of pct_depth) or "
           "\"adversarial\"\n"
           "  math             \"exact\" as the tensor core, \"fp32-chain\", or \"off\"\n"
           "  threads          of the host; 0: one per core\n"
           "  sms              CTAs that are resident at once; 0: 4, or one cluster\n"
           "Raises InvalidError for an unknown name, CouldNotFinishError if the device is absent.")},
      {Py_tp_new, reinterpret_cast<void*>(device_new)},
      {Py_tp_dealloc, reinterpret_cast<void*>(device_dealloc)},
      {Py_tp_repr, reinterpret_cast<void*>(device_repr)},
      {Py_tp_getset, properties},
      {Py_tp_methods, methods},
      {0, nullptr}};
  static PyType_Spec spec = {"warpwright._native.Device", sizeof(DeviceObject), 0, Py_TPFLAGS_DEFAULT, slots};
  device_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (device_type == nullptr) return false;
  Py_INCREF(reinterpret_cast<PyObject*>(device_type));
  return PyModule_AddObject(module, "Device", reinterpret_cast<PyObject*>(device_type)) == 0;
}

namespace {

/// Reads "emu:sm90", "emu:sm100" or "cuda:<ordinal>". False: another name, such as "auto".
bool place_named(const char* name, Place& place) {
  for (const char* const emulated : kEmulated)
    if (std::strcmp(name, emulated) == 0) return place = {false, 0}, true;
  if (std::strncmp(name, "cuda:", 5) != 0 || name[5] < '0' || name[5] > '9' || std::strlen(name) > 9) return false;
  for (const char* digit = name + 5; *digit != '\0'; ++digit)
    if (*digit < '0' || *digit > '9') return false;
  return place = {true, std::atoi(name + 5)}, true;
}

const char* device_name(PyObject* given) {
  const char* const name = whole_text(given);
  if (name == nullptr) invalid("device", "a warpwright.Device or the name of one", repr(given));
  return name;
}

}  // namespace

DeviceObject* open_device(PyObject* given) {
  if (PyObject_TypeCheck(given, device_type)) {
    Py_INCREF(given);
    return reinterpret_cast<DeviceObject*>(given);
  }
  const char* const name = device_name(given);
  if (name == nullptr) return nullptr;
  Place place;
  if (!place_named(name, place)) return wrap(device_type, name, nullptr);
  DeviceObject* const device = device_of(given, place);
  Py_XINCREF(reinterpret_cast<PyObject*>(device));
  return device;
}

DeviceObject* device_of(PyObject* given, Place place, bool blackwell) {
  if (given != nullptr && PyObject_TypeCheck(given, device_type)) {
    // The request holds no reference: the Device is the caller's for the time of the call.
    auto* const device = reinterpret_cast<DeviceObject*>(given);
    if (device->place == place) return device;
    return invalid("device", "a device for tensors on " + name_of(place), repr(given)), nullptr;
  }
  std::size_t emulated = blackwell ? 1 : 0;
  if (given != nullptr) {
    const char* const name = device_name(given);
    if (name == nullptr) return nullptr;
    for (std::size_t i = 0; i < std::size(kEmulated); ++i)
      if (std::strcmp(name, kEmulated[i]) == 0) emulated = i;
    Place named = place;
    if (std::strcmp(name, "auto") != 0 && (!place_named(name, named) || !(named == place)))
      return invalid("device", "a device for tensors on " + name_of(place), repr(given)), nullptr;
  }
  const std::size_t index = place.cuda ? static_cast<std::size_t>(place.index) + 2 : emulated;
  if (index < defaults.size() && defaults[index] != nullptr) return defaults[index];
  if (index > 1025) return invalid("a", "a CUDA device up to 1023", std::to_string(index - 2)), nullptr;
  const std::string name = place.cuda ? name_of(place) : kEmulated[emulated];
  DeviceObject* const device = wrap(device_type, name.c_str(), nullptr);
  if (device == nullptr) return nullptr;
  if (index >= defaults.size()) defaults.resize(index + 1);
  // Another thread may have been faster, while this one opened its own without the lock.
  if (defaults[index] != nullptr) Py_DECREF(reinterpret_cast<PyObject*>(device));
  else defaults[index] = device;
  return defaults[index];
}

void forget_devices() { defaults.clear(); }

}  // namespace wwpy
