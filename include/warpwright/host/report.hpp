// SPDX-License-Identifier: Apache-2.0
// What a checked run of a kernel reports: findings with both parties and their lines, traffic, statistics, a verdict.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "warpwright/host/emulation.hpp"

namespace ww {

/// What a finding is about; rule_name() gives the spelling of reports.
enum class Rule {
  data_race,              // two accesses, one a write, without happens-before
  proxy_fence,            // ordinary writes reach an asynchronous reader without fence.proxy.async by the writer
  scope,                  // ordered, but by a release or acquire narrower than the distance between the two
  stage_reuse,            // an asynchronous write over bytes whose readers are not known to be done
  accumulator_in_flight,  // wgmma registers touched between issue and the wait that names them
  transaction_count,      // bytes expected and bytes delivered on an mbarrier differ
  arrival_underflow,      // more arrivals in a phase than its count
  phase_misuse,           // a wait, init or invalidate that the phases of the mbarrier do not allow
  exited_cta,             // the shared memory of a CTA that has exited
  unfinished_store,       // a bulk store still reading shared memory at exit, or its source overwritten before that
  stale_descriptor,       // a tensor map in global memory used or changed without its fences
  early_access,           // global memory touched before griddepcontrol.wait in a launch that may start early
  divergent_call,         // an .aligned call on which the threads of its warp or warpgroup disagree
  register_budget,
  named_barrier_count,
  out_of_bounds,
  misaligned,
  uninitialised_read,
  deadlock,
  livelock,
  invalid_operation,  // arguments that the instruction does not allow
  unsupported,        // what the emulator does not model: makes a run incomplete, never a finding
};
const char* rule_name(Rule rule);

/// One side of a finding. Empty strings and negative numbers: not known, or no such side.
struct FindingParty {
  int cta = -1, warp = -1, lane = -1;
  std::string role;  // "warpgroup 0", or what the kernel calls it
  std::string file;  // outermost line known
  int line = 0;
  std::string inner_file;  // the line of the arch call or of the access itself
  int inner_line = 0;
  std::string operation;  // "TMA load", "wgmma (read of operand A)", "ld.shared"
};

struct Finding {
  Rule rule{};
  FindingParty first, second;         // second: the later one, which the rule caught
  std::vector<FindingParty> parties;  // deadlock: every thread that waits, and for what
  std::uint64_t begin = 0, end = 0;   // bytes [begin, end): offsets in shared memory, or in the operand
  std::string space;                  // "shared of CTA 3", "global operand d", "registers"
  std::string barrier_history;        // the last operations on the barrier concerned, one on a line
  std::string advice;
  std::string text;  // the whole report
};

enum class Verdict { clean, findings, incomplete };

/// Shared, L2 and HBM traffic of one source line. HBM is a first-order model of L2: empty when the launch starts,
/// losing nothing until its end. A sector of 32 bytes is read once, by the line that reads it first, and written once,
/// by the line that writes it first; a read of what the launch itself has written costs nothing.
struct LineTraffic {
  std::string file;
  int line = 0;
  std::string operation;
  std::uint64_t accesses = 0;  // warp-wide shared accesses, or asynchronous operations
  std::uint64_t shared_bytes = 0, l2_bytes = 0;
  std::uint64_t wavefronts = 0;  // passes over the 32 banks; equal to `ideal` without conflicts
  std::uint64_t ideal = 0;
  std::uint64_t multicast_saved_bytes = 0;  // L2 bytes that copies without multicast would have read on top
  std::uint64_t hbm_bytes = 0;
};

/// HBM traffic of one operand, by the same model.
struct OperandTraffic {
  std::string name;
  std::uint64_t hbm_read_bytes = 0, hbm_write_bytes = 0;
};

struct CheckReport {
  Verdict verdict = Verdict::incomplete;
  std::vector<Finding> findings;  // one for each (rule, pair of lines), in an order that threads do not change
  std::string why_incomplete;
  EmuStats stats;
  std::vector<LineTraffic> traffic;
  std::vector<OperandTraffic> operands;  // those that were touched
};

}  // namespace ww
