// SPDX-License-Identifier: Apache-2.0
// The epilogue flags that dense and grouped products share: the tree, its scalars and the files of its operands.
#pragma once

#include <cstdint>
#include <span>

#include "cli/request.hpp"
#include "operations/epilogue_operands.hpp"

namespace ww::cli {

using namespace operations;

struct EpilogueRequest {
  EpilogueFiles epilogue_files;
  std::array<float, kEpilogueSlots> scalar{1, 1, 1, 1};
  std::optional<std::string> out_scales, amax;
  std::array<std::optional<std::string>, kEpilogueSlots> outputs;
};

/// The language of --epilogue, a line for each function, as --help and the manual page show it.
std::vector<std::string> epilogue_help();

/// The flag of a leaf that is a tensor.
struct EpilogueFlag {
  const char* argument;
  Flag Flags::*flag;
  EpilogueOp op;
  int slot;
};
std::span<const EpilogueFlag> epilogue_flags();

/// Writes what the request names. `matrices`: how many the outputs of a batch or of masked groups are, 0 of one product
/// or of groups whose rows lie in one matrix.
Result<void> write_outputs(const EpilogueRequest& request, const EpilogueTensors& tensors, std::int64_t matrices);

/// Returns the type of D: `given`, by a flag or a config, unless the tree quantises and it is no FP8 type.
DType output_type(const Flags& flags, const EpilogueTree& tree, DType given);

/// Returns the tree from --epilogue, otherwise `of_config`, otherwise from --alpha, --beta, --c and --bias. Opens the
/// files.
Result<EpilogueTree> resolve_epilogue(const Flags& flags, const EpilogueTree& of_config, EpilogueRequest& request);

/// Beside an operand from a file every other one comes from a file too, or is asked for as "generated": random values
/// are never mixed with data unasked. Fills request.sources.
Result<void> check_operands_given(const Flags& flags, const EpilogueTree& tree, Request& request);

/// Refuses scalars, operands and files that the expression does not name or types otherwise.
Result<void> check_operands_named(const Flags& flags, const EpilogueFiles& files, const EpilogueTree& tree);

}  // namespace ww::cli
