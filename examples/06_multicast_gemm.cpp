// SPDX-License-Identifier: Apache-2.0
// The multicast GEMM: a ring of stages that the multiplying threads fill themselves, in three steps.
//   1  one CTA alone: every CTA reads every tile of A and of B that it needs from L2
//   2  clusters of two CTAs that need the same B: each loads half of it and multicasts, so B is read once a pair.
//      A stage may be written again when both have read it; here all threads of the cluster synchronise after every
//      k-block
//   3  the same, but each warp signals the producers that its stage is free, without a barrier of all threads
// All use kernel/multistage_gemm.hpp: the cluster's shape and the way stages are released are template arguments.
// `warpwright gemm --config schedule=multistage,cluster=2x1` runs the third on your own sizes.
#include <algorithm>
#include <string>

#include "on_device.hpp"
#include "warpwright/arch/common/convert.hpp"
#include "warpwright/config/resolve.hpp"
#include "warpwright/config/shared_memory.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/host/kernel.hpp"
#include "warpwright/kernel/gemm_params.hpp"

namespace {

using example::require;

constexpr int kM = 512, kN = 256, kK = 1024, kTile = 128;

struct Step {
  const char* name;
  int cluster_m;
  const char* release;
};
constexpr Step kSteps[] = {{"one CTA", 1, "by_warp"},
                           {"2x1, cluster barrier", 2, "by_cluster_barrier"},
                           {"2x1, release by warp", 2, "by_warp"}};

ww::GemmConfig config_of(const Step& step) {
  return ww::config::resolve({.operands = {.a = ww::bf16, .b = ww::bf16, .d = ww::f32},
                              .tile = {kTile, kTile},
                              .cluster = {step.cluster_m},
                              .sm90 = {.schedule = ww::Schedule::multistage, .stages = 3}});
}

ww::KernelSource source_of(const Step& step) {
  const std::string name = "multicast_" + std::to_string(step.cluster_m) + "_" + step.release;
  return {name, R"(#include "warpwright/config/resolve.hpp"
#include "warpwright/kernel/multistage_gemm.hpp"
using namespace ww;
inline constexpr GemmConfig kConfig = config::resolve({
    .operands = {.a = DType::bf16, .b = DType::bf16, .d = DType::f32}, .tile = {128, 128}, .cluster = {)" +
                    std::to_string(step.cluster_m) + R"(}, .sm90 = {.schedule = Schedule::multistage, .stages = 3}});
using Kernel = kernel::MultistageGemm<kConfig, mainloop::StageRelease::)" +
                    step.release + R"(>;
WW_KERNEL()" + name +
                    R"(, Kernel::kThreads, kernel::GemmParams, params) { Kernel::run(params); }
WW_MODULE()
)"};
}

struct Operands {
  const ww::Buffer &a, &b, &d;
};

/// Every CTA takes one tile of D; the two of a cluster are neighbours along M. Returns what the launch did.
ww::EmuStats launch(const ww::Device& device, const Step& step, const Operands& operands) {
  const ww::GemmConfig c = config_of(step);
  const int panel = ww::config::panel_bytes(c);
  const auto map = [&](const ww::Buffer& buffer, ww::DType type, int rows, int columns, int box_rows, int box_columns) {
    return require(device.tensor_map(ww::TensorMapSpec::matrix(buffer.data(), type, rows, columns, columns, box_rows,
                                                               box_columns, ww::SmemSwizzle::b128)));
  };
  ww::kernel::GemmParams params{};
  params.gemm.a = map(operands.a, c.operands.a, kM, kK, kTile, c.tile.k);
  params.gemm.b = map(operands.b, c.operands.b, kN, kK, kTile / step.cluster_m, c.tile.k);  // this CTA's share
  params.gemm.d = map(operands.d, c.operands.d, kM, kN, 64, panel / ww::bytes_of(c.operands.d));
  params.gemm.m = kM, params.gemm.n = kN, params.gemm.k = kK;
  params.gemm.k_blocks = kK / c.tile.k;
  params.scheduler.grid.cluster_tiles_m = kM / kTile / step.cluster_m;
  params.scheduler.grid.cluster_tiles_n = kN / kTile;

  const ww::Kernel kernel = require(ww::Kernel::compile(device, source_of(step)));
  const ww::MemoryRange memory[] = {{"a", operands.a.data(), operands.a.bytes(), false},
                                    {"b", operands.b.data(), operands.b.bytes(), false},
                                    {"d", operands.d.data(), operands.d.bytes(), true}};
  const auto cluster = static_cast<ww::u32>(step.cluster_m);
  require(kernel.launch(params, {.grid = static_cast<ww::u32>(params.scheduler.grid.tiles()) * cluster,
                                 .cluster = cluster,
                                 .threads = static_cast<ww::u32>(ww::config::threads_of(c)),
                                 .shared_bytes = static_cast<ww::u32>(ww::config::shared_plan(c).total),
                                 .memory = memory}));
  require(device.synchronize());
  return kernel.last_stats().value_or(ww::EmuStats{});
}

}  // namespace

int main(int argc, char** argv) {
  const ww::Device device = example::open(argc, argv);
  // Small integers: every product and sum is exact, so the check is an equality.
  std::vector<ww::bf16_t> a(kM * kK), b(kN * kK);
  for (std::size_t i = 0; i < a.size(); ++i) a[i].bits = ww::arch::to_bf16(static_cast<float>(i * 7 % 11) - 5.0f);
  for (std::size_t i = 0; i < b.size(); ++i) b[i].bits = ww::arch::to_bf16(static_cast<float>(i * 5 % 13) - 6.0f);
  std::vector<float> expected(kM * kN, 0.0f);
  for (std::size_t m = 0; m < kM; ++m)
    for (std::size_t n = 0; n < kN; ++n)
      for (std::size_t k = 0; k < kK; ++k)
        expected[m * kN + n] += ww::arch::from_bf16(a[m * kK + k].bits) * ww::arch::from_bf16(b[n * kK + k].bits);
  const ww::Buffer device_a = example::upload(device, a), device_b = example::upload(device, b);

  std::vector<ww::EmuStats> stats;
  for (const Step& step : kSteps) {
    const ww::Buffer device_d = example::upload(device, std::vector<float>(kM * kN, -1.0f));
    stats.push_back(launch(device, step, {device_a, device_b, device_d}));
    const bool equal = example::download<float>(device, device_d, kM * kN) == expected;
    std::printf("%-22s %s, KiB from L2: A %5llu B %5llu, waits %llu\n", step.name, equal ? "right" : "WRONG",
                static_cast<unsigned long long>(stats.back().l2_read_bytes["a"] / 1024),
                static_cast<unsigned long long>(stats.back().l2_read_bytes["b"] / 1024),
                static_cast<unsigned long long>(stats.back().switches));
    if (!equal) return 1;
  }
  if (stats[0].ctas == 0) return 0;  // a GPU counts none of this
  const bool halved = stats[1].l2_read_bytes["b"] * 2 == stats[0].l2_read_bytes["b"] &&
                      stats[2].l2_read_bytes["b"] == stats[1].l2_read_bytes["b"];
  const bool fewer_waits = stats[2].switches < stats[1].switches;  // how often a thread stopped for another
  std::printf("multicast halves B: %s; release by warp waits less: %s\n", halved ? "yes" : "NO",
              fewer_waits ? "yes" : "NO");
  return halved && fewer_waits ? 0 : 1;
}
