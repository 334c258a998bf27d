// SPDX-License-Identifier: Apache-2.0
// The verbs of the program and the flags that each takes, as text: what a flag means is decided by the verb's own file,
// so every refusal has an argument, what was expected and what came. command_line.cpp fills these from argv.
//   warpwright <operation> <flags>  runs it        warpwright <verb> <operation> <same flags>  does something else
#pragma once

#include <optional>
#include <string>

#include "cli/report.hpp"

namespace ww::cli {

using Flag = std::optional<std::string>;

struct GemmFlags {
  Flag m, n, k, batch;               // sizes; deduced from files when those are given
  Flag b_dtype, layout;              // of B when it is the other FP8 type; nt|nn|tn|tt
  Flag d_layout, c_layout;           // row|column
  Flag a_from;                       // auto|shared|registers
  Flag dtype, out_dtype, scale;      // e4m3|bf16|f16, bf16|f16|f32, none|tensor|row-column|block
  Flag device, seed, config, sms;    // auto|emu:sm90|cuda:0, integer, key=value list, CTAs
  Flag schedule;                     // the kernel's: auto|cooperative|...
  Flag partial_accumulators;         // auto|1|2
  Flag math, emu_schedule, threads;  // the emulated device: exact|fp32, fifo|random|..., OS threads
  Flag a, b, scale_a, scale_b, out;  // FILE.npy or FILE.safetensors:TENSOR; --out is .npy
  Flag tile, cluster, stages;        // 128x192x128, 2x1, auto|INT
  Flag tile_scheduler, split;        // auto|single|static|dynamic|stream-k|split-k, K splits
  Flag swap_ab;                      // auto|on|off
  Flag epilogue, alpha, beta;        // an expression, and its scalars
  Flag c, bias, aux, out_scales;     // FILE; --out-scales is written
  Flag fixed_n, fixed_k;             // compile-time extents
  bool batch_invariant = false, pointer_array = false;
  std::optional<bool> verify;  // without it: on when no size and no file was given
};

/// Beside the flags of a GEMM, whose `m` are the rows of A, or of one group with masked counts.
struct GroupedFlags {
  GemmFlags gemm;
  Flag groups, rows, distribution, total;                 // how many rows each group has
  Flag encoding, align, gap, variant;                     // how that is said, where groups lie, which kernel
  Flag offsets, indptr, starts, counts, row_ids, masked;  // the arrays from files instead
  bool zero_outside = false;
};

/// Beside the flags of a GEMM, which has no K of its own.
struct KGroupedFlags {
  GemmFlags gemm;
  Flag groups, ks, distribution, total;  // how many rows of K each group has
  Flag encoding, align, gap;             // how that is said, where groups lie
  bool accumulate = false;
};

struct BenchFlags {
  Flag cases, min_m, variants, result;      // files and configs
  Flag cublaslt, peer_candidates, replays;  // the other library, how often
  Flag seconds, seconds_total;              // of a case, of all
  Flag pdl;
  bool no_peers = false, no_burst = false;
  std::string command_line;
};

struct CheckFlags {
  Flag schedules, time, pct_depth;  // how many, how long, how deep
  Flag source, entry, launch;       // a kernel of the user's
  bool no_shrink = false, traffic = false;
};

struct PrepareFlags {
  Flag cases, jobs;  // file of problems, threads
};

struct SelectFlags {
  Flag top;  // how many to show
};

Result<Outcome> run_info();
Result<Outcome> run_gemm(const GemmFlags& flags);
Result<Outcome> run_grouped(const GroupedFlags& flags);
Result<Outcome> run_k_grouped(const KGroupedFlags& flags);
Result<Outcome> run_layout(const std::string& expression);
Result<Outcome> run_configs_gemm(const GemmFlags& flags, const SelectFlags& select);
Result<Outcome> run_explain_gemm(const GemmFlags& flags, const SelectFlags& select);
Result<Outcome> run_prepare_gemm(const GemmFlags& flags, const PrepareFlags& prepare);
Result<Outcome> run_bench_gemm(const GemmFlags& flags, const BenchFlags& bench);
Result<Outcome> run_bench_grouped(const GroupedFlags& flags, const BenchFlags& bench);
Result<Outcome> run_check_gemm(const GemmFlags& flags, const CheckFlags& check);
Result<Outcome> run_check_grouped(const GroupedFlags& flags, const CheckFlags& check);
Result<Outcome> run_check_k_grouped(const KGroupedFlags& flags, const CheckFlags& check);
Result<Outcome> run_check_source(const GemmFlags& flags, const CheckFlags& check);

}  // namespace ww::cli
