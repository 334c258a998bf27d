// SPDX-License-Identifier: Apache-2.0
// Every flag of the program as text, and the one description of which command reads which of them (commands.cpp).
// The parser, --help, shell completion, the man page and the refusals of flags that a command ignores come from it.
//   warpwright <operation> <flags>  runs it        warpwright <verb> <operation> <same flags>  does something else
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "cli/report.hpp"

namespace ww::cli {

using Flag = std::optional<std::string>;

/// What came on the command line; what a flag means is decided by the verb's own file, so that every refusal has an
/// argument, what was expected and what came.
struct Flags {
  Flag m, n, k, batch;                                   // sizes; deduced from files when those are given
  Flag dtype, b_dtype, out_dtype, scale;                 // types of A, B and D, scales
  Flag layout, d_layout, c_layout;                       // nt|nn|tn|tt, row|column
  Flag packing;                                          // of K-major groups of K: joint|per-group
  Flag epilogue, alpha, beta, scalar2, scalar3;          // an expression, and its scalars
  Flag a, b, scale_a, scale_b, c;                        // FILE.npy, FILE.safetensors:TENSOR or "generated"
  Flag bias, row1, row2, row3, col0, col1, col2, col3;   // the same
  Flag aux0, aux1, aux2, aux3;                           // the same
  Flag out, out_scales, out0, out1, out2, out3, amax;    // .npy files to write
  Flag device, seed, math, emu_schedule, threads;        // where it runs, and how the emulated device does
  Flag config, variant, tile_scheduler, split, sms;      // the kernel
  std::map<std::string, Flag, std::less<>> fields = {};  // further fields of the config by key (config_field_flags())
  bool batch_invariant = false, pointer_array = false;
  bool verify = false, no_verify = false;

  Flag groups, rows, ks, distribution, total;             // groups of rows, or of K
  Flag encoding, align, gap;                              // how the device is told of groups
  Flag offsets, indptr, starts, counts, row_ids, masked;  // the arrays of the groups from files instead
  bool zero_outside = false, accumulate = false, expected_sizes = false;

  Flag cases, min_m, variants, result;  // bench: files and configs; prepare takes --cases too
  Flag random;                          // cases that a seed draws
  bool dry_run = false;
  Flag tuning, best, extra;                 // a tuning file, and what tune measures for it
  Flag kernels, up_to;                      // what tune chooses without measuring
  Flag cublaslt, peer_candidates, replays;  // the other library, how often
  Flag seconds, seconds_total, pdl;         // of a case, of all
  bool no_peers = false, no_burst = false;
  Flag schedules, time, pct_depth, launches;  // check: how many, how long, how deep, how often each
  Flag relax, strict;                         // check: rules to switch
  Flag source, entry, launch;                 // a kernel of the user's
  bool no_shrink = false, traffic = false;
  Flag jobs, configs, pack, list;  // prepare
  Flag top;                        // configs and explain
  Flag expression, shell;          // positional: layout, completion
  bool json = false, version = false;

  std::string command_line;  // all of it, for reports
};

/// Verification is asked for, declined, or left to the operation.
inline std::optional<bool> verify_of(const Flags& flags) {
  return flags.verify ? std::optional(true) : flags.no_verify ? std::optional(false) : std::nullopt;
}

/// Operations and verbs as bits. A command is one of each, and reads the flags whose rows have both.
enum OperationBit : unsigned { kNone = 1, kGemm = 2, kGrouped = 4, kKGrouped = 8 };
enum VerbBit : unsigned {
  kRun = 1,
  kConfigs = 2,
  kExplain = 4,
  kPrepare = 8,
  kBench = 16,
  kCheck = 32,
  kInfo = 64,
  kLayout = 128,
  kCompletion = 256,
  kMan = 512,
  kProgram = 1024,  // before any verb: --version
  kTune = 2048,
};

/// A flag that a field of the config makes: the key of Flags::fields.
struct FieldMember {
  const char* key;
};
using Member = std::variant<Flag Flags::*, bool Flags::*, FieldMember>;

struct FlagRow {
  const char* name;  // "--m"; without hyphens a positional argument
  Member member;
  const char* values;  // "INT", "FILE", "auto|1|2"; "" for a switch
  const char* meaning;
  unsigned operations, verbs;
};

/// A flag of the same operation under other verbs, or of other operations, that deserves more than "unknown".
struct Refusal {
  const char* name;
  const char* expected;
  unsigned operations, verbs;
};

struct Command {
  const char* verb;       // "check"; "" for an operation by itself
  const char* operation;  // "gemm"; "" for a verb by itself
  const char* meaning;
  unsigned operation_bit, verb_bit;
  Result<Outcome> (*run)(const Flags&);  // nullptr: one of its operations must follow
};

/// A flag and the key of the config that it sets.
struct ConfigFlag {
  const char* flag;
  const char* key;
};

std::span<const FlagRow> flag_rows();
std::span<const ConfigFlag> config_flags();
std::span<const Refusal> refusals();
/// The program itself first; verbs come before their operations.
std::span<const Command> commands();

/// "check gemm"
std::string name_of(const Command& command);
/// `command` is one word longer than `before`: an operation of that verb, or the first word of all.
bool follows(const Command& command, const Command& before);
inline bool reads(const Command& c, const FlagRow& row) {
  return row.operations & c.operation_bit && row.verbs & c.verb_bit;
}
inline bool is_switch(const FlagRow& row) { return std::holds_alternative<bool Flags::*>(row.member); }
inline bool is_field(const FlagRow& row) { return std::holds_alternative<FieldMember>(row.member); }
/// Returns where the text of a flag with a value belongs.
Flag& value_of(Flags& flags, const FlagRow& row);
inline bool is_positional(const FlagRow& row) { return row.name[0] != '-'; }
/// What came for the flag of that name, the name itself for a switch; empty when it was not given.
std::string text_of(const Flags& flags, std::string_view name);
/// An error of the library under the flag that gave the argument: --m for m, --tile for "config, tile (n)".
Error in_flags(const Error& error, const Flags& flags);
/// What `check` says about its exit statuses differs from all others.
const char* exit_statuses(const Command& command);

}  // namespace ww::cli
