// SPDX-License-Identifier: Apache-2.0
// A config as C++: what a kernel's source is instantiated with.
#pragma once

#include <string>

#include "warpwright/config/gemm_config.hpp"

namespace ww {

/// A braced initialiser of ww::GemmConfig with every field that is not at its default.
std::string to_source(const GemmConfig& config);

}  // namespace ww
