// SPDX-License-Identifier: Apache-2.0
// The flags of an operation as the operation itself. Verbs take it and do not know which operation it is: a new verb
// is a function of an OperationRequest and its rows in commands.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/epilogue_request.hpp"
#include "operations/operation.hpp"

namespace ww::cli {

struct OperationRequest {
  Request request;           // without the files, which the operation has
  EpilogueRequest epilogue;  // its files to write
  std::unique_ptr<operations::Operation> operation;
  Result<OperationRequest> (*make)(const Flags&);  // the same operation of other flags
};

Result<OperationRequest> request_gemm(const Flags& flags);
Result<OperationRequest> request_grouped(const Flags& flags);
Result<OperationRequest> request_k_grouped(const Flags& flags);

Result<Outcome> run_operation(OperationRequest asked, const Flags& flags);
Result<Outcome> show_configs(OperationRequest asked, const Flags& flags);
Result<Outcome> explain_choice(OperationRequest asked, const Flags& flags);
Result<Outcome> prepare_kernels(OperationRequest asked, const Flags& flags);

using OperationMaker = Result<OperationRequest>(const Flags&);
using OperationVerb = Result<Outcome>(OperationRequest, const Flags&);

/// A row of commands.cpp: `verb` of the operation that `make` makes.
template <OperationMaker make, OperationVerb verb> Result<Outcome> run_verb(const Flags& flags) {
  WW_TRY(OperationRequest asked, make(flags));
  return verb(std::move(asked), flags);
}

}  // namespace ww::cli
