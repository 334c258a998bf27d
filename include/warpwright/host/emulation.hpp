// SPDX-License-Identifier: Apache-2.0
// How an emulated launch is scheduled and computed, and the statistics that it leaves behind.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ww {

/// The order in which the emulated device completes asynchronous work and resumes threads (src/emu/schedule.hpp).
enum class EmuSchedule {
  fifo,         // what became ready first
  random,       // any order, by the seed
  pct,          // random priorities with a few changes: finds bugs that need few ordering constraints
  adversarial,  // delays one victim (an engine, warp, lane or CTA) until nothing else can make progress
};
/// Returns "fifo", "random", "pct" or "adversarial".
const char* name_of(EmuSchedule schedule);

/// Arithmetic of the emulated wgmma.
enum class EmuMath {
  exact,       // reproduces the tensor core to the bit
  fp32_chain,  // one FMA after another, k ascending
  off,         // operands are read and nothing is computed, so results mean nothing; checkers use it for speed
};

/// What one CTA worked on: its `tiles`, its `parts`, which are the tiles that it computed only in part, and its
/// `k_blocks` in all. A tile is partial when the CTA accumulates some of its k-blocks; with groups of rows, when a
/// consumer warpgroup has no rows in it.
struct CtaWork {
  std::uint64_t tiles = 0, parts = 0, k_blocks = 0;
};

/// A line of a launch's timeline: what a thread issued, or what took effect later.
struct EmuEvent {
  std::uint64_t step = 0;   // of the scheduler, which is the emulated device's only time
  std::uint32_t cta = 0;    // where the thread is, or where it took effect
  std::string who, what;    // "producer", "warp 3", "TMA", "tensor core"; "TMA load of a, multicast 0x1111"
  std::uint32_t times = 1;  // that this happened in the CTA without another event between, from `step` on
};

/// Statistics of one emulated launch. Byte counts are keyed by operand name ("a", "b", "d").
struct EmuStats {
  double seconds = 0;                                       // of the host
  std::uint64_t ctas = 0, fibers = 0, switches = 0;         // CTAs, emulated threads, changes from one to another
  std::uint64_t tma_loads = 0, tma_stores = 0, wgmmas = 0;  // instructions issued
  std::uint64_t stores_under_wgmma = 0;   // TMA stores issued while another warpgroup of the CTA had wgmma in flight
  std::uint64_t results_under_wgmma = 0;  // waits that retired one accumulator while the warpgroup's next one was in
                                          // flight
  // The same of tcgen05 on emu:sm100: MMAs and copies issued; bytes that MMAs read from the shared memory of each CTA,
  // by CTA; tcgen05.ld of a warp issued while MMAs of its CTA were in flight.
  std::uint64_t ummas = 0, umma_copies = 0, loads_under_umma = 0;
  std::vector<std::uint64_t> umma_shared_bytes;
  std::uint64_t dsmem_bytes = 0;  // that threads read or wrote in shared memory of other CTAs
  std::vector<CtaWork> work;      // by CTA; empty for kernels that do not record it (dense GEMM does)
  std::map<std::string, std::uint64_t> l2_read_bytes;   // a multicast load counts once
  std::map<std::string, std::uint64_t> l2_write_bytes;  // by TMA stores
  std::map<std::string, std::uint64_t>
      shared_write_bytes;  // bytes that arrived in shared memory; a multicast load counts once per destination
  // by ordinary loads and stores of threads
  std::map<std::string, std::uint64_t> thread_read_bytes, thread_write_bytes;
  std::vector<EmuEvent> timeline;  // in order of time, with EmuOptions::timeline
};

/// Returns a timeline as lines of text, in columns.
std::string timeline_text(const std::vector<EmuEvent>& timeline);

}  // namespace ww
