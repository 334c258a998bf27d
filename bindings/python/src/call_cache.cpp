// SPDX-License-Identifier: Apache-2.0
// The table of remembered calls: one place for each value of a hash over the first extents of a and b. A plan remembers
// the last call of its own run().
#include "call_cache.hpp"

#include <cstddef>
#include <memory>

#include "dlpack/dlpack.h"
#include "operations.hpp"
#include "plan.hpp"
#include "torch.hpp"

namespace wwpy {
namespace {

constexpr Py_ssize_t kMost = 20;  // arguments of a remembered call

/// How an argument of the new call is compared with the remembered one.
enum class Kind : std::uint8_t { tensor, same_object, text, integer, scalar, stream };

/// Where the address of a tensor goes: in the operands, or in those of the epilogue.
struct Target {
  std::uint16_t offset = 0;
  bool epilogue = false;
};

/// What two tensors of one form have in common besides their extents: device, number of dimensions, element type. They
/// are compared as the two words that they are in a DLTensor.
struct Form {
  std::uint64_t device = 0, rank_and_type = 0;
  static_assert(offsetof(DLTensor, ndim) == offsetof(DLTensor, device) + 8 && sizeof(DLDevice) == 8);
  static_assert(offsetof(DLTensor, dtype) == offsetof(DLTensor, ndim) + 4 && sizeof(DLDataType) == 4);

  Form() = default;
  explicit Form(const DLTensor& tensor) {
    std::memcpy(&device, &tensor.device, sizeof device);
    std::memcpy(&rank_and_type, &tensor.ndim, sizeof rank_and_type);
  }
  bool operator==(const Form& other) const {
    return ((device ^ other.device) | (rank_and_type ^ other.rank_and_type)) == 0;
  }
};

struct Known {
  Kind kind = Kind::same_object;
  std::uint8_t slot = 0;  // of a scalar
  Target target;
  int rank = 0;
  Form form;
  std::int64_t shape[kMaxRank] = {}, stride[kMaxRank] = {};
  PyObject* object = nullptr;  // owned; null for tensors
  std::int64_t integer = 0;
};

/// The arguments of a call, of which the tensors were asked for their memory. Asking may run code of the caller's, so
/// that all of them are read before the table is looked at.
struct Presented {
  PyObject* const* args;
  Py_ssize_t count;
  PyObject* names;
  std::uint32_t tensors = 0;  // bit i: tensor[i] is argument i
  DLTensor tensor[kMost];

  bool read() {
    PyTypeObject* last = nullptr;
    const DLPackExchangeAPI* api = nullptr;
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyTypeObject* const type = Py_TYPE(args[i]);
      if (type != last) last = type, api = exchange_of(type);
      if (api == nullptr) continue;
      if (api->dltensor_from_py_object_no_sync(args[i], &tensor[i]) != 0) return PyErr_Clear(), false;
      if (tensor[i].ndim > kMaxRank || (tensor[i].ndim > 0 && tensor[i].strides == nullptr)) return false;
      const DLTensor& t = tensor[i];
      // The first condition is a part of may_be_negated(): nearly every address is a multiple of two elements.
      if (t.dtype.code == kDLFloat && (reinterpret_cast<std::uintptr_t>(data(i)) & (t.dtype.bits / 8u)) != 0 &&
          may_be_negated(reinterpret_cast<std::uintptr_t>(data(i)), t.dtype.bits / 8, t.ndim, t.shape, t.strides) &&
          is_negated(args[i]))
        return false;
      tensors |= 1u << i;
    }
    return (tensors & 3) == 3 && tensor[0].ndim >= 2 && tensor[1].ndim >= 2;  // a and b
  }
  bool is_tensor(Py_ssize_t i) const { return (tensors >> i & 1) != 0; }
  char* data(Py_ssize_t i) const { return static_cast<char*>(tensor[i].data) + tensor[i].byte_offset; }
};

bool same_names(PyObject* one, PyObject* other) {
  if (one == other) return true;
  if (one == nullptr || other == nullptr) return false;
  const Py_ssize_t count = PyTuple_Size(one);
  if (PyTuple_Size(other) != count) return false;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (PyTuple_GetItem(one, i) != PyTuple_GetItem(other, i)) return false;  // names are interned
  return true;
}

bool same_tensor(const Known& known, const DLTensor& t) {
  if (!(Form(t) == known.form)) return false;
  std::int64_t other = 0;
  for (int i = 0; i < known.rank; ++i) other |= (t.shape[i] ^ known.shape[i]) | (t.strides[i] ^ known.stride[i]);
  return other == 0;
}

}  // namespace

struct RepeatedCall {
  PlanObject* plan = nullptr;  // owned, except by the plan that remembers the call itself
  bool owns_plan = false;
  Entry entry = Entry::gemm;
  std::int8_t out = -1;     // which argument is returned
  std::int8_t stream = -1;  // which argument is a stream; -1: none
  std::int8_t writes = 0;   // how many arguments are written, and which
  std::int8_t written[kMost] = {};
  PyObject* names = nullptr;  // owned
  Py_ssize_t count;
  std::uint32_t tensors = 0;  // as Presented::tensors
  Place place;
  Operands operands;
  std::unique_ptr<Known[]> known;
  std::unique_ptr<ww_epilogue_operands> epilogue;  // null: there is none

  explicit RepeatedCall(Py_ssize_t arguments) : count(arguments), known(new Known[static_cast<std::size_t>(count)]) {}
  RepeatedCall(const RepeatedCall&) = delete;
  RepeatedCall& operator=(const RepeatedCall&) = delete;
  ~RepeatedCall() {
    for (Py_ssize_t i = 0; i < count; ++i) Py_XDECREF(known[i].object);
    Py_XDECREF(names);
    if (owns_plan) Py_XDECREF(reinterpret_cast<PyObject*>(plan));
  }

  /// Returns whether `call` is like this one. Puts its addresses and scalars into `to`, a copy of the operands, and
  /// into `to_epilogue`.
  bool match(const Presented& call, Entry of, Operands& to, ww_epilogue_operands& to_epilogue) const;

 private:
  static bool same(const Known& known, PyObject* object) {
    switch (known.kind) {
      case Kind::text:
        if (object == known.object) return true;
        return Py_TYPE(object) == &PyUnicode_Type && PyUnicode_Compare(object, known.object) == 0;
      case Kind::integer: {
        if (Py_TYPE(object) != &PyLong_Type) return false;
        int overflow = 0;
        return PyLong_AsLongLongAndOverflow(object, &overflow) == known.integer && overflow == 0;
      }
      case Kind::scalar: return Py_TYPE(object) == &PyFloat_Type;
      case Kind::stream: return object != Py_None;
      default: return object == known.object;
    }
  }
};

bool RepeatedCall::match(const Presented& call, Entry of, Operands& to, ww_epilogue_operands& to_epilogue) const {
  if (of != entry || call.count != count || call.tensors != tensors || !same_names(call.names, names)) return false;
  if (epilogue) {
    to_epilogue = *epilogue;
    to.set_epilogue(plan->request->operation, &to_epilogue);
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Known& argument = known[i];
    if (argument.kind == Kind::tensor) [[likely]] {
      if (!same_tensor(argument, call.tensor[i])) return false;
      char* const base =
          argument.target.epilogue ? reinterpret_cast<char*>(&to_epilogue) : reinterpret_cast<char*>(&to);
      char* const data = call.data(i);
      std::memcpy(base + argument.target.offset, &data, sizeof data);
      continue;
    }
    if (!same(argument, call.args[i])) return false;
    if (argument.kind == Kind::scalar)
      to_epilogue.scalar[argument.slot] = static_cast<float>(PyFloat_AsDouble(call.args[i]));
  }
  return true;
}

namespace {

constexpr std::size_t kPlaces = 4096;
RepeatedCall* table[kPlaces] = {};

std::size_t place_of(Entry entry, const Presented& call) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  std::uint64_t hash = static_cast<std::uint64_t>(entry) << 8 | static_cast<std::uint64_t>(call.count);
  for (const int i : {0, 1})
    for (const int j : {0, 1}) hash = (hash ^ static_cast<std::uint64_t>(call.tensor[i].shape[j])) * kOdd;
  return (hash ^ hash >> 29) * kOdd >> 52;
}
static_assert(kPlaces == std::size_t{1} << (64 - 52));

/// Where the address of a tensor argument lies in the operands of `work`; null: nowhere that is known here.
template <class Struct> const void* common_field(const Struct& operands, Argument argument) {
  switch (argument) {
    case Argument::a: return &operands.a;
    case Argument::b: return &operands.b;
    case Argument::out: return &operands.d;
    case Argument::scale_a: return &operands.scale_a;
    case Argument::scale_b: return &operands.scale_b;
    case Argument::global_scale: return &operands.global_scale;
    default: return nullptr;
  }
}

template <class Struct> const void* group_field(const Struct& operands, Argument argument) {
  switch (argument) {
    case Argument::offsets:
    case Argument::indptr:
    case Argument::starts:
    case Argument::row_ids:
    case Argument::masked: return &operands.sizes;
    case Argument::counts: return &operands.sizes2;
    case Argument::status: return &operands.status;
    default: return common_field(operands, argument);
  }
}

const void* operand_field(const Work& work, Argument argument) {
  switch (work.request.operation) {
    case WW_GEMM: return common_field(work.operands.dense, argument);
    case WW_GROUPED_GEMM: return group_field(work.operands.grouped, argument);
    default:
      return argument == Argument::c ? &work.operands.k_grouped.c : group_field(work.operands.k_grouped, argument);
  }
}

const void* epilogue_field(const ww_epilogue_operands& e, Argument argument) {
  const auto slot = [&](Argument first) { return static_cast<int>(argument) - static_cast<int>(first); };
  if (argument == Argument::c) return &e.c;
  if (argument == Argument::out_scales && e.out_scale_chunks != nullptr) return &e.out_scale_chunks;
  if (argument == Argument::out_scales) return &e.out_scales;
  if (argument == Argument::amax) return &e.amax;
  if (argument < Argument::alpha || argument > Argument::out3) return nullptr;
  if (argument < Argument::c) return &e.scalar_pointer[slot(Argument::alpha)];
  if (argument < Argument::col0) return &e.row_vector[slot(Argument::bias)];
  if (argument < Argument::aux0) return &e.column_vector[slot(Argument::col0)];
  if (argument < Argument::out0) return &e.auxiliary[slot(Argument::aux0)];
  return &e.out[slot(Argument::out0)];
}

/// Finds where the address of argument `argument` went. False: it is not known, and the call is not remembered.
bool find_target(const Work& work, Argument argument, const char* data, Target& target) {
  const auto holds = [&](const void* field, const void* base, bool epilogue) {
    if (field == nullptr || std::memcmp(field, &data, sizeof data) != 0) return false;
    target.offset = static_cast<std::uint16_t>(static_cast<const char*>(field) - static_cast<const char*>(base));
    target.epilogue = epilogue;
    return true;
  };
  if (work.epilogue) {
    const ww_epilogue_operands& operands = work.epilogue->operands;
    if (holds(epilogue_field(operands, argument), &operands, true)) return true;
  }
  return holds(operand_field(work, argument), &work.operands, false);
}

bool know(const Work& work, const Presented& call, Py_ssize_t i, Argument argument, Known& known) {
  PyObject* const object = call.args[i];
  PyTypeObject* const type = Py_TYPE(object);
  if (call.is_tensor(i)) {
    const DLTensor& t = call.tensor[i];
    known.kind = Kind::tensor;
    known.form = Form(t), known.rank = t.ndim;
    for (int j = 0; j < t.ndim; ++j) known.shape[j] = t.shape[j], known.stride[j] = t.strides[j];
    return find_target(work, argument, call.data(i), known.target);
  }
  if (type == &PyFloat_Type && argument >= Argument::alpha && argument <= Argument::scalar3) {
    known.kind = Kind::scalar;
    known.slot = static_cast<std::uint8_t>(static_cast<int>(argument) - static_cast<int>(Argument::alpha));
    return true;
  }
  known.object = Ref::borrowed(object).release();
  if (argument == Argument::stream && object != Py_None) return known.kind = Kind::stream, true;
  if (type == &PyUnicode_Type) return known.kind = Kind::text, true;
  if (type == &PyLong_Type) {
    int overflow = 0;
    known.kind = Kind::integer;
    known.integer = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0;
  }
  const bool names_type = argument == Argument::a_dtype || argument == Argument::b_dtype ||
                          argument == Argument::out_dtype || argument == Argument::scale_type;
  // Other objects may change what they mean.
  return object == Py_None || object == Py_True || object == Py_False || names_type || argument == Argument::device;
}

}  // namespace

bool repeat_call(Entry entry, PlanObject* self, PyObject* const* args, Py_ssize_t positional, PyObject* names,
                 PyObject*& result) {
  const Py_ssize_t count = positional + (names != nullptr ? PyTuple_Size(names) : 0);
  if (positional < 2 || count > kMost) return false;
  Presented call;
  call.args = args, call.count = count, call.names = names;
  if (!call.read()) return false;
  const RepeatedCall* const known = self != nullptr ? self->call : table[place_of(entry, call)];
  if (known == nullptr) return false;
  Operands operands(known->operands);
  ww_epilogue_operands epilogue;
  if (!known->match(call, entry, operands, epilogue)) return false;
  // From here on code of the caller's may run and drop what is remembered.
  PlanObject* const plan = known->plan;
  const Ref owned = Ref::borrowed(reinterpret_cast<PyObject*>(plan));
  Ref returned = Ref::borrowed(args[known->out]);
  PyObject* const stream_object = known->stream < 0 ? nullptr : args[known->stream];
  PyObject* written[kMost];
  const int writes = known->writes;
  for (int i = 0; i < writes; ++i) written[i] = args[known->written[i]];
  void* stream = nullptr;
  const bool done = read_stream(stream_object, known->place, args[0], stream) && run_plan(plan, operands, stream) &&
                    note_writes(written, writes);
  result = done ? returned.release() : nullptr;
  return true;
}

void remember_call(Entry entry, PlanObject* self, PyObject* const* args, Py_ssize_t positional, PyObject* names,
                   Work& work, PlanObject* plan) {
  const Py_ssize_t count = positional + (names != nullptr ? PyTuple_Size(names) : 0);
  if (positional < 2 || count > kMost || work.allocated) return;
  Presented call;
  call.args = args, call.count = count, call.names = names;
  if (!call.read()) return;
  auto made = std::make_unique<RepeatedCall>(count);
  made->plan = plan, made->entry = entry, made->place = work.a.place;
  made->owns_plan = self == nullptr;
  if (made->owns_plan) Py_INCREF(reinterpret_cast<PyObject*>(plan));
  made->names = names != nullptr ? Ref::borrowed(names).release() : nullptr;
  made->operands = work.operands;
  made->tensors = call.tensors;
  if (work.epilogue) made->epilogue = std::make_unique<ww_epilogue_operands>(work.epilogue->operands);
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Argument argument = argument_at(entry, names, i, positional);
    if (argument == Argument::count || !know(work, call, i, argument, made->known[i])) return;
    if (argument == Argument::out) made->out = static_cast<std::int8_t>(i);
    if (made->known[i].kind == Kind::stream) made->stream = static_cast<std::int8_t>(i);
    if (call.is_tensor(i) && is_written(entry, argument)) made->written[made->writes++] = static_cast<std::int8_t>(i);
  }
  if (made->out < 0) return;
  RepeatedCall*& place = self != nullptr ? self->call : table[place_of(entry, call)];
  delete std::exchange(place, made.release());
}

void free_call(RepeatedCall* call) { delete call; }

void clear_calls() {
  for (RepeatedCall*& place : table) delete std::exchange(place, nullptr);
}

void forget_calls() {
  for (RepeatedCall*& place : table) place = nullptr;
}

}  // namespace wwpy
