// SPDX-License-Identifier: Apache-2.0
// A persistent kernel under cluster launch control: the grid has a cluster for each tile, but a cluster that runs asks
// for the work of one that has not started, so that prologues are paid once and the last tile's epilogue overlaps the
// next one's MMAs. Four roles share the pipelines of pipeline/:
//   warp 0 loads, warp 1 multiplies, warp 2 asks for tiles (in CTA 0), warp 3 allocates, warps 4 to 7 store D
//   UmmaPipeline 2 stages of A and B -> AccumulatorPipeline 2 accumulators -> D; ClcPipeline tells every warp the tile
// A cluster is 2 CTAs along M, which share B by multicast.
//   example_15_cluster_launch_control [device] [schedules|timeline]
#include "umma.hpp"

namespace {

constexpr const char* kKernel = R"(
#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/tma.hpp"
#include "warpwright/arch/sm100/tensor_memory.hpp"
#include "warpwright/pipeline/accumulator_pipeline.hpp"
#include "warpwright/pipeline/clc_pipeline.hpp"
#include "warpwright/pipeline/umma_pipeline.hpp"

using namespace ww;

struct Params {
  arch::TensorMap a, b;
  float* d;
  u32 k_blocks, clusters_m, n;
};

constexpr u32 kM = 128, kN = 128, kK = 64, kStages = 2;
constexpr u32 kBytesA = kM * 128, kBytesB = kN * 128;
constexpr arch::CtaGroup kOne = arch::CtaGroup::one;
constexpr pipeline::ClusterShape kCluster{2, 1};
constexpr arch::InstructionDescriptor kInstruction =
    arch::sm100::encode({.kind = arch::MmaKind::f16, .a = arch::MmaFormat::bf16, .b = arch::MmaFormat::bf16,
                         .d = arch::MmaResult::f32, .m = kM, .n = kN});
using Loads = pipeline::UmmaPipeline<kStages, kCluster>;
using Sums = pipeline::AccumulatorPipeline<pipeline::AccumulatorColumns{.stages = 2, .columns = kN}, 4>;
using Tiles = pipeline::ClcPipeline<1, 7, 2>;  // of each CTA, all warps but the third know the tile

// What all roles know.
struct Places {
  arch::SharedAddress stages = arch::dynamic_shared(), answers = stages + kStages * (kBytesA + kBytesB),
                      loads = answers + Tiles::kAnswersBytes, sums = loads + Loads::kBytes,
                      tiles = sums + Sums::kBytes, allocated = tiles + Tiles::kBytes;
  u32 rank = arch::cluster_rank();
  WW_DEVICE arch::SharedAddress a(u32 stage) const { return stages + stage * (kBytesA + kBytesB); }
  WW_DEVICE arch::SharedAddress b(u32 stage) const { return a(stage) + kBytesA; }
};

// Calls work(row, column) for the CTA's own tile, then for each that an answer gives.
template <class Work> WW_DEVICE void for_each_tile(const Params& params, const Places& at, Work work) {
  Tiles tiles(at.tiles, at.answers, pipeline::Role::consumer);
  for (u32 cluster = arch::block_index() / 2;;) {
    work((cluster % params.clusters_m * 2 + at.rank) * kM, cluster / params.clusters_m * kN);
    const pipeline::ClcWork next = tiles.consumer_next();
    if (!next.valid) return;
    cluster = next.first.x / 2;
  }
}

struct Load {
  const Params& params;
  const Places& at;
  Loads& loads;
  WW_DEVICE void operator()(u32 row, u32 column) {
    if (arch::warp::elect())
      for (u32 block = 0; block < params.k_blocks; ++block) {
        const pipeline::Stage stage = loads.producer_acquire(kBytesA + kBytesB);
        const int x = static_cast<int>(block * kK);
        arch::tma::load_2d(params.a, stage.full, at.a(stage.index), x, static_cast<int>(row));
        arch::tma::load_multicast_2d(params.b, stage.full, at.b(stage.index) + at.rank * (kBytesB / 2),
                                     pipeline::mask_of_b(kCluster, kOne, static_cast<int>(at.rank)), x,
                                     static_cast<int>(column + at.rank * (kN / 2)));
      }
    arch::warp::sync();
  }
};

struct Multiply {
  const Params& params;
  const Places& at;
  arch::TensorAddress columns;
  Loads& loads;
  Sums& sums;
  WW_DEVICE void operator()(u32, u32) {
    if (arch::warp::elect()) {
      const pipeline::AccumulatorStage sum = sums.producer_acquire();
      for (u32 block = 0; block < params.k_blocks; ++block) {
        const pipeline::Stage stage = loads.consumer_wait();
        const auto a = arch::sm100::make_descriptor(at.a(stage.index), arch::sm100::MatrixSwizzle::b128, 0, 1024);
        const auto b = arch::sm100::make_descriptor(at.b(stage.index), arch::sm100::MatrixSwizzle::b128, 0, 1024);
        for (u32 i = 0; i < 4; ++i)
          arch::umma::mma<arch::MmaKind::f16, kOne>(columns + sum.first_column, a + 32 * i, b + 32 * i, kInstruction,
                                                    block + i > 0);
        loads.consumer_release(stage);
      }
      sums.producer_commit(sum);
    }
    arch::warp::sync();
  }
};

struct Store {
  const Params& params;
  arch::TensorAddress columns;
  Sums& sums;
  WW_DEVICE void operator()(u32 row, u32 column) {
    const u32 lane = arch::thread_index() % 128;  // row of the tile
    const pipeline::AccumulatorStage sum = sums.consumer_wait();
    const arch::TensorAddress from = columns.down(lane / 32 * 32) + sum.first_column;
    for (u32 n = 0; n < kN; n += 32) {
      arch::TensorRegisters<32> values;
      arch::tensor::load<arch::TensorShape::lanes32_bits32, 32>(values, from + n);
      arch::tensor::wait_load(values);
      if (n + 32 == kN) sums.consumer_release(sum);
      float* const d = params.d + (row + lane) * params.n + column + n;
      WW_UNROLL
      for (int v = 0; v < 32; ++v) arch::global::store(d + v, values[v]);
    }
  }
};

WW_KERNEL(cluster_launch_control, 256, Params, params) {
  const Places at;
  const u32 warp = arch::thread_index() / 32;
  if (arch::thread_index() == 0) {
    Loads::initialize(at.loads);
    Sums::initialize(at.sums);
    Tiles::initialize(at.tiles);
    arch::fence::mbarrier_init();
  }
  if (warp == 3) arch::tensor::alloc<kOne>(at.allocated, 2 * kN);
  arch::umma::fence_before();
  arch::cluster::sync();
  arch::umma::fence_after();
  const arch::TensorAddress columns{arch::shared::load(at.allocated)};

  if (warp == 0) {
    Loads loads(at.loads, pipeline::Role::producer);
    for_each_tile(params, at, Load{params, at, loads});
    if (arch::warp::elect()) loads.producer_tail();
    arch::warp::sync();
  } else if (warp == 1) {
    Loads loads(at.loads, pipeline::Role::consumer);
    Sums sums(at.sums, pipeline::Role::producer);
    for_each_tile(params, at, Multiply{params, at, columns, loads, sums});
  } else if (warp == 2) {
    Tiles asked(at.tiles, at.answers, pipeline::Role::producer), told(at.tiles, at.answers, pipeline::Role::consumer);
    do {
      if (arch::warp::elect()) told.consumer_announce();
      arch::warp::sync();
      if (at.rank == 0) asked.producer_fetch();
    } while (told.consumer_next().valid);
  } else if (warp >= 4) {
    Sums sums(at.sums, pipeline::Role::consumer);
    for_each_tile(params, at, Store{params, columns, sums});
  }
  arch::umma::fence_before();
  arch::cluster::sync();  // nobody arrives at this CTA's barriers any more
  arch::umma::fence_after();
  if (warp == 3) {
    arch::tensor::relinquish<kOne>();
    arch::tensor::dealloc<kOne>(columns, 2 * kN);
  }
}
WW_MODULE()
)";

struct Params {
  ww::arch::TensorMap a = {}, b = {};
  void* d;
  int k_blocks, clusters_m, n;
};

// As in the kernel: rows and columns of a CTA's tile, K of a stage, CTAs of a cluster along M.
constexpr int kM = 128, kN = 128, kK = 64, kCtas = 2;
constexpr ww::u32 kSharedBytes = 2 * (kM + kN) * kK * 2 + 128;  // two stages, then answers and barriers

}  // namespace

int main(int argc, char** argv) {
  const example::Product p = example::product(512, 1024, 192);
  const ww::u32 tiles = static_cast<ww::u32>(p.m / kM * (p.n / kN));
  const auto launch = [&](const ww::Device& device, const ww::Kernel& kernel, const example::Operands& operands) {
    Params params{.d = operands.d.data(), .k_blocks = p.k / kK, .clusters_m = p.m / (kM * kCtas), .n = p.n};
    params.a = example::operand_map(device, operands.a, p.m, p.k, kM);
    params.b = example::operand_map(device, operands.b, p.n, p.k, kN / kCtas);
    const ww::MemoryRange memory[] = {{"a", operands.a.data(), operands.a.bytes(), false},
                                      {"b", operands.b.data(), operands.b.bytes(), false},
                                      {"d", operands.d.data(), operands.d.bytes(), true}};
    ww::KernelLaunch shape{.grid = tiles, .cluster = kCtas, .threads = 256, .shared_bytes = kSharedBytes};
    shape.memory = memory;
    example::require(kernel.launch(params, shape));
  };
  const ww::EmuStats stats = example::run(argc, argv, {"cluster_launch_control", kKernel}, p, launch);
  if (stats.ctas == 0) return 0;  // a GPU counts none of this
  std::printf("  of %u CTAs %llu ran, for the tiles of all\n", tiles, static_cast<unsigned long long>(stats.ctas));
  return stats.ctas < tiles ? 0 : 1;
}
