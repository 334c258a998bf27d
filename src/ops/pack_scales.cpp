// SPDX-License-Identifier: Apache-2.0
// ww::plan_pack_scales and its checks.
#include "warpwright/host/pack_scales.hpp"

#include <array>

#include <fmt/format.h>

#include "launch/pack_scales_adapter.hpp"
#include "ops/grouped_validation.hpp"
#include "ops/operand_checks.hpp"
#include "warpwright/core/meta.hpp"

namespace ww {
namespace {

using Axis = ops::ScaleAxis;

constexpr std::int64_t kMostSpan = 65536;

Result<void> check_extents(const PackScalesProblem& p) {
  WW_CHECK(ops::check_extent("m", p.m));
  WW_CHECK(ops::check_extent("k", p.k));
  WW_CHECK(ops::check_extent("batch", p.batch));
  WW_CHECK(ops::check_extent("words", p.words));
  WW_CHECK(ops::check_group_count(p.groups));
  if (p.groups == 0) {
    const std::int64_t words = ceil_div(p.k, std::int64_t{config::kPackedScales});
    if (p.words != 0 && p.words != words)
      return failure(ErrorCode::invalid, "words", fmt::format("0 or ceil(k / 4) = {} without groups", words),
                     fmt::format("{}", p.words));
    return {};
  }
  if (p.batch != 1) return failure(ErrorCode::unsupported, "batch", "1 with groups", fmt::format("{}", p.batch));
  if (p.words == 0 && p.k > 0)
    return failure(ErrorCode::invalid, "words", "the words of a row, which groups do not tell the host", "0");
  if (p.span < 1 || p.span > kMostSpan)
    return failure(ErrorCode::invalid, "span", fmt::format("1 to {}", kMostSpan), fmt::format("{}", p.span));
  return {};
}

/// Returns the problem with explicit strides, or the reason why no kernel runs it.
Result<PackScalesProblem> validate(const PackScalesProblem& problem, const QuantizeOptions& options) {
  PackScalesProblem p = problem;
  WW_CHECK(check_extents(p));
  WW_CHECK(ops::check_sms(options.sms, 0));
  if (p.groups == 0) p.words = ceil_div(p.k, std::int64_t{config::kPackedScales});
  if (p.scale_m == 0 && p.scale_k == 0) p.scale_m = p.k, p.scale_k = 1;
  if (p.packed_m == 0 && p.packed_k == 0) p.packed_m = 1, p.packed_k = round_up(p.m, std::int64_t{4});
  // The strides are bounded before they are multiplied.
  WW_CHECK(ops::check_scale_strides("scales", std::array{Axis{p.m, p.scale_m}, Axis{p.k, p.scale_k}}));
  WW_CHECK(ops::check_scale_strides("packed", std::array{Axis{p.m, p.packed_m}, Axis{p.words, p.packed_k}}));
  if (p.batch_scales == 0) p.batch_scales = max(p.m * p.scale_m, p.k * p.scale_k);
  if (p.batch_packed == 0) p.batch_packed = max(p.m * p.packed_m, p.words * p.packed_k);
  WW_CHECK(ops::check_scale_strides(
      "scales", std::array{Axis{p.batch, p.batch_scales}, Axis{p.m, p.scale_m}, Axis{p.k, p.scale_k}}));
  WW_CHECK(ops::check_scale_strides(
      "packed", std::array{Axis{p.batch, p.batch_packed}, Axis{p.m, p.packed_m}, Axis{p.words, p.packed_k}}));
  const auto nested = [](Axis inner, Axis outer) {
    return (inner.count <= 1 || inner.stride >= 1) &&
           (outer.count <= 1 || outer.stride > (max<std::int64_t>(inner.count, 1) - 1) * inner.stride);
  };
  const Axis rows{p.m, p.packed_m}, words{p.words, p.packed_k};
  if (!(nested(rows, words) || nested(words, rows)) || (p.batch > 1 && p.batch_packed < adapters::packed_words_span(p)))
    return failure(ErrorCode::invalid, "packed (strides)",
                   fmt::format("a word of its own for each of ({}, {}, {})", p.batch, p.m, p.words),
                   fmt::format("({}, {}, {})", p.batch_packed, p.packed_m, p.packed_k));
  const double tasks = static_cast<double>(p.batch) *
                       static_cast<double>(ceil_div(p.m, std::int64_t{config::kPackThreads})) *
                       static_cast<double>(ceil_div(p.words, std::int64_t{config::kPackWords}));
  if (tasks > ops::kLargestTileCount)
    return failure(ErrorCode::unsupported, "m", fmt::format("at most {} tiles", ops::kLargestTileCount),
                   fmt::format("{} matrices of {} x {}", p.batch, p.m, p.k));
  return p;
}

}  // namespace

class PackScalesPlan::Impl {
 public:
  std::shared_ptr<const adapters::PackScalesAdapter> adapter;
};

Result<void> can_implement(const PackScalesProblem& problem, const QuantizeOptions& options) {
  WW_CHECK(validate(problem, options));
  return {};
}

const PackScalesProblem& PackScalesPlan::problem() const { return impl_->adapter->problem(); }
std::optional<EmuStats> PackScalesPlan::last_stats() const { return impl_->adapter->last_stats(); }
Result<void> PackScalesPlan::run(const PackScalesOperands& operands, Stream stream) const {
  return impl_->adapter->run(operands, stream);
}

Result<PackScalesPlan> plan_pack_scales(const Device& device, const PackScalesProblem& problem,
                                        const QuantizeOptions& options) {
  WW_TRY(const PackScalesProblem valid, validate(problem, options));
  WW_TRY(auto adapter, adapters::PackScalesAdapter::create(device, valid, options));
  return PackScalesPlan(std::make_shared<const PackScalesPlan::Impl>(PackScalesPlan::Impl{std::move(adapter)}));
}

}  // namespace ww
