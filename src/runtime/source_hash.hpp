// SPDX-License-Identifier: Apache-2.0
// The identity of the kernels in this build.
#pragma once

#include <string>

namespace ww::runtime {

/// Returns the hash of the kernels' headers, "xxh3-128:...". With equal hashes, one config is one kernel.
const std::string& source_hash();

}  // namespace ww::runtime
