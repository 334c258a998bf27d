// SPDX-License-Identifier: Apache-2.0
// What a checked run of a kernel reports: findings with both parties and their lines, traffic, statistics, a verdict.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "warpwright/host/emulation.hpp"

namespace ww {

/// The rule that a finding violates; rule_name() returns its spelling in reports.
enum class Rule {
  data_race,    // two accesses, one of them a write, that happens-before does not order
  proxy_fence,  // the writer issued no fence.proxy.async before an asynchronous access reads its ordinary writes
  scope,        // ordered, but by a release or acquire whose scope does not include both threads
  stage_reuse,  // an asynchronous write to bytes that earlier readers may still be reading
  accumulator_in_flight,  // wgmma registers accessed between the issue and the wait that retires it
  transaction_count,      // an mbarrier expects a number of bytes that differs from the number delivered
  arrival_underflow,      // more arrivals in a phase than the mbarrier's count
  phase_misuse,           // a wait, init or invalidate that the mbarrier's phase does not allow
  exited_cta,             // access to shared memory of a CTA that has exited
  unfinished_store,  // a bulk store still reads shared memory at exit, or its source was overwritten before it finished
  stale_descriptor,  // a tensor map in global memory used or changed without the required fences
  early_access,      // global memory accessed before griddepcontrol.wait in a launch that may start early
  divergent_call,    // an .aligned instruction on which the threads of a warp or warpgroup disagree
  register_budget,   // setmaxnreg asks for registers that the CTA does not have, or for a number that is not allowed
  named_barrier_count,  // a named barrier used with different numbers of threads
  out_of_bounds,        // an access outside the memory that the launch names
  misaligned,           // an address that the instruction does not allow
  uninitialised_read,   // bytes or accumulator registers read before anything wrote them
  deadlock,             // every thread waits for something that cannot happen
  livelock,             // threads poll values that nothing will change
  wrong_value,          // a launch leaves other results than FP64 or an earlier launch; only campaigns compare them
  invalid_operation,    // arguments that the instruction does not allow
  unsupported,          // an instruction that the emulator does not model: makes a run incomplete, is never a finding
};
/// Returns the name of a rule in reports: "data-race".
const char* rule_name(Rule rule);

/// One frame of a call chain: a line and the function that it is in.
struct SourceFrame {
  std::string file;      // as included ("warpwright/kernel/skeleton.hpp") or as compiled
  int line = 0;          // in `file`
  std::string function;  // with its namespaces, without template arguments; empty if unknown
  bool operator==(const SourceFrame&) const = default;
};

/// One of the two sides of a finding: a thread with its operation, or what the launch provided, which no thread made.
/// Empty strings and negative numbers mean unknown or not applicable.
struct FindingParty {
  int cta = -1, warp = -1, lane = -1;  // the thread; of an asynchronous operation, the one that issued it
  std::string role;                    // "warpgroup 0", or the name that the kernel gave the thread
  std::string file;                    // the line of frames[0]
  int line = 0;                        // in `file`
  // The line of the arch call or of the access itself.
  std::string inner_file;
  int inner_line = 0;
  std::string operation;                 // "TMA load", "wgmma (read of operand A)", "ld.shared"
  std::vector<SourceFrame> frames = {};  // the one in the user's file or the outermost layer, then the others from the
                                         // outermost function to the arch call
  std::string completion = {};  // of an asynchronous operation: what it completes on and who has waited for that
};

/// The latest events of an mbarrier that a finding is about.
struct BarrierHistory {
  int cta = -1;                     // in whose shared memory it is
  std::uint64_t offset = 0;         // in that
  std::string relation;             // "on which the copy completes"; empty for the only one of a finding
  std::vector<std::string> events;  // oldest first
};

/// A rule that a run broke.
struct Finding {
  Rule rule{};
  FindingParty first, second;                 // `second` is the later access, at which the rule was violated
  std::vector<FindingParty> parties;          // deadlock: every waiting thread and what it waits for
  std::uint64_t begin = 0, end = 0;           // bytes [begin, end): offsets in shared memory, or in the operand
  std::string space;                          // "shared of CTA 3", "global operand d", "registers"
  std::string barrier_history;                // `barriers` as text
  std::vector<BarrierHistory> barriers = {};  // the mbarriers concerned
  std::string advice;                         // what usually mends it
  std::string text;                           // the complete report
};

/// The judgement of a check.
enum class Verdict {
  clean,       // no rule was broken, and everything was looked at
  findings,    // rules were broken
  incomplete,  // something was not looked at
};

/// Shared, L2 and HBM traffic of one source line. HBM traffic follows a first-order model of L2: it is empty at launch
/// and evicts nothing. Each 32-byte sector is charged once as a read, to the line that first reads it, and once as a
/// write, to the line that first writes it. Reading what the launch itself has written costs nothing.
struct LineTraffic {
  std::string file;                              // of the kernel's source
  int line = 0;                                  // in `file`
  std::string operation;                         // "TMA load"
  std::uint64_t accesses = 0;                    // warp-wide shared accesses, or asynchronous operations
  std::uint64_t shared_bytes = 0, l2_bytes = 0;  // moved
  std::uint64_t wavefronts = 0;                  // passes over the 32 banks; equal to `ideal` without conflicts
  std::uint64_t ideal = 0;                       // passes that the same bytes need without conflicts
  std::uint64_t multicast_saved_bytes = 0;       // additional L2 bytes that the same copies would have read without
                                                 // multicast
  std::uint64_t hbm_bytes = 0;                   // by the model above
};

/// HBM traffic of one operand, by the same model.
struct OperandTraffic {
  std::string name;                                       // MemoryRange::name
  std::uint64_t hbm_read_bytes = 0, hbm_write_bytes = 0;  // sectors of 32 bytes, each counted once
};

/// The report of one checked launch.
struct CheckReport {
  Verdict verdict = Verdict::incomplete;
  std::vector<Finding> findings;  // one for each (rule, pair of lines); the order does not depend on `threads`
  std::string why_incomplete;     // empty: nothing is missing
  EmuStats stats;
  std::vector<LineTraffic> traffic;
  std::vector<OperandTraffic> operands;  // operands that were accessed
};

}  // namespace ww
