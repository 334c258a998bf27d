// SPDX-License-Identifier: Apache-2.0
// How an emulated launch is scheduled and computed, and the statistics that it leaves behind.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ww {

/// In which order asynchronous work completes and threads go on (docs/checking-kernels.md).
enum class EmuSchedule { fifo, random, pct, adversarial };
const char* name_of(EmuSchedule schedule);
/// exact: the tensor core to the bit; fp32_chain: one fma after another, k ascending; off: operands are read and
/// nothing is computed, so results mean nothing (a checker's speed).
enum class EmuMath { exact, fp32_chain, off };

/// Tiles that one CTA worked on, how many of them only in part, and k-blocks of them all. In part: some k-blocks of the
/// tile; of groups of rows, tiles in which a consumer warpgroup has no rows.
struct CtaWork {
  std::uint64_t tiles = 0, parts = 0, k_blocks = 0;
};

/// What one emulated launch did. Byte counts are by operand name ("a", "b", "d").
struct EmuStats {
  double seconds = 0;
  std::uint64_t ctas = 0, fibers = 0, switches = 0;
  std::uint64_t tma_loads = 0, tma_stores = 0, wgmmas = 0;
  std::uint64_t stores_under_wgmma = 0;   // TMA stores issued while another warpgroup of the CTA had wgmma in flight
  std::uint64_t results_under_wgmma = 0;  // waits that gave a warpgroup one accumulator while its next was in flight
  std::uint64_t dsmem_bytes = 0;          // that threads read or wrote in shared memory of other CTAs
  std::vector<CtaWork> work;              // by CTA, of kernels that say so (dense GEMM)
  std::map<std::string, std::uint64_t> l2_read_bytes;  // a multicast load counts once
  std::map<std::string, std::uint64_t> l2_write_bytes;
  std::map<std::string, std::uint64_t>
      shared_write_bytes;  // bytes that arrived in shared memory, every destination counted
  std::map<std::string, std::uint64_t> thread_read_bytes, thread_write_bytes;  // by threads' own loads and stores
};

}  // namespace ww
