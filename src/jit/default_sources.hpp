// SPDX-License-Identifier: Apache-2.0
// The kernels for which the library ships emulator modules: one source for each default configuration.
// Declared here for the module generator; defined where configurations are known.
#pragma once

#include <vector>

#include "runtime/backend.hpp"

namespace ww::jit {

std::vector<runtime::KernelSource> default_sources();

}  // namespace ww::jit
