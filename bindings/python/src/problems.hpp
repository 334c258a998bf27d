// SPDX-License-Identifier: Apache-2.0
// Problems, options and settings of checks from dictionaries: what a call without tensors describes. The classes of
// warpwright._problems have these fields; unknown ones are refused.
#pragma once

#include <cstdint>
#include <vector>

#include "python.hpp"
#include "warpwright/warpwright.h"

namespace wwpy {

/// One problem of any operation with its options. The texts it points to are kept alive by `kept`.
struct Description {
  ww_operation operation = 0;
  ww_gemm_problem dense{};
  ww_grouped_problem grouped{};
  ww_k_grouped_problem k_grouped{};
  ww_options options{};
  std::vector<Ref> kept;

  /// Reads "gemm", "grouped_gemm" or "k_grouped_gemm" and two dictionaries of fields.
  bool read(PyObject* operation_name, PyObject* fields, PyObject* option_fields);
};

/// Reads the settings of a check, and the groups of one with groups.
struct CheckDescription {
  ww_check_options options{};
  ww_check_groups groups{};
  std::vector<std::int64_t> counts;
  std::vector<std::int32_t> sizes, sizes2;
  std::vector<Ref> kept;

  bool read(PyObject* fields, PyObject* group_fields);
};

/// Reads the fields of a kernel of the caller's own.
bool read_kernel(PyObject* fields, ww_kernel_source& kernel, std::vector<Ref>& kept);

}  // namespace wwpy
