// SPDX-License-Identifier: Apache-2.0
// From the requests of each operation, which flags and files make, to the operation.
#include "cli/operation_request.hpp"

#include "cli/gemm_request.hpp"
#include "cli/grouped_request.hpp"
#include "cli/k_grouped_request.hpp"

namespace ww::cli {
namespace {

operations::Inputs inputs_of(Request& request) {
  operations::Inputs inputs;
  inputs.options = request.options, inputs.seed = request.seed;
  inputs.a = std::move(request.a), inputs.b = std::move(request.b);
  inputs.scale_a = std::move(request.scale_a), inputs.scale_b = std::move(request.scale_b);
  return inputs;
}
operations::Inputs inputs_of(Request& request, EpilogueRequest& epilogue) {
  operations::Inputs inputs = inputs_of(request);
  inputs.epilogue_files = std::move(epilogue.epilogue_files);
  inputs.scalar = epilogue.scalar;
  return inputs;
}

/// The groups with their counts if there are any, otherwise with the arrays that came from files.
template <class GroupedFlags> operations::Groups groups_of(const GroupedFlags& request) {
  operations::Groups groups{request.layout, request.meaning, {}};
  if (request.counts.empty())
    groups.described = {.sizes = request.layout.sizes, .sizes2 = request.layout.sizes2, .flags = request.group_flags};
  else
    groups.described = {.counts = request.counts, .alignment = request.spacing.alignment, .gap = request.spacing.gap};
  return groups;
}

}  // namespace

Result<OperationRequest> request_gemm(const Flags& flags) {
  WW_TRY(GemmRequest request, make_request(flags));
  auto operation = operations::make_operation(request.problem, inputs_of(request, request));
  EpilogueRequest epilogue = std::move(static_cast<EpilogueRequest&>(request));
  return OperationRequest{std::move(request), std::move(epilogue), std::move(operation), request_gemm};
}

Result<OperationRequest> request_grouped(const Flags& flags) {
  WW_TRY(GroupedRequest request, make_grouped_request(flags));
  auto operation = operations::make_operation(request.problem, groups_of(request), inputs_of(request, request));
  EpilogueRequest epilogue = std::move(static_cast<EpilogueRequest&>(request));
  return OperationRequest{std::move(request), std::move(epilogue), std::move(operation), request_grouped};
}

Result<OperationRequest> request_k_grouped(const Flags& flags) {
  WW_TRY(KGroupedRequest request, make_k_grouped_request(flags));
  auto operation =
      operations::make_operation(request.problem, groups_of(request), inputs_of(request), std::move(request.c));
  return OperationRequest{std::move(request), {}, std::move(operation), request_k_grouped};
}

}  // namespace ww::cli
