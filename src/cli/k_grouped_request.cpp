// SPDX-License-Identifier: Apache-2.0
// Types and layout first: they say whether groups may end anywhere; then the groups, then sizes.
#include "cli/k_grouped_request.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/epilogue_request.hpp"
#include "cli/group_files.hpp"

#include "config/config_text.hpp"
#include "operations/groups.hpp"
#include "warpwright/core/meta.hpp"

namespace ww::cli {
namespace {

// A first run without flags: about two seconds with verification on two cores.
constexpr std::int64_t kDefaultGroups = 8, kDefaultTotal = 2048, kDefaultM = 512, kDefaultN = 512;
constexpr const char* kEncodings[] = {"offsets", "indptr", "starts-counts", "row-ids", "masked"};

bool names(const Flag& config, const char* key) { return config && names_key(*config, key); }

bool is_file(const Flag& flag) { return flag && *flag != kGenerated; }

/// The types that gradients of weights usually have, where neither flags nor config say otherwise.
Flags with_usual_types(Flags flags) {
  if (!flags.dtype && !names(flags.config, "a") && !is_file(flags.a) && !is_file(flags.b)) flags.dtype = "bf16";
  if (!flags.out_dtype && !names(flags.config, "d")) flags.out_dtype = "f32";
  const bool fp8 = flags.dtype == "e4m3" || flags.dtype == "e5m2";
  if (!flags.scale && !names(flags.config, "scale") && fp8) flags.scale = "block-1d";
  return flags;
}

Result<void> resolve_layout(const Flag& flag, const Flag& config, KGroupedRequest& request) {
  KGroupedProblem& p = request.problem;
  p.a_major = p.b_major = bytes_of(p.a) == 2 ? Major::mn : Major::k;
  // The text of a resolved config names its grouping, and leaves out the layout of K-major operands.
  if (!flag && (names(config, "layout") || names(config, "grouping")))
    p.a_major = request.options.config.operands.layout.a, p.b_major = request.options.config.operands.layout.b;
  if (!flag) return {};
  WW_TRY(const MatrixLayout layout, parse_layout(*flag, "--layout"));
  p.a_major = layout.a, p.b_major = layout.b;
  return {};
}

Result<void> resolve_packing(const Flag& flag, const Flag& config, KGroupedProblem& p, const GemmConfig& text) {
  if (!flag && names(config, "k_packing")) p.packing = text.k_groups.packing;
  WW_TRY(const int packing, parse_choice(flag, "--packing", {"joint", "per-group"}, static_cast<int>(p.packing)));
  p.packing = static_cast<KPacking>(packing);
  return {};
}

/// Whether the groups of an operand are matrices of their own, one after the other.
bool packs(const KGroupedProblem& p, Major major) { return p.packing == KPacking::per_group && major == Major::k; }

Result<void> resolve_counts(const Flags& flags, KGroupedRequest& request) {
  std::int64_t groups = kDefaultGroups;
  if (flags.groups) {
    WW_TRY(groups, parse_integer(*flags.groups, "--groups", 1, kMostGroups));
  }
  if (!flags.ks) {
    WW_TRY(const int kind,
           parse_choice(flags.distribution, "--distribution", {"uniform", "zipf", "onehot", "half-empty"}, 0));
    std::int64_t total = kDefaultTotal;
    if (flags.total) {
      WW_TRY(total, parse_integer(*flags.total, "--total", 0, kMostRows));
    }
    const std::int64_t granularity = operations::granularity_of(request.problem);
    if (total % granularity != 0)
      return failure(ErrorCode::unsupported, "--total",
                     fmt::format("a multiple of {}, as K-major operands and scales along K need", granularity),
                     *flags.total);
    request.counts = distribute(static_cast<Distribution>(kind), groups, total / granularity);
    for (std::int64_t& count : request.counts) count *= granularity;
    return {};
  }
  if (flags.distribution || flags.total)
    return failure(ErrorCode::invalid, flags.total ? "--total" : "--distribution", "nothing beside --ks",
                   quoted(flags.total ? *flags.total : *flags.distribution));
  for (std::size_t at = 0; at <= flags.ks->size();) {
    const std::size_t end = std::min(flags.ks->find(',', at), flags.ks->size());
    WW_TRY(const std::int64_t count, parse_integer(flags.ks->substr(at, end - at), "--ks", 0, kMostRows));
    request.counts.push_back(count);
    at = end + 1;
  }
  if (flags.groups && groups != static_cast<std::int64_t>(request.counts.size()))
    return failure(ErrorCode::invalid, "--groups", fmt::format("the {} groups of --ks", request.counts.size()),
                   *flags.groups);
  return {};
}

Result<void> resolve_spacing(const Flags& flags, GroupSpacing& spacing) {
  if (flags.align) {
    WW_TRY(spacing.alignment, parse_integer(*flags.align, "--align", 1, 1 << 20));
  }
  if (flags.gap) {
    WW_TRY(spacing.gap, parse_integer(*flags.gap, "--gap", 0, 1 << 20));
  }
  if (flags.k) {
    WW_TRY(spacing.rows, parse_integer(*flags.k, "--k", 0, kMostRows));
  }
  return {};
}

/// The flag to blame for groups that miss whole blocks of K.
std::string blocks_argument(const KGroupedRequest& request) {
  const std::int64_t block = operations::granularity_of(request.problem);
  const bool whole = std::all_of(request.counts.begin(), request.counts.end(),
                                 [block](std::int64_t count) { return count % block == 0; });
  return !whole ? "--ks" : request.spacing.gap % block != 0 ? "--gap" : "--align";
}

/// What a config may say, groups of K have no choice about, and would be dropped: the problem decides.
Result<void> check_config(const Flags& flags, const KGroupedRequest& request, bool accumulate) {
  const GemmConfig& c = request.options.config;
  WW_CHECK(check_grouping(flags, c, Grouping::k_groups, "groups of K"));
  WW_CHECK(check_batched(flags, c, true, "groups of K"));
  const auto refused = [&](std::string key, std::string expected, std::string actual) {
    return failure(ErrorCode::unsupported, fmt::format("--config, key {}", key), std::move(expected),
                   std::move(actual));
  };
  if (c.operands.d_layout != OutputLayout::row)
    return refused("d_layout", "row for groups of K", name_of(c.operands.d_layout));
  if (c.operands.c_layout != OutputLayout::row)
    return refused("c_layout", "row for groups of K", name_of(c.operands.c_layout));
  if (c.operands.pointer_array) return refused("pointers", "0 for groups of K", "1");
  const EpilogueTree accumulating = evt::acc + evt::c(request.types.d);
  if (!c.epilogue.empty() && !(accumulate && c.epilogue == accumulating))
    return refused("epilogue", "none; C is added with --accumulate", quoted(to_text(c.epilogue)));
  return {};
}

/// Sets the field of --tile-scheduler, to any of its names; fault_of_k_grouped() knows those that groups of K take.
Result<void> resolve_scheduler(const Flag& flag, GemmConfig& config) {
  const EnumNames orders = names_of(TileScheduler{});
  std::string expected;
  for (int i = 0; i < orders.count(); ++i) {
    if (flag == orders.value[i]) return config.sm90.tile_scheduler = static_cast<TileScheduler>(i), Result<void>{};
    expected += fmt::format("{}{}", i == 0 ? "" : i + 1 == orders.count() ? " or " : ", ", orders.value[i]);
  }
  if (flag) return failure(ErrorCode::invalid, "--tile-scheduler", expected, quoted(*flag));
  return {};
}

/// Sets everything that follows from the layout of the groups.
Result<void> finish_layout(KGroupedRequest& request) {
  KGroupedProblem& p = request.problem;
  request.meaning = meaning_of(request.layout);
  p.groups = request.layout.groups, p.k = request.layout.rows, p.alignment = request.layout.alignment;
  p.encoding = request.layout.encoding;
  WW_TRY(p.lda, operand_row(p.a_major == Major::mn ? p.m : p.total_k(), p.a));
  WW_TRY(p.ldb, operand_row(p.b_major == Major::mn ? p.n : p.total_k(), p.b));
  WW_CHECK(expect_bytes("--m", {p.a_major == Major::mn ? p.total_k() : p.m, p.lda}, bytes_of(p.a)));
  WW_CHECK(expect_bytes("--n", {p.b_major == Major::mn ? p.total_k() : p.n, p.ldb}, bytes_of(p.b)));
  if (packs(p, p.a_major)) p.lda = 0;
  if (packs(p, p.b_major)) p.ldb = 0;
  WW_CHECK(expect_bytes("--m", {p.groups, p.m, p.n}, bytes_of(p.d)));
  p.ldd = p.n, p.stride_d_group = p.m * p.n;
  return {};
}

Result<void> lay_out(KGroupedRequest& request) {
  KGroupedProblem& p = request.problem;
  const GroupEncoding encoding = p.encoding;
  GroupSpacing spacing = request.spacing;
  if (!spacing.rows && encoding == GroupEncoding::masked) spacing.rows = operations::masked_k(p, request.counts);
  Result<GroupLayout> layout = make_layout(encoding, request.counts, spacing);
  if (!layout) {  // its flags are those of groups of rows
    Error error = layout.error();
    if (error.argument == "--m") error = make_error(error.code, "--k", error.expected, error.actual);
    if (error.argument == "--rows") error = make_error(error.code, "--ks", error.expected, error.actual);
    return failure(std::move(error));
  }
  request.layout = std::move(*layout);
  const std::string argument = blocks_argument(request);
  WW_CHECK(check_sizes(request.layout, argument, operations::granularity_of(p), argument));
  p.k = request.layout.rows;
  return finish_layout(request);
}

/// K of all groups as A or B has it, where one comes from a file.
std::optional<std::int64_t> k_of_files(const KGroupedRequest& request) {
  const KGroupedProblem& p = request.problem;
  if (request.a) return request.a->shape[p.a_major == Major::k];
  return request.b ? std::optional(request.b->shape[p.b_major == Major::k]) : std::nullopt;
}

Result<void> lay_out_files(const Flags& flags, SizeFiles files, KGroupedRequest& request) {
  const bool ids = files.encoding == GroupEncoding::row_ids, masked = files.encoding == GroupEncoding::masked;
  const bool indptr = files.encoding == GroupEncoding::indptr;
  GroupLayout& layout = request.layout;
  if (flags.encoding && *flags.encoding != kEncodings[static_cast<int>(*files.encoding)])
    return failure(ErrorCode::invalid, "--encoding",
                   fmt::format("{}, the encoding of {}", kEncodings[static_cast<int>(*files.encoding)], files.argument),
                   *flags.encoding);
  if (indptr && files.sizes.empty()) return failure(ErrorCode::invalid, "--indptr", "G + 1 elements", "none");
  std::optional<std::int64_t> groups;
  if (!ids) groups = static_cast<std::int64_t>(files.sizes.size()) - indptr;
  if (flags.groups) {
    WW_TRY(const std::int64_t asked, parse_integer(*flags.groups, "--groups", 1, kMostGroups));
    if (groups && *groups != asked)
      return failure(ErrorCode::invalid, "--groups", fmt::format("{} groups as {} has", *groups, files.argument),
                     *flags.groups);
    groups = asked;
  }
  if (!groups)
    return failure(ErrorCode::invalid, "--groups", "the number of groups, which --row-ids does not contain", "nothing");
  if (*groups < 1 || *groups > kMostGroups)
    return failure(ErrorCode::invalid, files.argument, fmt::format("1 to {} groups", kMostGroups),
                   fmt::format("{}", *groups));
  std::int64_t needed = ids ? static_cast<std::int64_t>(files.sizes.size()) : 0;
  for (std::size_t g = 0; !ids && g < files.sizes.size(); ++g)
    needed =
        std::max<std::int64_t>(needed, std::int64_t{files.sizes[g]} + (files.sizes2.empty() ? 0 : files.sizes2[g]));
  std::optional<std::int64_t> rows = k_of_files(request);
  if (rows && masked) rows = *rows / *groups;
  if (rows && ids && *rows != needed)
    return failure(ErrorCode::invalid, "--row-ids", fmt::format("{} elements, one for each row of K", *rows),
                   fmt::format("{}", needed));
  layout = {.encoding = *files.encoding, .groups = *groups};
  WW_TRY(layout.rows, resolve_size(flags.k, "--k", rows, needed));
  layout.alignment = request.spacing.alignment;
  if (layout.alignment > 1 && layout.encoding != GroupEncoding::offsets && layout.encoding != GroupEncoding::row_ids)
    return failure(ErrorCode::invalid, "--align", "1 without --offsets and --row-ids", *flags.align);
  layout.sizes = std::move(files.sizes), layout.sizes2 = std::move(files.sizes2);
  WW_CHECK(check_sizes(layout, files.argument, operations::granularity_of(request.problem), "--counts"));
  request.group_flags = file_flags(flags, layout, "--k");
  return finish_layout(request);
}

/// Shapes of the operands that come from files, as the layout has them.
Result<void> check_files(const Flags& flags, KGroupedRequest& request) {
  const KGroupedProblem& p = request.problem;
  const std::int64_t k = p.total_k(), blocks = blocks_of(k);
  const auto stored = [&](Major major, std::int64_t rows) {
    return major == Major::mn ? std::vector{k, rows} : std::vector{rows, k};
  };
  WW_CHECK(expect_shape(request.a, stored(p.a_major, p.m), p.a_major == Major::mn ? "(K, M)" : "(M, K)"));
  WW_CHECK(expect_shape(request.b, stored(p.b_major, p.n), p.b_major == Major::mn ? "(K, N)" : "(N, K)"));
  WW_CHECK(expect_shape(request.c, {p.groups, p.m, p.n}, "(G, M, N)"));
  WW_CHECK(check_scale_files(flags, request));
  if (p.scale == Scale::tensor) {
    WW_CHECK(expect_shape(request.scale_a, {p.groups}, "(G,)"));
    WW_CHECK(expect_shape(request.scale_b, {p.groups}, "(G,)"));
  } else if (p.scale == Scale::row_column) {
    WW_CHECK(expect_shape(request.scale_a, {p.groups, p.m}, "(G, M)"));
    WW_CHECK(expect_shape(request.scale_b, {p.groups, p.n}, "(G, N)"));
  } else if (is_block(p.scale)) {
    const std::int64_t columns = columns_of_scale(p.scale);
    WW_CHECK(expect_shape(request.scale_a, {p.m, blocks}, "(M, ceil(K/128))"));
    WW_CHECK(expect_shape(request.scale_b, {ceil_div(p.n, columns), blocks},
                          columns == 1 ? "(N, ceil(K/128))" : "(ceil(N/128), ceil(K/128))"));
  } else if (is_microscaled(p.scale)) {
    const std::int64_t scales = ceil_div(k, std::int64_t{scale_vector(p.scale)});
    const bool mx = p.scale == Scale::mx;
    WW_CHECK(expect_shape(request.scale_a, {p.m, scales}, mx ? "(M, ceil(K/32))" : "(M, ceil(K/16))"));
    WW_CHECK(expect_shape(request.scale_b, {p.n, scales}, mx ? "(N, ceil(K/32))" : "(N, ceil(K/16))"));
  }
  return check_operands_given(flags, p.accumulate ? evt::acc + evt::c(p.d) : EpilogueTree{}, request);
}

Result<void> expect_matrix(const std::optional<ArrayFile>& array) {
  if (!array || array->shape.size() == 2) return {};
  return failure(ErrorCode::invalid, array->file.argument(), "a 2-D array",
                 fmt::format("{}-D, shape {}", array->shape.size(), shape_text(array->shape)),
                 "file " + printable(array->file.path()));
}

/// Gives a file of groups that are packed one by one, which has one extent, the shape (rows, K of all groups).
Result<void> open_packed(const Flag& rows, const char* argument, std::optional<ArrayFile>& array) {
  if (!array) return {};
  const std::string file = "file " + array->file.path();
  if (array->shape.size() != 1)
    return failure(ErrorCode::invalid, array->file.argument(), "a 1-D array, the matrices of the groups in a row",
                   fmt::format("{}-D, shape {}", array->shape.size(), shape_text(array->shape)), file);
  if (!rows)
    return failure(ErrorCode::invalid, argument, fmt::format("the rows of {}", array->file.argument()), "nothing");
  WW_TRY(const std::int64_t count, parse_integer(*rows, argument, 1));
  if (array->shape[0] % count != 0)
    return failure(ErrorCode::invalid, array->file.argument(), fmt::format("a multiple of {} elements", count),
                   fmt::format("{}", array->shape[0]), file);
  array->shape = {count, array->shape[0] / count}, array->column_major = false;
  return {};
}

/// Where the groups lie, and M and N.
Result<void> resolve_groups(const Flags& flags, KGroupedRequest& request) {
  KGroupedProblem& p = request.problem;
  if (packs(p, p.a_major)) WW_CHECK(open_packed(flags.m, "--m", request.a));
  if (packs(p, p.b_major)) WW_CHECK(open_packed(flags.n, "--n", request.b));
  WW_CHECK(expect_matrix(request.a));
  WW_CHECK(expect_matrix(request.b));
  WW_CHECK(resolve_spacing(flags, request.spacing));
  const auto extent = [](const std::optional<ArrayFile>& array, Major major) {
    return array ? std::optional(array->shape[major == Major::mn]) : std::nullopt;
  };
  WW_TRY(p.m, resolve_size(flags.m, "--m", extent(request.a, p.a_major), kDefaultM));
  WW_TRY(p.n, resolve_size(flags.n, "--n", extent(request.b, p.b_major), kDefaultN));
  WW_TRY(SizeFiles files, open_sizes(flags));
  if (files.encoding) return lay_out_files(flags, std::move(files), request);
  WW_TRY(const int encoding,
         parse_choice(flags.encoding, "--encoding", {"offsets", "indptr", "starts-counts", "row-ids", "masked"}, 0));
  p.encoding = static_cast<GroupEncoding>(encoding);
  WW_CHECK(resolve_counts(flags, request));
  if (const auto rows = k_of_files(request); rows && !request.spacing.rows)
    request.spacing.rows =
        p.encoding == GroupEncoding::masked ? *rows / static_cast<std::int64_t>(request.counts.size()) : *rows;
  return lay_out(request);
}

}  // namespace

Result<KGroupedRequest> make_k_grouped_request(const Flags& flags) {
  KGroupedRequest request;
  WW_CHECK(resolve_request(with_usual_types(flags), request));
  WW_CHECK(check_config(flags, request, flags.accumulate));
  WW_CHECK(resolve_scheduler(flags.tile_scheduler, request.options.config));
  KGroupedProblem& p = request.problem;
  p.a = request.types.ab, p.b = request.types.b, p.d = request.types.d, p.scale = request.types.scale;
  p.accumulate = flags.accumulate;
  WW_CHECK(resolve_layout(flags.layout, flags.config, request));
  WW_CHECK(resolve_packing(flags.packing, flags.config, p, request.options.config));
  GemmConfig chosen = request.options.config;
  chosen.operands.layout.a = p.a_major, chosen.operands.layout.b = p.b_major, chosen.k_groups.packing = p.packing;
  WW_CHECK(check_config_agrees(flags, chosen));
  if (request.types.scale == Scale::block_1x128_128x128 && !flags.scale && !names(flags.config, "scale"))
    p.scale = Scale::block_1x128_1x128;
  if (flags.c && !flags.accumulate)
    return failure(ErrorCode::invalid, "--c", "--accumulate, which adds the product to C", quoted(*flags.c));
  WW_TRY(request.c, open_operand(flags.c, "--c"));
  WW_CHECK(resolve_groups(flags, request));
  WW_CHECK(check_files(flags, request));
  if (p.scale == Scale::tensor) p.scale_a_group = p.scale_b_group = 1;
  if (p.scale == Scale::row_column) p.scale_a_group = p.m, p.scale_b_group = p.n;
  const bool nothing_given =
      !flags.groups && !flags.ks && !flags.total && !flags.m && !flags.n && !request.a && !request.b;
  request.verify = verify_of(flags).value_or(nothing_given);
  return request;
}

}  // namespace ww::cli
