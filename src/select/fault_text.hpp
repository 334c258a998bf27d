// SPDX-License-Identifier: Apache-2.0
// What a field at fault accepts, for messages: the text of a ConfigFault with the limit of the architecture filled in.
#pragma once

#include <string>

#include <fmt/format.h>

#include "warpwright/config/faults.hpp"

namespace ww::select {

inline std::string expected_text(const config::ConfigFault& fault) {
  return fmt::format(fmt::runtime(fault.expected), fault.limit);
}

}  // namespace ww::select
