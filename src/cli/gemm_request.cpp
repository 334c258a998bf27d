// SPDX-License-Identifier: Apache-2.0
// Resolves the sizes and shapes of a dense problem. Precedence of a size: flag, file, default.
#include "cli/gemm_request.hpp"

#include <fmt/format.h>

#include "config/config_text.hpp"
#include "operations/dense_shapes.hpp"
#include "warpwright/config/epilogue_stages.hpp"

namespace ww::cli {

using namespace operations;

namespace {

// Sizes of a run without flags, which takes about two seconds with verification on two cores.
constexpr std::int64_t kDefaultM = 1024, kDefaultN = 2048, kDefaultK = 2048;

/// Checks that a file holds a matrix, or the matrices of a batch.
Result<void> expect_matrix(const std::optional<ArrayFile>& array, const char* meaning, const char* of_batch) {
  if (!array || array->shape.size() == 2 || array->shape.size() == 3) return {};
  return failure(ErrorCode::invalid, array->file.argument(),
                 fmt::format("a 2-D array {}, or a 3-D one {}", meaning, of_batch),
                 fmt::format("{}-D, shape {}", array->shape.size(), shape_text(array->shape)),
                 "file " + printable(array->file.path()));
}

/// Resolves the batch: from its flag, otherwise from the files that have one, otherwise 1.
Result<void> resolve_batch(const Flags& flags, GemmRequest& request) {
  GemmProblem& p = request.problem;
  std::optional<std::int64_t> in_file;
  for (const std::optional<ArrayFile>* array : {&request.a, &request.b}) {
    if (!*array || (*array)->shape.size() != 3) continue;
    if (in_file && *in_file != (*array)->shape[0])
      return failure(ErrorCode::invalid, (*array)->file.argument(), fmt::format("L = {} matrices as in --a", *in_file),
                     fmt::format("{}", (*array)->shape[0]));
    in_file = (*array)->shape[0];
  }
  WW_TRY(p.batch, resolve_size(flags.batch, "--batch", in_file, 1));
  return {};
}

/// Lets a file with fewer dimensions than a batch serve all of it.
void fill_batch_strides(GemmRequest& request) {
  GemmProblem& p = request.problem;
  if (p.batch == 1) return;
  const auto own = [](const std::optional<ArrayFile>& array, std::size_t dimensions) {
    return !array || array->shape.size() == dimensions;
  };
  p.batch_a = own(request.a, 3), p.batch_b = own(request.b, 3), p.batch_d = 1;
  const std::size_t dimensions = p.scale == Scale::tensor ? 1 : p.scale == Scale::row_column ? 2 : 3;
  const auto several = [&](const std::optional<ArrayFile>& array) {
    return own(array, dimensions) && !(array && p.scale == Scale::tensor && array->shape[0] == 1);
  };
  if (p.scale != Scale::none) p.batch_scale_a = several(request.scale_a), p.batch_scale_b = several(request.scale_b);
  pack_batch(p);
}

Result<void> resolve_sizes(const Flags& flags, GemmRequest& request) {
  GemmProblem& p = request.problem;
  const bool a_mn = p.a_major == Major::mn, b_mn = p.b_major == Major::mn;
  WW_CHECK(expect_matrix(request.a, a_mn ? "(K, M)" : "(M, K)", a_mn ? "(L, K, M)" : "(L, M, K)"));
  WW_CHECK(expect_matrix(request.b, b_mn ? "(K, N)" : "(N, K)", b_mn ? "(L, K, N)" : "(L, N, K)"));
  WW_CHECK(resolve_batch(flags, request));
  const auto extent = [](const std::optional<ArrayFile>& array, std::size_t from_last) {
    return array ? std::optional(array->shape[array->shape.size() - from_last]) : std::nullopt;
  };
  const auto k_of_a = extent(request.a, a_mn ? 2 : 1), k_of_b = extent(request.b, b_mn ? 2 : 1);
  if (request.a && request.b && *k_of_a != *k_of_b)
    return failure(ErrorCode::invalid, "--b", fmt::format("K = {} {} as in --a", *k_of_a, b_mn ? "rows" : "columns"),
                   fmt::format("{}", *k_of_b));
  WW_TRY(p.m, resolve_size(flags.m, "--m", extent(request.a, a_mn ? 1 : 2), kDefaultM));
  WW_TRY(p.n, resolve_size(flags.n, "--n", extent(request.b, b_mn ? 1 : 2), kDefaultN));
  WW_TRY(p.k, resolve_size(flags.k, "--k", request.a ? k_of_a : k_of_b, kDefaultK));
  WW_TRY(p.lda, operand_row(a_mn ? p.m : p.k, p.a));
  WW_TRY(p.ldb, operand_row(b_mn ? p.n : p.k, p.b));
  WW_CHECK(expect_bytes("--m", {p.batch, rows_of_a(p), p.lda}, bytes_of(p.a), "--batch"));
  WW_CHECK(expect_bytes("--n", {p.batch, rows_of_b(p), p.ldb}, bytes_of(p.b), "--batch"));
  return expect_bytes("--m", {p.batch, p.m, p.n}, bytes_of(p.d), "--batch");
}

/// Checks a file that holds the operand of one matrix, or of all with the batch as first dimension, even if that is 1.
Result<void> expect_of_batch(const GemmRequest& request, const std::optional<ArrayFile>& array,
                             std::vector<std::int64_t> shape, const char* meaning) {
  const std::int64_t batch = request.problem.batch;
  if (!array || array->shape.size() != shape.size() + 1) return expect_shape(array, shape, meaning);
  shape.insert(shape.begin(), batch);
  return expect_shape(array, shape, fmt::format("(L, {}", meaning + 1).c_str());
}

/// Checks files of scales. A tensor scale is one number. Row-column scales may also be (M, 1) and (1, N), the shapes
/// that a keepdim reduction leaves.
Result<void> check_scales(const Flags& flags, const GemmRequest& request) {
  const GemmProblem& p = request.problem;
  WW_CHECK(check_scale_files(flags, request));
  if (p.scale == Scale::tensor)
    for (const std::optional<ArrayFile>* array : {&request.scale_a, &request.scale_b})
      if (*array && checked_elements((*array)->shape, 4) != 1 &&
          (p.batch == 1 || (*array)->shape != std::vector{p.batch}))
        return failure(ErrorCode::invalid, (*array)->file.argument(),
                       p.batch == 1 ? "one element" : "one element, or (L,)",
                       fmt::format("shape {}", shape_text((*array)->shape)));
  if (p.scale == Scale::row_column) {
    if (!(p.batch == 1 && request.scale_a && request.scale_a->shape == std::vector{p.m, std::int64_t{1}}))
      WW_CHECK(expect_of_batch(request, request.scale_a, {p.m}, "(M,)"));
    WW_CHECK(expect_of_batch(request, request.scale_b, {p.n}, "(N,)"));
  }
  if (is_microscaled(p.scale)) {
    const std::int64_t scales = ceil_div(p.k, std::int64_t{scale_vector(p.scale)});
    const bool mx = p.scale == Scale::mx;
    WW_CHECK(expect_of_batch(request, request.scale_a, {p.m, scales}, mx ? "(M, ceil(K/32))" : "(M, ceil(K/16))"));
    return expect_of_batch(request, request.scale_b, {p.n, scales}, mx ? "(N, ceil(K/32))" : "(N, ceil(K/16))");
  }
  if (!is_block(p.scale)) return {};
  WW_CHECK(expect_of_batch(request, request.scale_a, {p.m, blocks_of(p.k)}, "(M, ceil(K/128))"));
  if (p.scale == Scale::block_1x128_1x128)
    return expect_of_batch(request, request.scale_b, {p.n, blocks_of(p.k)}, "(N, ceil(K/128))");
  return expect_of_batch(request, request.scale_b, {blocks_of(p.n), blocks_of(p.k)}, "(ceil(N/128), ceil(K/128))");
}

/// Checks that the expression names every operand file and that each has the right shape.
Result<void> check_epilogue_files(const Flags& flags, const GemmRequest& request) {
  const GemmProblem& p = request.problem;
  const EpilogueFiles& files = request.epilogue_files;
  WW_CHECK(check_operands_named(flags, files, p.epilogue));
  for (const EpilogueFlag& f : epilogue_flags()) {
    const std::optional<ArrayFile>& file = files.at(f.op, f.slot);
    if (f.op == EpilogueOp::row_vector) WW_CHECK(expect_of_batch(request, file, {p.n}, "(N,)"));
    else if (f.op == EpilogueOp::column_vector) WW_CHECK(expect_of_batch(request, file, {p.m}, "(M,)"));
    else WW_CHECK(expect_of_batch(request, file, {p.m, p.n}, "(M, N)"));
  }
  return {};
}

/// Sets the fields of --tile-scheduler and --split.
Result<void> resolve_scheduler(const Flags& flags, GemmConfig& config) {
  constexpr TileScheduler kOrders[] = {TileScheduler::automatic, TileScheduler::single,   TileScheduler::fixed,
                                       TileScheduler::dynamic,   TileScheduler::stream_k, TileScheduler::split_k,
                                       TileScheduler::clc};
  WW_TRY(const int order, parse_choice(flags.tile_scheduler, "--tile-scheduler",
                                       {"auto", "single", "static", "dynamic", "stream-k", "split-k", "clc"}, -1));
  if (order >= 0) config.sm90.tile_scheduler = kOrders[order];
  return resolve_split(flags, 1024, config);
}

/// `config` with the fields that follow from the problem.
GemmConfig with_problem(GemmConfig config, const GemmProblem& p) {
  config.operands.layout.a = p.a_major, config.operands.layout.b = p.b_major;
  config.operands.d_layout = p.d_layout, config.operands.c_layout = p.c_layout;
  config.operands.pointer_array = p.pointer_array, config.epilogue = p.epilogue;
  return config;
}

}  // namespace

Result<GemmRequest> make_request(const Flags& flags) {
  GemmRequest request;
  WW_CHECK(resolve_request(flags, request));
  WW_CHECK(resolve_scheduler(flags, request.options.config));
  GemmProblem& p = request.problem;
  p.a = request.types.ab, p.b = request.types.b, p.d = request.types.d, p.scale = request.types.scale;
  MatrixLayout layout{request.options.config.operands.layout.a, request.options.config.operands.layout.b};
  if (flags.layout) {
    WW_TRY(layout, parse_layout(*flags.layout, "--layout"));
  }
  p.a_major = layout.a, p.b_major = layout.b;
  p.pointer_array = flags.pointer_array || request.options.config.operands.pointer_array;
  p.d_layout = request.options.config.operands.d_layout;
  WW_TRY(const int d_layout, parse_choice(flags.d_layout, "--d-layout", {"row", "column"}, -1));
  if (d_layout >= 0) p.d_layout = static_cast<OutputLayout>(d_layout);
  p.c_layout = request.options.config.operands.c_layout;
  WW_TRY(const int c_layout, parse_choice(flags.c_layout, "--c-layout", {"row", "column"}, -1));
  if (c_layout >= 0) p.c_layout = static_cast<OutputLayout>(c_layout);
  WW_TRY(p.epilogue, resolve_epilogue(flags, request.options.config.epilogue, request));
  p.d = output_type(flags, p.epilogue, p.d);
  WW_CHECK(resolve_sizes(flags, request));
  WW_CHECK(check_scales(flags, request));
  WW_CHECK(check_epilogue_files(flags, request));
  WW_CHECK(check_operands_given(flags, p.epilogue, request));
  WW_CHECK(check_config_agrees(flags, with_problem(request.options.config, p)));
  WW_CHECK(check_batched(flags, request.options.config, p.batch > 1 || p.pointer_array, "a batch"));
  fill_batch_strides(request);
  const bool nothing_given = !flags.m && !flags.n && !flags.k && !flags.a && !flags.b;
  request.verify = verify_of(flags).value_or(nothing_given);
  return request;
}

}  // namespace ww::cli
