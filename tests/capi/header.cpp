// SPDX-License-Identifier: Apache-2.0
// The C header in a C++ program, before and after the C++ interface, whose macros and names must not meet its own.
#include <warpwright/warpwright.h>
#include <warpwright/warpwright.hpp>

static_assert(sizeof(ww_gemm_problem) == 192 && sizeof(ww_grouped_problem) == 176 && sizeof(ww_options) == 40);

int main() { return ww_version_number() > 0 ? 0 : 1; }
