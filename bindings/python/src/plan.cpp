// SPDX-License-Identifier: Apache-2.0
// The Plan type and its runs.
#include "plan.hpp"

#include <cstring>

#include "call_cache.hpp"
#include "torch.hpp"

namespace wwpy {
namespace {

PyTypeObject* plan_type = nullptr;

/// A hash table with open addressing. It holds a reference to each plan.
class Cache {
 public:
  PlanObject* find(const Request& request, std::uint64_t hash) const {
    if (slots_.empty()) return nullptr;
    for (std::size_t i = hash & mask();; i = (i + 1) & mask()) {
      const Slot& slot = slots_[i];
      if (slot.plan == nullptr) return nullptr;
      if (slot.hash == hash && *slot.plan->request == request) return slot.plan;
    }
  }

  /// Takes a reference to `plan`.
  void insert(PlanObject* plan, std::uint64_t hash) {
    if (used_ >= kMost) clear_plans();
    if (2 * (used_ + 1) > slots_.size()) grow();
    Py_INCREF(reinterpret_cast<PyObject*>(plan));
    put({hash, plan});
  }

  /// Frees all plans. Plans that a graph may use stay allocated (plan_dealloc).
  void clear() {
    std::vector<Slot> old;
    old.swap(slots_);
    used_ = 0;
    for (const Slot& slot : old) Py_XDECREF(reinterpret_cast<PyObject*>(slot.plan));
  }
  void forget() { slots_.clear(), used_ = 0; }
  std::size_t size() const { return used_; }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    PlanObject* plan = nullptr;
  };
  // A server meets every number of rows up to some thousands, with a few dozen weights. Its 20 KiB each are 160 MiB.
  static constexpr std::size_t kMost = 8192;

  std::size_t mask() const { return slots_.size() - 1; }
  void put(Slot slot) {
    std::size_t i = slot.hash & mask();
    while (slots_[i].plan != nullptr) i = (i + 1) & mask();
    slots_[i] = slot;
    ++used_;
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
    old.swap(slots_);
    used_ = 0;
    for (const Slot& slot : old)
      if (slot.plan != nullptr) put(slot);
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};
Cache cache;

PyObject* keep(const Ref& text) {
  Py_XINCREF(text.get());
  return text.get();
}

ww_device device_handle(const PlanObject* plan) { return reinterpret_cast<DeviceObject*>(plan->device)->handle; }

void plan_dealloc(PyObject* self) {
  auto* const plan = reinterpret_cast<PlanObject*>(self);
  if (plan->generation == fork_generation() && !plan->captured) {
    for (const Workspace& workspace : *plan->workspaces) ww_device_free(device_handle(plan), workspace.memory);
    ww_plan_free(plan->handle);
  }
  delete plan->workspaces;
  free_call(plan->call);
  delete plan->request;
  // A graph that holds a workspace also needs the device, whose closing would free it.
  if (plan->captured) Py_XINCREF(plan->device);
  for (PyObject* const owned :
       {plan->device, plan->config, plan->epilogue_words, plan->epilogue_given, plan->expected_sizes})
    Py_XDECREF(owned);
  PyTypeObject* const type = Py_TYPE(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

ww_status call_plan(const Request& request, ww_plan* plan) {
  const ww_device device = request.device->handle;
  switch (request.operation) {
    case WW_GEMM: return ww_gemm_plan(device, &request.dense, &request.options, plan);
    case WW_GROUPED_GEMM: return ww_grouped_plan(device, &request.grouped, &request.options, plan);
    default: return ww_k_grouped_plan(device, &request.k_grouped, &request.options, plan);
  }
}

bool is_capturing(PlanObject* plan, void* stream, bool& capturing) {
  std::int32_t answer = 0;
  if (plan->emulated) return capturing = false, true;
  if (!succeeded(ww_device_is_capturing(device_handle(plan), stream, &answer))) return false;
  return capturing = answer != 0, true;
}

bool allocate(PlanObject* plan, Workspace& workspace) {
  const ww_device device = device_handle(plan);
  if (!succeeded(ww_device_allocate(device, plan->workspace_bytes, &workspace.memory))) return false;
  const std::vector<char> zeros(plan->workspace_bytes);
  if (succeeded(ww_device_upload(device, workspace.memory, zeros.data(), zeros.size()))) return true;
  ww_device_free(device, workspace.memory);
  return false;
}

/// Chooses the workspace of a run: its index, or -1 with an exception.
int choose_workspace(PlanObject* plan, void* stream) {
  std::vector<Workspace>& all = *plan->workspaces;
  int spare = -1;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (plan->emulated ? !all[i].busy : !all[i].spare && all[i].stream == stream) return static_cast<int>(i);
    if (all[i].spare) spare = static_cast<int>(i);
  }
  bool capturing = false;
  if (!is_capturing(plan, stream, capturing)) return -1;
  if (capturing) {
    if (spare < 0)
      return raise(ErrorKind::under_capture, "stream",
                   "a stream on which this product ran before the capture, because its workspace belongs to a stream",
                   "one without a workspace"),
             -1;
    all[static_cast<std::size_t>(spare)].stream = stream;
    all[static_cast<std::size_t>(spare)].spare = false;
    plan->captured = true;
    return spare;
  }
  Workspace made;
  made.stream = stream;
  if (!allocate(plan, made)) return -1;
  all.push_back(made);
  const int chosen = static_cast<int>(all.size()) - 1;
  // A capture runs on a stream of its own and must not allocate: one more is kept for it.
  if (!plan->emulated && spare < 0) {
    Workspace extra;
    extra.spare = true;
    if (!allocate(plan, extra)) return -1;
    all.push_back(extra);
  }
  return chosen;
}

ww_status call_run(const PlanObject* plan, const Operands& operands, void* stream) {
  switch (plan->request->operation) {
    case WW_GEMM: return ww_gemm_run(plan->handle, &operands.dense, stream);
    case WW_GROUPED_GEMM: return ww_grouped_run(plan->handle, &operands.grouped, stream);
    default: return ww_k_grouped_run(plan->handle, &operands.k_grouped, stream);
  }
}

/// Zeroes a workspace after a run that failed; the next run would otherwise find the counters of this one.
void restore(const PlanObject* plan, void* memory) {
  if (memory == nullptr) return;
  const std::vector<char> zeros(plan->workspace_bytes);
  ww_device_upload(device_handle(plan), memory, zeros.data(), zeros.size());
}

}  // namespace

bool read_stream(PyObject* given, Place place, PyObject* a, void*& stream) {
  if (!place.cuda) return true;  // emulated devices run at once
  if (given == nullptr) return current_stream(a, place.index, stream);
  if (PyLong_Check(given)) {
    stream = PyLong_AsVoidPtr(given);
  } else {
    Ref value;
    for (const char* const name : {"cuda_stream", "ptr", "handle"}) {  // torch, CuPy, cuda.core
      value = Ref(PyObject_GetAttrString(given, name));
      if (value) break;
      PyErr_Clear();
    }
    const Ref number(value ? PyNumber_Index(value.get()) : nullptr);
    if (!number) return PyErr_Clear(), invalid("stream", "a CUDA stream or its address", repr(given));
    stream = PyLong_AsVoidPtr(number.get());
  }
  if (PyErr_Occurred() == nullptr) return true;
  return PyErr_Clear(), invalid("stream", "a CUDA stream or its address", repr(given));
}

PlanObject* make_plan(const Work& work) {
  ww_plan handle = nullptr;
  ww_status status = WW_OK;
  const Ref device = Ref::borrowed(reinterpret_cast<PyObject*>(work.request.device));
  {
    const WithoutGil others;
    status = call_plan(work.request, &handle);
  }
  if (!succeeded(status)) return nullptr;
  std::size_t bytes = 0;
  if (!succeeded(ww_plan_workspace_bytes(handle, &bytes))) return ww_plan_free(handle), nullptr;
  auto* const allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(plan_type, Py_tp_alloc));
  auto* const plan = reinterpret_cast<PlanObject*>(allocate(plan_type, 0));
  if (plan == nullptr) return ww_plan_free(handle), nullptr;
  plan->handle = handle;
  plan->request = new Request(work.request);
  plan->device = keep(device);
  plan->config = keep(work.config);
  plan->epilogue_words = keep(work.epilogue_words);
  plan->expected_sizes = keep(work.expected_sizes);
  plan->epilogue_given = keep(work.epilogue_given);
  plan->workspace_bytes = bytes;
  plan->workspaces = new std::vector<Workspace>;
  plan->generation = fork_generation();
  plan->emulated = work.request.device->emulated;
  plan->call = nullptr;
  plan->captured = false;
  return plan;
}

PlanObject* find_plan(Work& work) {
  const std::uint64_t hash = work.request.hash();
  if (PlanObject* const found = cache.find(work.request, hash); found != nullptr) [[likely]] {
    Py_INCREF(reinterpret_cast<PyObject*>(found));
    return found;
  }
  if (!work.request.device->emulated) {
    std::int32_t capturing = 0;
    if (!succeeded(ww_device_is_capturing(work.request.device->handle, work.stream, &capturing))) return nullptr;
    if (capturing != 0)
      return raise(ErrorKind::under_capture, "stream",
                   "a product that ran or was planned before the capture, because a plan compiles and allocates",
                   "one without a plan"),
             nullptr;
  }
  PlanObject* const made = make_plan(work);
  if (made == nullptr) return nullptr;
  // Another thread may have made the same plan meanwhile; its workspaces are as good.
  if (PlanObject* const found = cache.find(work.request, hash); found != nullptr) {
    Py_DECREF(reinterpret_cast<PyObject*>(made));
    Py_INCREF(reinterpret_cast<PyObject*>(found));
    return found;
  }
  cache.insert(made, hash);
  return made;
}

bool run_plan(PlanObject* plan, Operands& operands, void* stream) {
  int index = -1;
  void* memory = nullptr;
  if (plan->workspace_bytes > 0) {
    if (plan->generation != fork_generation())
      return raise(ErrorKind::forked, "plan", "a plan that this process made", "one of its parent");
    index = choose_workspace(plan, stream);
    if (index < 0) return false;
    memory = (*plan->workspaces)[static_cast<std::size_t>(index)].memory;
    operands.set_workspace(plan->request->operation, memory, plan->workspace_bytes);
  }
  ww_status status = WW_OK;
  if (plan->emulated) {
    if (index >= 0) (*plan->workspaces)[static_cast<std::size_t>(index)].busy = true;
    {
      const WithoutGil others;
      status = call_run(plan, operands, stream);
      if (status != WW_OK) restore(plan, memory);
    }
    if (index >= 0) (*plan->workspaces)[static_cast<std::size_t>(index)].busy = false;
  } else {
    status = call_run(plan, operands, stream);
  }
  return succeeded(status);
}

PyObject* result_of(Work& work) {
  if (!work.allocated || work.a.framework != Framework::jax) return work.out_object.release();
  const Ref module(PyImport_ImportModule("warpwright._allocate"));
  return module ? PyObject_CallMethod(module.get(), "to_jax", "O", work.out_object.get()) : nullptr;
}

void clear_plans() {
  clear_calls();
  cache.clear();
}
void forget_plans() {
  forget_calls();
  cache.forget();
}
std::size_t cached_plans() { return cache.size(); }

namespace {

PyObject* plan_run(PyObject* self, PyObject* const* args, Py_ssize_t positional, PyObject* names) {
  auto* const plan = reinterpret_cast<PlanObject*>(self);
  PyObject* result = nullptr;
  if (repeat_call(Entry::run, plan, args, positional, names, result)) return result;
  Work work;
  if (!work.arguments.read(Entry::run, args, positional, names)) return nullptr;
  const Request& mine = *plan->request;
  if (plan->epilogue_given != nullptr) work.arguments.set(Argument::epilogue, plan->epilogue_given);
  work.arguments.set(Argument::device, plan->device);
  const ww_scale recipe = mine.operation == WW_GEMM           ? mine.dense.scale
                          : mine.operation == WW_GROUPED_GEMM ? mine.grouped.scale
                                                              : mine.k_grouped.scale;
  const Ref scale(PyUnicode_FromString(ww_scale_name(recipe)));
  if (recipe != WW_SCALE_NONE) work.arguments.set(Argument::scale, scale.get());
  // What Plan.run has no argument for is the plan's; k_grouped: whether it adds; groups: alignment.
  const bool adds = mine.operation == WW_K_GROUPED_GEMM && mine.k_grouped.accumulate != 0;
  work.arguments.set(Argument::accumulate, adds ? Py_True : nullptr);
  const Ref alignment(mine.operation == WW_GROUPED_GEMM     ? PyLong_FromLongLong(mine.grouped.alignment)
                      : mine.operation == WW_K_GROUPED_GEMM ? PyLong_FromLongLong(mine.k_grouped.alignment)
                                                            : nullptr);
  if (alignment && (mine.operation == WW_GROUPED_GEMM ? mine.grouped.alignment : mine.k_grouped.alignment) != 0)
    work.arguments.set(Argument::alignment, alignment.get());
  if (mine.operation == WW_GROUPED_GEMM && mine.grouped.zero_outside)
    work.arguments.set(Argument::zero_outside, Py_True);
  const bool described = mine.operation == WW_GEMM           ? describe_dense(work)
                         : mine.operation == WW_GROUPED_GEMM ? describe_grouped(work)
                                                             : describe_k_grouped(work);
  if (!described || !read_stream(work)) return nullptr;
  work.request.options = mine.options;
  if (mine.operation == WW_GROUPED_GEMM) work.request.grouped.expected_sizes = mine.grouped.expected_sizes;
  if (!(work.request == mine))
    return invalid("a, b, out", "tensors with the types, shapes and strides of the plan", "others"), nullptr;
  if (!run_plan(plan, work.operands, work.stream) || !note_writes(Entry::run, work.arguments)) return nullptr;
  remember_call(Entry::run, plan, args, positional, names, work, plan);
  return result_of(work);
}

PyObject* plan_config(PyObject* self, void*) {
  const char* text = nullptr;
  return succeeded(ww_plan_config(reinterpret_cast<PlanObject*>(self)->handle, &text)) ? PyUnicode_FromString(text)
                                                                                       : nullptr;
}
PyObject* plan_workspace_bytes(PyObject* self, void*) {
  return PyLong_FromSize_t(reinterpret_cast<PlanObject*>(self)->workspace_bytes);
}
PyObject* plan_device(PyObject* self, void*) {
  return Ref::borrowed(reinterpret_cast<PlanObject*>(self)->device).release();
}
PyObject* plan_operation(PyObject* self, void*) {
  const ww_operation operation = reinterpret_cast<PlanObject*>(self)->request->operation;
  return PyUnicode_FromString(operation == WW_GEMM           ? "gemm"
                              : operation == WW_GROUPED_GEMM ? "grouped_gemm"
                                                             : "k_grouped_gemm");
}
PyObject* plan_stats(PyObject* self, PyObject*) {
  ww_report report = nullptr;
  if (!succeeded(ww_plan_stats(reinterpret_cast<PlanObject*>(self)->handle, &report))) return nullptr;
  PyObject* const text = PyUnicode_FromString(ww_report_text(report, nullptr));
  ww_report_free(report);
  return text;
}

}  // namespace

bool add_plan_type(PyObject* module) {
  static PyGetSetDef properties[] = {
      {"config", plan_config, nullptr, "The resolved config as text.", nullptr},
      {"workspace_bytes", plan_workspace_bytes, nullptr, "Bytes of workspace of one run.", nullptr},
      {"device", plan_device, nullptr, "The Device of the plan.", nullptr},
      {"operation", plan_operation, nullptr, "\"gemm\", \"grouped_gemm\" or \"k_grouped_gemm\".", nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyMethodDef methods[] = {
      {"run", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(plan_run)), METH_FASTCALL | METH_KEYWORDS,
       "run($self, a, b, *, out=None, out_dtype=None, a_dtype=None, b_dtype=None, scale_a=None, "
       "scale_b=None, global_scale=None, alpha=None, beta=None, scalar2=None, scalar3=None, c=None, "
       "bias=None, row1=None, row2=None, row3=None, col0=None, col1=None, col2=None, col3=None, "
       "aux0=None, aux1=None, aux2=None, aux3=None, out0=None, out1=None, out2=None, out3=None, "
       "out_scales=None, amax=None, stream=None, offsets=None, indptr=None, starts=None, counts=None, "
       "row_ids=None, masked=None, status=None)"
       "\n--\n\nRuns the plan on tensors with the types, shapes and strides of those\n"
       "that it was made with, and returns out. The arguments are those of the plan's operation, gemm(),\n"
       "grouped_gemm() or k_grouped_gemm(), without those that chose the plan."},
      {"stats", plan_stats, METH_NOARGS,
       "stats($self)\n--\n\nReturns statistics of this thread's last run on an emulated device, as JSON."},
      {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("A compiled kernel and its launch, made by gemm_plan() and its siblings.")},
      {Py_tp_dealloc, reinterpret_cast<void*>(plan_dealloc)},
      {Py_tp_getset, properties},
      {Py_tp_methods, methods},
      {0, nullptr}};
  static PyType_Spec spec = {"warpwright._native.Plan", sizeof(PlanObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  plan_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (plan_type == nullptr) return false;
  Py_INCREF(reinterpret_cast<PyObject*>(plan_type));
  return PyModule_AddObject(module, "Plan", reinterpret_cast<PyObject*>(plan_type)) == 0;
}

}  // namespace wwpy
