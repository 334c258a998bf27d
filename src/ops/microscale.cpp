// SPDX-License-Identifier: Apache-2.0
// ww::plan_microscale and its checks.
#include "warpwright/host/microscale.hpp"

#include <fmt/format.h>

#include <tuple>

#include "launch/microscale_adapter.hpp"
#include "ops/operand_checks.hpp"
#include "warpwright/core/scale_chunks.hpp"

namespace ww {
namespace {

constexpr std::int64_t kLargestMatrix = std::int64_t{1} << 60;  // bits of a matrix, and of a batch

Result<void> check_types(const MicroscaleProblem& p) {
  if (!is_microscaled(p.scale))
    return failure(ErrorCode::unsupported, "scale", "mx or nv; ww::QuantizeProblem has the others", name_of(p.scale));
  if (p.x != bf16 && p.x != f16 && p.x != f32)
    return failure(ErrorCode::unsupported, "x (type)", "bf16, f16 or f32", name_of(p.x));
  if (p.scale == Scale::nv ? p.q != e2m1 : !is_f8f6f4(p.q))
    return failure(ErrorCode::unsupported, "q (type)",
                   p.scale == Scale::nv ? "e2m1 with nv" : "e4m3, e5m2, e3m2, e2m3 or e2m1 with mx", name_of(p.q));
  return {};
}

/// Checks that rows of `ld` elements, and matrices `batch` apart, neither overlap nor start inside a byte.
Result<void> check_matrix(const MicroscaleProblem& p, const char* ld_name, std::int64_t ld, const char* batch_name,
                          std::int64_t batch, DType type, bool written) {
  const int unit = elements_per_unit(type);
  for (const auto& [name, value, least] :
       {std::tuple("k", p.k, std::int64_t{0}), std::tuple(ld_name, ld, p.m > 1 ? p.k : 0),
        std::tuple(batch_name, batch, written && p.batch > 1 ? (p.m - 1) * ld + p.k : 0)}) {
    if (value < least)
      return failure(ErrorCode::invalid, name, fmt::format("at least {} elements", least), fmt::format("{}", value));
    if (value % unit != 0)
      return failure(ErrorCode::unsupported, name, fmt::format("a multiple of {} elements of {}", unit, name_of(type)),
                     fmt::format("{}", value));
  }
  return {};
}

Result<void> check_size(const char* name, std::int64_t count, std::int64_t stride) {
  std::int64_t all = 0;
  if (stride >= 0 && !__builtin_mul_overflow(max<std::int64_t>(count, 1), stride, &all) && all < kLargestMatrix / 32)
    return {};
  return failure(ErrorCode::invalid, name, "a stride of at least 0, and fewer than 2^55 elements in all",
                 fmt::format("{} times {}", count, stride));
}

/// Returns the problem with explicit strides, or the reason why no kernel runs it.
Result<MicroscaleProblem> validate(const MicroscaleProblem& problem, const QuantizeOptions& options) {
  MicroscaleProblem p = problem;
  WW_CHECK(ops::check_extent("m", p.m));
  WW_CHECK(ops::check_extent("k", p.k));
  WW_CHECK(ops::check_extent("batch", p.batch));
  WW_CHECK(ops::check_sms(options.sms, 0));
  WW_CHECK(check_types(p));
  if (p.ldx == 0) p.ldx = p.k;
  if (p.ldq == 0) p.ldq = p.k;
  WW_CHECK(check_size("ldx", p.m, p.ldx));
  WW_CHECK(check_size("ldq", p.m, p.ldq));
  if (p.batch_x == 0) p.batch_x = p.m * p.ldx;
  if (p.batch_q == 0) p.batch_q = p.m * p.ldq;
  WW_CHECK(check_size("batch_x", p.batch, p.batch_x));
  WW_CHECK(check_size("batch_q", p.batch, p.batch_q));
  WW_CHECK(check_matrix(p, "ldx", p.ldx, "batch_x", p.batch_x, p.x, false));
  WW_CHECK(check_matrix(p, "ldq", p.ldq, "batch_q", p.batch_q, p.q, true));
  const int vector = scale_vector(p.scale);
  const std::int64_t scales = p.chunked ? scale_bytes(p.m, p.k, vector) : p.m * ceil_div(p.k, std::int64_t{vector});
  if (p.batch_scales == 0) p.batch_scales = scales;
  if (p.batch_scales < scales && p.batch > 1)
    return failure(ErrorCode::invalid, "batch_scales", fmt::format("0, or at least {} bytes", scales),
                   fmt::format("{}", p.batch_scales));
  WW_CHECK(check_size("batch_scales", p.batch, p.batch_scales));
  const double tasks = static_cast<double>(p.batch) *
                       static_cast<double>(ceil_div(p.m, std::int64_t{kScaleChunkRows})) *
                       static_cast<double>(scale_chunks(p.k, vector));
  if (tasks > ops::kLargestTileCount)
    return failure(ErrorCode::unsupported, "m", fmt::format("at most {} chunks of scales", ops::kLargestTileCount),
                   fmt::format("{} matrices of {} x {}", p.batch, p.m, p.k));
  return p;
}

}  // namespace

class MicroscalePlan::Impl {
 public:
  std::shared_ptr<const adapters::MicroscaleAdapter> adapter;
};

Result<void> can_implement(const MicroscaleProblem& problem, const QuantizeOptions& options) {
  WW_CHECK(validate(problem, options));
  return {};
}

const MicroscaleProblem& MicroscalePlan::problem() const { return impl_->adapter->problem(); }
std::optional<EmuStats> MicroscalePlan::last_stats() const { return impl_->adapter->last_stats(); }
Result<void> MicroscalePlan::run(const MicroscaleOperands& operands, Stream stream) const {
  return impl_->adapter->run(operands, stream);
}

Result<MicroscalePlan> plan_microscale(const Device& device, const MicroscaleProblem& problem,
                                       const QuantizeOptions& options) {
  WW_TRY(const MicroscaleProblem valid, validate(problem, options));
  WW_TRY(auto adapter, adapters::MicroscaleAdapter::create(device, valid, options));
  return MicroscalePlan(std::make_shared<const MicroscalePlan::Impl>(MicroscalePlan::Impl{std::move(adapter)}));
}

}  // namespace ww
