// SPDX-License-Identifier: Apache-2.0
// Campaigns of the checker: one kernel under many schedules on the emulated device, every rule that it broke as data.
//   const auto campaign = ww::check(ww::GemmCheck{.problem = {.m = 256, .n = 256, .k = 1024}}, {.schedules = 50});
//   if (campaign && campaign->verdict() == ww::Verdict::clean) ...
// Kernels run in worker processes, which are programs of their own and never forks of the caller: a kernel that
// crashes or hangs makes the campaign incomplete, whatever threads the caller has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "warpwright/host/gemm.hpp"
#include "warpwright/host/grouped.hpp"
#include "warpwright/host/k_grouped.hpp"
#include "warpwright/host/report.hpp"
#include "warpwright/host/result.hpp"

namespace ww {

/// The library's GEMM on generated operands. With GemmProblem::pointer_array the matrices of the batch lie packed in
/// memory, and the arrays list them from the last to the first.
struct GemmCheck {
  GemmProblem problem = {};
  GemmOptions options = {};  // as for a plan: the config, or parts of it
};

/// How the rows of the groups lie, as counts or as the int32 arrays that the device reads.
struct CheckGroups {
  std::vector<std::int64_t> counts = {};  // rows of each group; the problem's groups and, when 0, rows follow from them
  std::int64_t alignment = 1;             // of each group's first row, with counts
  std::int64_t gap = 0;                   // rows between groups, with counts; starts-counts and row-ids only
  std::vector<std::int32_t> sizes = {}, sizes2 = {};  // without counts: GroupedOperands::sizes and sizes2
  std::string flags = {};  // without counts: how a command line of the program names the arrays, for replays
};

/// The library's grouped GEMM.
struct GroupedCheck {
  GroupedProblem problem = {};
  CheckGroups groups = {};
  GemmOptions options = {};
};

/// The library's product with groups of K; the counts are rows of K.
struct KGroupedCheck {
  KGroupedProblem problem = {};
  CheckGroups groups = {};
  GemmOptions options = {};
};

/// A tensor map as a member of a kernel's parameters: packed rows, the innermost extent first.
struct CheckTensorMap {
  std::size_t buffer = 0;  // number of the buffer that it describes, counted over all that are pointers
  DType element = DType::bf16;
  std::vector<std::uint64_t> extent = {};  // elements
  std::vector<std::uint32_t> box = {};     // elements of each extent that one copy moves
  SmemSwizzle swizzle = SmemSwizzle::b128;
  NarrowElements narrow = NarrowElements::none;  // as in TensorMapSpec

  bool operator==(const CheckTensorMap&) const = default;
};

/// One member of a kernel's parameter struct.
struct CheckParameter {
  /// What the member is; the functions below make one of each.
  enum class Kind {
    buffer,   // a pointer to noise
    zeros,    // a pointer to zeros
    kept,     // a pointer to zeros that a sequence of launches keeps
    unset,    // a pointer to memory that nobody wrote
    int32,    // a number
    int64,    // a number
    float32,  // a number
    map,      // a tensor map
  };
  Kind kind = Kind::buffer;        // which of the following members count
  std::uint64_t bytes = 0;         // of buffer, zeros, kept and unset
  std::int64_t integer = 0;        // int32, int64
  float number = 0;                // float32
  CheckTensorMap tensor_map = {};  // map

  /// A pointer to `bytes` of noise, the same before every launch.
  static CheckParameter buffer(std::uint64_t bytes) { return {.kind = Kind::buffer, .bytes = bytes}; }
  /// A pointer to `bytes` that are zeroed before every launch: counters and flags that the caller clears.
  static CheckParameter zeros(std::uint64_t bytes) { return {.kind = Kind::zeros, .bytes = bytes}; }
  /// A pointer to `bytes` that are zeroed before the first launch of a schedule only: a workspace that the kernel must
  /// leave ready for the next launch (CheckOptions::launches).
  static CheckParameter kept(std::uint64_t bytes) { return {.kind = Kind::kept, .bytes = bytes}; }
  /// A pointer to `bytes` that nobody has written before a launch, NaN in every type: outputs, and a workspace that the
  /// caller does not clear. A read before the kernel's own write is a finding.
  static CheckParameter unset(std::uint64_t bytes) { return {.kind = Kind::unset, .bytes = bytes}; }
  /// A number, `value`.
  static CheckParameter int32(std::int32_t value) { return {.kind = Kind::int32, .integer = value}; }
  static CheckParameter int64(std::int64_t value) { return {.kind = Kind::int64, .integer = value}; }
  static CheckParameter float32(float value) { return {.kind = Kind::float32, .number = value}; }
  /// A tensor map, passed by value.
  static CheckParameter map(CheckTensorMap map) { return {.kind = Kind::map, .tensor_map = std::move(map)}; }

  bool operator==(const CheckParameter&) const = default;
};

/// The launch of a kernel and the members of its parameter struct, in order, aligned as C++ aligns them.
struct CheckLaunch {
  std::uint32_t grid = 1, cluster = 1;  // CTAs, and CTAs of a cluster
  std::uint32_t threads = 0;            // of a CTA
  std::uint32_t shared_bytes = 0;       // dynamic shared memory of a CTA
  bool cross_cta = false;               // CTAs of different clusters wait for each other: all resident at once
  bool pdl = false;                     // the launch may start before the one before it has ended
  std::vector<CheckParameter> parameters = {};

  bool operator==(const CheckLaunch&) const = default;
};

/// A kernel of your own: a header that defines it with WW_KERNEL and includes "warpwright/..." alone.
struct KernelCheck {
  std::filesystem::path source = {};  // the file; when `text` is given, only its name in findings
  std::string text = {};              // the header itself
  std::string entry = {};             // the name that WW_KERNEL gives the kernel
  CheckLaunch launch = {};
  int sms = 0;  // SMs of the emulated device, which limit how many clusters are resident; 0: 4
  Arch arch = kDefaultArch;
};

/// What a campaign runs.
using CheckTarget = std::variant<GemmCheck, GroupedCheck, KGroupedCheck, KernelCheck>;

/// Parses "grid=8,cluster=2,threads=384,shared=65536,buffer=1048576,int=3", the text of the program's --launch.
/// Errors are invalid and name `argument` and the key.
Result<CheckLaunch> parse_check_launch(const std::string& text, const std::string& argument = "launch");
/// Returns the text of `launch`: parse_check_launch(to_text(launch)) == launch.
std::string to_text(const CheckLaunch& launch);

/// A schedule, its seed and its launches determine a run.
struct CheckSchedule {
  EmuSchedule kind = EmuSchedule::fifo;
  std::uint64_t seed = 0;  // of the schedule's random choices; fifo makes none
  int launches = 1;        // one after the other, in one workspace
};

/// How far a campaign is.
struct CheckProgress {
  const char* phase = "";  // "compile", "check", "shrink"
  double fraction = 0;     // of the phase, 0 to 1
};

/// How a campaign is run.
struct CheckOptions {
  std::size_t schedules = 200;           // how many are asked for
  std::uint64_t seed = 0;                // schedule i has seed + i
  std::optional<EmuSchedule> only = {};  // one kind; without it the first is fifo and the other kinds take turns
  double seconds = 60;                   // no schedule starts later
  int processes = 0;                     // 0: one per core. The report does not depend on it
  EmuMath math = EmuMath::exact;         // off: operands are read and judged, products are not computed
  int pct_depth = 3;                     // EmuSchedule::pct: bugs that need so many things in order are looked for
  // Launches of every schedule, 1 to 64, one after the other in one workspace, each with random choices of its own. 0:
  // kernels of your own run once. Operations run three times in the first schedule, twice in the next three, two or
  // three times in one of 32 others, drawn by the seed, and once in the rest; groups change sizes between launches
  int launches = 0;
  bool verify = false;                    // operations: compare the values of every launch with FP64; not with math off
  bool shrink = true;                     // look for a simpler run that shows each of the first findings
  bool traffic = false;                   // count the bytes and bank conflicts of the first schedule
  std::vector<std::string> relaxed = {};  // names of kStrictRules that are not applied
  std::vector<std::string> strict = {};   // names of kStrictRules, off by default, that are applied
  std::filesystem::path cache_dir = {};   // as DeviceOptions::cache_dir
  // The worker's program. Empty: WARPWRIGHT_CHECK_WORKER of the environment, else the one of the package, which is
  // found as the emulator modules are
  std::filesystem::path worker = {};
  // Called by the calling thread, about ten times a second and at least once while schedules run.
  std::function<void(const CheckProgress&)> progress = {};
  std::stop_token stop = {};  // a requested stop ends the campaign with what it has
};

/// What is needed to see a finding again: check(target, replay_options(...)).
struct CheckReplay {
  CheckTarget target = {};
  CheckSchedule schedule = {};
  std::string command = {};  // the same as a command line of the program; empty when a command line cannot say it
};

/// A rule that the kernel broke, and how to see it again.
struct CheckFinding {
  Finding finding = {};                      // both parties, of the first schedule that shows it
  int launch = 1;                            // the launch of that schedule in which it appears, counted from 1
  std::size_t schedules = 0;                 // how many schedules show it
  CheckReplay replay = {};                   // that first schedule
  std::optional<CheckReplay> smallest = {};  // the simplest run that was found to show it, with CheckOptions::shrink
};

/// The result of a campaign.
struct CheckCampaign {
  CheckTarget target = {};                    // with every choice made: the config that ran
  std::vector<CheckFinding> findings = {};    // by the first schedule that shows them
  std::size_t schedules_ran = 0;              // less than asked for when time ran out or the campaign was stopped
  std::size_t schedules_asked = 0;            // CheckOptions::schedules
  std::size_t launches_ran = 0;               // at least one for each schedule that ran
  int sms = 0;                                // SMs of the emulated device that ran them
  std::string why_incomplete = {};            // empty: nothing is missing
  bool stopped = false;                       // CheckOptions::stop ended it
  double seconds = 0;                         // of the schedules, without compiling and shrinking
  EmuStats stats = {};                        // of the first launch of the first schedule
  std::vector<LineTraffic> traffic = {};      // likewise, with CheckOptions::traffic
  std::vector<OperandTraffic> operands = {};  // likewise, with CheckOptions::traffic

  /// Clean says that the schedules that ran broke no rule, and that nothing is missing.
  Verdict verdict() const {
    if (!findings.empty()) return Verdict::findings;
    return schedules_ran == 0 || !why_incomplete.empty() ? Verdict::incomplete : Verdict::clean;
  }
};

/// Runs `target` under many schedules. Everything is validated before a schedule runs. Errors: invalid (an option, the
/// problem, the launch, an entry that the source does not define), unsupported (no kernel solves the problem),
/// could_not_finish (the kernel does not compile, no worker can be started).
Result<CheckCampaign> check(const CheckTarget& target, const CheckOptions& options = {});

/// Returns `options` limited to the one schedule of `replay`.
CheckOptions replay_options(const CheckReplay& replay, CheckOptions options = {});

/// Returns "clean", "findings" or "incomplete".
const char* name_of(Verdict verdict);

}  // namespace ww
