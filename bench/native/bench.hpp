// SPDX-License-Identifier: Apache-2.0
// `warpwright bench`: contenders for one product side by side on one GPU, by the method of bench/README.md.
//   for each case: operands N(0,1) in rotating sets > L2 -> one CUDA graph of >= 24 calls per contender ->
//                  load for 1.2 s -> replay A B C A B C ..., medians (sustained) -> 1 s idle, one replay each (burst)
// On an emulated device there is no peer: one run is timed and its statistics are printed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "host/messages.hpp"
#include "io/json.hpp"
#include "warpwright/host/check.hpp"

namespace ww::bench {

using namespace io;

struct BenchOptions {
  std::string device = "auto";
  DeviceOptions device_options;

  std::filesystem::path cases;  // JSON {"cases":[{"op":"dense","m","n","k"}]}; empty: the one case below
  std::int64_t random = 0;      // instead: so many cases that `seed` draws (random_cases.hpp)
  std::int64_t min_m = 0;       // of the file's cases, those with at least this M
  std::int64_t m = 0, n = 0, k = 0;
  std::vector<std::int64_t> counts;  // rows of each group, or rows of K
  DType dtype = DType::e4m3;         // of A and B
  DType out = DType::bf16;
  Scale scale = Scale::block_1x128_128x128;

  KGroupedCheck k_grouped;  // groups of K: everything but what a case file says

  GemmConfig config = {};  // the base of every variant; fields of 0 are chosen
  bool batch_invariant = false;
  // "key=value,..." separated by ';', "auto" = the selected one; "best:N": the N that the cost model puts first for a
  // case; empty: the selected one alone
  std::string variants;
  int sms = 0;
  Pdl pdl = Pdl::automatic;
  std::uint64_t seed = 0;

  bool peers = true;               // cuBLASLt beside ours
  std::filesystem::path cublaslt;  // the library; empty: WARPWRIGHT_CUBLASLT, then where toolkits and PyTorch keep it
  int peer_candidates = 1;  // 1: the heuristic's first algorithm (what PyTorch uses); more: the fastest of so many
  bool burst = true;
  int replays = 7;              // of every contender, at least
  double seconds_per_case = 6;  // load, replays and idling together
  double seconds_total = 0;     // 0: no limit; a case that would not fit is listed as skipped

  std::string command_line;                          // goes into the result
  std::filesystem::path result;                      // file for the JSON; empty: none
  std::function<void(const std::string&)> progress;  // one line per finished case; may be empty
};

/// Splits a list "a;b" of configs; "auto" and an empty list give one empty text.
std::vector<std::string> split_variants(const std::string& text);

/// What one operation adds to the benchmark: its cases' name, contenders and report.
class Suite;
const Suite& dense_suite();
const Suite& grouped_suite();
const Suite& k_grouped_suite();

/// Returns the cases that run_bench() would run, one a line and as the JSON of a case file. Runs nothing.
Result<Outcome> list_cases(const Suite& suite, const BenchOptions& options);

/// Runs the cases. Text: the table. JSON: device, driver, libraries, date, command, hash of the kernels' sources, and
/// each case.
/// A case or contender that cannot run is an entry with its error; the call fails when no case ran at all.
Result<Outcome> run_bench(const Suite& suite, const BenchOptions& options);

}  // namespace ww::bench
