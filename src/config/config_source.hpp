// SPDX-License-Identifier: Apache-2.0
// Writes a config as C++, with which a kernel's source is instantiated.
#pragma once

#include <string>

#include "warpwright/config/gemm_config.hpp"

namespace ww {

/// Returns a braced initialiser of ww::GemmConfig with every field that is not at its default.
std::string to_source(const GemmConfig& config);

}  // namespace ww
