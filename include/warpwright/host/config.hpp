// SPDX-License-Identifier: Apache-2.0
// Configs as text, as the program prints and takes them and a file of tuned configs holds them.
//   tile=128x128x128,cluster=2x1,stages=6      keys that are left out stay open and are chosen to suit the others
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "warpwright/config/gemm_config.hpp"
#include "warpwright/host/result.hpp"

namespace ww {

/// Returns the text of `config`, from which parse_config() makes the same config.
std::string to_text(const GemmConfig& config);

/// Parses a config. `base` supplies what the text omits. `device` is the architecture of the device that is to run it,
/// if there is one: it replaces that of `base`, and a text that names another is refused as unsupported. Other errors:
/// invalid; they name the key, what it accepts and what it got.
Result<GemmConfig> parse_config(std::string_view text, GemmConfig base = {}, std::optional<Arch> device = std::nullopt);

}  // namespace ww
