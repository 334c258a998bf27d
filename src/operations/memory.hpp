// SPDX-License-Identifier: Apache-2.0
// The memory that this process could still allocate; asked before anything large is allocated.
#pragma once

#include <cstdint>

namespace ww::operations {

/// Returns the smaller of the system's available memory and what the control group (containers) leaves; 2^62 when
/// unknown.
std::uint64_t available_memory();

}  // namespace ww::operations
