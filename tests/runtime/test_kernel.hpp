// SPDX-License-Identifier: Apache-2.0
// The smallest kernel that shows a launch went right: every thread writes its global index times a factor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/backend.hpp"

namespace ww::runtime::test {

inline constexpr std::uint32_t kThreads = 64;

struct Params {
  std::uint32_t* out;
  std::uint32_t factor;
};

inline KernelSource source(const std::string& extra = "") {
  return {"runtime_test_kernel", extra + R"(
#include "warpwright/arch/common/executor.hpp"
#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/special.hpp"
struct Params { ww::u32* out; ww::u32 factor; };
WW_KERNEL(runtime_test_kernel, 64, Params, params) {
  const ww::u32 index = ww::arch::block_index() * 64 + ww::arch::thread_index();
  ww::arch::global::store(params.out + index, index * params.factor);
}
WW_MODULE()
)"};
}

inline std::vector<std::uint32_t> expected(std::uint32_t grid, std::uint32_t factor) {
  std::vector<std::uint32_t> values(grid * kThreads);
  for (std::uint32_t i = 0; i < values.size(); ++i) values[i] = i * factor;
  return values;
}

/// Builds, launches and reads back `grid` CTAs in clusters of `cluster`.
inline Result<std::vector<std::uint32_t>> run(const Device& device, std::uint32_t grid, std::uint32_t cluster,
                                              std::uint32_t factor, Launch launch = {}) {
  Backend& backend = device.backend();
  WW_TRY(const std::shared_ptr<const Kernel> kernel, backend.kernel(source()));
  std::vector<std::uint32_t> values(grid * kThreads, 0xFFFFFFFF);
  const std::size_t bytes = values.size() * sizeof(values[0]);
  WW_TRY(const Buffer out, device.allocate(bytes));
  WW_CHECK(device.upload(out.data(), values.data(), bytes));
  const Params params{static_cast<std::uint32_t*>(out.data()), factor};
  const MemoryRange range{"out", out.data(), bytes, true};
  launch.kernel = kernel.get();
  launch.grid = grid;
  launch.cluster = cluster;
  launch.threads = kThreads;
  launch.params = &params;
  launch.params_bytes = sizeof(params);
  launch.memory = {&range, 1};
  WW_CHECK(backend.launch(launch));
  WW_CHECK(device.synchronize(launch.stream));
  WW_CHECK(device.download(values.data(), out.data(), bytes));
  return values;
}

}  // namespace ww::runtime::test
