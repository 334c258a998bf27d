// SPDX-License-Identifier: Apache-2.0
// Exists so that linking the library's target is resolved.
#include <warpwright/warpwright.hpp>
