// SPDX-License-Identifier: Apache-2.0
// `warpwright bench gemm`: the flags of `gemm` plus those of the measurement, as BenchOptions.
#include <fmt/format.h>

#include <unistd.h>

#include <charconv>
#include <cstdio>

#include "bench/native/bench.hpp"
#include "cli/gemm_request.hpp"
#include "config/config_text.hpp"

namespace ww::bench {

namespace {

Result<double> parse_seconds(const std::string& text, const std::string& argument) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status == std::errc{} && end == text.data() + text.size() && value >= 0 && value <= 1e6) return value;
  return failure(ErrorCode::invalid, argument, "seconds from 0 to 1000000", fmt::format("\"{}\"", text));
}

}  // namespace

Result<void> refuse_files(const GemmFlags& flags) {
  for (const auto& [flag, argument] : {std::pair{&flags.a, "--a"},
                                       {&flags.b, "--b"},
                                       {&flags.scale_a, "--scale-a"},
                                       {&flags.scale_b, "--scale-b"},
                                       {&flags.out, "--out"}})
    if (*flag)
      return failure(ErrorCode::invalid, argument, "no file: bench makes its own operands and keeps no result", **flag);
  return {};
}

Result<Pdl> parse_pdl(const std::string& text) {
  for (const auto& [name, pdl] : {std::pair{"auto", Pdl::automatic}, {"on", Pdl::on}, {"off", Pdl::off}})
    if (text == name) return pdl;
  return failure(ErrorCode::invalid, "--pdl", "auto, on or off", text);
}

Result<BenchOptions> bench_options(const Request& request, const GemmFlags& flags, const BenchFlags& bench) {
  BenchOptions options;
  options.device = request.device;
  options.device_options = request.device_options;
  options.dtype = request.types.ab, options.out = request.types.d, options.scale = request.types.scale;
  options.sms = request.options.sms;
  if (bench.pdl) {
    WW_TRY(options.pdl, parse_pdl(*bench.pdl));
  }
  options.seed = request.seed;
  options.cases = bench.cases.value_or("");
  options.variants = bench.variants ? *bench.variants : flags.config.value_or("");
  options.peers = !bench.no_peers;
  options.burst = !bench.no_burst;
  options.cublaslt = bench.cublaslt.value_or("");
  options.command_line = bench.command_line;
  if (bench.min_m) {
    WW_TRY(options.min_m, parse_integer(*bench.min_m, "--min-m", 0));
  }
  if (bench.peer_candidates) {
    WW_TRY(const std::int64_t count, parse_integer(*bench.peer_candidates, "--peer-candidates", 1, 1000));
    options.peer_candidates = static_cast<int>(count);
  }
  if (bench.replays) {
    WW_TRY(const std::int64_t count, parse_integer(*bench.replays, "--replays", 1, 1'000'000));
    options.replays = static_cast<int>(count);
  }
  if (bench.seconds) {
    WW_TRY(options.seconds_per_case, parse_seconds(*bench.seconds, "--seconds"));
  }
  if (bench.seconds_total) {
    WW_TRY(options.seconds_total, parse_seconds(*bench.seconds_total, "--seconds-total"));
  }
  if (bench.result) {
    WW_CHECK(check_writable(*bench.result, "--result"));
    options.result = *bench.result;
  }
  if (::isatty(STDERR_FILENO))
    options.progress = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  return options;
}

}  // namespace ww::bench

namespace ww::cli {

using namespace bench;

Result<Outcome> run_bench_gemm(const GemmFlags& flags, const BenchFlags& bench) {
  WW_CHECK(refuse_files(flags));
  WW_TRY(const GemmRequest request, make_request(flags));
  const GemmProblem& asked = request.problem;
  if (asked.a_major != Major::k || asked.b_major != Major::k)
    return failure(ErrorCode::unsupported, "--layout", "nt: what is timed is K-major",
                   name_of(MatrixLayout{asked.a_major, asked.b_major}));
  if (asked.d_layout != OutputLayout::row)
    return failure(ErrorCode::unsupported, "--d-layout", "row: what is timed is row-major", "column");
  if (asked.c_layout != OutputLayout::row)
    return failure(ErrorCode::unsupported, "--c-layout", "row: what is timed is row-major", "column");
  if (asked.a != asked.b || asked.a == DType::e5m2 || asked.a == DType::tf32)
    return failure(ErrorCode::unsupported, "--dtype", "e4m3, bf16 or f16 for both operands of what is timed",
                   fmt::format("{}, {}", name_of(asked.a), name_of(asked.b)));
  if (asked.scale == Scale::block_1x128_1x128)
    return failure(ErrorCode::unsupported, "--scale", "none, tensor, row-column or block: what is timed",
                   name_of(asked.scale));
  if (request.problem.batch != 1)
    return failure(ErrorCode::unsupported, "--batch", "1: what is timed is one product", *flags.batch);
  if (request.problem.pointer_array)
    return failure(ErrorCode::unsupported, "--pointer-array", "no arrays of pointers: what is timed is one product",
                   "it");
  if (!asked.epilogue.empty())
    return failure(ErrorCode::unsupported, "--epilogue", "none: what is timed is the product alone",
                   quoted(to_text(asked.epilogue)));
  WW_TRY(BenchOptions options, bench_options(request, flags, bench));
  options.config = request.options.config;  // --config and the flags of its fields
  options.batch_invariant = request.options.batch_invariant;
  options.variants = bench.variants.value_or("");
  options.m = request.problem.m, options.n = request.problem.n, options.k = request.problem.k;
  return run_bench(options);
}

Result<Outcome> run_bench_grouped(const GroupedFlags& flags, const BenchFlags& bench_flags) {
  return bench::bench_grouped(flags, bench_flags);
}

}  // namespace ww::cli
