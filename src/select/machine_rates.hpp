// SPDX-License-Identifier: Apache-2.0
// The rates of devices for which times are modelled: the only place for them. core/machine.hpp has the limits of an
// architecture; here are the SMs, the clock and the memory of one device of it. What our kernels take beside, such as
// clocks of a wait, is in CostConstants.
#pragma once

#include "warpwright/core/machine.hpp"

namespace ww::select {

struct MachineRates {
  const char* name = "";
  bool measured = false;  // false: from publications, for design alone
  int sms = 0;
  // CTAs that are resident in clusters of up to 2, 4, 8 and 16, one on an SM. GPCs differ in their number of SMs, and a
  // cluster is resident in one GPC. 0: unknown.
  int resident[4] = {};
  double ghz = 0;                  // clock where power is not the limit
  double mma_bytes_per_clock = 0;  // products of one SM, times the bytes of an element
  double fma_per_clock = 0;        // FP32, of one SM
  double hbm_bytes_per_us = 0;     // fitted together with CostConstants::memory_overlap; 4.3 TB/s were observed
  double hbm_latency_us = 0;       // under load: bytes in flight divided by this are the bandwidth of a thin launch
  double l2_bytes_per_us = 0;      // from all of L2; a line that neighbours read together counts once
  double l2_bytes = 0;             // of operands that stay in L2 from one wave to the next
  double sharing_ctas = 0;         // neighbours whose reads of one line are one read of L2: those of a GPC
  // Where the model of a machine is made of its rates (sm100_cost.hpp):
  double shared_bytes_per_clock = 0;       // operands that MMAs of one SM read
  double tensor_load_bytes_per_clock = 0;  // accumulators that warps of one SM read from tensor memory
  double first_load_us = 0;                // of TMA, from HBM
};

inline constexpr MachineRates kH200 = {.name = "H200",
                                       .measured = true,
                                       .sms = Sm90().most_sms,
                                       .resident = {132, 120, 120, 112},
                                       .ghz = 1.98,
                                       .mma_bytes_per_clock = 4096,
                                       .fma_per_clock = 128,
                                       .hbm_bytes_per_us = 4.244e+06,
                                       .hbm_latency_us = 0.8782,
                                       .l2_bytes_per_us = 8.532e+06,
                                       .l2_bytes = 40e6,
                                       .sharing_ctas = 16};

// Unmeasured: published rates. The latency and the neighbours are those of an H200. Nothing is published about
// the residency of clusters of more than two CTAs; resident_ctas() takes the share of an H200's.
inline constexpr MachineRates kB200 = {.name = "B200",
                                       .sms = Sm100().most_sms,
                                       .resident = {148, 0, 0, 0},
                                       .ghz = 1.85,
                                       .mma_bytes_per_clock = 8192,
                                       .fma_per_clock = 128,
                                       .hbm_bytes_per_us = 7.48e+06,
                                       .hbm_latency_us = kH200.hbm_latency_us,
                                       .l2_bytes_per_us = 21e+06,
                                       .l2_bytes = 126e6,
                                       .sharing_ctas = kH200.sharing_ctas,
                                       .shared_bytes_per_clock = 128,
                                       .tensor_load_bytes_per_clock = 2500,
                                       .first_load_us = 0.575};

/// Returns the device of `arch` for which times are modelled.
constexpr const MachineRates& rates_of(Arch arch) { return arch == Arch::sm100 ? kB200 : kH200; }

}  // namespace ww::select
