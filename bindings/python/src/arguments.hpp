// SPDX-License-Identifier: Apache-2.0
// The arguments of the operations by name, and their values in one call. Names are compared by address, because the
// interpreter interns them, and the tuple of a call site's names is recognised as a whole: reading the arguments of a
// call that was seen before compares one pointer.
#pragma once

#include <cstdint>

#include "python.hpp"

namespace wwpy {

/// The letters after a name say which entries accept it: g gemm, r grouped_gemm, k k_grouped_gemm, p Plan.run,
/// q quantize_1x128, s quantize_128x128, t transpose_fp8, a gemm_pointers.
// clang-format off
#define WWPY_ARGUMENTS(X)                                                                                             \
  X(a, "grkpa") X(b, "grkpa") X(out, "grkpqsta") X(out_dtype, "grkpa") X(a_dtype, "grkpa") X(b_dtype, "grkpa")        \
  X(scale, "grka") X(scale_a, "grkpa") X(scale_b, "grkpa") X(global_scale, "grkp") X(epilogue, "gr")                  \
  X(alpha, "grp") X(beta, "grp") X(scalar2, "grp") X(scalar3, "grp") X(c, "grkp") X(bias, "grp") X(row1, "grp")       \
  X(row2, "grp") X(row3, "grp") X(col0, "grp") X(col1, "grp") X(col2, "grp") X(col3, "grp") X(aux0, "grp")            \
  X(aux1, "grp") X(aux2, "grp") X(aux3, "grp") X(out0, "grp") X(out1, "grp") X(out2, "grp") X(out3, "grp")            \
  X(out_scales, "grpqst") X(amax, "grp") X(config, "grka") X(sms, "grka") X(pdl, "grka")                              \
  X(batch_invariant, "grka") X(workspace_limit, "grka") X(device, "grkqsta") X(stream, "grkpqsta")                    \
  X(scale_type, "grka") X(offsets, "rkp") X(indptr, "rkpq") X(starts, "rkpq") X(counts, "rkpq")                       \
  X(row_ids, "rkpq") X(masked, "rkp") X(alignment, "rkq") X(zero_outside, "r") X(expected_sizes, "r")                 \
  X(accumulate, "k") X(packing, "kq") X(status, "rkpq") X(x, "q") X(w, "st") X(scales, "t") X(out_t, "qs")            \
  X(out_scales_t, "qs") X(rows, "qs") X(transpose, "qs") X(offs, "q") X(align, "q") X(dtype, "qst") X(x_dtype, "q")   \
  X(w_dtype, "s")                                                                                                     \
  X(power_of_two, "qs") X(min_amax, "qs") X(mn_major, "q") X(padded_ends, "q") X(m, "a") X(n, "a") X(k, "a")          \
  X(lda, "a") X(ldb, "a") X(ldd, "a") X(a_major, "a") X(b_major, "a") X(out_layout, "a")

enum class Argument : std::uint8_t {
#define WWPY_ARGUMENT(name, entries) name,
  WWPY_ARGUMENTS(WWPY_ARGUMENT)
#undef WWPY_ARGUMENT
  count
};
// clang-format on

inline constexpr int kArguments = static_cast<int>(Argument::count);

/// The spelling of an argument, for messages.
const char* name_of(Argument argument);

enum class Entry : std::uint8_t {
  gemm,
  grouped,
  k_grouped,
  run,
  quantize_1x128,
  quantize_128x128,
  transpose,
  pointers,
  // gemm, grouped_gemm and k_grouped_gemm as warpwright.torch has them, with more positional arguments.
  torch_gemm,
  torch_grouped,
  torch_k_grouped,
};

/// The arguments of one call; null where one was not given or is None.
class Arguments {
 public:
  PyObject* operator[](Argument argument) const { return value_[static_cast<int>(argument)]; }
  void set(Argument argument, PyObject* value) { value_[static_cast<int>(argument)] = value; }
  /// Returns whether any of `first` to `last` was given.
  bool any(Argument first, Argument last) const {
    for (int i = static_cast<int>(first); i <= static_cast<int>(last); ++i)
      if (value_[i] != nullptr) return true;
    return false;
  }

  /// Reads the arguments of a METH_FASTCALL | METH_KEYWORDS function. The tensors that an entry needs, and the scales
  /// of transpose_fp8, may be positional.
  bool read(Entry entry, PyObject* const* args, Py_ssize_t positional, PyObject* names);

  /// Readers of values; `value` keeps what it has if the argument was not given.
  bool flag(Argument argument, bool& value) const;
  bool integer(Argument argument, std::int64_t low, std::int64_t high, std::int64_t& value) const;

 private:
  PyObject* value_[kArguments] = {};
};

/// Returns whether `entry` has every keyword of `names`, a tuple or null.
bool accepts_names(Entry entry, PyObject* names);

/// Returns which argument the one at `i` of a call is; Argument::count: none of this entry.
Argument argument_at(Entry entry, PyObject* names, Py_ssize_t i, Py_ssize_t positional);

/// Interns the names. Once, when the module is made.
bool intern_arguments();

}  // namespace wwpy
