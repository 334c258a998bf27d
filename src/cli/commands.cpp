// SPDX-License-Identifier: Apache-2.0
// The one description of the program's commands and flags. A new verb is a row of kCommands and its own file; a new
// flag is a row of kFlags and a member of Flags. Flags of a config field come from the table of config/fields.hpp.
#include "cli/flags.hpp"
#include "cli/operation_request.hpp"
#include "config/config_text.hpp"
#include "host/messages.hpp"

namespace ww::cli {

Result<Outcome> run_info(const Flags&);
Result<Outcome> run_devices(const Flags&);
Result<Outcome> run_version(const Flags&);
Result<Outcome> run_layout(const Flags&);
Result<Outcome> run_bench_gemm(const Flags&);
Result<Outcome> run_bench_grouped(const Flags&);
Result<Outcome> run_bench_k_grouped(const Flags&);
Result<Outcome> run_prepare_configs(const Flags&);
Result<Outcome> run_check_gemm(const Flags&);
Result<Outcome> run_tune_gemm(const Flags&);
Result<Outcome> run_tune_grouped(const Flags&);
Result<Outcome> run_tune_k_grouped(const Flags&);
Result<Outcome> run_check_grouped(const Flags&);
Result<Outcome> run_check_k_grouped(const Flags&);
Result<Outcome> run_check_source(const Flags&);
Result<Outcome> run_completion(const Flags&);
Result<Outcome> run_man(const Flags&);

namespace {

constexpr unsigned kMeasure = kBench | kTune;
constexpr unsigned kAll = kRun | kConfigs | kExplain | kPrepare | kMeasure | kCheck;  // verbs of an operation
constexpr unsigned kNotMeasure = kAll & ~kMeasure;
constexpr unsigned kChoice = kConfigs | kExplain;
constexpr unsigned kDense = kGemm, kRows = kGrouped, kAny = kGemm | kGrouped | kKGrouped;
constexpr unsigned kNotK = kGemm | kGrouped;
constexpr unsigned kEveryOperation = kAny | kNone;

using F = Flags;

/// "auto|emu:sm90|cuda:N". Made at compile time, as the table of flags is.
constexpr auto kDevices = [] {
  std::array<char, 64> text{};
  std::size_t at = 0;
  const auto add = [&](std::string_view more) {
    for (const char c : more) text.at(at++) = c;
  };
  add("auto|");
  for (int i = 0; i < kArchs; ++i) add(machine_of(static_cast<Arch>(i)).emulated_device), add("|");
  add("cuda:N");
  return text;
}();

constexpr FlagRow kFlags[] = {
    // the problem
    {"--m", &F::m, "INT", "rows of A and D", kGemm, kAll},
    {"--m", &F::m, "INT", "rows of A and D, or of one masked group (default what the groups need)", kRows, kNotMeasure},
    {"--m", &F::m, "INT", "columns of A (K, M), rows of every D (default 512)", kKGrouped, kAll},
    {"--n", &F::n, "INT", "rows of B, columns of D", kAny, kAll},
    {"--k", &F::k, "INT", "columns of A and B", kNotK, kAll},
    {"--k", &F::k, "INT", "rows of K, or of one masked group (default what the groups need)", kKGrouped, kAll},
    {"--groups", &F::groups, "INT", "number of groups G (default 8, or what is listed)", kRows | kKGrouped, kAll},
    {"--rows", &F::rows, "INT,INT,...", "rows of each group", kRows, kAll},
    {"--ks", &F::ks, "INT,INT,...", "rows of K of each group", kKGrouped, kAll},
    {"--distribution", &F::distribution, "uniform|zipf|onehot|half-empty",
     "instead: how --total rows are distributed (default uniform)", kRows | kKGrouped, kAll},
    {"--total", &F::total, "INT", "rows of all groups (default 512)", kRows, kAll},
    {"--total", &F::total, "INT", "rows of K of all groups (default 2048)", kKGrouped, kAll},
    {"--batch", &F::batch, "INT", "products of this shape: L matrices of A, B, D and their scales (default 1)", kGemm,
     kNotMeasure},
    {"--dtype", &F::dtype, "e4m3|e5m2|bf16|f16|tf32|e2m1|e3m2|e2m3",
     "type of A and B (default e4m3, or what the files hold); types of 4 and 6 bits need Blackwell", kNotK, kAll},
    {"--dtype", &F::dtype, "e4m3|e5m2|bf16|f16|tf32|e2m1|e3m2|e2m3",
     "type of A and B (default bf16); types of 4 and 6 bits need Blackwell and --scale mx or nv", kKGrouped, kAll},
    {"--b-dtype", &F::b_dtype, "e4m3|e5m2|e2m1|e3m2|e2m3",
     "type of B when it is not that of A: types of 4, 6 and 8 bits mix", kGemm, kNotMeasure},
    {"--b-dtype", &F::b_dtype, "e4m3|e5m2|e2m1|e3m2|e2m3",
     "type of B when it is not that of A: with --scale mx, types of 4, 6 and 8 bits mix", kRows | kKGrouped,
     kNotMeasure},
    {"--out-dtype", &F::out_dtype, "bf16|f16|f32|e4m3|e5m2|e2m1",
     "type of D (default bf16); e4m3, e5m2 or, on Blackwell, e2m1 exactly where the epilogue quantises, then e4m3 by "
     "default",
     kNotK, kAll},
    {"--out-dtype", &F::out_dtype, "bf16|f16|f32", "type of D (default f32)", kKGrouped, kAll},
    {"--scale", &F::scale, "none|tensor|row-column|block|block-1d|mx|nv",
     "scales: block is A by 1x128 and B by 128x128, block-1d both by 1x128, row-column one for each row of A and of B; "
     "mx both by 1x32 in e8m0, nv both by 1x16 in e4m3 with a factor, for e2m1 (default block for 8-bit types, mx for "
     "narrower ones, else none)",
     kNotK, kAll},
    {"--scale", &F::scale, "none|tensor|row-column|block|block-1d|mx|nv",
     "scales: block is A by 1x128 and B by 128x128, block-1d both by 1x128, row-column one for each row of A and of B; "
     "mx both by 1x32 in e8m0, nv both by 1x16 in e4m3 with a factor, for e2m1 (default block-1d for 8-bit types, mx "
     "for narrower ones, else none)",
     kKGrouped, kAll},
    {"--layout", &F::layout, "nt|nn|tn|tt",
     "A is (M, K) with n and (K, M) with t, B is (K, N) with n and (N, K) with t (default nt; others: not FP8)", kGemm,
     kNotMeasure},
    {"--layout", &F::layout, "nt|nn", "B is (G, N, K) with t and (G, K, N) with n (default nt; nn: bf16 and f16)",
     kRows, kNotMeasure},
    {"--layout", &F::layout, "nt|nn|tn|tt",
     "A is (M, K) with n and (K, M) with t, B is (K, N) with n and (N, K) with t (default tn for 16-bit types, "
     "else nt with groups at multiples of 128; on Hopper FP8 and tf32 have nt alone)",
     kKGrouped, kAll},
    {"--packing", &F::packing, "joint|per-group",
     "K-major groups lie side by side in one matrix, or one matrix after the other (default joint)", kKGrouped, kAll},
    {"--d-layout", &F::d_layout, "row|column",
     "what of D is contiguous on the device: --out is (M, N) all the same (default row)", kGemm, kNotMeasure},
    {"--c-layout", &F::c_layout, "row|column",
     "what of C and the epilogue's other matrices is contiguous on the device: files are (M, N) (default row)", kGemm,
     kNotMeasure},
    {"--pointer-array", &F::pointer_array, "", "the matrices of a batch lie where arrays of pointers say", kGemm,
     kNotMeasure},
    {"--encoding", &F::encoding, "offsets|indptr|starts-counts|row-ids|masked",
     "how the device is told (default offsets)", kRows, kNotMeasure},
    {"--encoding", &F::encoding, "offsets|indptr|starts-counts|row-ids|masked",
     "how the device is told (default offsets)", kKGrouped, kAll},
    {"--align", &F::align, "INT",
     "groups start at multiples of this; with --row-ids FILE the first of so many ids is that of all (default 1)",
     kRows, kNotMeasure},
    {"--align", &F::align, "INT",
     "groups start at multiples of this; with --row-ids FILE the first of so many ids is that of all (default 1)",
     kKGrouped, kAll},
    {"--gap", &F::gap, "INT", "rows between groups: starts-counts, row-ids (default 0)", kRows, kNotMeasure},
    {"--gap", &F::gap, "INT", "rows between groups: starts-counts, row-ids (default 0)", kKGrouped, kAll},
    {"--zero-outside", &F::zero_outside, "", "write zeros to rows of D in no group (default left alone)", kRows,
     kNotMeasure},
    {"--expected-sizes", &F::expected_sizes, "",
     "auto knows the rows of each group (default: it reckons with equal and uneven ones, and masked groups half full)",
     kRows, kNotMeasure},
    {"--accumulate", &F::accumulate, "", "D += A^T B, in place (default D = A^T B)", kKGrouped, kNotMeasure},
    {"--offsets", &F::offsets, "FILE", "int32 (G,): where each group ends", kRows, kNotMeasure},
    {"--offsets", &F::offsets, "FILE", "int32 (G,): where each group of K ends", kKGrouped, kAll},
    {"--indptr", &F::indptr, "FILE", "int32 (G + 1,): where each starts, and the end", kRows, kNotMeasure},
    {"--indptr", &F::indptr, "FILE", "int32 (G + 1,): where each group of K starts, and the end", kKGrouped, kAll},
    {"--starts", &F::starts, "FILE", "int32 (G,): first rows, with --counts", kRows, kNotMeasure},
    {"--starts", &F::starts, "FILE", "int32 (G,): first rows of K, with --counts", kKGrouped, kAll},
    {"--counts", &F::counts, "FILE", "int32 (G,): how many rows, with --starts", kRows, kNotMeasure},
    {"--counts", &F::counts, "FILE", "int32 (G,): how many rows of K, with --starts", kKGrouped, kAll},
    {"--row-ids", &F::row_ids, "FILE", "int32 (M,): the group of each row, -1 for none", kRows, kNotMeasure},
    {"--row-ids", &F::row_ids, "FILE", "int32 (K,): the group of each row of K, -1 for none", kKGrouped, kAll},
    {"--masked", &F::masked, "FILE", "int32 (G,): rows used of each (Mmax, K) of A", kRows, kNotMeasure},
    {"--masked", &F::masked, "FILE", "int32 (G,): rows of K used of each Kmax", kKGrouped, kAll},
    {"--epilogue", &F::epilogue, "EXPRESSION",
     "D from acc, alpha, beta, c, bias, col0, aux0, ...: \"silu(acc*alpha + bias)\" (default what the flags below ask "
     "for)",
     kGemm, kNotMeasure},
    {"--epilogue", &F::epilogue, "EXPRESSION",
     "D from acc, alpha, beta, c, bias, col0, aux0, ...: \"silu(acc*alpha + bias)\"; swiglu and quantise_block with "
     "--variant auto, contiguous or masked (default what the flags below ask for)",
     kRows, kNotMeasure},
    {"--alpha", &F::alpha, "FLOAT", "alpha of the epilogue (default 1)", kNotK, kRun},
    {"--beta", &F::beta, "FLOAT", "beta of the epilogue (default 1)", kNotK, kRun},
    {"--scalar2", &F::scalar2, "FLOAT", "scalar2 of the epilogue, the factor of quantise (default 1)", kNotK, kRun},
    {"--scalar3", &F::scalar3, "FLOAT", "scalar3 of the epilogue (default 1)", kNotK, kRun},

    // operands and results
    {"--a", &F::a, "FILE", "A (M, K), or (L, M, K) of a batch: .npy, FILE.safetensors:TENSOR or generated", kGemm,
     kRun},
    {"--a", &F::a, "FILE", "A (M, K), masked (G, Mmax, K): .npy, FILE.safetensors:TENSOR or generated", kRows, kRun},
    {"--a", &F::a, "FILE", "A as --layout has it, (K, M) or (M, K), K of all groups; (M K,) with --packing per-group",
     kKGrouped, kRun},
    {"--b", &F::b, "FILE", "B (N, K), or (L, N, K); without L one B serves the batch, and so for scales", kGemm, kRun},
    {"--b", &F::b, "FILE", "B (G, N, K), or (G, K, N) with --layout nn", kRows, kRun},
    {"--b", &F::b, "FILE", "B as --layout has it, (K, N) or (N, K), K of all groups; (N K,) with --packing per-group",
     kKGrouped, kRun},
    {"--scale-a", &F::scale_a, "FILE",
     "float32 (M, ceil(K/128)); (M,) with row-column, one number with tensor; bytes (M, ceil(K/32)) with mx, (M, "
     "ceil(K/16)) with nv",
     kGemm, kRun},
    {"--scale-a", &F::scale_a, "FILE",
     "float32 (M, ceil(K/128)); (M,) with row-column; (G,) or one number with tensor; "
     "bytes (M, ceil(K/32)) with mx, (M, ceil(K/16)) with nv",
     kRows, kRun},
    {"--scale-a", &F::scale_a, "FILE",
     "float32 (M, ceil(K/128)); (G, M) with row-column; (G,) with tensor; "
     "bytes (M, ceil(K/32)) with mx, (M, ceil(K/16)) with nv",
     kKGrouped, kRun},
    {"--scale-b", &F::scale_b, "FILE",
     "float32 (ceil(N/128), ceil(K/128)); (N, ceil(K/128)) with block-1d; (N,); or one number; bytes as those of A",
     kGemm, kRun},
    {"--scale-b", &F::scale_b, "FILE",
     "float32 (G, ceil(N/128), ceil(K/128)); (G, N); (G,) or one number; bytes as those of A with N for M", kRows,
     kRun},
    {"--scale-b", &F::scale_b, "FILE",
     "float32 (N, ceil(K/128)), or (ceil(N/128), ceil(K/128)) with block; (G, N) with row-column; (G,) with tensor",
     kKGrouped, kRun},
    {"--c", &F::c, "FILE", "C (M, N) of the epilogue, or (L, M, N) of a batch", kGemm, kRun},
    {"--c", &F::c, "FILE", "C (M, N) of the epilogue, masked (G, Mmax, N)", kRows, kRun},
    {"--c", &F::c, "FILE", "C (G, M, N), what --accumulate adds to (default generated)", kKGrouped, kRun},
    {"--bias", &F::bias, "FILE", "bias (N,) of the epilogue, or (L, N)", kGemm, kRun},
    {"--bias", &F::bias, "FILE", "bias (G, N) of the epilogue, or (N,) for all groups", kRows, kRun},
    {"--row1", &F::row1, "FILE", "row1 of the epilogue, as --bias, which is row0", kNotK, kRun},
    {"--row2", &F::row2, "FILE", "row2 of the epilogue", kNotK, kRun},
    {"--row3", &F::row3, "FILE", "row3 of the epilogue", kNotK, kRun},
    {"--col0", &F::col0, "FILE", "col0 (M,) of the epilogue, float32, or (L, M)", kGemm, kRun},
    {"--col0", &F::col0, "FILE", "col0 (M,) of the epilogue, float32, masked (G, Mmax)", kRows, kRun},
    {"--col1", &F::col1, "FILE", "col1 of the epilogue, as --col0", kNotK, kRun},
    {"--col2", &F::col2, "FILE", "col2 of the epilogue", kNotK, kRun},
    {"--col3", &F::col3, "FILE", "col3 of the epilogue", kNotK, kRun},
    {"--aux0", &F::aux0, "FILE", "aux0 (M, N) of the epilogue, or (L, M, N)", kGemm, kRun},
    {"--aux0", &F::aux0, "FILE", "aux0 (M, N) of the epilogue, masked (G, Mmax, N)", kRows, kRun},
    {"--aux1", &F::aux1, "FILE", "aux1 of the epilogue, as --aux0", kNotK, kRun},
    {"--aux2", &F::aux2, "FILE", "aux2 of the epilogue", kNotK, kRun},
    {"--aux3", &F::aux3, "FILE", "aux3 of the epilogue", kNotK, kRun},
    {"--out", &F::out, "FILE", "write D as .npy (bf16 as '<V2', as ml_dtypes does)", kAny, kRun},
    {"--out-scales", &F::out_scales, "FILE",
     "write the scales of a quantised D as .npy: float32 of quantise_block, bytes by rows of quantise_mx and "
     "quantise_nv",
     kNotK, kRun},
    {"--out0", &F::out0, "FILE",
     "write out0 of the epilogue as .npy: (M, N) of store, (M,) of row_sum and row_amax, (N,) of column_sum and "
     "column_amax",
     kGemm, kRun},
    {"--out0", &F::out0, "FILE", "write out0 of the epilogue as .npy: (M, N) of store, masked (G, Mmax, N)", kRows,
     kRun},
    {"--out1", &F::out1, "FILE", "write out1 of the epilogue, as --out0", kNotK, kRun},
    {"--out2", &F::out2, "FILE", "write out2 of the epilogue", kNotK, kRun},
    {"--out3", &F::out3, "FILE", "write out3 of the epilogue", kNotK, kRun},
    {"--amax", &F::amax, "FILE", "write the amax of quantise as .npy, float32 (1,), or (L,) of a batch", kDense, kRun},
    {"--verify", &F::verify, "", "compare every element with FP64 (default when no size is given)", kAny, kRun},
    {"--verify", &F::verify, "", "compare every element of every launch with FP64; not with --math off", kAny, kCheck},
    {"--no-verify", &F::no_verify, "", "compare nothing, also when no size is given", kAny, kRun},

    // where it runs
    {"--device", &F::device, kDevices.data(), "where to run (default auto: cuda:0, else the emulator)", kAny,
     kRun | kMeasure},
    {"--device", &F::device, kDevices.data(),
     "the device whose kernels to make (default auto: cuda:0, else the emulator)", kEveryOperation, kPrepare},
    {"--device", &F::device, kDevices.data(), "the device to choose for (default an H200)", kAny, kChoice},
    {"--device", &F::device, machine_of(kDefaultArch).emulated_device, "the emulated device", kEveryOperation, kCheck},
    {"--sms", &F::sms, "INT",
     "SMs to use at most, of an emulated device the SMs that it has, up to 132 (default all of a GPU, 4 emulated ones)",
     kAny, kAll & ~static_cast<unsigned>(kCheck | kTune)},
    {"--sms", &F::sms, "INT", "SMs of the device, 1 to 132: grids of persistent kernels, resident clusters (default 4)",
     kEveryOperation, kCheck},
    {"--seed", &F::seed, "INT", "of the generated operands and of the emulator's schedule (default 0)", kAny,
     kRun | kMeasure},
    {"--seed", &F::seed, "INT", "of the first schedule (default 0)", kEveryOperation, kCheck},
    {"--math", &F::math, "exact|fp32", "emulator: the tensor core to the bit, or a chain of FP32 fma", kAny,
     kRun | kMeasure},
    {"--math", &F::math, "on|off|fp32", "off: operands are read, products are not computed (default on)",
     kEveryOperation, kCheck},
    {"--emu-schedule", &F::emu_schedule, "fifo|random|pct|adversarial",
     "emulator: the order in which asynchronous work completes", kAny, kRun | kMeasure},
    {"--emu-schedule", &F::emu_schedule, "fifo|random|pct|adversarial", "one kind only (default all in turn)",
     kEveryOperation, kCheck},
    {"--threads", &F::threads, "INT", "emulator: OS threads (default one per core)", kAny, kRun | kMeasure},
    {"--threads", &F::threads, "INT", "processes (default one per core)", kEveryOperation, kCheck},

    // the kernel
    {"--config", &F::config, "KEY=VALUE,...", "kernel config, as the program prints it; what is left out is chosen",
     kAny, kAll},
    {"--config", &F::config, "KEY=VALUE,...",
     "the kernel to make: a config as the program prints it, quantize=1x128,x=bf16,q=e4m3,rows=1,transposed=0 (a cast) "
     "or cast=mx,x=bf16,q=e4m3 (also nv), transpose=e4m3 or pack=ue8m0 (exponents of scales)",
     kNone, kPrepare},
    {"--variant", &F::variant, "auto|contiguous|masked|descriptors|ragged", "which kernel", kRows, kAll},
    {"--tile-scheduler", &F::tile_scheduler, "auto|single|static|dynamic|stream-k|split-k|clc",
     "how tiles are handed out: tile_scheduler= of the config (default auto)", kGemm, kAll},
    {"--tile-scheduler", &F::tile_scheduler, "auto|static|dynamic|horizontal|vertical|split-k|clc",
     "how tiles are handed out: ragged takes static, dynamic and split-k, descriptors horizontal and vertical, "
     "contiguous and masked static and, on Blackwell, clc (default auto)",
     kRows, kAll},
    {"--tile-scheduler", &F::tile_scheduler, "auto|static|longest-k|clc",
     "how tiles are handed out: longest-k begins with the groups of the largest K, clc needs Blackwell (default auto)",
     kKGrouped, kAll},
    {"--split", &F::split, "INT", "split-k: K splits of each tile, split= of the config", kGemm, kAll},
    {"--split", &F::split, "2|4|8", "split-k: K splits of each tile, one for each CTA of a cluster", kRows, kAll},
    {"--batch-invariant", &F::batch_invariant, "",
     "a row's bits do not depend on M or the number of SMs: no stream-k, no split-k", kGemm, kAll},
    {"--batch-invariant", &F::batch_invariant, "", "a row's bits do not depend on the other rows: no split-k", kRows,
     kAll},

    // what the verbs add
    {"--top", &F::top, "INT", "how many to show (default 20; 0: all)", kAny, kConfigs},
    {"--top", &F::top, "INT", "how many runners-up to compare with (default 3)", kAny, kExplain},
    {"--cases", &F::cases, "FILE", "JSON list of problems (default the one problem of the flags)", kAny,
     kMeasure | kPrepare},
    {"--random", &F::random, "INT", "instead of sizes: so many cases, drawn by --seed from layers of models", kNotK,
     kMeasure},
    {"--dry-run", &F::dry_run, "", "list the cases, with --json as --cases reads them; measure nothing", kAny, kBench},
    {"--dry-run", &F::dry_run, "", "list the cases and the configs that would be measured; measure nothing", kAny,
     kTune},
    {"--tuning", &F::tuning, "FILE", "the tuning file: lines are added, and cases that it has are left out", kAny,
     kTune},
    {"--tuning", &F::tuning, "FILE",
     "follow the choices that `tune` wrote; none: those of no file (default WARPWRIGHT_TUNING, or none)", kAny,
     kRun | kChoice | kBench | kPrepare},
    {"--best", &F::best, "INT", "configs to measure beside auto's, those that are ranked first (default 8)", kAny,
     kTune},
    {"--extra", &F::extra, "INT", "and so many of the others, drawn by --seed (default 0)", kAny, kTune},
    {"--kernels", &F::kernels, "INT",
     "measure nothing: choose at most so many kernels for all cases, which lose the least modelled time", kNotK, kTune},
    {"--up-to", &F::up_to, "INT",
     "with --kernels: for M from 1 to this instead of the cases' (groups: rows of all groups, spread evenly)", kNotK,
     kTune},
    {"--list", &F::list, "FILE",
     "with --kernels: write their configs, as prepare --configs reads them; without --tuning those for an H200", kNotK,
     kTune},
    {"--configs", &F::configs, "FILE", "kernels to make, one in a line as --config has it; # starts a comment", kNone,
     kPrepare},
    {"--list", &F::list, "FILE", "compile nothing: write the configs that an H200 would run, as --configs reads them",
     kEveryOperation, kPrepare},
    {"--pack", &F::pack, "FILE.wwpack",
     "write the cubins for an H200 to this file instead of a cache; needs NVRTC, no GPU (default none)",
     kEveryOperation, kPrepare},
    {"--jobs", &F::jobs, "INT", "threads that compile (default one per core)", kEveryOperation, kPrepare},
    {"--min-m", &F::min_m, "INT", "of those cases, the ones with at least this M", kGemm, kMeasure},
    {"--variants", &F::variants, "CONFIG;CONFIG",
     "configs to race against each other; best:N among them: the N that the model puts first", kGemm, kBench},
    {"--variants", &F::variants, "CONFIG;CONFIG", "configs to race against each other", kRows | kKGrouped, kBench},
    {"--result", &F::result, "FILE", "write the result as JSON", kAny, kBench},
    {"--cublaslt", &F::cublaslt, "FILE", "the cuBLASLt library to compare with", kGemm, kBench},
    {"--peer-candidates", &F::peer_candidates, "INT", "cuBLASLt algorithms to try (default 1)", kGemm, kBench},
    {"--no-peers", &F::no_peers, "", "without cuBLASLt", kGemm, kBench},
    {"--replays", &F::replays, "INT", "replays of every contender at least", kAny, kMeasure},
    {"--seconds", &F::seconds, "SECONDS", "time for a case", kAny, kMeasure},
    {"--seconds-total", &F::seconds_total, "SECONDS", "time for all cases (0: no limit)", kAny, kMeasure},
    {"--pdl", &F::pdl, "auto|on|off", "programmatic dependent launch (default auto)", kAny, kMeasure},
    {"--no-burst", &F::no_burst, "", "without the cold replay of each contender", kAny, kBench},
    {"--source", &F::source, "FILE", "a header that defines a kernel with WW_KERNEL", kNone, kCheck},
    {"--entry", &F::entry, "NAME", "the kernel", kNone, kCheck},
    {"--launch", &F::launch, "KEY=VALUE,...",
     "grid, cluster, threads, shared, cross, pdl, then parameters: buffer=BYTES, zeros=BYTES, kept=BYTES, unset=BYTES, "
     "int=N, "
     "long=N, float=X, "
     "map=...",
     kNone, kCheck},
    {"--schedules", &F::schedules, "INT", "how many schedules (default 200)", kEveryOperation, kCheck},
    {"--time", &F::time, "TIME", "no schedule starts later: 60s, 500ms, 2m (default 60s)", kEveryOperation, kCheck},
    {"--pct-depth", &F::pct_depth, "INT", "things that must happen in order for a bug (default 3)", kEveryOperation,
     kCheck},
    {"--relax", &F::relax, "NAME,...", "strict rules that are not applied: reader-side-fence, read-before-async-write",
     kEveryOperation, kCheck},
    {"--strict", &F::strict, "NAME,...",
     "strict rules that are off by default: remote-release-of-reads, remote-acquire-of-writes", kEveryOperation,
     kCheck},
    {"--launches", &F::launches, "INT",
     "launches of every schedule, in one workspace (default 1; operations: 2 or 3 in the first four and one of 32 "
     "others)",
     kEveryOperation, kCheck},
    {"--no-shrink", &F::no_shrink, "", "do not look for a simpler run that shows a finding", kEveryOperation, kCheck},
    {"--traffic", &F::traffic, "", "bytes and bank conflicts of each source line", kEveryOperation, kCheck},
    {"expression", &F::expression, "EXPRESSION", "such as (4,2):(1,4)", kNone, kLayout},
    {"shell", &F::shell, "bash|zsh", "the shell to write the completion for", kNone, kCompletion},
    {"--version", &F::version, "", "the version of the program; with --json what it was built with too", kNone,
     kProgram},
    {"--json", &F::json, "", "one JSON object on stdout, errors included", kEveryOperation,
     kAll | kInfo | kLayout | kProgram},
};

constexpr Refusal kRefusals[] = {
    {"--swap-ab",
     "nothing: the variant decides; --variant descriptors has weights on the 64-row side, ragged where tiles are "
     "narrow, contiguous and masked never",
     kRows, kAll},
    {"--batch", "nothing: groups are the batch, --groups says how many", kRows, kAll},
    {"--d-layout", "nothing: groups are rows of D", kRows, kAll},
    {"--c-layout", "nothing: groups are rows of C", kRows, kAll},
    {"--a-source", "nothing: grouped kernels read A from shared memory", kRows, kAll},
    {"--fixed-n", "nothing: grouped kernels are for any N", kRows, kAll},
    {"--fixed-k", "nothing: grouped kernels are for any K", kRows, kAll},
    {"--pointer-array", "nothing: weights are one tensor (G, N, K); gemm --batch takes arrays of pointers", kRows,
     kAll},
    {"--layout", "nothing: what is timed is nt, K-major", kGemm | kRows, kMeasure},
    {"--d-layout", "nothing: what is timed is row-major", kGemm, kMeasure},
    {"--c-layout", "nothing: what is timed is row-major", kGemm, kMeasure},
    {"--b-dtype", "nothing: what is timed has one type, --dtype", kNotK, kMeasure},
    {"--batch", "nothing: what is timed is one product", kGemm, kMeasure},
    {"--pointer-array", "nothing: what is timed is one product", kGemm, kMeasure},
    {"--epilogue", "nothing: what is timed is the product alone", kNotK, kMeasure},
    {"--accumulate", "nothing: what is timed is the product alone", kKGrouped, kMeasure},
};

constexpr ConfigFlag kConfigFlags[] = {
    {"--layout", "layout"},
    {"--packing", "k_packing"},
    {"--d-layout", "d_layout"},
    {"--c-layout", "c_layout"},
    {"--epilogue", "epilogue"},
    {"--variant", "variant"},
    {"--tile-scheduler", "tile_scheduler"},
    {"--split", "split"},
    {"--pointer-array", "pointers"},
};

/// Arguments of the library and the flags that give them, the likeliest last.
struct LibraryArgument {
  const char* name;
  const char* flags[2];
};
constexpr LibraryArgument kLibraryArguments[] = {
    {"m", {"", "--m"}},
    {"n", {"", "--n"}},
    {"k", {"", "--k"}},
    {"batch", {"", "--batch"}},
    {"groups", {"", "--groups"}},
    {"rows", {"--rows", "--m"}},
    {"alignment", {"", "--align"}},
    {"encoding", {"", "--encoding"}},
    {"packing", {"", "--packing"}},
    {"sms", {"", "--sms"}},
    {"device", {"", "--device"}},
    {"scale", {"", "--scale"}},
    {"epilogue", {"", "--epilogue"}},
    {"a (type)", {"--a", "--dtype"}},
    {"b (type)", {"--b-dtype", "--dtype"}},
    {"d (type)", {"", "--out-dtype"}},
    {"a (layout)", {"", "--layout"}},
    {"b (layout)", {"", "--layout"}},
    {"d (layout)", {"", "--d-layout"}},
    {"a, b", {"", "--dtype"}},
};

constexpr Command kCommands[] = {
    {"", "", "GEMM kernels that run on NVIDIA GPUs and, unmodified, on an emulated device on this CPU.", kNone,
     kProgram, run_version},
    {"info", "", "this build, and the compilers, packs, modules and cache that it has found", kNone, kInfo, run_info},
    {"devices", "", "the devices of this machine with their limits, and its driver", kNone, kInfo, run_devices},
    {"", "gemm", "D = scale (A B^T), once; without flags a verified first run", kGemm, kRun,
     run_verb<request_gemm, run_operation>},
    {"", "grouped", "the same for groups of rows, each with its own B", kGrouped, kRun,
     run_verb<request_grouped, run_operation>},
    {"", "k-grouped", "groups of K, each with its own D: gradients of experts' weights", kKGrouped, kRun,
     run_verb<request_k_grouped, run_operation>},
    {"layout", "", "evaluate a layout expression", kNone, kLayout, run_layout},
    {"configs", "", "what an operation can run with, best first by modelled time", kNone, kConfigs, nullptr},
    {"configs", "gemm", "for the problem that the flags describe; nothing runs", kGemm, kConfigs,
     run_verb<request_gemm, show_configs>},
    {"configs", "grouped", "for groups of rows; nothing runs", kGrouped, kConfigs,
     run_verb<request_grouped, show_configs>},
    {"configs", "k-grouped", "for groups of K; nothing runs", kKGrouped, kConfigs,
     run_verb<request_k_grouped, show_configs>},
    {"explain", "", "why auto chose what it did", kNone, kExplain, nullptr},
    {"explain", "gemm", "for the problem that the flags describe; nothing runs", kGemm, kExplain,
     run_verb<request_gemm, explain_choice>},
    {"explain", "grouped", "for groups of rows; nothing runs", kGrouped, kExplain,
     run_verb<request_grouped, explain_choice>},
    {"explain", "k-grouped", "for groups of K; nothing runs", kKGrouped, kExplain,
     run_verb<request_k_grouped, explain_choice>},
    {"prepare", "", "compile ahead of time: the kernels of configs, or what an operation will need", kNone, kPrepare,
     run_prepare_configs},
    {"prepare", "gemm", "the kernels of the flags' problem, or of a list", kGemm, kPrepare,
     run_verb<request_gemm, prepare_kernels>},
    {"prepare", "grouped", "the kernels of the flags' groups of rows, or of a list", kGrouped, kPrepare,
     run_verb<request_grouped, prepare_kernels>},
    {"prepare", "k-grouped", "the kernel of the flags' groups of K, or of a list", kKGrouped, kPrepare,
     run_verb<request_k_grouped, prepare_kernels>},
    {"bench", "", "measure an operation", kNone, kBench, nullptr},
    {"bench", "gemm", "our kernels and cuBLASLt side by side", kGemm, kBench, run_bench_gemm},
    {"bench", "grouped", "our ways to treat groups of rows side by side", kGrouped, kBench, run_bench_grouped},
    {"bench", "k-grouped", "our configs for groups of K side by side", kKGrouped, kBench, run_bench_k_grouped},
    {"tune", "", "measure a few configs of each problem and write the fastest to a file that auto follows", kNone,
     kTune, nullptr},
    {"tune", "gemm", "for dense products", kGemm, kTune, run_tune_gemm},
    {"tune", "grouped", "for groups of rows", kGrouped, kTune, run_tune_grouped},
    {"tune", "k-grouped", "for groups of K", kKGrouped, kTune, run_tune_k_grouped},
    {"check", "", "run a kernel under many schedules and look for races and hangs", kNone, kCheck, run_check_source},
    {"check", "gemm", "the library's own kernels", kGemm, kCheck, run_check_gemm},
    {"check", "grouped", "the library's own kernels for groups of rows", kGrouped, kCheck, run_check_grouped},
    {"check", "k-grouped", "the library's own kernel for groups of K", kKGrouped, kCheck, run_check_k_grouped},
    {"completion", "", "print the completion of a shell", kNone, kCompletion, run_completion},
    {"man", "", "print the manual page", kNone, kMan, run_man},
};

/// The rows of kFlags, and behind --config those of the config's fields.
std::vector<FlagRow> make_rows() {
  static const std::vector<ConfigFieldFlag> fields = config_field_flags();
  std::vector<FlagRow> rows;
  for (const FlagRow& row : kFlags) {
    rows.push_back(row);
    if (std::string_view(row.name) != "--config" || row.operations == kNone) continue;
    for (const ConfigFieldFlag& field : fields) {
      const unsigned operations =
          (field.dense ? kGemm : 0u) | (field.rows ? kGrouped : 0u) | (field.k_groups ? kKGrouped : 0u);
      rows.push_back({field.flag.c_str(), FieldMember{field.key.c_str()}, field.values.c_str(), field.help.c_str(),
                      operations, kAll});
    }
  }
  return rows;
}

}  // namespace

std::span<const FlagRow> flag_rows() {
  static const std::vector<FlagRow> rows = make_rows();
  return rows;
}

std::span<const ConfigFlag> config_flags() {
  static const std::vector<ConfigFlag> made = [] {
    std::vector<ConfigFlag> flags(std::begin(kConfigFlags), std::end(kConfigFlags));
    for (const FlagRow& row : flag_rows())
      if (is_field(row)) flags.push_back({row.name, std::get<FieldMember>(row.member).key});
    return flags;
  }();
  return made;
}

Flag& value_of(Flags& flags, const FlagRow& row) {
  return is_field(row) ? flags.fields[std::get<FieldMember>(row.member).key]
                       : flags.*std::get<Flag Flags::*>(row.member);
}

std::span<const Refusal> refusals() { return kRefusals; }
std::span<const Command> commands() { return kCommands; }

std::string name_of(const Command& c) {
  return std::string(c.verb) + (*c.verb && *c.operation ? " " : "") + c.operation;
}

bool follows(const Command& c, const Command& before) {
  if (before.verb_bit == kProgram) return c.verb_bit != kProgram && !(*c.verb && *c.operation);
  return *c.operation && *before.verb && !*before.operation && c.verb_bit == before.verb_bit;
}

const char* exit_statuses(const Command& command) {
  return command.verb_bit == kCheck ? "0 clean, 1 findings, 2 invalid use, 4 incomplete: nothing can be said."
                                    : "0 right, 1 wrong result, 2 invalid use, 3 unsupported, 4 could not finish.";
}

std::string text_of(const Flags& flags, std::string_view name) {
  for (const FlagRow& row : flag_rows()) {
    if (name != row.name) continue;
    if (is_switch(row)) return flags.*std::get<bool Flags::*>(row.member) ? row.name : "";
    if (!is_field(row)) return (flags.*std::get<Flag Flags::*>(row.member)).value_or("");
    const auto field = flags.fields.find(std::get<FieldMember>(row.member).key);
    return field == flags.fields.end() ? "" : field->second.value_or("");
  }
  return "";
}

Error in_flags(const Error& error, const Flags& flags) {
  constexpr std::string_view kConfig = "config";
  std::string_view argument = error.argument;
  if (argument.starts_with(kConfig)) {
    for (const ConfigFlag& row : config_flags())
      for (const char* before : {"config, ", "config, key "})
        if (const std::string key = before + std::string(row.key);
            (argument == key || argument.starts_with(key + " ")) && !text_of(flags, row.flag).empty())
          return with_argument(error, row.flag);
    return with_argument(error, "--" + error.argument);
  }
  if (argument.starts_with("launch.") && flags.launch)
    return with_argument(error, "--launch, " + std::string(argument.substr(7)));
  std::string named;
  for (std::size_t end = 0; !argument.empty(); argument.remove_prefix(std::min(argument.size(), end + 2))) {
    const LibraryArgument* found = nullptr;
    for (const LibraryArgument& row : kLibraryArguments)
      if (argument == row.name || argument.starts_with(std::string(row.name) + ", ")) found = &row;
    if (!found) {  // a part of the argument before it, such as a function of the epilogue
      if (!named.empty()) named += ", " + std::string(argument);
      break;
    }
    end = std::string_view(found->name).size();
    const bool first = *found->flags[0] && !text_of(flags, found->flags[0]).empty();
    named += (named.empty() ? "" : ", ") + std::string(found->flags[first ? 0 : 1]);
  }
  return named.empty() ? error : with_argument(error, named);
}

}  // namespace ww::cli
