// SPDX-License-Identifier: Apache-2.0
// A place where kernels run: an NVIDIA GPU behind the driver, or the emulated device on this CPU.
// Buffers, copies and streams are the little a caller needs without CUDA; with it, pass your own pointers and streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "warpwright/config/gemm_config.hpp"
#include "warpwright/host/launch.hpp"
#include "warpwright/host/result.hpp"

namespace ww {

/// In which order asynchronous work completes and threads go on (src/emu/schedule.hpp).
enum class EmuSchedule { fifo, random, pct, adversarial };
const char* name_of(EmuSchedule schedule);
/// exact: the tensor core to the bit; fp32_chain: one fma after another, k ascending; off: operands are read and
/// nothing is computed, so results mean nothing (a checker's speed).
enum class EmuMath { exact, fp32_chain, off };

/// How an emulated device behaves. Results and reports depend on these, never on `threads`.
struct EmuOptions {
  std::uint64_t seed = 0;
  EmuSchedule schedule = EmuSchedule::random;
  EmuMath math = EmuMath::exact;
  int pct_depth = 3;    // of EmuSchedule::pct: bugs that need so many things in order are looked for
  int threads = 0;      // OS threads that carry independent clusters; 0 = one per core
  int sms = 0;          // CTAs that are resident at once; 0 = 4, or one cluster
  int slow_cta = -1;    // this one pauses before every tile, like an SM that does other work as well
  bool check = false;   // watch for races and misuse; kernels are then the checked flavour (emu::check)
  bool traffic = true;  // a check counts bytes and bank conflicts by source line
};

struct DeviceOptions {
  std::filesystem::path cache_dir;  // empty: WARPWRIGHT_CACHE_DIR, XDG_CACHE_HOME/warpwright, ~/.cache/warpwright
  EmuOptions emu;
};

struct DeviceInfo {
  std::string name;         // "emu:sm90", "cuda:0"
  std::string description;  // "emulated sm_90a, 4 SMs", "NVIDIA H200, driver 13.0"
  bool emulated = false;
  Arch arch = Arch::sm90;
  int sms = 0;  // default number of CTAs a persistent kernel launches
  std::uint64_t memory_bytes = 0;
  int shared_bytes_per_cta = 0;
};

/// A CUstream; null is the default stream. Ignored by emulated devices, which run at once.
struct Stream {
  void* handle = nullptr;
};

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

/// Device memory owned by the caller; freed with the last copy of its device.
class Buffer {
 public:
  Buffer() = default;
  void* data() const { return memory_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  friend class Device;
  Buffer(std::shared_ptr<void> memory, std::size_t bytes) : memory_(std::move(memory)), bytes_(bytes) {}
  std::shared_ptr<void> memory_;
  std::size_t bytes_ = 0;
};

class Device {
 public:
  /// "auto" (cuda:0 when there is one, else emu:sm90), "emu:sm90", "cuda:<ordinal>".
  /// Errors: invalid for an unknown name, could_not_finish when the named device is not there.
  static Result<Device> open(std::string_view name, DeviceOptions options = {});

  const DeviceInfo& info() const;
  /// Uninitialised memory, 256-byte aligned. could_not_finish names the bytes needed and present.
  Result<Buffer> allocate(std::size_t bytes) const;
  Result<void> upload(void* device_destination, const void* host_source, std::size_t bytes) const;
  Result<void> download(void* host_destination, const void* device_source, std::size_t bytes) const;
  Result<void> synchronize(Stream stream = {}) const;

  /// Encodes a tensor map for kernels of this device. Errors: invalid names the field of `spec`.
  Result<arch::TensorMap> tensor_map(const TensorMapSpec& spec) const;

  class Backend;  // of the library alone
  Backend& backend() const { return *backend_; }

 private:
  explicit Device(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}
  std::shared_ptr<Backend> backend_;
};

}  // namespace ww
