// SPDX-License-Identifier: Apache-2.0
// Functions of torch, found once and called without the interpreter where they are written in C, because each of them
// takes less time than the call of a Python function.
#include "torch.hpp"

#include "errors.hpp"

namespace wwpy {
namespace {

/// A function of torch with at most one argument.
class Function {
 public:
  /// Takes a reference to `object`. `flags`: how a function in C takes its arguments, METH_O or METH_NOARGS.
  void set(PyObject* object, int flags) {
    object_ = object;
    // The check of flags fails, with an exception, for what is not a function in C.
    const bool in_c = object != nullptr && PyCFunction_GetFlags(object) == flags;
    PyErr_Clear();
    function_ = in_c ? PyCFunction_GetFunction(object) : nullptr;
    self_ = in_c ? PyCFunction_GetSelf(object) : nullptr;
  }
  explicit operator bool() const { return object_ != nullptr; }
  PyObject* operator()(PyObject* argument) const {
    return function_ != nullptr ? function_(self_, argument) : PyObject_CallFunctionObjArgs(object_, argument, nullptr);
  }
  /// Calls a method that was taken from another object of the same base. It must be written in C.
  PyObject* of(PyObject* self) const { return function_(self, nullptr); }
  bool in_c() const { return function_ != nullptr; }

 private:
  PyObject* object_ = nullptr;  // owned for the rest of the process
  PyCFunction function_ = nullptr;
  PyObject* self_ = nullptr;
};

struct Torch {
  bool found = false;
  PyTypeObject *tensor = nullptr, *parameter = nullptr;  // owned for the rest of the process
  Function increment_version, dispatch_modes, has_torch_function, is_neg;
} torch;

/// An iterable of one tensor, because a tuple and its iterator would be allocated for every call.
struct Once {
  PyObject_HEAD PyObject* next;  // borrowed from the caller
};
Once* once = nullptr;

PyObject* once_next(PyObject* self) {
  return Ref::borrowed(std::exchange(reinterpret_cast<Once*>(self)->next, nullptr)).release();
}

bool make_once() {
  static PyType_Slot slots[] = {{Py_tp_iter, reinterpret_cast<void*>(PyObject_SelfIter)},
                                {Py_tp_iternext, reinterpret_cast<void*>(once_next)},
                                {0, nullptr}};
  static PyType_Spec spec = {"warpwright._native.Once", sizeof(Once), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  auto* const type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (type == nullptr) return false;
  auto* const allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  once = reinterpret_cast<Once*>(allocate(type, 0));
  return once != nullptr;
}

/// An attribute of an attribute ... of `object`, owned; null without an exception.
PyObject* attribute(PyObject* object, std::initializer_list<const char*> path) {
  Ref at = Ref::borrowed(object);
  for (const char* const name : path)
    if (at) at = Ref(PyObject_GetAttrString(at.get(), name));
  PyErr_Clear();
  return at.release();
}

/// Finds the functions if the process has torch.
bool find() {
  if (torch.found) [[likely]]
    return true;
  PyObject* const modules = PyImport_GetModuleDict();  // borrowed
  PyObject* const module = modules != nullptr ? PyDict_GetItemString(modules, "torch") : nullptr;
  if (module == nullptr) return false;
  Torch made;
  made.tensor = reinterpret_cast<PyTypeObject*>(attribute(module, {"Tensor"}));
  made.parameter = reinterpret_cast<PyTypeObject*>(attribute(module, {"nn", "Parameter"}));
  if (made.tensor == nullptr || made.parameter == nullptr) return false;  // torch is being imported
  made.increment_version.set(attribute(module, {"_C", "_increment_version"}), METH_O);
  made.dispatch_modes.set(attribute(module, {"_C", "_len_torch_dispatch_stack"}), METH_NOARGS);
  made.has_torch_function.set(attribute(module, {"_C", "_has_torch_function_unary"}), METH_O);
  made.found = true;
  torch = made;
  return true;
}

bool is_plain(PyTypeObject* type) { return type == torch.tensor || type == torch.parameter; }
bool is_tensor(PyTypeObject* type) { return is_plain(type) || PyType_IsSubtype(type, torch.tensor) != 0; }

}  // namespace

bool note_writes(PyObject* const* objects, int count) {
  if (!find() || !torch.increment_version) return true;
  for (int i = 0; i < count; ++i) {
    if (objects[i] == nullptr || !is_tensor(Py_TYPE(objects[i]))) continue;
    once->next = objects[i];
    const Ref done(torch.increment_version(reinterpret_cast<PyObject*>(once)));
    if (done) continue;
    // A tensor made in inference mode has no counter, and autograd never keeps it.
    if (!PyErr_ExceptionMatches(PyExc_RuntimeError)) return false;
    PyErr_Clear();
  }
  return true;
}

bool is_written(Entry entry, Argument argument) {
  switch (argument) {
    case Argument::out: return entry != Entry::pointers;  // there it holds addresses, which are read
    case Argument::out0:
    case Argument::out1:
    case Argument::out2:
    case Argument::out3:
    case Argument::out_scales:
    case Argument::amax:
    case Argument::status:
    case Argument::out_t:
    case Argument::out_scales_t:
    case Argument::padded_ends: return true;
    default: return false;
  }
}

bool note_writes(Entry entry, const Arguments& arguments) {
  PyObject* written[kArguments];
  int count = 0;
  for (int i = 0; i < kArguments; ++i)
    if (const auto argument = static_cast<Argument>(i); is_written(entry, argument) && arguments[argument] != nullptr)
      written[count++] = arguments[argument];
  return count == 0 || note_writes(written, count);
}

bool may_be_negated(std::uintptr_t address, int bytes, int rank, const std::int64_t* shape,
                    const std::int64_t* stride) {
  if (bytes == 0 || address / static_cast<unsigned>(bytes) % 2 == 0) return false;
  for (int i = 0; i < rank; ++i)
    if (shape[i] > 1 && stride[i] == 1) return false;
  return true;
}

bool is_negated(PyObject* object) {
  if (!find() || !is_tensor(Py_TYPE(object))) return false;
  if (!torch.is_neg) torch.is_neg.set(attribute(object, {"is_neg"}), METH_NOARGS);
  const Ref answer(torch.is_neg.in_c() ? torch.is_neg.of(object) : PyObject_CallMethod(object, "is_neg", nullptr));
  if (!answer) PyErr_Clear();
  return answer.get() == Py_True;
}

bool is_direct(PyObject* const* args, Py_ssize_t count) {
  if (!find()) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyTypeObject* const type = Py_TYPE(args[i]);
    if (args[i] != Py_None && !is_plain(type) && PyType_IsSubtype(type, torch.tensor) != 0) return false;
  }
  if (count == 0 || !torch.dispatch_modes || !torch.has_torch_function) return false;
  const Ref overridden(torch.has_torch_function(args[0]));  // of a plain tensor: by a mode
  if (overridden.get() != Py_False) return false;
  const Ref depth(torch.dispatch_modes(nullptr));
  return depth && PyLong_AsLong(depth.get()) == 0;
}

namespace {

PyObject* direct(PyObject*, PyObject* const* args, Py_ssize_t count) {
  const bool answer = is_direct(args, count);
  return PyErr_Occurred() == nullptr ? PyBool_FromLong(answer) : nullptr;
}

}  // namespace

bool add_torch(PyObject* module) {
  const auto function = [](auto* pointer) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(pointer));
  };
  static PyMethodDef methods[] = {{"torch_direct", function(direct), METH_FASTCALL,
                                   "torch_direct(*arguments)\n--\n\nReturns whether arguments hold plain torch tensors "
                                   "alone, in no mode of torch."},
                                  {nullptr, nullptr, 0, nullptr}};
  return make_once() && PyModule_AddFunctions(module, methods) == 0;
}

}  // namespace wwpy
