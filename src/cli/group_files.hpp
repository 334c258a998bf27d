// SPDX-License-Identifier: Apache-2.0
// The arrays of groups, of rows or of K, that files hold instead of flags.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags.hpp"
#include "reference/group_layout.hpp"

namespace ww::cli {

/// The arrays of the groups, when files hold them.
struct SizeFiles {
  std::optional<GroupEncoding> encoding;
  std::string argument;  // the flag that named the first
  std::vector<std::int32_t> sizes, sizes2;
};

Result<SizeFiles> open_sizes(const Flags& flags);

/// The flags of files again; `rows` is the flag of how many rows there are.
std::string file_flags(const Flags& flags, const ref::GroupLayout& layout, const char* rows);

}  // namespace ww::cli
