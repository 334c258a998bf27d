// SPDX-License-Identifier: Apache-2.0
// The flags of a product with groups of K as a problem and the groups' arrays.
#pragma once

#include <cstdint>

#include "cli/request.hpp"
#include "reference/group_layout.hpp"
#include "warpwright/host/k_grouped.hpp"

namespace ww::cli {

using namespace ref;

struct KGroupedRequest : Request {
  KGroupedProblem problem;  // with row strides
  GroupLayout layout;       // its rows are rows of K
  GroupMeaning meaning;     // of layout
  GroupSpacing spacing;
  std::vector<std::int64_t> counts;
  std::string group_flags;     // of groups from files: the flags that describe them again
  std::optional<ArrayFile> c;  // what --accumulate adds to
};

Result<KGroupedRequest> make_k_grouped_request(const Flags& flags);

}  // namespace ww::cli
