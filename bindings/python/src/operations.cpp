// SPDX-License-Identifier: Apache-2.0
// The entries gemm, grouped_gemm, k_grouped_gemm, and those that make a plan of the same arguments.
#include "operations.hpp"

#include <cstring>

#include "call_cache.hpp"
#include "errors.hpp"
#include "plan.hpp"
#include "torch.hpp"

namespace wwpy {
namespace {

bool describe(Entry entry, Work& work) {
  switch (entry) {
    case Entry::gemm:
    case Entry::torch_gemm: return describe_dense(work);
    case Entry::pointers: return describe_pointers(work);
    case Entry::grouped:
    case Entry::torch_grouped: return describe_grouped(work);
    default: return describe_k_grouped(work);
  }
}

template <Entry kEntry> PyObject* run(PyObject*, PyObject* const* args, Py_ssize_t positional, PyObject* names) {
  follow_fork();
  PyObject* result = nullptr;
  if (repeat_call(kEntry, nullptr, args, positional, names, result)) return result;
  Work work;
  if (!work.arguments.read(kEntry, args, positional, names) || !describe(kEntry, work) || !read_stream(work))
    return nullptr;
  PlanObject* const plan = find_plan(work);
  if (plan == nullptr) return nullptr;
  const Ref owned(reinterpret_cast<PyObject*>(plan));
  if (!run_plan(plan, work.operands, work.stream) || !note_writes(kEntry, work.arguments)) return nullptr;
  remember_call(kEntry, nullptr, args, positional, names, work, plan);
  return result_of(work);
}

/// Returns whether torch gave no address of `tensor` because it is on the meta device. Otherwise the exception stays.
bool is_without_data(PyObject* tensor) {
  if (PyErr_ExceptionMatches(PyExc_RuntimeError) == 0) return false;
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  const Ref meta(PyObject_GetAttrString(tensor, "is_meta"));
  PyErr_Clear();
  if (meta.get() != Py_True) return PyErr_Restore(type, value, trace), false;
  for (PyObject* const owned : {type, value, trace}) Py_XDECREF(owned);
  return true;
}

PyObject* call_with(PyObject* function, PyObject* const* args, Py_ssize_t positional, PyObject* names) {
  const Ref tuple(PyTuple_New(positional));
  const Ref keywords(names != nullptr ? PyDict_New() : nullptr);
  if (!tuple || (names != nullptr && !keywords)) return nullptr;
  for (Py_ssize_t i = 0; i < positional; ++i)
    if (PyTuple_SetItem(tuple.get(), i, Ref::borrowed(args[i]).release()) != 0) return nullptr;
  for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_Size(names); ++i)
    if (PyDict_SetItem(keywords.get(), PyTuple_GetItem(names, i), args[positional + i]) != 0) return nullptr;
  return PyObject_Call(function, tuple.get(), keywords.get());
}

/// A function of the torch layer. `fallback` has the same arguments, in Python, and gets the calls that belong to the
/// dispatcher and those with keywords that gemm() and its siblings lack.
template <Entry kEntry>
PyObject* run_torch(PyObject* fallback, PyObject* const* args, Py_ssize_t positional, PyObject* names) {
  const Py_ssize_t count = positional + (names != nullptr ? PyTuple_Size(names) : 0);
  if (positional >= 2 && is_direct(args, count) && accepts_names(kEntry, names)) {
    PyObject* const result = run<kEntry>(nullptr, args, positional, names);
    if (result != nullptr || !is_without_data(args[0])) return result;
  }
  return PyErr_Occurred() == nullptr ? call_with(fallback, args, positional, names) : nullptr;
}

template <Entry kEntry> PyObject* plan(PyObject*, PyObject* const* args, Py_ssize_t positional, PyObject* names) {
  follow_fork();
  Work work;
  if (!work.arguments.read(kEntry, args, positional, names) || !describe(kEntry, work) || !read_stream(work))
    return nullptr;
  return reinterpret_cast<PyObject*>(find_plan(work));
}

using Fast = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
PyMethodDef method(const char* name, Fast function, const char* document) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), METH_FASTCALL | METH_KEYWORDS,
          document};
}

#define WWPY_EPILOGUE                                                                                   \
  "epilogue=None, alpha=None, beta=None, scalar2=None, scalar3=None, c=None, bias=None, row1=None, "    \
  "row2=None, row3=None, col0=None, col1=None, col2=None, col3=None, aux0=None, aux1=None, aux2=None, " \
  "aux3=None, out0=None, out1=None, out2=None, out3=None, out_scales=None, amax=None"
#define WWPY_TYPES "out=None, out_dtype=None, a_dtype=None, b_dtype=None"
#define WWPY_SCALES "scale=None, scale_type=None, scale_a=None, scale_b=None, global_scale=None"
#define WWPY_SCALES_OF_POINTERS "scale=None, scale_type=None, scale_a=None, scale_b=None"
#define WWPY_OPTIONS \
  "config=None, sms=0, pdl=None, batch_invariant=False, workspace_limit=None, device=None, stream=None"
#define WWPY_GROUPS \
  "offsets=None, indptr=None, starts=None, counts=None, row_ids=None, masked=None, alignment=1, status=None"
#define WWPY_GEMM "(a, b, *, " WWPY_TYPES ", " WWPY_SCALES ", " WWPY_EPILOGUE ", " WWPY_OPTIONS ")\n--\n\n"
#define WWPY_GROUPED                                                                                 \
  "(a, b, *, " WWPY_GROUPS ", zero_outside=False, expected_sizes=None, " WWPY_TYPES ", " WWPY_SCALES \
  ", " WWPY_EPILOGUE ", " WWPY_OPTIONS ")\n--\n\n"
#define WWPY_K_GROUPED                                                                                                \
  "(a, b, *, " WWPY_GROUPS ", packing=None, accumulate=False, c=None, " WWPY_TYPES ", " WWPY_SCALES ", " WWPY_OPTIONS \
  ")\n--\n\n"
#define WWPY_PLAN(operation)                                                         \
  "Makes or finds the plan of " operation                                            \
  "() for tensors like these and returns it. The arguments are those of\n" operation \
  "(). Nothing is run; `out` is allocated if none is given."

constexpr const char* kGemm =
    "gemm" WWPY_GEMM
    "Computes out = epilogue(scale(a @ b.T)) and returns out.\n\n"
    "a has shape (M, K) and b (N, K), the layout of a linear layer's weight, or (batch, M, K) and (batch, N, K);\n"
    "out has (M, N). Rows of a, b and out are contiguous, or their columns are, as in a transposed view (FP8 needs\n"
    "contiguous rows of a and b); rows start at multiples of 16 bytes. Tensors of torch, NumPy, JAX, CuPy and every\n"
    "other source of DLPack are accepted, all on one device; those on the CPU run on the emulated device.\n\n"
    "Rows of e2m1, e3m2 and e2m3 are packed: (M, K/2) bytes or torch's float4_e2m1fn_x2, or (M, 3K/4) bytes, with the\n"
    "type in a_dtype or b_dtype. They need Blackwell, as mx and nv do; on the CPU they run on emu:sm100.\n\n"
    "Scales are float32, and their recipe follows from their shapes unless scale= names it:\n"
    "  tensor       one element each\n"
    "  row-column   scale_a (M), scale_b (N)\n"
    "  block        scale_a (M, ceil(K/128)), scale_b (ceil(N/128), ceil(K/128)), with any strides\n"
    "  block-1d     scale_a (M, ceil(K/128)), scale_b (N, ceil(K/128))\n"
    "  mx, nv       e8m0 or e4m3 in chunks of 512 bytes, one dimension for each matrix, as quantize_mx(), "
    "quantize_nv()\n"
    "               and swizzle_scales() make them: 128 rows x 4 scales of 32 or 16 elements along K\n"
    "scale_type names the type of scales that are bytes; scale=\"mx\" and \"nv\" do so too. global_scale, with nv, is "
    "one\n"
    "more factor of every product: the product of both operands' tensor_scale of quantize_nv().\n\n"
    "epilogue is a text such as \"silu(acc * alpha + bias)\"; its operands are keywords of their names, and alpha,\n"
    "beta, c and bias need no text. Operands:\n"
    "  alpha, beta, scalar2, scalar3     numbers, or float32 tensors of one element\n"
    "  bias (row0), row1, row2, row3     (N)\n"
    "  col0, col1, col2, col3            (M), float32\n"
    "  c, aux0, aux1, aux2, aux3         (M, N)\n"
    "  out0, out1, out2, out3            outputs: what the text stores, (M, N), or reduces, (M) or (N) in float32\n"
    "  out_scales, amax                  outputs of quantise_block, (M, ceil(N/128)), and of quantise, one element;\n"
    "                                    of quantise_mx, quantise_nv bytes in chunks, as a next scale_a\n\n"
    "a_dtype, b_dtype and out_dtype name the element type of uint8 or uint16 storage, or of an output that is to be\n"
    "allocated. config is a text of configs(), or a part of one; sms limits the SMs that are used. pdl turns\n"
    "programmatic dependent launch on or off; None leaves it to the library. With batch_invariant, the bits of a row\n"
    "depend neither on M nor on the number of SMs. workspace_limit is the most bytes of workspace of a config that is\n"
    "chosen; None is 64 MiB. device is needed only where the tensors do not tell it: a Device or its name. stream is\n"
    "a CUDA stream of any framework or its address; None is the current stream of the framework of a.\n\n"
    "Raises InvalidError, UnsupportedError or CouldNotFinishError, which name argument, expected and actual, and\n"
    "CaptureError if the stream captures a graph and the call would have to compile or allocate.";
constexpr const char* kPointers =
    "gemm_pointers(a, b, out, *, m, n, k, a_dtype, b_dtype=None, out_dtype=None, lda=0, ldb=0, ldd=0, a_major=\"k\", "
    "b_major=\"k\", out_layout=\"row\", " WWPY_SCALES_OF_POINTERS ", " WWPY_OPTIONS
    ")\n--\n\n"
    "Computes out[i] = scale(a[i] @ b[i].T) for matrices that lie anywhere, and returns out.\n\n"
    "a, b and out are int64 or uint64 vectors on the device, of one address for each product: of matrices (m, k), (n, "
    "k)\n"
    "and (m, n) with row strides lda, ldb and ldd (0: packed). With a_major=\"mn\" the matrices of a are stored as (k, "
    "m), with\nb_major=\"mn\" those of b as (k, n); with out_layout=\"column\" those of out as (n, m). Addresses are "
    "multiples of 16 bytes, "
    "and are\nread when the kernel runs. Scales are tensors as in gemm(), with the products in front where they have "
    "their own.\nThe caller keeps the matrices alive.";
constexpr const char* kGrouped =
    "grouped_gemm" WWPY_GROUPED
    "Computes out[r] = epilogue(scale(a[r] @ b[group of r].T)) for groups of rows and returns out.\n\n"
    "a has shape (M, K), b (groups, N, K) and out (M, N). The groups are int32 tensors on the same device:\n"
    "  offsets          (groups): the end of each group; the next one starts there, rounded up to `alignment`\n"
    "  indptr           (groups + 1): group g is the rows indptr[g] to indptr[g + 1]\n"
    "  starts, counts   (groups) each, in ascending order; gaps are allowed\n"
    "  row_ids          (M): the group of each row, -1 for none\n"
    "  masked           (groups): rows used of each block of a (groups, Mmax, K)\n"
    "They are read when the kernel runs, never by the host. Rows outside every group are left alone, or zeroed with\n"
    "zero_outside. expected_sizes are the rows that the groups are likely to have, for the choice of a config alone: "
    "a\n"
    "number for each group or one for all, as integers or as text, \"340,377,12\"; a run may have other sizes. Without "
    "them\n"
    "the choice reckons with equal and uneven sizes, and with masked groups that are half full. status is one int32 "
    "into which bits about "
    "inconsistent groups are ORed. The rest is as in gemm();\n"
    "scale_b has the groups in front.";
constexpr const char* kKGrouped =
    "k_grouped_gemm" WWPY_K_GROUPED
    "Computes out[g] = scale(a[:, group g] @ b[:, group g].T) for groups along K and returns out.\n\n"
    "This is the gradient of the weights of experts: with dy (tokens, M) and x (tokens, N), a is dy.T and b is x.T.\n"
    "a has shape (M, K), b (N, K) and out (groups, M, N). The groups are those of grouped_gemm(), counting columns of "
    "a\n"
    "and b; with masked, K is groups * Kmax. FP8 operands, whose rows are contiguous, need groups of multiples of "
    "128.\n"
    "With packing=\"per-group\", each group of a K-major operand is a packed matrix (M, K of the group) of its own, "
    "one\n"
    "after another in the storage of a, and so for b; with \"joint\", the default, groups share the rows of one "
    "matrix.\n"
    "With accumulate, the product is added to out, or to c. The other arguments are those of gemm().";
/// Each of these functions is made once and lives as long as the process.
PyObject* torch_entry(PyObject*, PyObject* args) {
  static PyMethodDef methods[3];
  static constexpr const char* kKinds[] = {"gemm", "grouped_gemm", "k_grouped_gemm"};
  const Fast functions[] = {run_torch<Entry::torch_gemm>, run_torch<Entry::torch_grouped>,
                            run_torch<Entry::torch_k_grouped>};
  const char* name = nullptr;
  PyObject *document = nullptr, *fallback = nullptr;
  if (!PyArg_ParseTuple(args, "sUO:torch_entry", &name, &document, &fallback)) return nullptr;
  for (int i = 0; i < 3; ++i) {
    if (std::strcmp(name, kKinds[i]) != 0) continue;
    const char* const words = PyUnicode_AsUTF8AndSize(document, nullptr);
    const Ref module(PyUnicode_FromString("warpwright.torch"));
    if (words == nullptr || !module) return nullptr;
    Py_INCREF(document);
    methods[i] = method(kKinds[i], functions[i], words);
    return PyCFunction_NewEx(&methods[i], fallback, module.get());
  }
  return invalid("name", "gemm, grouped_gemm or k_grouped_gemm", repr(PyTuple_GetItem(args, 0))), nullptr;
}

}  // namespace

bool add_operations(PyObject* module) {
  static PyMethodDef methods[] = {
      method("gemm", run<Entry::gemm>, kGemm),
      method("gemm_pointers", run<Entry::pointers>, kPointers),
      method("grouped_gemm", run<Entry::grouped>, kGrouped),
      method("k_grouped_gemm", run<Entry::k_grouped>, kKGrouped),
      method("gemm_plan", plan<Entry::gemm>, "gemm_plan" WWPY_GEMM WWPY_PLAN("gemm")),
      method("grouped_gemm_plan", plan<Entry::grouped>, "grouped_gemm_plan" WWPY_GROUPED WWPY_PLAN("grouped_gemm")),
      method("k_grouped_gemm_plan", plan<Entry::k_grouped>,
             "k_grouped_gemm_plan" WWPY_K_GROUPED WWPY_PLAN("k_grouped_gemm")),
      {"torch_entry", torch_entry, METH_VARARGS,
       "torch_entry(name, document, fallback, /)\n--\n\nMakes warpwright.torch's function `name` of the Python "
       "function "
       "that gets what is not for the extension."},
      {nullptr, nullptr, 0, nullptr}};
  return PyModule_AddFunctions(module, methods) == 0;
}

}  // namespace wwpy
