// SPDX-License-Identifier: Apache-2.0
// Statuses of the C interface as Python exceptions.
#pragma once

#include "errors.hpp"
#include "warpwright/warpwright.h"

namespace wwpy {

/// Returns true for WW_OK; otherwise raises this thread's last failure.
inline bool succeeded(ww_status status) {
  if (status == WW_OK) [[likely]]
    return true;
  return raise_message(static_cast<ErrorKind>(status), ww_error_argument(), ww_error_expected(), ww_error_actual(),
                       ww_error_message());
}

/// Counts forks: 0 in the process that made the module, more in its children.
int fork_generation();

}  // namespace wwpy
