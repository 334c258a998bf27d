// SPDX-License-Identifier: Apache-2.0
// The flags of a product with groups of K as a problem and the groups' arrays.
#pragma once

#include "cli/request.hpp"
#include "reference/group_layout.hpp"
#include "warpwright/host/k_grouped.hpp"

namespace ww::cli {

using namespace ref;

/// Which product, and how its groups are told.
struct KGroupedCase {
  KGroupedProblem problem;  // with row strides
  GroupLayout layout;       // its rows are rows of K
  GroupMeaning meaning;     // of layout
  GroupSpacing spacing;
  std::vector<std::int64_t> counts;
  std::string group_flags;  // the flags that describe the groups again
};
struct KGroupedRequest : Request, KGroupedCase {
  std::optional<ArrayFile> c;  // what --accumulate adds to
};

Result<KGroupedRequest> make_k_grouped_request(const Flags& flags);

/// Lays `counts` out again, and sets everything that follows from them and from the problem's extents.
Result<void> lay_out(KGroupedCase& request);

}  // namespace ww::cli
