// SPDX-License-Identifier: Apache-2.0
// Types and layout first: they say whether groups may end anywhere; then the groups, then sizes.
#include "cli/k_grouped_request.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "config/config_text.hpp"

namespace ww::cli {
namespace {

// A first run without flags: about two seconds with verification on two cores.
constexpr std::int64_t kDefaultGroups = 8, kDefaultTotal = 2048, kDefaultM = 512, kDefaultN = 512;
constexpr std::int64_t kBlock = 128;  // where groups of K-major operands begin and end
constexpr const char* kEncodings[] = {"offsets", "indptr", "starts-counts", "row-ids", "masked"};

bool names(const Flag& config, const char* key) { return config && names_key(*config, key); }

/// The types that gradients of weights usually have, where neither flags nor config say otherwise.
Flags with_usual_types(Flags flags) {
  if (!flags.dtype && !names(flags.config, "a")) flags.dtype = "bf16";
  if (!flags.out_dtype && !names(flags.config, "d")) flags.out_dtype = "f32";
  const bool fp8 = flags.dtype == "e4m3" || flags.dtype == "e5m2";
  if (!flags.scale && !names(flags.config, "scale") && fp8) flags.scale = "block-1d";
  return flags;
}

std::int64_t granularity_of(const KGroupedProblem& p) {
  return p.a_major == Major::mn && p.b_major == Major::mn ? 1 : kBlock;
}

Result<void> resolve_layout(const Flag& flag, const Flag& config, KGroupedRequest& request) {
  KGroupedProblem& p = request.problem;
  p.a_major = p.b_major = bytes_of(p.a) == 2 ? Major::mn : Major::k;
  if (!flag && names(config, "layout"))
    p.a_major = request.options.config.operands.layout.a, p.b_major = request.options.config.operands.layout.b;
  if (!flag) return {};
  WW_TRY(const MatrixLayout layout, parse_layout(*flag, "--layout"));
  p.a_major = layout.a, p.b_major = layout.b;
  return {};
}

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
    const std::int64_t granularity = granularity_of(request.problem);
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
std::string blocks_argument(const KGroupedCase& request) {
  const bool whole =
      std::all_of(request.counts.begin(), request.counts.end(), [](std::int64_t count) { return count % kBlock == 0; });
  return !whole ? "--ks" : request.spacing.gap % kBlock != 0 ? "--gap" : "--align";
}

/// What a config may say, groups of K have no choice about, and would be dropped: the problem decides.
Result<void> check_config(const KGroupedRequest& request, bool accumulate) {
  const GemmConfig& c = request.options.config;
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

}  // namespace

Result<void> lay_out(KGroupedCase& request) {
  KGroupedProblem& p = request.problem;
  const GroupEncoding encoding = p.encoding;
  GroupSpacing spacing = request.spacing;
  const std::int64_t granularity = granularity_of(p);
  if (!spacing.rows && encoding == GroupEncoding::masked) {  // whole blocks of K for every group
    const std::int64_t most = *std::max_element(request.counts.begin(), request.counts.end());
    spacing.rows = std::max<std::int64_t>((most + granularity - 1) / granularity, 1) * granularity;
  }
  Result<GroupLayout> layout = make_layout(encoding, request.counts, spacing);
  if (!layout) {  // its flags are those of groups of rows
    Error error = layout.error();
    if (error.argument == "--m") error = make_error(error.code, "--k", error.expected, error.actual);
    if (error.argument == "--rows") error = make_error(error.code, "--ks", error.expected, error.actual);
    return failure(std::move(error));
  }
  request.layout = std::move(*layout);
  WW_CHECK(check_sizes(request.layout, blocks_argument(request), granularity));
  request.meaning = meaning_of(request.layout);
  p.groups = request.layout.groups, p.k = request.layout.rows, p.alignment = request.layout.alignment;
  request.group_flags = fmt::format("--ks {} --encoding {} --k {}", fmt::join(request.counts, ","),
                                    kEncodings[static_cast<int>(encoding)], p.k);
  if (spacing.alignment > 1) request.group_flags += fmt::format(" --align {}", spacing.alignment);
  if (spacing.gap > 0) request.group_flags += fmt::format(" --gap {}", spacing.gap);
  WW_TRY(p.lda, operand_row(p.a_major == Major::mn ? p.m : p.total_k(), p.a));
  WW_TRY(p.ldb, operand_row(p.b_major == Major::mn ? p.n : p.total_k(), p.b));
  WW_CHECK(expect_bytes("--m", {p.a_major == Major::mn ? p.total_k() : p.m, p.lda}, bytes_of(p.a)));
  WW_CHECK(expect_bytes("--n", {p.b_major == Major::mn ? p.total_k() : p.n, p.ldb}, bytes_of(p.b)));
  WW_CHECK(expect_bytes("--m", {p.groups, p.m, p.n}, bytes_of(p.d)));
  p.ldd = p.n, p.stride_d_group = p.m * p.n;
  return {};
}

Result<KGroupedRequest> make_k_grouped_request(const Flags& flags) {
  KGroupedRequest request;
  WW_CHECK(resolve_request(with_usual_types(flags), request));
  WW_CHECK(check_config(request, flags.accumulate));
  KGroupedProblem& p = request.problem;
  p.a = request.types.ab, p.b = request.types.b, p.d = request.types.d, p.scale = request.types.scale;
  p.accumulate = flags.accumulate;
  WW_CHECK(resolve_layout(flags.layout, flags.config, request));
  GemmConfig chosen = request.options.config;
  chosen.operands.layout.a = p.a_major, chosen.operands.layout.b = p.b_major;
  WW_CHECK(check_config_agrees(flags, chosen));
  WW_TRY(const int encoding,
         parse_choice(flags.encoding, "--encoding", {"offsets", "indptr", "starts-counts", "row-ids", "masked"}, 0));
  p.encoding = static_cast<GroupEncoding>(encoding);
  WW_CHECK(resolve_counts(flags, request));
  WW_CHECK(resolve_spacing(flags, request.spacing));
  WW_TRY(p.m, resolve_size(flags.m, "--m", std::nullopt, kDefaultM));
  WW_TRY(p.n, resolve_size(flags.n, "--n", std::nullopt, kDefaultN));
  WW_CHECK(lay_out(request));
  if (p.scale == Scale::tensor) p.scale_a_group = p.scale_b_group = 1;
  if (p.scale == Scale::row_column) p.scale_a_group = p.m, p.scale_b_group = p.n;
  const bool nothing_given = !flags.groups && !flags.ks && !flags.total && !flags.m && !flags.n;
  request.verify = verify_of(flags).value_or(nothing_given);
  return request;
}

}  // namespace ww::cli
