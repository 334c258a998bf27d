// SPDX-License-Identifier: Apache-2.0
// How much memory this process could still have, asked before anything large is allocated.
#pragma once

#include <cstdint>

namespace ww::operations {

/// The smaller of what the system has available and what the control group (containers) leaves; 2^62 when unknown.
std::uint64_t available_memory();

}  // namespace ww::operations
