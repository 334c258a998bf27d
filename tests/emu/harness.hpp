// SPDX-License-Identifier: Apache-2.0
// Runs a plain function as a kernel of the emulated device, through the same table that kernel modules use.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "emu/emulator.hpp"
#include "emu/sm90/model.hpp"
#include "warpwright/arch/common/emu_table.hpp"

namespace ww::emu::test {

using arch::Site;
using runtime::MemoryRange;
using runtime::SmemSwizzle;
using runtime::TensorMapSpec;

inline const arch::EmuTable& t() { return *table(); }
inline void wgmma(const arch::WgmmaCall& call, float* registers, arch::Site site) {
  sm90::instructions().wgmma(call, call.descriptor_a, call.descriptor_b, call.accumulate, call.registers_a, registers,
                             {}, site);
}
inline u32 thread_index() { return t().special(arch::Special::thread_index); }
inline u32 cluster_rank() { return t().special(arch::Special::cluster_rank); }
inline u32 shared_base() { return t().special(arch::Special::dynamic_shared); }
inline Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return Site::here(file, line); }

template <class T> T& shared(u32 address, Site site = here()) {
  return *static_cast<T*>(t().shared_access(address, sizeof(T), arch::Access::write, arch::kWeak, site));
}
template <class T> void write_global(T* address, T value, Site site = here()) {
  *static_cast<T*>(t().global_access(address, sizeof(T), arch::Access::write, arch::kWeak, site)) = value;
}
/// __syncthreads.
inline void sync_cta(Site site = here()) { t().named_barrier_sync(0, t().special(arch::Special::block_size), site); }
inline void sync_cluster(Site site = here()) {
  t().cluster_arrive(false, site);
  t().cluster_wait(site);
}

struct Shape {
  u32 threads = 128, grid = 1, cluster = 1, shared_bytes = 4096;
  bool cross_cta = false;
  int sms = 16;
  bool pdl = false;  // the launch may start before the one before it has ended; only check_launch() has it
};

/// Launches `kKernel(const P&)`.
template <auto kKernel, class P>
Result<EmuStats> launch(const P& params, const Shape& shape, std::vector<MemoryRange> memory = {},
                        EmuOptions options = {}, const MachineModel& model = sm90::kModel) {
  const arch::KernelEntry entry{"test_kernel", [](const void* p) { kKernel(*static_cast<const P*>(p)); }, sizeof(P),
                                shape.threads, nullptr};
  runtime::Launch request;
  request.grid = shape.grid;
  request.cluster = shape.cluster;
  request.threads = shape.threads;
  request.shared_bytes = shape.shared_bytes;
  request.params = &params;
  request.params_bytes = sizeof(P);
  request.memory = memory;
  request.cross_cta = shape.cross_cta;
  return run(model, entry, request, options, shape.sms);
}

template <class T> MemoryRange range(const char* name, std::vector<T>& data, bool writable = true) {
  return {name, data.data(), data.size() * sizeof(T), writable};
}

inline std::string message(const Result<EmuStats>& result) { return result ? "no error" : result.error().message; }

#define EXPECT_RUNS(result) EXPECT_TRUE(result) << ::ww::emu::test::message(result)
#define EXPECT_REPORTS(result, part)                                             \
  do {                                                                           \
    const auto ww_result = (result);                                             \
    EXPECT_FALSE(ww_result) << "expected a report with: " << (part);             \
    EXPECT_NE(::ww::emu::test::message(ww_result).find(part), std::string::npos) \
        << "report: " << ::ww::emu::test::message(ww_result);                    \
  } while (false)

/// A vector whose storage is 16-byte aligned, as tensor maps need.
template <class T> std::vector<T> random_bytes(std::size_t count, u64 seed) {
  std::mt19937_64 generator(seed);
  std::vector<T> data(count);
  for (T& item : data) item = static_cast<T>(generator());
  return data;
}

}  // namespace ww::emu::test
