// SPDX-License-Identifier: Apache-2.0
// Verification against FP64.
#include "warpwright/host/verify.hpp"

#include "capi/enumerations.hpp"
#include "capi/operands.hpp"
#include "capi/problems.hpp"

namespace ww::capi {
namespace {

ww_element element_of(const Verification::Element& from) {
  ww_element to{};
  from.tensor.copy(to.tensor, sizeof to.tensor - 1);
  to.product = from.product, to.row = from.row, to.column = from.column;
  to.got = from.got, to.expected = from.expected, to.bound = from.bound;
  return to;
}

template <class Operands, class CProblem, class COperands>
ww_status verify_run(const CProblem* problem, const COperands* given, ww_math math, ww_verification* verification) {
  Request<CProblem> request;
  WW_C_PASS(request.read(problem, nullptr));
  VerifyOptions options;
  WW_C_TRY(options.math, to_math("math", math));
  Operands operands;
  WW_C_PASS(read_operands(given, operands));
  WW_C_PASS(check_output("verification", verification));
  WW_C_TRY(const Verification found, verify(request.problem, operands, options));
  ww_verification to{};
  to.elements = found.elements, to.wrong = found.wrong;
  to.max_error = found.max_error, to.max_error_of_bound = found.max_error_of_bound;
  if (found.first) to.first = element_of(*found.first);
  to.worst = element_of(found.worst);
  return write_struct("verification", to, verification);
}

}  // namespace
}  // namespace ww::capi

using namespace ww::capi;

extern "C" {

ww_status ww_gemm_verify(const ww_gemm_problem* problem, const ww_gemm_operands* operands, ww_math math,
                         ww_verification* verification) {
  return guarded([&] { return verify_run<ww::GemmOperands>(problem, operands, math, verification); });
}
ww_status ww_grouped_verify(const ww_grouped_problem* problem, const ww_grouped_operands* operands, ww_math math,
                            ww_verification* verification) {
  return guarded([&] { return verify_run<ww::GroupedOperands>(problem, operands, math, verification); });
}
ww_status ww_k_grouped_verify(const ww_k_grouped_problem* problem, const ww_k_grouped_operands* operands, ww_math math,
                              ww_verification* verification) {
  return guarded([&] { return verify_run<ww::KGroupedOperands>(problem, operands, math, verification); });
}

}  // extern "C"
