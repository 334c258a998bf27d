// SPDX-License-Identifier: Apache-2.0
// Shared by the examples of tcgen05 (10_ to 16_): operands of small integers, whose product is exact in FP32, and the
// launches of one kernel.
//   example [device] [schedules|timeline]     device: emu:sm100 (default), or cuda:0, a B200
// With `schedules`, the emulated device runs the kernel that often, each time in another order of threads and copies
// (random, adversarial and by priorities in turn), and checks it for races. With `timeline`, it prints what happened in
// what order: TMA, MMAs, commits, reads of tensor memory, cluster launch control. No Blackwell GPU has run these
// kernels.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>

#include "on_device.hpp"
#include "warpwright/arch/common/convert.hpp"
#include "warpwright/host/kernel.hpp"

namespace example {

/// D (m, n) = A (m, k) B (n, k)^T, row-major; D starts as `c`.
struct Product {
  int m, n, k;
  std::vector<std::uint8_t> a, b;  // their bytes
  std::vector<float> c, expected;
};

/// Returns A B^T + c of row-major matrices.
inline std::vector<float> product_of(const std::vector<float>& a, const std::vector<float>& b, std::vector<float> c,
                                     int n, int k) {
  const auto columns = static_cast<std::size_t>(n), width = static_cast<std::size_t>(k);
  for (std::size_t i = 0; i < c.size(); ++i) {
    const float *row = &a[i / columns * width], *column = &b[i % columns * width];
    for (std::size_t at = 0; at < width; ++at) c[i] += row[at] * column[at];
  }
  return c;
}

/// Returns bf16 operands of integers from -3 to 3, with D = A B^T + C, or without C.
inline Product product(int m, int n, int k, bool adds_c = false) {
  std::vector<float> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(n * k));
  std::vector<float> c(static_cast<std::size_t>(m * n));
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i * 11 % 7) - 3;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i * 5 % 7) - 3;
  for (std::size_t i = 0; adds_c && i < c.size(); ++i) c[i] = static_cast<float>(i % 17) - 8;
  const auto bytes_of = [](const std::vector<float>& values) {
    std::vector<std::uint8_t> bytes;
    for (const float value : values) {
      const ww::u16 bits = ww::arch::to_bf16(value);
      bytes.push_back(static_cast<std::uint8_t>(bits));
      bytes.push_back(static_cast<std::uint8_t>(bits >> 8));
    }
    return bytes;
  };
  return {m, n, k, bytes_of(a), bytes_of(b), c, product_of(a, b, c, n, k)};
}

/// The operands on a device.
struct Operands {
  ww::Buffer a, b, d;
};

/// A box of a row-major bf16 matrix, 64 wide: the swizzle's 128 bytes.
inline ww::arch::TensorMap operand_map(const ww::Device& device, const ww::Buffer& buffer, int rows, int k,
                                       int box_rows) {
  return require(device.tensor_map(
      ww::TensorMapSpec::matrix(buffer.data(), ww::bf16, rows, k, k, box_rows, 64, ww::SmemSwizzle::b128)));
}

/// Launches the kernel once and compares D. Returns what the launch did; exits with a message when D is wrong.
using Launch = std::function<void(const ww::Device&, const ww::Kernel&, const Operands&)>;
inline ww::EmuStats run_once(const ww::Device& device, const ww::KernelSource& source, const Product& p,
                             const Launch& launch) {
  const Operands operands{upload(device, p.a), upload(device, p.b), upload(device, p.c)};
  const ww::Kernel kernel = require(ww::Kernel::compile(device, source));
  launch(device, kernel, operands);
  require(device.synchronize());
  const std::vector<float> d = download<float>(device, operands.d, p.expected.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < d.size(); ++i) wrong += d[i] != p.expected[i];
  if (wrong != 0) {
    std::fprintf(stderr, "%s on %s: %zu of %zu elements are wrong\n", source.name.c_str(), device.info().name.c_str(),
                 wrong, d.size());
    std::exit(1);
  }
  return kernel.last_stats().value_or(ww::EmuStats{});
}

/// Runs the example: once, or under as many checked schedules as the command line says. Returns the statistics of the
/// first launch.
inline ww::EmuStats run(int argc, char** argv, const ww::KernelSource& source, const Product& p, const Launch& launch) {
  const char* const name = argc > 1 ? argv[1] : "emu:sm100";
  const bool timeline = argc > 2 && std::string_view(argv[2]) == "timeline";
  const int schedules = argc > 2 && !timeline ? std::atoi(argv[2]) : 0;
  constexpr ww::EmuSchedule kKinds[] = {ww::EmuSchedule::random, ww::EmuSchedule::adversarial, ww::EmuSchedule::pct};
  ww::EmuStats first;
  for (int i = 0; i < (schedules > 0 ? schedules : 1); ++i) {
    ww::DeviceOptions options;
    options.emu.seed = static_cast<std::uint64_t>(i);
    options.emu.check = schedules > 0;  // a finding makes the launch an error
    options.emu.schedule = kKinds[i % 3];
    options.emu.timeline = timeline;
    const ww::Device device = require(ww::Device::open(name, options));
    const ww::EmuStats stats = run_once(device, source, p, launch);
    if (i > 0) continue;
    first = stats;
    std::printf("%s: %s, D (%d, %d) of K = %d is exact\n", device.info().description.c_str(), source.name.c_str(), p.m,
                p.n, p.k);
  }
  if (timeline) std::printf("%s", ww::timeline_text(first.timeline).c_str());
  if (schedules > 0) std::printf("no findings in %d schedules\n", schedules);
  return first;
}

/// Prints how many KiB of each operand came from L2. GPUs count nothing.
inline void print_traffic(const ww::EmuStats& stats) {
  for (const auto& [operand, bytes] : stats.l2_read_bytes)
    std::printf("  L2 reads of %s: %llu KiB\n", operand.c_str(), static_cast<unsigned long long>(bytes / 1024));
}

}  // namespace example
