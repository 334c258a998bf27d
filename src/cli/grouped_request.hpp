// SPDX-License-Identifier: Apache-2.0
// Turns the flags of a grouped GEMM into a problem and the arrays of its groups. Checks types and files as for a GEMM,
// then G and the groups, then the shape of every array against them.
#pragma once

#include <cstdint>

#include "cli/epilogue_request.hpp"
#include "cli/request.hpp"
#include "reference/group_layout.hpp"
#include "warpwright/host/grouped.hpp"

namespace ww::cli {

using namespace ref;

struct GroupedRequest : Request, EpilogueRequest {
  GroupedProblem problem;  // row strides of A and B are K rounded up to 16 bytes
  GroupLayout layout;
  GroupMeaning meaning;  // of layout
  bool sizes_from_file = false;
  std::string group_flags;  // of groups from files: the flags that describe them again
  GroupSpacing spacing;     // generated groups only: how the arrays were made
  std::vector<std::int64_t> counts;
  bool scale_a_of_group = false, scale_b_of_group = false;  // per tensor: one number for each group
};

Result<GroupedRequest> make_grouped_request(const Flags& flags);

}  // namespace ww::cli
