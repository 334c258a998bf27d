// SPDX-License-Identifier: Apache-2.0
// G comes from --groups, the arrays' files, --rows or B, and all that are given must agree; N and K from their flags,
// then A and B.
#include "cli/grouped_request.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/group_files.hpp"
#include "warpwright/config/epilogue_stages.hpp"
#include "warpwright/core/meta.hpp"

namespace ww::cli {

namespace {

constexpr std::initializer_list<const char*> kEncodings = {"offsets", "indptr", "starts-counts", "row-ids", "masked"};

// A first run without flags: about two seconds with verification on two cores.
constexpr std::int64_t kDefaultGroups = 8, kDefaultTotal = 512, kDefaultN = 1024, kDefaultK = 1024;

/// G, which several flags and files may say.
Result<std::int64_t> resolve_groups(const Flags& flags, const SizeFiles& files, const Request& request,
                                    std::int64_t listed) {
  std::optional<std::int64_t> groups;
  std::string said_by;
  const auto say = [&](std::int64_t value, const std::string& argument) -> Result<void> {
    if (value < 1 || value > kMostGroups)
      return failure(ErrorCode::invalid, argument, fmt::format("1 to {} groups", kMostGroups),
                     fmt::format("{}", value));
    if (groups && *groups != value)
      return failure(ErrorCode::invalid, argument, fmt::format("{} groups as {} has", *groups, said_by),
                     fmt::format("{}", value));
    groups = value, said_by = argument;
    return {};
  };
  if (flags.groups) {
    WW_TRY(const std::int64_t value, parse_integer(*flags.groups, "--groups", 1, kMostGroups));
    WW_CHECK(say(value, "--groups"));
  }
  if (listed > 0) WW_CHECK(say(listed, "--rows"));
  const bool by_group = files.encoding && *files.encoding != GroupEncoding::row_ids;
  if (by_group && files.encoding == GroupEncoding::indptr && files.sizes.empty())
    return failure(ErrorCode::invalid, "--indptr", "G + 1 elements", "none");
  if (by_group)
    WW_CHECK(
        say(static_cast<std::int64_t>(files.sizes.size()) - (files.encoding == GroupEncoding::indptr), files.argument));
  if (request.b) WW_CHECK(say(request.b->shape[0], "--b"));
  if (!groups && files.encoding)
    return failure(ErrorCode::invalid, "--groups", "the number of groups, which --row-ids does not contain", "nothing");
  return groups.value_or(kDefaultGroups);
}

Result<GroupLayout> layout_of_files(const Flags& flags, SizeFiles files, const Request& request, std::int64_t groups) {
  GroupLayout layout{.encoding = *files.encoding, .groups = groups};
  if (flags.encoding) {
    WW_TRY(const int named, parse_choice(flags.encoding, "--encoding", kEncodings, 0));
    if (static_cast<GroupEncoding>(named) != layout.encoding)
      return failure(ErrorCode::invalid, "--encoding",
                     fmt::format("{}, the encoding of {}", std::data(kEncodings)[static_cast<int>(layout.encoding)],
                                 files.argument),
                     *flags.encoding);
  }
  const bool ids = layout.encoding == GroupEncoding::row_ids, masked = layout.encoding == GroupEncoding::masked;
  std::optional<std::int64_t> rows = request.a ? std::optional(request.a->shape[masked]) : std::nullopt;
  if (ids) {
    if (rows && *rows != static_cast<std::int64_t>(files.sizes.size()))
      return failure(ErrorCode::invalid, "--row-ids", fmt::format("{} elements, one for each row of --a", *rows),
                     fmt::format("{}", files.sizes.size()));
    rows = static_cast<std::int64_t>(files.sizes.size());
  }
  // without A: as far as any group reaches
  std::int64_t needed = 0;
  for (std::size_t g = 0; g < files.sizes.size(); ++g)
    needed =
        std::max<std::int64_t>(needed, std::int64_t{files.sizes[g]} + (files.sizes2.empty() ? 0 : files.sizes2[g]));
  WW_TRY(layout.rows, resolve_size(flags.m, "--m", rows, needed));
  if (flags.align) {
    WW_TRY(layout.alignment, parse_integer(*flags.align, "--align", 1, 1 << 20));
    if (layout.alignment > 1 && layout.encoding != GroupEncoding::offsets && layout.encoding != GroupEncoding::row_ids)
      return failure(ErrorCode::invalid, "--align", "1 without --offsets and --row-ids", *flags.align);
  }
  layout.sizes = std::move(files.sizes), layout.sizes2 = std::move(files.sizes2);
  return layout;
}

Result<void> layout_of_flags(const Flags& flags, std::int64_t groups, GroupedRequest& request) {
  std::vector<std::int64_t>& counts = request.counts;
  WW_TRY(const int encoding, parse_choice(flags.encoding, "--encoding", kEncodings, 0));
  const bool masked = static_cast<GroupEncoding>(encoding) == GroupEncoding::masked;
  GroupSpacing& spacing = request.spacing;
  if (flags.align) {
    WW_TRY(spacing.alignment, parse_integer(*flags.align, "--align", 1, 1 << 20));
  }
  if (flags.gap) {
    WW_TRY(spacing.gap, parse_integer(*flags.gap, "--gap", 0, 1 << 20));
  }
  if (request.a) spacing.rows = request.a->shape[masked];
  if (flags.m) {
    WW_TRY(spacing.rows, resolve_size(flags.m, "--m", spacing.rows, 0));
  }
  if (counts.empty()) {
    WW_TRY(const int kind,
           parse_choice(flags.distribution, "--distribution", {"uniform", "zipf", "onehot", "half-empty"}, 0));
    std::int64_t total = kDefaultTotal;
    if (flags.total) {
      WW_TRY(total, parse_integer(*flags.total, "--total", 0, kMostRows));
    }
    counts = distribute(static_cast<Distribution>(kind), groups, total);
  } else if (flags.distribution || flags.total) {
    return failure(ErrorCode::invalid, flags.total ? "--total" : "--distribution", "nothing beside --rows",
                   quoted(flags.total ? *flags.total : *flags.distribution));
  }
  WW_TRY(request.layout, make_layout(static_cast<GroupEncoding>(encoding), counts, spacing));
  return {};
}

Result<void> expect_extents(const std::optional<ArrayFile>& array, std::size_t extents, const char* meaning) {
  if (!array || array->shape.size() == extents) return {};
  return failure(ErrorCode::invalid, array->file.argument(), fmt::format("a {}-D array {}", extents, meaning),
                 fmt::format("{}-D, shape {}", array->shape.size(), shape_text(array->shape)),
                 "file " + printable(array->file.path()));
}

Result<void> resolve_groups_and_rows(const Flags& flags, GroupedRequest& request) {
  WW_CHECK(expect_extents(request.b, 3, request.problem.b_major == Major::k ? "(G, N, K)" : "(G, K, N)"));
  WW_TRY(SizeFiles files, open_sizes(flags));
  if (flags.rows) {
    WW_TRY(request.counts, parse_integers(*flags.rows, "--rows", 0, kMostRows));
  }
  const bool masked = files.encoding ? files.encoding == GroupEncoding::masked : flags.encoding == "masked";
  WW_CHECK(masked ? expect_extents(request.a, 3, "(G, Mmax, K)") : expect_extents(request.a, 2, "(M, K)"));
  WW_TRY(const std::int64_t groups,
         resolve_groups(flags, files, request, static_cast<std::int64_t>(request.counts.size())));
  if (masked && request.a && request.a->shape[0] != groups)
    return failure(ErrorCode::invalid, "--a", fmt::format("{} groups", groups),
                   fmt::format("shape {}", shape_text(request.a->shape)));
  request.sizes_from_file = files.encoding.has_value();
  if (request.sizes_from_file) {
    const std::string argument = files.argument;
    WW_TRY(request.layout, layout_of_files(flags, std::move(files), request, groups));
    WW_CHECK(check_sizes(request.layout, argument, 1, "--counts"));
    request.group_flags = file_flags(flags, request.layout, "--m");
  } else {
    WW_CHECK(layout_of_flags(flags, groups, request));
  }
  request.meaning = meaning_of(request.layout);
  return {};
}

Result<void> resolve_sizes(const Flags& flags, GroupedRequest& request) {
  GroupedProblem& p = request.problem;
  const auto last = [](const std::optional<ArrayFile>& array) {
    return array ? std::optional(array->shape.back()) : std::nullopt;
  };
  const bool by_k = p.b_major == Major::k;
  const auto of_b = [&](std::size_t extent) {
    return request.b ? std::optional(request.b->shape[extent]) : std::nullopt;
  };
  const auto k_of_b = of_b(by_k ? 2 : 1);
  if (request.a && request.b && last(request.a) != k_of_b)
    return failure(ErrorCode::invalid, "--b",
                   fmt::format("K = {} {} as in --a", *last(request.a), by_k ? "columns" : "rows"),
                   fmt::format("{}", *k_of_b));
  WW_TRY(p.n, resolve_size(flags.n, "--n", of_b(by_k ? 1 : 2), kDefaultN));
  WW_TRY(p.k, resolve_size(flags.k, "--k", request.a ? last(request.a) : k_of_b, kDefaultK));
  WW_TRY(p.lda, operand_row(p.k, p.a));
  WW_TRY(p.ldb, operand_row(by_k ? p.k : p.n, p.b));
  WW_CHECK(expect_bytes("--m", {p.total_rows(), p.lda}, bytes_of(p.a)));
  WW_CHECK(expect_bytes("--n", {p.groups, by_k ? p.n : p.k, p.ldb}, bytes_of(p.b)));
  return expect_bytes("--m", {p.total_rows(), p.n}, bytes_of(p.d));
}

/// Rows of scales in the order of rows of A: with masked counts (G, Mmax) or (G Mmax).
std::vector<std::int64_t> rows_shape(const GroupedProblem& p) {
  if (p.encoding == GroupEncoding::masked) return {p.groups, p.rows};
  return {p.rows};
}

Result<void> check_scales(const Flags& flags, GroupedRequest& request) {
  const GroupedProblem& p = request.problem;
  WW_CHECK(check_scale_files(flags, request));
  if (p.scale == Scale::tensor) {
    for (const auto& [array, of_group] :
         {std::pair{&request.scale_a, &request.scale_a_of_group}, {&request.scale_b, &request.scale_b_of_group}}) {
      if (!*array || checked_elements((*array)->shape, 4) == 1) continue;
      *of_group = true;
      WW_CHECK(expect_shape(*array, {p.groups}, "(G,), or one element"));
    }
    return {};
  }
  std::vector<std::int64_t> rows = rows_shape(p);
  if (p.scale == Scale::row_column) {
    WW_CHECK(expect_shape(request.scale_a, rows, rows.size() > 1 ? "(G, Mmax)" : "(M,)"));
    return expect_shape(request.scale_b, {p.groups, p.n}, "(G, N)");
  }
  if (is_microscaled(p.scale)) {
    const bool mx = p.scale == Scale::mx;
    const std::int64_t scales = ceil_div(p.k, std::int64_t{scale_vector(p.scale)});
    rows.push_back(scales);
    WW_CHECK(expect_shape(request.scale_a, rows,
                          mx ? "a row of ceil(K/32) for each of A" : "a row of ceil(K/16) for each of A"));
    return expect_shape(request.scale_b, {p.groups, p.n, scales}, mx ? "(G, N, ceil(K/32))" : "(G, N, ceil(K/16))");
  }
  if (p.scale != Scale::block_1x128_128x128) return {};
  rows.push_back(blocks_of(p.k));
  WW_CHECK(expect_shape(request.scale_a, rows, rows.size() > 2 ? "(G, Mmax, ceil(K/128))" : "(M, ceil(K/128))"));
  return expect_shape(request.scale_b, {p.groups, blocks_of(p.n), blocks_of(p.k)}, "(G, ceil(N/128), ceil(K/128))");
}

/// Named by the expression, and of the right shape: matrices as D before SwiGLU, bias for each group or for all.
Result<void> check_epilogue_files(const Flags& flags, const GroupedRequest& request) {
  const GroupedProblem& p = request.problem;
  const EpilogueFiles& files = request.epilogue_files;
  WW_CHECK(check_operands_named(flags, files, p.epilogue));
  const std::vector<std::int64_t> rows = rows_shape(p);
  const bool masked = rows.size() > 1;
  std::vector<std::int64_t> matrix = rows;
  matrix.push_back(p.n);
  for (const EpilogueFlag& f : epilogue_flags()) {
    const std::optional<ArrayFile>& file = files.at(f.op, f.slot);
    const bool of_all = file && file->shape.size() == 1;
    if (f.op == EpilogueOp::row_vector)
      WW_CHECK(
          expect_shape(file, of_all ? std::vector{p.n} : std::vector{p.groups, p.n}, "(G, N), or (N,) for all groups"));
    else if (f.op == EpilogueOp::column_vector) WW_CHECK(expect_shape(file, rows, masked ? "(G, Mmax)" : "(M,)"));
    else WW_CHECK(expect_shape(file, matrix, masked ? "(G, Mmax, N)" : "(M, N)"));
  }
  return {};
}

/// Two fields of the config in short.
Result<void> resolve_scheduler(const Flags& flags, GemmConfig& config) {
  constexpr TileScheduler kOrders[] = {TileScheduler::automatic,  TileScheduler::fixed,    TileScheduler::dynamic,
                                       TileScheduler::horizontal, TileScheduler::vertical, TileScheduler::split_k,
                                       TileScheduler::clc};
  WW_TRY(const int order, parse_choice(flags.tile_scheduler, "--tile-scheduler",
                                       {"auto", "static", "dynamic", "horizontal", "vertical", "split-k", "clc"}, -1));
  if (order >= 0) config.sm90.tile_scheduler = kOrders[order];
  return resolve_split(flags, 8, config);
}

Result<void> resolve_variant(const Flag& flag, GemmConfig& config) {
  WW_TRY(const int chosen,
         parse_choice(flag, "--variant", {"auto", "contiguous", "masked", "descriptors", "ragged"}, 0));
  if (chosen == 0) return {};
  const auto variant = static_cast<GroupedVariant>(chosen);
  config.row_groups.variant = variant;
  return {};
}

Result<void> resolve_layout(const Flags& flags, GroupedRequest& request) {
  MatrixLayout& layout = request.options.config.operands.layout;
  if (flags.layout) {
    WW_TRY(const int choice, parse_choice(flags.layout, "--layout", {"nt", "nn"}, 0));
    layout = {.a = Major::k, .b = choice == 0 ? Major::k : Major::mn};
  }
  if (layout.a != Major::k)
    return failure(ErrorCode::unsupported, "--config, key layout", "nt or nn for groups of rows", name_of(layout));
  request.problem.b_major = layout.b;
  return {};
}

}  // namespace

Result<GroupedRequest> make_grouped_request(const Flags& flags) {
  GroupedRequest request;
  WW_CHECK(resolve_request(flags, request));
  WW_CHECK(check_grouping(flags, request.options.config, Grouping::row_groups, "groups of rows"));
  WW_CHECK(resolve_variant(flags.variant, request.options.config));
  WW_CHECK(resolve_scheduler(flags, request.options.config));
  GroupedProblem& p = request.problem;
  if (request.types.b != request.types.ab && !is_microscaled(request.types.scale))
    return failure(
        ErrorCode::unsupported,
        request.b       ? "--b"
        : flags.b_dtype ? "--b-dtype"
                        : "--config, key b",
        fmt::format("{}, the type of A, because types of groups mix with --scale mx alone", name_of(request.types.ab)),
        name_of(request.types.b));
  p.a = request.types.ab, p.b = request.types.b, p.d = request.types.d, p.scale = request.types.scale;
  WW_CHECK(resolve_layout(flags, request));
  WW_TRY(p.epilogue, resolve_epilogue(flags, request.options.config.epilogue, request));
  request.options.config.epilogue = p.epilogue;  // a flag decides over the config's text
  p.d = output_type(flags, p.epilogue, p.d);
  WW_CHECK(resolve_groups_and_rows(flags, request));
  p.groups = request.layout.groups;
  p.rows = request.layout.rows;
  p.encoding = request.layout.encoding;
  p.alignment = request.layout.alignment;
  p.zero_outside = flags.zero_outside;
  if (flags.expected_sizes)
    for (const ref::GroupRows& group : request.meaning.groups) p.expected_sizes.push_back(group.count);
  WW_CHECK(resolve_sizes(flags, request));
  WW_CHECK(check_scales(flags, request));
  WW_CHECK(check_epilogue_files(flags, request));
  WW_CHECK(check_operands_given(flags, p.epilogue, request));
  WW_CHECK(check_config_agrees(flags, request.options.config));
  p.scale_a_group = request.scale_a_of_group, p.scale_b_group = request.scale_b_of_group;
  const bool nothing_given = !flags.groups && !flags.rows && !flags.total && !flags.m && !flags.n && !flags.k &&
                             !request.a && !request.b && !request.sizes_from_file;
  request.verify = verify_of(flags).value_or(nothing_given);
  return request;
}

}  // namespace ww::cli
