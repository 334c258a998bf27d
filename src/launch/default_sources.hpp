// SPDX-License-Identifier: Apache-2.0
// The kernels for which the library ships emulator modules: one source for each default configuration.
// The module generator compiles them when the library is built.
#pragma once

#include <vector>

#include "host/kernel_launch.hpp"

namespace ww::adapters {

std::vector<runtime::KernelSource> default_sources();

}  // namespace ww::adapters
