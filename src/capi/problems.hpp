// SPDX-License-Identifier: Apache-2.0
// Problems and options of the C interface as those of the library, and their keys in the cache of plans. Each operation
// has one Operation<...>, by which the functions of the interface are written once for all of them.
#pragma once

#include <optional>

#include "capi/plan_cache.hpp"
#include "capi/structs.hpp"
#include "warpwright/host/gemm.hpp"
#include "warpwright/host/grouped.hpp"
#include "warpwright/host/k_grouped.hpp"
#include "warpwright/host/microscale.hpp"
#include "warpwright/host/pack_scales.hpp"
#include "warpwright/host/quantize.hpp"

namespace ww::capi {

Result<GemmProblem> to_problem(const ww_gemm_problem& from);
Result<GroupedProblem> to_problem(const ww_grouped_problem& from);
Result<KGroupedProblem> to_problem(const ww_k_grouped_problem& from);
Result<QuantizeProblem> to_problem(const ww_quantize_problem& from);
Result<TransposeProblem> to_problem(const ww_transpose_problem& from);
Result<PackScalesProblem> to_problem(const ww_pack_scales_problem& from);
Result<MicroscaleProblem> to_problem(const ww_microscale_problem& from);

/// Options without a config.
Result<GemmOptions> to_options(const ww_options& from);
/// Options with the config that the text of `from` gives over the types of `problem`. A text without arch takes the
/// device's, and one that names another is refused. Without a device the text decides.
template <class Problem>
Result<GemmOptions> to_options(const ww_options& from, const Problem& problem, std::optional<Arch> device);
/// Options of problems whose kernels have no config.
Result<QuantizeOptions> to_options(const ww_options& from, const QuantizeProblem& problem, std::optional<Arch> device);
Result<QuantizeOptions> to_options(const ww_options& from, const TransposeProblem& problem, std::optional<Arch> device);
Result<QuantizeOptions> to_options(const ww_options& from, const PackScalesProblem& problem,
                                   std::optional<Arch> device);
Result<QuantizeOptions> to_options(const ww_options& from, const MicroscaleProblem& problem,
                                   std::optional<Arch> device);

/// A problem and its options, as every function with both takes them.
template <class CProblem> struct Request {
  using Problem = typename decltype(to_problem(std::declval<CProblem>()))::value_type;
  using Options = typename decltype(to_options(std::declval<ww_options>(), std::declval<Problem>(),
                                               std::optional<Arch>{}))::value_type;
  Problem problem;
  Options options;

  /// `device`: the architecture of the device that is to run it, if there is one.
  ww_status read(const CProblem* given_problem, const ww_options* given_options,
                 std::optional<Arch> device = std::nullopt) {
    Given<CProblem> from;
    Given<ww_options> how;
    WW_C_PASS(from.read("problem", given_problem));
    WW_C_PASS(how.read("options", given_options, true));
    WW_C_TRY(problem, to_problem(*from));
    WW_C_TRY(options, to_options(*how, problem, device));
    return WW_OK;
  }
};

/// The key of a problem and options, which the caller's fields and texts determine.
template <class CProblem> PlanKey key_of(const CProblem& problem, const ww_options& options);

}  // namespace ww::capi
