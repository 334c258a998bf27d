// SPDX-License-Identifier: Apache-2.0
// Sizes and shapes of a dense problem. Precedence of a size: flag, file, default.
#include "cli/gemm_request.hpp"

#include <fmt/format.h>

namespace ww::cli {
namespace {

// A first run without flags: about two seconds with verification on two cores.
constexpr std::int64_t kDefaultM = 1024, kDefaultN = 2048, kDefaultK = 2048;

Result<void> expect_matrix(const std::optional<ArrayFile>& array, const char* meaning) {
  if (!array || array->shape.size() == 2) return {};
  return failure(ErrorCode::invalid, array->file.argument(), fmt::format("a 2-D array {}", meaning),
                 fmt::format("{}-D, shape {}", array->shape.size(), shape_text(array->shape)),
                 "file " + array->file.path());
}

Result<void> resolve_sizes(const GemmFlags& flags, GemmRequest& request) {
  GemmProblem& p = request.problem;
  WW_CHECK(expect_matrix(request.a, "(M, K)"));
  WW_CHECK(expect_matrix(request.b, "(N, K)"));
  if (request.a && request.b && request.a->shape[1] != request.b->shape[1])
    return failure(ErrorCode::invalid, "--b", fmt::format("K = {} columns as in --a", request.a->shape[1]),
                   fmt::format("{}", request.b->shape[1]));
  const auto extent = [](const std::optional<ArrayFile>& array, std::size_t i) {
    return array ? std::optional(array->shape[i]) : std::nullopt;
  };
  WW_TRY(p.m, resolve_size(flags.m, "--m", extent(request.a, 0), kDefaultM));
  WW_TRY(p.n, resolve_size(flags.n, "--n", extent(request.b, 0), kDefaultN));
  WW_TRY(p.k, resolve_size(flags.k, "--k", request.a ? extent(request.a, 1) : extent(request.b, 1), kDefaultK));
  WW_TRY(p.lda, operand_row(p.k, p.a));
  p.ldb = p.lda;
  WW_CHECK(expect_bytes("--m", {p.m, p.lda}, bytes_of(p.a)));
  WW_CHECK(expect_bytes("--n", {p.n, p.ldb}, bytes_of(p.b)));
  return expect_bytes("--m", {p.m, p.n}, bytes_of(p.d));
}

/// One number; of row-column scales also (M, 1) and (1, N), which is how a keepdim reduction leaves them.
Result<void> check_scales(const GemmRequest& request) {
  const GemmProblem& p = request.problem;
  WW_CHECK(check_scale_files(request));
  if (p.scale == Scale::tensor)
    for (const std::optional<ArrayFile>* array : {&request.scale_a, &request.scale_b})
      if (*array && checked_elements((*array)->shape, 4) != 1)
        return failure(ErrorCode::invalid, (*array)->file.argument(), "one element",
                       fmt::format("shape {}", shape_text((*array)->shape)));
  if (p.scale == Scale::row_column) {
    if (request.scale_a && request.scale_a->shape != std::vector{p.m, std::int64_t{1}})
      WW_CHECK(expect_shape(request.scale_a, {p.m}, "(M,)"));
    if (request.scale_b && request.scale_b->shape != std::vector{std::int64_t{1}, p.n})
      WW_CHECK(expect_shape(request.scale_b, {p.n}, "(N,)"));
  }
  if (p.scale != Scale::block_1x128_128x128) return {};
  WW_CHECK(expect_shape(request.scale_a, {p.m, blocks_of(p.k)}, "(M, ceil(K/128))"));
  return expect_shape(request.scale_b, {blocks_of(p.n), blocks_of(p.k)}, "(ceil(N/128), ceil(K/128))");
}

}  // namespace

Result<GemmRequest> make_request(const GemmFlags& flags) {
  GemmRequest request;
  WW_CHECK(resolve_request(flags, request));
  GemmProblem& p = request.problem;
  p.a = p.b = request.types.ab, p.d = request.types.d, p.scale = request.types.scale;
  WW_CHECK(resolve_sizes(flags, request));
  WW_CHECK(check_scales(request));
  const bool nothing_given = !flags.m && !flags.n && !flags.k && !flags.a && !flags.b;
  request.verify = flags.verify.value_or(nothing_given);
  return request;
}

}  // namespace ww::cli
