// SPDX-License-Identifier: Apache-2.0
// The epilogue flags that dense and grouped products share: the tree, its scalars and the files of its operands.
#pragma once

#include "cli/request.hpp"
#include "operations/epilogue_operands.hpp"

namespace ww::cli {

using namespace operations;

struct EpilogueRequest {
  EpilogueFiles epilogue_files;
  float alpha = 1, beta = 1;
  std::optional<std::string> out_scales;
};

/// Returns the tree from --epilogue, otherwise `of_config`, otherwise from --alpha, --beta, --c and --bias. Opens the
/// files.
Result<EpilogueTree> resolve_epilogue(const Flags& flags, const EpilogueTree& of_config, EpilogueRequest& request);

/// Beside an operand from a file every other one comes from a file too, or is asked for as "generated": random values
/// are never mixed with data unasked. Fills request.sources.
Result<void> check_operands_given(const Flags& flags, const EpilogueTree& tree, Request& request);

/// Refuses scalars and operand files that the expression does not name, because they would have no effect.
Result<void> check_operands_named(const Flags& flags, const EpilogueTree& tree);

}  // namespace ww::cli
