// SPDX-License-Identifier: Apache-2.0
// `warpwright bench gemm`: the flags of `gemm` plus those of the measurement, as BenchOptions.
#include <fmt/format.h>

#include <unistd.h>

#include <charconv>
#include <cstdio>

#include "bench/native/bench.hpp"
#include "cli/gemm_request.hpp"
#include "cli/grouped_request.hpp"
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
                                       {&flags.total, "--total"},
                                       {&flags.distribution, "--distribution"}})
    if (flags.cases && *flag)
      return failure(ErrorCode::invalid, argument, "nothing beside --cases, which has the sizes", quoted(**flag));
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

Result<Outcome> run_bench_gemm(const Flags& flags) {
  WW_CHECK(check_cases_flags(flags));
  WW_TRY(const GemmRequest request, make_request(flags));
  const GemmProblem& asked = request.problem;
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
  if (asked.a != asked.b || asked.a == DType::e5m2 || asked.a == DType::tf32)
    return failure(ErrorCode::unsupported, "--dtype", "e4m3, bf16 or f16 for both operands of what is timed",
                   fmt::format("{}, {}", name_of(asked.a), name_of(asked.b)));
  if (asked.scale == Scale::block_1x128_1x128)
    return failure(ErrorCode::unsupported, "--scale", "none, tensor, row-column or block: what is timed",
                   name_of(asked.scale));
  WW_TRY(BenchOptions options, bench_options(request, flags));
  options.config = request.options.config;  // --config and the flags of its fields
  options.batch_invariant = request.options.batch_invariant;
  options.m = request.problem.m, options.n = request.problem.n, options.k = request.problem.k;
  return run_bench(options);
}

Result<Outcome> run_bench_grouped(const Flags& flags) {
  WW_CHECK(check_cases_flags(flags));
  WW_TRY(const GroupedRequest request, make_grouped_request(flags));
  if (!request.problem.epilogue.empty())
    return failure(ErrorCode::unsupported, "--config, key epilogue", "none: what is timed is the product alone",
                   quoted(to_text(request.problem.epilogue)));
  WW_TRY(BenchOptions options, bench_options(request, flags));
  options.batch_invariant = request.options.batch_invariant;
  return run_grouped_bench({request.problem, request.counts, request.options.config}, options);
}

}  // namespace ww::cli
