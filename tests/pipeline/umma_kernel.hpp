// SPDX-License-Identifier: Apache-2.0
// A persistent GEMM that is little more than its pipelines: D (M, N) = A (M, K) B (N, K)^T, bf16 to FP32, by a TMA
// warp, an MMA warp, a scheduler warp and four epilogue warps of every CTA. It works with any cluster, MMAs of one CTA
// or of a pair, multicast, any form of accumulators, static tiles or cluster launch control.
#pragma once

#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/named_barrier.hpp"
#include "warpwright/arch/sm100/instruction_descriptor.hpp"
#include "warpwright/arch/sm100/tma_pair.hpp"
#include "warpwright/atom/tensor_accumulator.hpp"
#include "warpwright/pipeline/accumulator_pipeline.hpp"
#include "warpwright/pipeline/clc_pipeline.hpp"
#include "warpwright/pipeline/umma_pipeline.hpp"

namespace ww::pipeline_test {

using arch::CtaGroup;
using pipeline::AccumulatorColumns;
using pipeline::ClusterShape;
using pipeline::Role;

struct Params {
  arch::TensorMap a, b;
  float* d;
  int m, n, k;
  int clusters_m, clusters_n;  // of the tiles of a cluster
  const u16* b_values;
};

struct Schedule {
  ClusterShape cluster{};
  CtaGroup group = CtaGroup::one;
  int stages = 3;
  AccumulatorColumns accumulators{2, 64};
  bool clc = false;
  bool stores_b = false;  // a warp of each CTA stores its rows of B instead
};

template <Schedule kS> struct Kernel {
  static constexpr ClusterShape kCluster = kS.cluster;
  static constexpr int kCtas = arch::ctas_of(kS.group);
  static constexpr int kM = 128, kN = kS.accumulators.columns, kK = 64;  // of a CTA's tile; K of a stage
  static constexpr int kPiece = 32;
  static constexpr u32 kABytes = kM * 128, kBBytes = kN / kCtas * 128, kStageBytes = kABytes + kBBytes;
  static constexpr int kConsumerWarps = 7;  // of cluster launch control
  static constexpr int kThreads = 256;

  using Loads = pipeline::UmmaPipeline<kS.stages, kCluster, kS.group, kS.stores_b ? 1 : 0>;
  using Accumulators = pipeline::AccumulatorPipeline<kS.accumulators, 4, kS.group>;
  using Launches = pipeline::ClcPipeline<2, kConsumerWarps, kCluster.size()>;

  static constexpr u32 kLoads = kS.stages * kStageBytes, kAccumulators = kLoads + Loads::kBytes;
  static constexpr u32 kLaunches = kAccumulators + Accumulators::kBytes,
                       kAnswers = (kLaunches + Launches::kBytes + 15) / 16 * 16;
  static constexpr u32 kAddress = kAnswers + Launches::kAnswersBytes;
  static constexpr u32 kSharedBytes = kAddress + 16;
  WW_HOST_DEVICE static constexpr u32 tensor_columns() {
    u32 columns = 32;
    while (columns < static_cast<u32>(kS.accumulators.all())) columns *= 2;
    return columns;
  }

  /// Visits the tiles of this CTA: work(row, column) with the first row and column of its tile. All lanes call it.
  template <class Work> WW_DEVICE static void for_each_tile(const Params& p, const Work& work) {
    const arch::SharedAddress shared = arch::dynamic_shared();
    const u32 warp = arch::warp_index();
    const bool schedules = warp == 2, fetches = schedules && arch::cluster_rank() == 0;
    Launches fetch(shared + kLaunches, shared + kAnswers, Role::producer);
    Launches next(shared + kLaunches, shared + kAnswers, Role::consumer);
    const int rank = static_cast<int>(arch::cluster_rank());
    const pipeline::ClusterCoord at = pipeline::coord_of(kCluster, rank);
    u32 cluster = arch::block_index() / kCluster.size();
    const u32 all = static_cast<u32>(p.clusters_m * p.clusters_n), step = arch::grid_size() / kCluster.size();
    while (cluster < all) {
      const int cluster_m = static_cast<int>(cluster) % p.clusters_m,
                cluster_n = static_cast<int>(cluster) / p.clusters_m;
      if (kS.clc && fetches) fetch.producer_fetch();
      work((cluster_m * kCluster.m + at.x) * kM, (cluster_n * kCluster.n + at.y) * kN);
      if constexpr (kS.clc) {
        if (schedules && arch::lane_index() == 0) next.consumer_announce();
        arch::warp::sync();
        const pipeline::ClcWork more = next.consumer_next();
        if (!more.valid) return;
        cluster = more.first.x / kCluster.size();
      } else {
        cluster += step;
      }
    }
  }

  /// Loads this CTA's slices of A and B for all CTAs that share them.
  WW_DEVICE static void load(const Params& p, arch::SharedAddress stage, arch::MBarrier full, int row, int column,
                             int k) {
    const int rank = static_cast<int>(arch::cluster_rank());
    const pipeline::ClusterCoord at = pipeline::coord_of(kCluster, rank);
    constexpr int kARows = kM / kCluster.n, kBRows = kN / kCluster.m;
    const int slice_a = at.y * kARows, slice_b = at.x / kCtas * kBRows;
    const int from_b = column + at.x % kCtas * (kN / kCtas) + slice_b;
    const arch::SharedAddress a = stage + static_cast<u32>(slice_a * 128);
    const arch::SharedAddress b = stage + kABytes + static_cast<u32>(slice_b * 128);
    const u16 mask_a = pipeline::mask_of_a(kCluster, rank), mask_b = pipeline::mask_of_b(kCluster, kS.group, rank);
    constexpr bool kLoadsB = !kS.stores_b;
    if constexpr (kCluster.size() == 1) {
      arch::tma::load_2d(p.a, full, a, k, row + slice_a);
      if (kLoadsB) arch::tma::load_2d(p.b, full, b, k, from_b);
    } else if constexpr (kS.group == CtaGroup::one) {
      arch::tma::load_multicast_2d(p.a, full, a, mask_a, k, row + slice_a);
      if (kLoadsB) arch::tma::load_multicast_2d(p.b, full, b, mask_b, k, from_b);
    } else {
      arch::tma::load_pair_multicast_2d(p.a, full, a, mask_a, k, row + slice_a);
      if (kLoadsB) arch::tma::load_pair_multicast_2d(p.b, full, b, mask_b, k, from_b);
    }
  }

  WW_DEVICE static void produce(const Params& p) {
    const arch::SharedAddress shared = arch::dynamic_shared();
    const bool elected = arch::warp::elect();
    Loads loads(shared + kLoads, Role::producer);
    for_each_tile(p, [&](int row, int column) {
      if (elected)
        for (int k = 0; k < p.k; k += kK) {
          const pipeline::Stage stage = loads.producer_acquire(kS.stores_b ? kABytes : kStageBytes);
          load(p, shared + stage.index * kStageBytes, stage.full, row, column, k);
        }
      arch::warp::sync();
    });
    if (elected) loads.producer_tail();
    arch::warp::sync();
  }

  /// Stores this CTA's rows of B by ordinary stores, swizzled as the MMA reads them.
  WW_DEVICE static void store_b(const Params& p) {
    const arch::SharedAddress shared = arch::dynamic_shared();
    const int half = static_cast<int>(arch::cluster_rank()) % kCtas * (kN / kCtas);
    Loads loads(shared + kLoads, Role::producer);
    for_each_tile(p, [&](int, int column) {
      for (int k = 0; k < p.k; k += kK) {
        const pipeline::Stage stage = loads.storer_acquire();
        for (u32 i = arch::lane_index(); i < kBBytes / 16; i += 32) {
          const u32 row = i / 8, chunk = i % 8;
          const u16* from =
              p.b_values + (column + half + static_cast<int>(row)) * static_cast<i64>(p.k) + k + 8 * chunk;
          const arch::Words<2> low = arch::global::load2(from), high = arch::global::load2(from + 4);
          arch::shared::store4(shared + stage.index * kStageBytes + kABytes + row * 128 + (chunk ^ row % 8) * 16,
                               {{low.w[0], low.w[1], high.w[0], high.w[1]}});
        }
        loads.storer_commit(stage);
      }
    });
  }

  WW_DEVICE static void multiply(const Params& p, arch::TensorAddress tensor) {
    const arch::SharedAddress shared = arch::dynamic_shared();
    const int rank = static_cast<int>(arch::cluster_rank());
    const bool leads = arch::warp::elect() && pipeline::leader_of(kS.group, rank) == rank;
    constexpr arch::InstructionDescriptor kInstruction = arch::sm100::encode(
        {arch::MmaKind::f16, arch::MmaFormat::bf16, arch::MmaFormat::bf16, arch::MmaResult::f32, kM * kCtas, kN});
    Loads loads(shared + kLoads, Role::consumer);
    Accumulators accumulators(shared + kAccumulators, Role::producer);
    for_each_tile(p, [&](int, int) {
      if (leads) {
        const pipeline::AccumulatorStage d = accumulators.producer_acquire();
        for (int k = 0; k < p.k; k += kK) {
          const pipeline::Stage stage = loads.consumer_wait();
          const arch::SharedAddress a = shared + stage.index * kStageBytes;
          const auto of_a = arch::sm100::make_descriptor(a, arch::sm100::MatrixSwizzle::b128, 16, 1024);
          const auto of_b = arch::sm100::make_descriptor(a + kABytes, arch::sm100::MatrixSwizzle::b128, 16, 1024);
          for (u32 step = 0; step < 4; ++step)
            arch::umma::mma<arch::MmaKind::f16, kS.group>(tensor + d.first_column, of_a + 32 * step, of_b + 32 * step,
                                                          kInstruction, k > 0 || step > 0);
          loads.consumer_release(stage);
        }
        accumulators.producer_commit(d);
      }
      arch::warp::sync();
    });
    if (leads) accumulators.producer_tail();
    arch::warp::sync();
  }

  WW_DEVICE static void store(const Params& p, arch::TensorAddress tensor) {
    using L = atom::TensorRows<kPiece>;
    using F = atom::Fragment<L>;
    Accumulators accumulators(arch::dynamic_shared() + kAccumulators, Role::consumer);
    for_each_tile(p, [&](int row, int column) {
      const pipeline::AccumulatorStage d = accumulators.consumer_wait();
      for (int i = 0; i < kN / kPiece; ++i) {
        const int piece = kS.accumulators.piece(d.index, i, kPiece);
        atom::TensorRegistersOf<L> registers;
        atom::load<L>(registers, tensor + d.first_column, piece);
        arch::tensor::wait_load(registers);
        if (i + 1 == kS.accumulators.pieces_to_release(kPiece)) accumulators.consumer_release(d);
        const F fragment = atom::fragment_of<L>(registers);
        const int thread = static_cast<int>(arch::thread_index() % 128);
        float* const to = p.d + static_cast<i64>(row) * p.n + column + piece * kPiece;
        for (int v = 0; v < F::kValues; ++v)
          arch::global::store(to + static_cast<i64>(F::row(thread, v)) * p.n + F::column(thread, v),
                              arch::bits_of(fragment[v]));
      }
    });
  }

  WW_DEVICE static void run(const Params& p) {
    const arch::SharedAddress shared = arch::dynamic_shared();
    const u32 warp = arch::warp_index();
    if (arch::thread_index() == 0) {
      Loads::initialize(shared + kLoads);
      Accumulators::initialize(shared + kAccumulators);
      Launches::initialize(shared + kLaunches);
      arch::fence::mbarrier_init();
    }
    // A pair allocates together, so that both CTAs must run.
    if constexpr (kCluster.size() > 1) arch::cluster::sync();
    else arch::named_barrier::sync_cta();
    if (warp == 3) {
      arch::tensor::alloc<kS.group>(shared + kAddress, tensor_columns());
      arch::tensor::relinquish<kS.group>();
      arch::umma::fence_before();
    }
    arch::named_barrier::sync_cta();
    arch::umma::fence_after();
    const arch::TensorAddress tensor{arch::shared::load(shared + kAddress)};
    if (warp == 0) produce(p);
    else if (warp == 1) multiply(p, tensor);
    else if (warp == 2) for_each_tile(p, [](int, int) {});
    else if (warp == 3 && kS.stores_b) store_b(p);
    else if (warp >= 4) store(p, tensor);
    arch::umma::fence_before();
    if constexpr (kCluster.size() > 1) arch::cluster::sync();
    else arch::named_barrier::sync_cta();
    arch::umma::fence_after();
    if (warp == 3) arch::tensor::dealloc<kS.group>(tensor, tensor_columns());
  }
};

}  // namespace ww::pipeline_test
