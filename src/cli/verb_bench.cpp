// SPDX-License-Identifier: Apache-2.0
// `warpwright bench` and `warpwright tune`: the flags of an operation plus those of the measurement, as BenchOptions.
#include <fmt/format.h>

#include <unistd.h>

#include <charconv>
#include <cstdio>

#include "bench/native/tune.hpp"
#include "cli/operation_request.hpp"
#include "config/config_text.hpp"

namespace ww::cli {

using namespace bench;

namespace {

Result<double> parse_seconds(const std::string& text, const std::string& argument) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status == std::errc{} && end == text.data() + text.size() && value >= 0 && value <= 1e6) return value;
  return failure(ErrorCode::invalid, argument, "seconds from 0 to 1000000", quoted(text));
}

}  // namespace

Result<void> check_cases_flags(const Flags& flags) {
  for (const auto& [flag, argument] : {std::pair{&flags.m, "--m"},
                                       {&flags.n, "--n"},
                                       {&flags.k, "--k"},
                                       {&flags.groups, "--groups"},
                                       {&flags.rows, "--rows"},
                                       {&flags.ks, "--ks"},
                                       {&flags.total, "--total"},
                                       {&flags.distribution, "--distribution"},
                                       {&flags.offsets, "--offsets"},
                                       {&flags.indptr, "--indptr"},
                                       {&flags.starts, "--starts"},
                                       {&flags.counts, "--counts"},
                                       {&flags.row_ids, "--row-ids"},
                                       {&flags.masked, "--masked"}})
    if ((flags.cases || flags.random) && *flag)
      return failure(ErrorCode::invalid, argument,
                     fmt::format("nothing beside {}, which has the sizes", flags.cases ? "--cases" : "--random"),
                     quoted(**flag));
  if (flags.cases && flags.random)
    return failure(ErrorCode::invalid, "--random", "nothing beside --cases", quoted(*flags.random));
  if (flags.min_m && !flags.cases) return failure(ErrorCode::invalid, "--min-m", "--cases with it", "no --cases");
  for (const auto& [flag, argument] :
       {std::pair{&flags.cublaslt, "--cublaslt"}, {&flags.peer_candidates, "--peer-candidates"}})
    if (flags.no_peers && *flag)
      return failure(ErrorCode::invalid, argument, "nothing beside --no-peers", quoted(**flag));
  return {};
}

Result<Pdl> parse_pdl(const std::string& text) {
  for (const auto& [name, pdl] : {std::pair{"auto", Pdl::automatic}, {"on", Pdl::on}, {"off", Pdl::off}})
    if (text == name) return pdl;
  return failure(ErrorCode::invalid, "--pdl", "auto, on or off", text);
}

Result<BenchOptions> bench_options(const Request& request, const Flags& flags) {
  BenchOptions options;
  options.device = request.device;
  options.device_options = request.device_options;
  options.dtype = request.types.ab, options.out = request.types.d, options.scale = request.types.scale;
  options.sms = request.options.sms;
  if (flags.pdl) {
    WW_TRY(options.pdl, parse_pdl(*flags.pdl));
  }
  options.seed = request.seed;
  options.cases = flags.cases.value_or("");
  options.variants = flags.variants.value_or("");
  options.peers = !flags.no_peers;
  options.burst = !flags.no_burst;
  options.cublaslt = flags.cublaslt.value_or("");
  options.command_line = flags.command_line;
  if (flags.random) {
    WW_TRY(options.random, parse_integer(*flags.random, "--random", 1, 10'000));
  }
  if (flags.min_m) {
    WW_TRY(options.min_m, parse_integer(*flags.min_m, "--min-m", 0));
  }
  if (flags.peer_candidates) {
    WW_TRY(const std::int64_t count, parse_integer(*flags.peer_candidates, "--peer-candidates", 1, 1000));
    options.peer_candidates = static_cast<int>(count);
  }
  if (flags.replays) {
    WW_TRY(const std::int64_t count, parse_integer(*flags.replays, "--replays", 1, 1'000'000));
    options.replays = static_cast<int>(count);
  }
  if (flags.seconds) {
    WW_TRY(options.seconds_per_case, parse_seconds(*flags.seconds, "--seconds"));
  }
  if (flags.seconds_total) {
    WW_TRY(options.seconds_total, parse_seconds(*flags.seconds_total, "--seconds-total"));
  }
  if (flags.result) {
    WW_CHECK(check_writable(*flags.result, "--result"));
    options.result = *flags.result;
  }
  if (::isatty(STDERR_FILENO))
    options.progress = [](const std::string& line) { std::fprintf(stderr, "%s\n", printable_lines(line).c_str()); };
  return options;
}

namespace {

Result<void> check_types(DType a, DType b) {
  if (a == b && a != DType::e5m2 && a != DType::tf32) return {};
  return failure(ErrorCode::unsupported, "--dtype", "e4m3, bf16 or f16 for both operands of what is timed",
                 fmt::format("{}, {}", name_of(a), name_of(b)));
}

/// What `bench gemm` does not time.
Result<void> check_gemm(const GemmProblem& asked) {
  const auto not_timed = [](const char* key, const char* expected, std::string actual) {
    return failure(ErrorCode::unsupported, fmt::format("--config, key {}", key), expected, std::move(actual));
  };
  if (asked.a_major != Major::k || asked.b_major != Major::k)
    return not_timed("layout", "nt: what is timed is K-major", name_of(MatrixLayout{asked.a_major, asked.b_major}));
  if (asked.d_layout != OutputLayout::row) return not_timed("d_layout", "row: what is timed is row-major", "column");
  if (asked.c_layout != OutputLayout::row) return not_timed("c_layout", "row: what is timed is row-major", "column");
  if (asked.pointer_array) return not_timed("pointers", "0: what is timed is one product", "1");
  if (!asked.epilogue.empty())
    return not_timed("epilogue", "none: what is timed is the product alone", quoted(to_text(asked.epilogue)));
  WW_CHECK(check_types(asked.a, asked.b));
  if (asked.scale == Scale::block_1x128_1x128)
    return failure(ErrorCode::unsupported, "--scale", "none, tensor, row-column or block: what is timed",
                   name_of(asked.scale));
  return {};
}

/// The sizes of the operation as those of the case that is timed without --cases.
Result<BenchOptions> options_of(const OperationRequest& asked, const Flags& flags) {
  WW_TRY(BenchOptions options, bench_options(asked.request, flags));
  options.config = asked.request.options.config;  // --config and the flags of its fields
  options.batch_invariant = asked.request.options.batch_invariant;
  return options;
}

/// The options of a measurement of dense products, with the sizes of the flags.
Result<BenchOptions> options_of_gemm(const Flags& flags) {
  WW_CHECK(check_cases_flags(flags));
  WW_TRY(const OperationRequest asked, request_gemm(flags));
  const GemmProblem problem = std::get<GemmCheck>(asked.operation->check_target()).problem;
  WW_CHECK(check_gemm(problem));
  WW_TRY(BenchOptions options, options_of(asked, flags));
  options.m = problem.m, options.n = problem.n, options.k = problem.k;
  return options;
}

/// The counterpart for groups of rows.
Result<BenchOptions> options_of_grouped(const Flags& flags) {
  WW_CHECK(check_cases_flags(flags));
  WW_TRY(const OperationRequest asked, request_grouped(flags));
  const GroupedCheck check = std::get<GroupedCheck>(asked.operation->check_target());
  WW_CHECK(check_types(check.problem.a, check.problem.b));
  if (!check.problem.epilogue.empty())
    return failure(ErrorCode::unsupported, "--config, key epilogue", "none: what is timed is the product alone",
                   quoted(to_text(check.problem.epilogue)));
  WW_TRY(BenchOptions options, options_of(asked, flags));
  options.n = check.problem.n, options.k = check.problem.k, options.counts = check.groups.counts;
  return options;
}

/// The counterpart for groups of K.
Result<BenchOptions> options_of_k_grouped(const Flags& flags) {
  WW_CHECK(check_cases_flags(flags));
  WW_TRY(const OperationRequest asked, request_k_grouped(flags));
  WW_TRY(BenchOptions options, options_of(asked, flags));
  options.k_grouped = std::get<KGroupedCheck>(asked.operation->check_target());
  const KGroupedProblem& problem = options.k_grouped.problem;
  WW_CHECK(check_types(problem.a, problem.b));
  options.dtype = problem.a, options.out = problem.d, options.scale = problem.scale;
  options.m = problem.m, options.n = problem.n;
  for (const auto& product : asked.operation->products()) options.counts.push_back(product.k);
  return options;
}

Result<Outcome> bench(const Suite& suite, const Result<BenchOptions>& options, const Flags& flags) {
  if (!options) return failure(options.error());
  return flags.dry_run ? list_cases(suite, *options) : run_bench(suite, *options);
}

/// What --kernels adds, and excludes.
Result<void> read_kernels(const Flags& flags, TuneOptions& how) {
  for (const auto& [flag, argument] : {std::pair{&flags.up_to, "--up-to"}, {&flags.list, "--list"}})
    if (!flags.kernels && *flag) return failure(ErrorCode::invalid, argument, "--kernels with it", quoted(**flag));
  if (!flags.kernels) return {};
  for (const auto& [flag, argument] : {std::pair{&flags.best, "--best"},
                                       {&flags.extra, "--extra"},
                                       {&flags.replays, "--replays"},
                                       {&flags.seconds, "--seconds"},
                                       {&flags.seconds_total, "--seconds-total"}})
    if (*flag)
      return failure(ErrorCode::invalid, argument, "nothing beside --kernels, which measures nothing", quoted(**flag));
  WW_TRY(const std::int64_t kernels, parse_integer(*flags.kernels, "--kernels", 1, 1000));
  how.kernels = static_cast<int>(kernels);
  if (flags.up_to) {
    WW_TRY(how.up_to, parse_integer(*flags.up_to, "--up-to", 1, 1'000'000));
  }
  if (flags.list) {
    how.list = *flags.list;
    if (!flags.dry_run) WW_CHECK(check_writable(*flags.list, "--list"));
  }
  return {};
}

/// The choices of another tuning file are not followed, so that auto's config is the model's.
Result<Outcome> tune(const Suite& suite, const Result<BenchOptions>& options, const Flags& flags) {
  if (!options) return failure(options.error());
  TuneOptions how{.bench = *options, .dry_run = flags.dry_run};
  how.bench.peers = how.bench.burst = false;
  how.bench.device_options.tuning = kNoTuning;
  WW_CHECK(read_kernels(flags, how));
  if (!flags.tuning && !how.list.empty()) {
    if (!flags.device) return run_tune(suite, how);
    return failure(ErrorCode::invalid, "--device",
                   fmt::format("--tuning with it: without one, --list is for an H200, or a B200 with --config arch={}",
                               name_of(Arch::sm100)),
                   quoted(*flags.device));
  }
  if (!flags.tuning || flags.tuning->empty())
    return failure(ErrorCode::invalid, "--tuning", "the file to write", flags.tuning ? quoted("") : "nothing");
  if (*flags.tuning == kNoTuning)
    return failure(ErrorCode::invalid, "--tuning", "a file, because this name means none to what reads it",
                   quoted(*flags.tuning));
  how.file = *flags.tuning;
  if (!flags.dry_run) WW_CHECK(check_writable(*flags.tuning, "--tuning"));
  for (const auto& [flag, argument, least, count] :
       {std::tuple{&flags.best, "--best", 0, &how.best}, {&flags.extra, "--extra", 0, &how.extra}})
    if (*flag) {
      WW_TRY(const std::int64_t given, parse_integer(**flag, argument, least, 100'000));
      *count = static_cast<int>(given);
    }
  return run_tune(suite, how);
}

}  // namespace

Result<Outcome> run_bench_gemm(const Flags& flags) { return bench(dense_suite(), options_of_gemm(flags), flags); }
Result<Outcome> run_bench_grouped(const Flags& flags) {
  return bench(grouped_suite(), options_of_grouped(flags), flags);
}
Result<Outcome> run_bench_k_grouped(const Flags& flags) {
  return bench(k_grouped_suite(), options_of_k_grouped(flags), flags);
}

Result<Outcome> run_tune_gemm(const Flags& flags) { return tune(dense_suite(), options_of_gemm(flags), flags); }
Result<Outcome> run_tune_grouped(const Flags& flags) { return tune(grouped_suite(), options_of_grouped(flags), flags); }
Result<Outcome> run_tune_k_grouped(const Flags& flags) {
  return tune(k_grouped_suite(), options_of_k_grouped(flags), flags);
}

}  // namespace ww::cli
