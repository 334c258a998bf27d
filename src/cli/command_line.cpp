// SPDX-License-Identifier: Apache-2.0
// The grammar, and the only file that includes CLI11 (it costs seconds to compile).
//   warpwright <operation> <flags>          warpwright <verb> <operation> <same flags>
// Flags stay text here; what they mean and whether they are right is decided behind verbs.hpp.
#include "cli/command_line.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <new>
#include <stdexcept>

#include "cli/verbs.hpp"
#include "jit/build_facts.hpp"

namespace ww::cli {
namespace {

void text_flag(CLI::App& app, const char* name, Flag& flag, const char* values, const char* meaning) {
  app.add_option(name, flag, meaning)->type_name(values);
}

/// The flags of every operation, whatever it multiplies.
void add_common_flags(CLI::App& app, GemmFlags& f) {
  text_flag(app, "--n", f.n, "INT", "rows of B, columns of D");
  text_flag(app, "--k", f.k, "INT", "columns of A and B");
  text_flag(app, "--dtype", f.dtype, "e4m3|e5m2|bf16|f16|tf32",
            "type of A and B (default e4m3, or what the files hold)");
  text_flag(app, "--out-dtype", f.out_dtype, "bf16|f16|f32", "type of D (default bf16)");
  text_flag(app, "--scale", f.scale, "none|tensor|row-column|block|block-1d",
            "scales: block = A by 1x128, B by 128x128, block-1d = both by 1x128, row-column = one for each row of A "
            "and of B "
            "(default block for 8-bit types, else none)");
  text_flag(app, "--device", f.device, "auto|emu:sm90|cuda:N",
            "where to run (default auto: cuda:0, else the emulator)");
  text_flag(app, "--seed", f.seed, "INT", "of the generated operands and of the emulator's schedule (default 0)");
  text_flag(app, "--config", f.config, "KEY=VALUE,...",
            "kernel config, as the program prints it; what is left out is chosen");
  text_flag(app, "--sms", f.sms, "INT", "CTAs to launch at most (default all of the device)");
  text_flag(app, "--out", f.out, "FILE", "write D as .npy (bf16 as '<V2', as ml_dtypes does)");
  text_flag(app, "--math", f.math, "exact|fp32", "emulator: the tensor core to the bit, or a chain of FP32 fma");
  text_flag(app, "--schedule", f.schedule, "auto|cooperative|pingpong|multistage",
            "kernel: which warps load and multiply, and when");
  text_flag(app, "--partial-accumulators", f.partial_accumulators, "auto|1|2",
            "kernel, block scales: partial accumulators that take turns");
  text_flag(app, "--tile", f.tile, "auto|MxNxK",
            "kernel: outputs of a tile and its K, such as 128x192x128 (K may be left out)");
  text_flag(app, "--cluster", f.cluster, "auto|MxN", "kernel: CTAs of a cluster along M and N, such as 2x1");
  text_flag(app, "--stages", f.stages, "auto|INT", "kernel: depth of the operand ring");
  text_flag(app, "--emu-schedule", f.emu_schedule, "fifo|random|pct|adversarial",
            "emulator: the order in which asynchronous work completes (--schedule takes these words too)");
  text_flag(app, "--threads", f.threads, "INT", "emulator: OS threads (default one per core)");
  app.add_flag_function(
      "--verify,!--no-verify", [&f](std::int64_t count) { f.verify = count > 0; },
      "compare every element with FP64 (default when no size is given)");
}

/// The flags that say which GEMM: of `gemm` itself and of every verb that takes a GEMM.
void add_gemm_flags(CLI::App& app, GemmFlags& f) {
  text_flag(app, "--m", f.m, "INT", "rows of A and D");
  add_common_flags(app, f);
  text_flag(app, "--b-dtype", f.b_dtype, "e4m3|e5m2", "type of B when it is not that of A: FP8 types mix");
  text_flag(app, "--layout", f.layout, "nt|nn|tn|tt",
            "A is (M, K) with n and (K, M) with t, B is (K, N) with n and (N, K) with t (default nt; others: not FP8)");
  text_flag(app, "--a-from", f.a_from, "auto|shared|registers",
            "kernel: where the tensor core takes A from, a_source= of the config (default auto)");
  text_flag(app, "--d-layout", f.d_layout, "row|column",
            "what of D is contiguous on the device: --out is (M, N) all the same (default row)");
  text_flag(app, "--c-layout", f.c_layout, "row|column",
            "what of C and the epilogue's other matrices is contiguous on the device: files are (M, N) (default row)");
  text_flag(app, "--batch", f.batch, "INT",
            "products of this shape: L matrices of A, B, D and their scales (default 1)");
  text_flag(app, "--tile-scheduler", f.tile_scheduler, "auto|single|static|dynamic|stream-k|split-k",
            "how tiles are handed out: order= of the config (default auto)");
  app.add_flag("--batch-invariant", f.batch_invariant,
               "a row's bits do not depend on M or the number of SMs: no stream-k, no split-k");
  text_flag(app, "--swap-ab", f.swap_ab, "auto|on|off",
            "rows of B on the 64-row side of the instruction, for few rows of A: --tile is then B's rows x A's "
            "(default auto)");
  text_flag(app, "--fixed-n", f.fixed_n, "INT", "kernel: for this N alone, fixed_n= of the config");
  text_flag(app, "--fixed-k", f.fixed_k, "INT", "kernel: for this K alone, fixed_k= of the config");
  app.add_flag("--pointer-array", f.pointer_array, "the matrices of a batch lie where arrays of pointers say");
  text_flag(app, "--split", f.split, "INT", "split-k: pieces of K for each tile, split= of the config");
  text_flag(app, "--a", f.a, "FILE",
            "A (M, K), or (L, M, K) of a batch: .npy or FILE.safetensors:TENSOR (default generated)");
  text_flag(app, "--epilogue", f.epilogue, "EXPRESSION",
            "D from acc, alpha, beta, c, bias, col0, aux0, ...: \"silu(acc*alpha + bias)\" "
            "(default what the flags below ask for)");
  text_flag(app, "--alpha", f.alpha, "FLOAT", "alpha of the epilogue (default 1)");
  text_flag(app, "--beta", f.beta, "FLOAT", "beta of the epilogue (default 1)");
  text_flag(app, "--c", f.c, "FILE", "C (M, N) of the epilogue, or (L, M, N) of a batch (default generated)");
  text_flag(app, "--bias", f.bias, "FILE", "bias (N,) of the epilogue, or (L, N) (default generated)");
  text_flag(app, "--aux", f.aux, "FILE", "aux0 (M, N) of the epilogue, or (L, M, N) (default generated)");
  text_flag(app, "--out-scales", f.out_scales, "FILE", "write the scales of quantise_block as .npy");
  text_flag(app, "--b", f.b, "FILE", "B (N, K), or (L, N, K); without L one B serves the batch, and so for scales");
  text_flag(app, "--scale-a", f.scale_a, "FILE",
            "float32 (M, ceil(K/128)); (M,) with row-column, one number with tensor");
  text_flag(app, "--scale-b", f.scale_b, "FILE",
            "float32 (ceil(N/128), ceil(K/128)); (N, ceil(K/128)) with block-1d; (N,); or one number");
}

/// Flags of `gemm` that grouped_request.cpp refuses with what to use instead; not in --help.
void add_refused_flags(CLI::App& app, GemmFlags& f) {
  const auto hidden = [&](const char* name, Flag& flag) { app.add_option(name, flag)->group(""); };
  hidden("--swap-ab", f.swap_ab), hidden("--batch", f.batch), hidden("--layout", f.layout);
  hidden("--d-layout", f.d_layout), hidden("--c-layout", f.c_layout), hidden("--a-from", f.a_from),
      hidden("--b-dtype", f.b_dtype);
  hidden("--fixed-n", f.fixed_n), hidden("--fixed-k", f.fixed_k);
  app.add_flag("--pointer-array", f.pointer_array)->group("");
}

/// The same for groups of rows, each with a B of its own.
void add_grouped_flags(CLI::App& app, GroupedFlags& g) {
  GemmFlags& f = g.gemm;
  text_flag(app, "--groups", g.groups, "INT", "G, the number of groups (default 8, or what is listed)");
  text_flag(app, "--rows", g.rows, "INT,INT,...", "rows of each group");
  text_flag(app, "--distribution", g.distribution, "uniform|zipf|onehot|half-empty",
            "instead: how --total rows are distributed (default uniform)");
  text_flag(app, "--total", g.total, "INT", "rows of all groups (default 512)");
  text_flag(app, "--m", f.m, "INT", "rows of A and D, or of one masked group (default what the groups need)");
  add_common_flags(app, f);
  text_flag(app, "--encoding", g.encoding, "offsets|indptr|starts-counts|row-ids|masked",
            "how the device is told (default offsets)");
  text_flag(app, "--align", g.align, "INT", "groups start at multiples of this (default 1)");
  text_flag(app, "--gap", g.gap, "INT", "rows between groups: starts-counts, row-ids (default 0)");
  text_flag(app, "--variant", g.variant, "auto|contiguous|masked|descriptors|ragged", "which kernel");
  text_flag(app, "--tile-scheduler", f.tile_scheduler, "auto|static|dynamic|horizontal|vertical|split-k",
            "how tiles are handed out: ragged takes static, dynamic and split-k, descriptors horizontal and vertical, "
            "contiguous and masked static (default auto)");
  text_flag(app, "--split", f.split, "2|4|8", "split-k: pieces of K for each tile, one for each CTA of a cluster");
  app.add_flag("--batch-invariant", f.batch_invariant, "a row's bits do not depend on the other rows: no split-k");
  app.add_flag("--zero-outside", g.zero_outside, "write zeros to rows of D in no group (default left alone)");
  text_flag(app, "--a", f.a, "FILE",
            "A (M, K), masked (G, Mmax, K): .npy or FILE.safetensors:TENSOR (default generated)");
  text_flag(app, "--b", f.b, "FILE", "B (G, N, K)");
  text_flag(app, "--scale-a", f.scale_a, "FILE",
            "float32 (M, ceil(K/128)); (M,) with row-column; (G,) or one number with tensor");
  text_flag(app, "--scale-b", f.scale_b, "FILE", "float32 (G, ceil(N/128), ceil(K/128)); (G, N); (G,) or one number");
  text_flag(app, "--epilogue", f.epilogue, "EXPRESSION",
            "D from acc, alpha, beta, c, bias, col0, aux0, ...: \"silu(acc*alpha + bias)\"; swiglu and quantise_block "
            "with --variant auto, contiguous or masked (default what the flags below ask for)");
  text_flag(app, "--alpha", f.alpha, "FLOAT", "alpha of the epilogue (default 1)");
  text_flag(app, "--beta", f.beta, "FLOAT", "beta of the epilogue (default 1)");
  text_flag(app, "--c", f.c, "FILE", "C (M, N) of the epilogue, masked (G, Mmax, N) (default generated)");
  text_flag(app, "--bias", f.bias, "FILE",
            "bias (G, N) of the epilogue, or (N,) for all groups (default generated, (G, N))");
  text_flag(app, "--aux", f.aux, "FILE", "aux0 (M, N) of the epilogue, masked (G, Mmax, N) (default generated)");
  text_flag(app, "--out-scales", f.out_scales, "FILE", "write the scales of quantise_block as .npy");
  add_refused_flags(app, f);
  text_flag(app, "--offsets", g.offsets, "FILE", "int32 (G,): where each group ends");
  text_flag(app, "--indptr", g.indptr, "FILE", "int32 (G + 1,): where each starts, and the end");
  text_flag(app, "--starts", g.starts, "FILE", "int32 (G,): first rows, with --counts");
  text_flag(app, "--counts", g.counts, "FILE", "int32 (G,): how many rows");
  text_flag(app, "--row-ids", g.row_ids, "FILE", "int32 (M,): the group of each row, -1 for none");
  text_flag(app, "--masked", g.masked, "FILE", "int32 (G,): rows used of each (Mmax, K) of A");
}

/// Groups of K, each with a D of its own.
void add_k_grouped_flags(CLI::App& app, KGroupedFlags& g) {
  GemmFlags& f = g.gemm;
  text_flag(app, "--groups", g.groups, "INT", "G, the number of groups (default 8, or what is listed)");
  text_flag(app, "--ks", g.ks, "INT,INT,...", "rows of K of each group");
  text_flag(app, "--distribution", g.distribution, "uniform|zipf|onehot|half-empty",
            "instead: how --total rows of K are distributed (default uniform)");
  text_flag(app, "--total", g.total, "INT", "rows of K of all groups (default 2048)");
  text_flag(app, "--m", f.m, "INT", "columns of A (K, M), rows of every D (default 512)");
  add_common_flags(app, f);
  text_flag(app, "--layout", f.layout, "nt|nn|tn|tt",
            "A is (M, K) with n and (K, M) with t, B is (K, N) with n and (N, K) with t "
            "(default tn for 16-bit types; FP8 and tf32: nt, groups at multiples of 128)");
  text_flag(app, "--encoding", g.encoding, "offsets|indptr|starts-counts|row-ids|masked",
            "how the device is told (default offsets)");
  text_flag(app, "--align", g.align, "INT", "groups start at multiples of this (default 1)");
  text_flag(app, "--gap", g.gap, "INT", "rows between groups: starts-counts, row-ids (default 0)");
  app.add_flag("--accumulate", g.accumulate, "D += A^T B, in place (default D = A^T B)");
}

void add_bench_flags(CLI::App& app, BenchFlags& f) {
  text_flag(app, "--cases", f.cases, "FILE", "JSON list of problems (default the one problem of the flags)");
  text_flag(app, "--min-m", f.min_m, "INT", "of those cases, the ones with at least this M");
  text_flag(app, "--variants", f.variants, "CONFIG;CONFIG",
            "configs to race against each other; best:N among them: the N that the model puts first");
  text_flag(app, "--result", f.result, "FILE", "write the result as JSON");
  text_flag(app, "--cublaslt", f.cublaslt, "FILE", "the cuBLASLt library to compare with");
  text_flag(app, "--peer-candidates", f.peer_candidates, "INT", "cuBLASLt algorithms to try (default 1)");
  text_flag(app, "--replays", f.replays, "INT", "replays of every contender at least");
  text_flag(app, "--seconds", f.seconds, "SECONDS", "time for a case");
  text_flag(app, "--seconds-total", f.seconds_total, "SECONDS", "time for all cases (0: no limit)");
  text_flag(app, "--pdl", f.pdl, "auto|on|off", "programmatic dependent launch (default auto)");
  app.add_flag("--no-peers", f.no_peers, "without cuBLASLt");
  app.add_flag("--no-burst", f.no_burst, "without the cold replay of each contender");
}

void add_prepare_flags(CLI::App& app, PrepareFlags& f) {
  text_flag(app, "--cases", f.cases, "FILE", "JSON list of problems (default the one problem of the flags)");
  text_flag(app, "--jobs", f.jobs, "INT", "threads that compile (default one per core)");
}

void add_select_flags(CLI::App& app, SelectFlags& f, const char* otherwise) {
  text_flag(app, "--top", f.top, "INT", otherwise);
}

/// `check` reads three of a GEMM's flags in its own way: how many processes, which arithmetic, which schedules only.
void add_campaign_flags(CLI::App& app, GemmFlags& f, CheckFlags& c) {
  for (const char* name : {"--math", "--emu-schedule", "--threads"})
    if (CLI::Option* of_gemm = app.get_option_no_throw(name)) app.remove_option(of_gemm);
  if (!app.get_option_no_throw("--device")) {
    text_flag(app, "--device", f.device, "emu:sm90", "the emulated device");
    text_flag(app, "--seed", f.seed, "INT", "of the first schedule (default 0)");
  }
  text_flag(app, "--math", f.math, "on|off|fp32", "off: operands are read, products are not computed (default on)");
  text_flag(app, "--emu-schedule", f.emu_schedule, "fifo|random|pct|adversarial",
            "one kind only (default all in turn)");
  if (!app.get_option_no_throw("--schedule"))
    text_flag(app, "--schedule", f.schedule, "fifo|random|pct|adversarial", "the same");
  text_flag(app, "--threads", f.threads, "INT", "processes (default one per core)");
  text_flag(app, "--schedules", c.schedules, "INT", "how many (default 200)");
  text_flag(app, "--time", c.time, "TIME", "no schedule starts later: 60s, 500ms, 2m (default 60s)");
  text_flag(app, "--pct-depth", c.pct_depth, "INT", "things that must happen in order for a bug (default 3)");
  app.add_flag("--no-shrink", c.no_shrink, "do not look for a simpler run that shows a finding");
  app.add_flag("--traffic", c.traffic, "bytes and bank conflicts of each source line");
}

void add_source_flags(CLI::App& app, CheckFlags& c) {
  text_flag(app, "--source", c.source, "FILE", "a header that defines a kernel with WW_KERNEL");
  text_flag(app, "--entry", c.entry, "NAME", "the kernel");
  text_flag(
      app, "--launch", c.launch, "KEY=VALUE,...",
      "grid, cluster, threads, shared, then parameters: buffer=BYTES, zeros=BYTES, int=N, long=N, float=X, map=...");
}

/// CLI11's refusal in our words: the flag it names, and what it says.
Error parse_failure(const CLI::ParseError& error, const std::string& verb) {
  const std::string what = error.what();
  std::string argument;
  for (std::size_t at = what.find("--"); at != std::string::npos && argument.empty(); at = what.find("--", at + 2))
    if (at == 0 || what[at - 1] == ' ') argument = what.substr(at, what.find_first_of(" :,=", at) - at);
  const std::string help = "warpwright" + (verb.empty() ? "" : " " + verb) + " --help";
  return make_error(ErrorCode::invalid, argument, "a command line as " + help + " describes it", what);
}

std::string join(int argc, const char* const* argv) {
  std::string line = "warpwright";
  for (int i = 1; i < argc; ++i) line += std::string(" ") + argv[i];
  return line;
}

bool wants_json(int argc, const char* const* argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i)
    if (std::string_view(argv[i]) == "--json") return true;
  return false;
}

int run_verb(int argc, const char* const* argv, bool& json) {
  CLI::App app("GEMM kernels that run on NVIDIA GPUs and, unmodified, on an emulated device on this CPU.",
               "warpwright");
  app.set_version_flag("--version", std::string("warpwright ") + jit::library_version());
  app.require_subcommand(1);
  app.footer("Exit status: 0 right, 1 wrong result, 2 invalid use, 3 unsupported, 4 could not finish.");
  const auto json_flag = [&](CLI::App* verb) {
    verb->add_flag("--json", json, "one JSON object on stdout, errors included");
  };

  GemmFlags gemm_flags;
  GroupedFlags grouped_flags;
  KGroupedFlags k_grouped_flags;
  BenchFlags bench_flags;
  CheckFlags check_flags;
  SelectFlags select_flags;
  PrepareFlags prepare_flags;
  std::string expression;
  CLI::App* info = app.add_subcommand("info", "what this build can do on this machine");
  CLI::App* gemm = app.add_subcommand("gemm", "D = scale (A B^T), once; without flags a verified first run");
  CLI::App* grouped = app.add_subcommand("grouped", "the same for groups of rows, each with its own B");
  CLI::App* k_grouped =
      app.add_subcommand("k-grouped", "groups of K, each with its own D: gradients of experts' weights");
  CLI::App* layout = app.add_subcommand("layout", "evaluate a layout expression");
  CLI::App* configs = app.add_subcommand("configs", "what an operation can run with, best first by modelled time");
  CLI::App* configs_gemm = configs->add_subcommand("gemm", "for the problem that the flags describe; nothing runs");
  configs->require_subcommand(1);
  CLI::App* explain = app.add_subcommand("explain", "why auto chose what it did");
  CLI::App* explain_gemm = explain->add_subcommand("gemm", "for the problem that the flags describe; nothing runs");
  explain->require_subcommand(1);
  CLI::App* prepare = app.add_subcommand("prepare", "compile ahead of time what an operation will need");
  CLI::App* prepare_gemm = prepare->add_subcommand("gemm", "the kernels of the flags' problem, or of a list");
  prepare->require_subcommand(1);
  CLI::App* bench = app.add_subcommand("bench", "measure an operation");
  CLI::App* bench_grouped = bench->add_subcommand("grouped", "our ways to treat groups of rows side by side");
  CLI::App* bench_gemm = bench->add_subcommand("gemm", "our kernels and cuBLASLt side by side");
  bench->require_subcommand(1);
  CLI::App* check = app.add_subcommand("check", "run a kernel under many schedules and look for races and hangs");
  CLI::App* check_gemm = check->add_subcommand("gemm", "the library's own kernels");
  CLI::App* check_grouped = check->add_subcommand("grouped", "the library's own kernels for groups of rows");
  CLI::App* check_k_grouped = check->add_subcommand("k-grouped", "the library's own kernel for groups of K");
  for (CLI::App* verb : {check, check_gemm, check_grouped, check_k_grouped})
    verb->footer("Exit status: 0 clean, 1 findings, 2 invalid use, 4 incomplete: nothing can be said.");
  for (CLI::App* verb : {info, gemm, grouped, layout, bench_gemm, bench_grouped, check, check_gemm, check_grouped,
                         k_grouped, check_k_grouped, configs_gemm, explain_gemm, prepare_gemm})
    json_flag(verb);
  add_gemm_flags(*gemm, gemm_flags);
  add_grouped_flags(*grouped, grouped_flags);
  add_k_grouped_flags(*k_grouped, k_grouped_flags);
  layout->add_option("expression", expression, "such as (4,2):(1,4)")->required();
  add_gemm_flags(*prepare_gemm, gemm_flags);
  add_prepare_flags(*prepare_gemm, prepare_flags);
  add_gemm_flags(*configs_gemm, gemm_flags);
  add_select_flags(*configs_gemm, select_flags, "how many to show (default 20; 0: all)");
  add_gemm_flags(*explain_gemm, gemm_flags);
  add_select_flags(*explain_gemm, select_flags, "how many runners-up to compare with (default 3)");
  add_gemm_flags(*bench_gemm, gemm_flags);
  add_bench_flags(*bench_gemm, bench_flags);
  bench_flags.command_line = join(argc, argv);
  add_gemm_flags(*check_gemm, gemm_flags);
  add_campaign_flags(*check_gemm, gemm_flags, check_flags);
  add_campaign_flags(*check, gemm_flags, check_flags);
  add_source_flags(*check, check_flags);
  add_grouped_flags(*check_grouped, grouped_flags);
  add_campaign_flags(*check_grouped, grouped_flags.gemm, check_flags);
  add_k_grouped_flags(*check_k_grouped, k_grouped_flags);
  add_campaign_flags(*check_k_grouped, k_grouped_flags.gemm, check_flags);
  add_grouped_flags(*bench_grouped, grouped_flags);
  add_bench_flags(*bench_grouped, bench_flags);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {  // --help, --version
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    std::string verb;
    for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
      at = at->get_subcommands().front();
      verb += (verb.empty() ? "" : " ") + at->get_name();
    }
    return show(failure(parse_failure(error, verb)), json);
  } catch (const std::invalid_argument& error) {  // CLI11's own for a flag's value: --verify=maybe
    return show(failure(ErrorCode::invalid, "a flag that takes no value", "true or false", error.what()), json);
  }
  if (*info) return show(run_info(), json);
  if (*gemm) return show(run_gemm(gemm_flags), json);
  if (*k_grouped) return show(run_k_grouped(k_grouped_flags), json);
  if (*grouped) return show(run_grouped(grouped_flags), json);
  if (*layout) return show(run_layout(expression), json);
  if (*prepare_gemm) return show(run_prepare_gemm(gemm_flags, prepare_flags), json);
  if (*configs_gemm) return show(run_configs_gemm(gemm_flags, select_flags), json);
  if (*explain_gemm) return show(run_explain_gemm(gemm_flags, select_flags), json);
  if (*check_gemm) return show(run_check_gemm(gemm_flags, check_flags), json);
  if (*check_k_grouped) return show(run_check_k_grouped(k_grouped_flags, check_flags), json);
  if (*check_grouped) return show(run_check_grouped(grouped_flags, check_flags), json);
  if (*check) return show(run_check_source(gemm_flags, check_flags), json);
  if (*bench_grouped) return show(run_bench_grouped(grouped_flags, bench_flags), json);
  return show(run_bench_gemm(gemm_flags, bench_flags), json);
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  bool json = wants_json(argc, argv);  // before parsing: a broken command line has no flags yet
  try {
    return run_verb(argc, argv, json);
  } catch (const std::bad_alloc&) {
    return show(failure(ErrorCode::could_not_finish, "", "memory", "an allocation that failed"), json);
  } catch (const std::exception& error) {  // the program's own last resort: the library does not throw
    return show(failure(ErrorCode::could_not_finish, "", "", error.what()), json);
  }
}

}  // namespace ww::cli
