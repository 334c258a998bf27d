// SPDX-License-Identifier: Apache-2.0
// Configs as text: what the program prints and takes, what a file of tuned configs holds.
//   tile=128x128x128,cluster=2x1,stages=6      keys that are left out stay open, and are chosen to suit the others
#pragma once

#include <string>
#include <string_view>

#include "warpwright/config/gemm_config.hpp"
#include "warpwright/host/result.hpp"

namespace ww {

/// The text of `config`; parse_config() makes the same config of it.
std::string to_text(const GemmConfig& config);

/// `base` supplies what the text leaves out. Errors: invalid, naming the key, what it takes and what came.
Result<GemmConfig> parse_config(std::string_view text, GemmConfig base = {});

}  // namespace ww
