// SPDX-License-Identifier: Apache-2.0
// The GEMM hierarchy from the top down, as the CUTLASS 3.x articles describe it: four steps from "a product of these
// types" to D, and what each layer decides.
//   1  resolution      a config with `auto` fields -> instruction, stages, epilogue tile, registers, shared memory
//   2  epilogue        a visitor tree: D = alpha A B^T + beta C, a value of the same config
//   3  kernel          mainloop and epilogue of that config, joined with a tile scheduler
//   4  device adapter  feasibility and workspace, then a launch, and another with other pointers
//   example_07_gemm_hierarchy [device]        device: emu:sm90 (default) or cuda:0
#include <cstdio>
#include <functional>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>

#include "on_device.hpp"
#include "warpwright/arch/common/convert.hpp"
#include "warpwright/host/config.hpp"
#include "warpwright/host/gemm.hpp"
#include "warpwright/host/kernel.hpp"
#include "warpwright/kernel/gemm.hpp"

namespace {

using example::require;

constexpr int kM = 384, kN = 256, kK = 320;  // six tiles of five k-blocks for four CTAs: stream-K cuts some of them

// 1. Resolution. Fields that are not set here are `auto`: one tile's rows, columns and k-block, the ring, the roles.
constexpr ww::GemmConfig kAsked{.operands = {.a = ww::bf16, .b = ww::bf16, .d = ww::f32},
                                .sm90 = {.tile_scheduler = ww::TileScheduler::stream_k}};
constexpr ww::GemmConfig kMainloopConfig = ww::config::resolve(kAsked);

// 2. The epilogue, in the same constexpr value. Its operands have no address yet, and its shape no size.
constexpr ww::EpilogueTree kTree = ww::evt::alpha * ww::evt::acc + ww::evt::beta * ww::evt::c(ww::f32);
constexpr ww::GemmConfig with_epilogue(ww::GemmConfig config) { return config.epilogue = kTree, config; }
constexpr ww::GemmConfig kConfig = ww::config::resolve(with_epilogue(kAsked));
static_assert(!ww::config::fault_of(kConfig));

// 3. The kernel: a type made of collectives, each of them made for this config. Ordinary C++, so the host may look.
using Kernel = ww::kernel::Gemm<kConfig>;
static_assert(std::is_same_v<Kernel::Mainloop, ww::mainloop::Mainloop<kConfig>>);
static_assert(std::is_same_v<Kernel::Epilogue, ww::epilogue::Epilogue<kConfig, Kernel::Mainloop::Accumulator>>);

void show_resolution() {
  const ww::GemmConfig& c = kMainloopConfig;
  const ww::config::SharedPlan shared = ww::config::shared_plan(c);
  const ww::RegisterSplit registers = ww::config::registers_of(c);
  std::printf("1  resolution\n   asked     %s\n   resolved  %s\n", ww::to_text(kAsked).c_str(), ww::to_text(c).c_str());
  std::printf("   stages    %d of %d + %d bytes of A and B; one more would need %d of %d bytes\n", c.sm90.stages,
              shared.a_stage, shared.b_stage, shared.total + shared.a_stage + shared.b_stage,
              ww::config::shared_limit(c));
  std::printf("   epilogue  tile of %d x %d, stored in panels of %d rows and %d bytes\n", c.tile.m,
              ww::config::output_columns(c), ww::config::kWarpgroupRows, ww::config::panel_bytes(c));
  std::printf("   registers %d a producer's thread, %d a consumer thread, %d threads\n", registers.producer,
              registers.consumer, ww::config::threads_of(c));
  std::printf("   shared    A at %d, B at %d, D at %d, barriers at %d, %d bytes in all\n", shared.a, shared.b, shared.d,
              shared.barriers, shared.total);
}

/// Whether the text says the same tree.
bool show_epilogue() {
  const std::string text = ww::to_text(kTree);
  std::printf("2  epilogue\n   tree      %s\n   postfix   %d nodes, a field of the config like all others\n",
              text.c_str(), kTree.size());
  return require(ww::parse_epilogue(text)) == kTree;
}

/// What the device adapter compiles for kConfig; the same text for both executors.
ww::KernelSource show_kernel() {
  const ww::KernelSource source = ww::kernel_source(kConfig);
  std::printf(
      "3  kernel    %s\n   mainloop  one thread loads %u bytes a stage, %d warpgroups have %d wgmma tile(s) of "
      "64 x %d each\n   epilogue  %d panel(s) of D a tile\n",
      source.name.c_str(), Kernel::Mainloop::kStageBytes, kConfig.sm90.consumer_warpgroups,
      Kernel::Mainloop::kMmaBlocks, Kernel::Mainloop::kTileN, Kernel::Epilogue::kPanels);
  std::printf("%s", source.text.substr(source.text.find("using Kernel")).c_str());
  return source;
}

std::vector<ww::bf16_t> bf16_integers(int count, int step, int period) {
  std::vector<ww::bf16_t> values(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    values[static_cast<std::size_t>(i)].bits = ww::arch::to_bf16(static_cast<float>(i * step % period - period / 2));
  return values;
}

struct Operands {
  std::vector<ww::bf16_t> a, b;
  std::vector<float> c;
};

/// Small integers and halves: every product and sum is exact, whatever the order.
std::vector<float> expected(const Operands& host, float alpha, float beta) {
  std::vector<float> d(host.c.size());
  for (std::size_t m = 0; m < kM; ++m)
    for (std::size_t n = 0; n < kN; ++n) {
      float sum = 0;
      for (std::size_t k = 0; k < kK; ++k)
        sum += ww::arch::from_bf16(host.a[m * kK + k].bits) * ww::arch::from_bf16(host.b[n * kK + k].bits);
      d[m * kN + n] = alpha * sum + beta * host.c[m * kN + n];
    }
  return d;
}

/// Elements of D that are not what they should be.
std::ptrdiff_t run(const ww::Device& device, const ww::GemmPlan& plan, const ww::Buffer& workspace,
                   const Operands& host, float alpha, float beta) {
  const ww::Buffer a = example::upload(device, host.a), b = example::upload(device, host.b),
                   c = example::upload(device, host.c), d = example::upload(device, std::vector<float>(kM * kN, -1.0f));
  ww::GemmOperands operands{.a = a.data(), .b = b.data(), .d = d.data()};
  operands.workspace = workspace.data();
  operands.workspace_bytes = plan.workspace_bytes();
  operands.epilogue.scalar[ww::kScalarAlpha] = alpha;
  operands.epilogue.scalar[ww::kScalarBeta] = beta;
  operands.epilogue.c = c.data();
  require(plan.run(operands));
  require(device.synchronize());
  const std::vector<float> got = example::download<float>(device, d, kM * kN), want = expected(host, alpha, beta);
  const auto wrong =
      static_cast<std::ptrdiff_t>(got.size()) -
      std::inner_product(got.begin(), got.end(), want.begin(), std::ptrdiff_t{0}, std::plus<>(), std::equal_to<>());
  std::printf("   run       D[0, 0..2] = %g %g %g, %td of %zu elements wrong\n", static_cast<double>(got[0]),
              static_cast<double>(got[1]), static_cast<double>(got[2]), wrong, got.size());
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const ww::Device device = example::open(argc, argv);
  show_resolution();
  const bool same_tree = show_epilogue();
  const auto kernel = require(ww::Kernel::compile(device, show_kernel()));  // compiled here, and kept for the adapter

  // 4. The device adapter. An impossible config is refused in one sentence, without a compile.
  const ww::GemmProblem problem{.m = kM,
                                .n = kN,
                                .k = kK,
                                .a = kConfig.operands.a,
                                .b = kConfig.operands.b,
                                .d = kConfig.operands.d,
                                .epilogue = kTree};
  ww::GemmConfig too_deep = kConfig;
  too_deep.sm90.stages = ww::config::kLargestStages;
  const ww::Result<void> refused = ww::can_implement(problem, {.config = too_deep});
  std::printf("4  device\n   refused   %s\n", refused ? "nothing" : refused.error().message.c_str());
  require(ww::can_implement(problem, {.config = kConfig}));

  const ww::GemmPlan plan = require(ww::plan_gemm(device, problem, {.config = kConfig}));
  const ww::Buffer workspace = example::upload(device, std::vector<ww::u8>(plan.workspace_bytes()));  // zeroed once
  std::printf("   workspace %zu bytes for tiles that two CTAs share; the caller's\n", plan.workspace_bytes());
  Operands host{bf16_integers(kM * kK, 7, 9), bf16_integers(kN * kK, 5, 13), std::vector<float>(kM * kN)};
  for (std::size_t i = 0; i < host.c.size(); ++i) host.c[i] = static_cast<float>(i % 17) - 8.0f;
  std::ptrdiff_t wrong = run(device, plan, workspace, host, 0.5f, -2.0f);
  std::swap(host.a.front(), host.a.back());
  host.b = bf16_integers(kN * kK, 3, 11);
  wrong += run(device, plan, workspace, host, 1.5f, 1.0f);  // other pointers, values and scalars; nothing is compiled

  const bool as_resolved = plan.config() == kConfig && plan.workspace_bytes() > 0;
  return !refused && same_tree && as_resolved && wrong == 0 ? 0 : 1;
}
