// SPDX-License-Identifier: Apache-2.0
// Field by field, from the C structures. What the fields mean is checked by the library, which names them alike.
#include "capi/problems.hpp"

#include <climits>
#include <utility>

#include "capi/enumerations.hpp"
#include "host/messages.hpp"
#include "warpwright/host/config.hpp"
#include "warpwright/host/epilogue.hpp"

namespace ww::capi {
namespace {

/// What the three products have in common.
template <class From, class To> Result<void> read_common(const From& from, To& to) {
  to.n = from.n, to.k = from.k;
  WW_TRY(to.a, to_dtype("a_type", from.a_type));
  WW_TRY(to.b, to_dtype("b_type", from.b_type));
  WW_TRY(to.d, to_dtype("d_type", from.d_type));
  WW_TRY(to.scale, to_scale(from.scale));
  WW_TRY(to.scale_type, to_scale_type(from.scale_type));
  to.lda = from.lda, to.ldb = from.ldb, to.ldd = from.ldd;
  to.scale_a_row = from.scale_a_row, to.scale_a_k = from.scale_a_k;
  to.scale_b_n = from.scale_b_n, to.scale_b_k = from.scale_b_k;
  return {};
}

template <class From, class To> Result<void> read_groups(const From& from, To& to) {
  to.groups = from.groups;
  WW_TRY(to.encoding, to_encoding(from.encoding));
  to.alignment = from.alignment == 0 ? 1 : from.alignment;
  to.scale_a_group = from.scale_a_group, to.scale_b_group = from.scale_b_group;
  return {};
}

Result<void> read_epilogue(const char* text, EpilogueTree& to) {
  if (text == nullptr || *text == '\0') return {};
  WW_TRY(to, parse_epilogue(text));
  return {};
}

Result<void> check_f32_scales(ww_scale_type number) {
  WW_TRY(const ScaleType type, to_scale_type(number));
  if (type == ScaleType::f32) return {};
  return failure(ErrorCode::unsupported, "scale_type", "f32, whose scales power_of_two = 1 makes powers of two",
                 name_of(type));
}

Result<void> check_reserved(const char* field, std::int64_t value) {
  if (value == 0) return {};
  return failure(ErrorCode::invalid, field, "0: the field is reserved", fmt::format("{}", value));
}

}  // namespace

Result<GemmProblem> to_problem(const ww_gemm_problem& from) {
  GemmProblem to;
  WW_CHECK(read_common(from, to));
  to.m = from.m;
  WW_TRY(to.a_major, to_major("a_major", from.a_major));
  WW_TRY(to.b_major, to_major("b_major", from.b_major));
  WW_TRY(to.d_layout, to_output_layout("d_layout", from.d_layout));
  WW_TRY(to.c_layout, to_output_layout("c_layout", from.c_layout));
  if (from.batched != 0) {
    to.batch = from.batch;
    to.batch_a = from.batch_a, to.batch_b = from.batch_b, to.batch_d = from.batch_d;
    to.batch_scale_a = from.batch_scale_a, to.batch_scale_b = from.batch_scale_b;
    to.pointer_array = from.pointer_array != 0;
  }
  WW_CHECK(read_epilogue(from.epilogue, to.epilogue));
  return to;
}

Result<GroupedProblem> to_problem(const ww_grouped_problem& from) {
  GroupedProblem to;
  WW_CHECK(read_common(from, to));
  WW_CHECK(read_groups(from, to));
  to.rows = from.rows;
  to.zero_outside = from.zero_outside != 0;
  to.stride_b_group = from.stride_b_group;
  WW_TRY(to.b_major, to_major("b_major", from.b_major));
  WW_CHECK(read_epilogue(from.epilogue, to.epilogue));
  if (*text_or_empty(from.expected_sizes) != '\0') {
    WW_TRY(to.expected_sizes, parse_integers(from.expected_sizes, "expected_sizes", 0));
  }
  return to;
}

Result<KGroupedProblem> to_problem(const ww_k_grouped_problem& from) {
  KGroupedProblem to;
  WW_CHECK(read_common(from, to));
  WW_CHECK(read_groups(from, to));
  to.m = from.m;
  WW_TRY(to.a_major, to_major("a_major", from.a_major));
  WW_TRY(to.b_major, to_major("b_major", from.b_major));
  to.accumulate = from.accumulate != 0;
  to.stride_d_group = from.stride_d_group;
  WW_TRY(to.packing, to_k_packing(from.packing));
  return to;
}

Result<QuantizeProblem> to_problem(const ww_quantize_problem& from) {
  QuantizeProblem to;
  to.m = from.m, to.k = from.k, to.batch = from.batch == 0 ? 1 : from.batch;
  WW_TRY(to.x, to_dtype("x_type", from.x_type));
  if (from.q_type != 0) {
    WW_TRY(to.q, to_dtype("q_type", from.q_type));
  }
  WW_TRY(to.block, to_quantize_block(from.block));
  constexpr ww_quantize_outputs kBoth = WW_QUANTIZE_ROWS | WW_QUANTIZE_TRANSPOSED;
  if (from.outputs < 0 || from.outputs > kBoth)
    return failure(ErrorCode::invalid, "outputs", "bits of ww_quantize_outputs", fmt::format("{}", from.outputs));
  to.rows = from.outputs == 0 || (from.outputs & WW_QUANTIZE_ROWS) != 0;
  to.transposed = (from.outputs & WW_QUANTIZE_TRANSPOSED) != 0;
  WW_CHECK(check_f32_scales(from.scale_type));
  to.power_of_two = from.power_of_two != 0;
  // NaN is neither, and the library refuses it.
  if (from.min_amax != 0) to.min_amax = from.min_amax < 0 ? 0.0f : static_cast<float>(from.min_amax);
  to.ldx = from.ldx, to.ldq = from.ldq, to.ld_transposed = from.ld_transposed;
  to.scale_m = from.scale_m, to.scale_k = from.scale_k;
  to.transposed_scale_k = from.transposed_scale_k, to.transposed_scale_m = from.transposed_scale_m;
  to.batch_x = from.batch_x, to.batch_q = from.batch_q, to.batch_transposed = from.batch_transposed;
  to.batch_scales = from.batch_scales, to.batch_transposed_scales = from.batch_transposed_scales;
  to.groups = from.groups;
  WW_TRY(to.encoding, to_encoding(from.encoding));
  to.alignment = from.alignment == 0 ? 1 : from.alignment;
  to.padding = from.padding == 0 ? 128 : from.padding;
  to.one_by_one = from.one_by_one != 0;
  return to;
}

Result<TransposeProblem> to_problem(const ww_transpose_problem& from) {
  TransposeProblem to;
  to.n = from.n, to.k = from.k, to.batch = from.batch == 0 ? 1 : from.batch;
  WW_TRY(to.type, to_dtype("type", from.type));
  WW_CHECK(check_f32_scales(from.scale_type));
  to.ld = from.ld, to.ld_transposed = from.ld_transposed;
  to.scale_n = from.scale_n, to.scale_k = from.scale_k;
  to.transposed_scale_k = from.transposed_scale_k, to.transposed_scale_n = from.transposed_scale_n;
  to.batch_w = from.batch_w, to.batch_transposed = from.batch_transposed;
  to.batch_scales = from.batch_scales, to.batch_transposed_scales = from.batch_transposed_scales;
  return to;
}

Result<PackScalesProblem> to_problem(const ww_pack_scales_problem& from) {
  PackScalesProblem to;
  to.m = from.m, to.k = from.k, to.batch = from.batch == 0 ? 1 : from.batch;
  to.scale_m = from.scale_m, to.scale_k = from.scale_k;
  to.packed_m = from.packed_m, to.packed_k = from.packed_k;
  to.batch_scales = from.batch_scales, to.batch_packed = from.batch_packed;
  to.groups = from.groups, to.words = from.words;
  to.span = from.span == 0 ? 128 : from.span;
  return to;
}

Result<MicroscaleProblem> to_problem(const ww_microscale_problem& from) {
  MicroscaleProblem to;
  to.m = from.m, to.k = from.k, to.batch = from.batch == 0 ? 1 : from.batch;
  WW_TRY(to.x, to_dtype("x_type", from.x_type));
  WW_TRY(to.q, to_dtype("q_type", from.q_type));
  WW_TRY(to.scale, to_scale(from.scale));
  to.chunked = from.row_major == 0;
  to.ldx = from.ldx, to.ldq = from.ldq;
  to.batch_x = from.batch_x, to.batch_q = from.batch_q, to.batch_scales = from.batch_scales;
  return to;
}

Result<GemmOptions> to_options(const ww_options& from) {
  GemmOptions to;
  to.sms = from.sms;
  WW_TRY(to.pdl, to_pdl(from.pdl));
  to.batch_invariant = from.batch_invariant != 0;
  if (from.workspace_limit < -1)
    return failure(ErrorCode::invalid, "workspace_limit", "bytes, 0 for the default, -1 for none",
                   fmt::format("{}", from.workspace_limit));
  if (from.workspace_limit != 0)
    to.workspace_limit = static_cast<std::size_t>(std::max<std::int64_t>(from.workspace_limit, 0));
  WW_CHECK(check_reserved("options, reserved", from.reserved));
  return to;
}

template <class Problem>
Result<GemmOptions> to_options(const ww_options& from, const Problem& problem, std::optional<Arch> device) {
  WW_TRY(GemmOptions to, to_options(from));
  GemmConfig& base = to.config;
  base.arch = device.value_or(kDefaultArch);
  base.operands.a = problem.a, base.operands.b = problem.b, base.operands.d = problem.d;
  base.operands.scale = problem.scale;
  if (from.config != nullptr) {
    WW_TRY(to.config, parse_config(from.config, base, device));
  }
  return to;
}
template Result<GemmOptions> to_options(const ww_options&, const GemmProblem&, std::optional<Arch>);
template Result<GemmOptions> to_options(const ww_options&, const GroupedProblem&, std::optional<Arch>);
template Result<GemmOptions> to_options(const ww_options&, const KGroupedProblem&, std::optional<Arch>);

namespace {

Result<QuantizeOptions> without_config(const ww_options& from) {
  WW_TRY(const GemmOptions read, to_options(from));
  if (*text_or_empty(from.config) != '\0')
    return failure(ErrorCode::invalid, "config", "none: these kernels have no choices", from.config);
  return QuantizeOptions{.sms = read.sms, .pdl = read.pdl};
}

}  // namespace

Result<QuantizeOptions> to_options(const ww_options& from, const QuantizeProblem&, std::optional<Arch>) {
  return without_config(from);
}
Result<QuantizeOptions> to_options(const ww_options& from, const TransposeProblem&, std::optional<Arch>) {
  return without_config(from);
}
Result<QuantizeOptions> to_options(const ww_options& from, const PackScalesProblem&, std::optional<Arch>) {
  return without_config(from);
}
Result<QuantizeOptions> to_options(const ww_options& from, const MicroscaleProblem&, std::optional<Arch>) {
  return without_config(from);
}

namespace {

PlanKey key_of_text(const char* text) {
  return text == nullptr || *text == '\0' ? PlanKey{} : key_of(text, std::strlen(text));
}
/// The texts of a problem, which its key holds by value.
struct ProblemTexts {
  PlanKey epilogue, expected_sizes;
};
ProblemTexts take_texts(ww_gemm_problem& problem) {
  return {key_of_text(std::exchange(problem.epilogue, nullptr)), {}};
}
ProblemTexts take_texts(ww_grouped_problem& problem) {
  return {key_of_text(std::exchange(problem.epilogue, nullptr)),
          key_of_text(std::exchange(problem.expected_sizes, nullptr))};
}
template <class CProblem> ProblemTexts take_texts(CProblem&) { return {}; }
constexpr ww_operation operation_of(const ww_gemm_problem&) { return WW_GEMM; }
constexpr ww_operation operation_of(const ww_grouped_problem&) { return WW_GROUPED_GEMM; }
constexpr ww_operation operation_of(const ww_k_grouped_problem&) { return WW_K_GROUPED_GEMM; }
constexpr ww_operation operation_of(const ww_quantize_problem&) { return WW_QUANTIZE; }
constexpr ww_operation operation_of(const ww_transpose_problem&) { return WW_TRANSPOSE; }
constexpr ww_operation operation_of(const ww_pack_scales_problem&) { return WW_PACK_SCALES; }
constexpr ww_operation operation_of(const ww_microscale_problem&) { return WW_MICROSCALE; }

template <class Struct> constexpr bool has_no_padding = std::has_unique_object_representations_v<Struct>;
// A double has several representations of some numbers, which then are keys of their own.
template <>
constexpr bool has_no_padding<ww_quantize_problem> = sizeof(ww_quantize_problem) == sizeof(double) +
                                                                                        19 * sizeof(std::int64_t) +
                                                                                        8 * sizeof(std::int32_t);

}  // namespace

template <class CProblem> PlanKey key_of(const CProblem& problem, const ww_options& options) {
  // Both structures have no padding, and their sizes are those of this library.
  static_assert(has_no_padding<CProblem> && has_no_padding<ww_options>);
  struct {
    CProblem problem;
    ww_options options;
    ProblemTexts texts;
    PlanKey config;
    std::int64_t operation;
  } whole{problem, options, {}, key_of_text(options.config), operation_of(problem)};
  whole.texts = take_texts(whole.problem);
  whole.options.config = nullptr;
  return key_of(&whole, sizeof whole);
}
template PlanKey key_of(const ww_gemm_problem&, const ww_options&);
template PlanKey key_of(const ww_grouped_problem&, const ww_options&);
template PlanKey key_of(const ww_k_grouped_problem&, const ww_options&);
template PlanKey key_of(const ww_quantize_problem&, const ww_options&);
template PlanKey key_of(const ww_transpose_problem&, const ww_options&);
template PlanKey key_of(const ww_pack_scales_problem&, const ww_options&);
template PlanKey key_of(const ww_microscale_problem&, const ww_options&);

}  // namespace ww::capi
