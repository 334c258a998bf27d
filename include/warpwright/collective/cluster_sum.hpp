// SPDX-License-Identifier: Apache-2.0
// Split-K inside a cluster: the CTAs along K hand their accumulators to the first of them, which adds them in order.
//   peer:   accumulators -> (DSMEM) -> its slot in the first CTA's shared memory
//   first:  acc = ((acc + peer 1) + peer 2) + ...     one FP32 rounding each
// Warp w takes from warps w alone: both hold the same elements, so that nothing is said about where an element is.
#pragma once

#include "warpwright/arch/math.hpp"
#include "warpwright/arch/shared.hpp"
#include "warpwright/arch/wgmma.hpp"
#include "warpwright/collective/builder.hpp"
#include "warpwright/pipeline/exchange_pipeline.hpp"

namespace ww::collective {

template <GemmConfig kConfig> class ClusterSum {
  static constexpr SharedPlan kShared = shared_plan(kConfig);
  static constexpr pipeline::ClusterShape kCluster = cluster_of(kConfig);
  static constexpr int kUnits = units_of(kConfig);
  static constexpr int kWarps = 4 * kConfig.math_warpgroups;
  using Accumulator = arch::Accumulator<kConfig.tile_n>;
  static constexpr int kValues = kUnits * Accumulator::kValues;
  static constexpr int kRounds = sum_rounds(kConfig);
  static constexpr int kEach = kValues / kRounds;  // values of a thread in one round
  static constexpr u32 kWarpBytes = kEach * 4 * arch::kWarpSize;
  static constexpr u32 kSlotBytes = kWarps * kWarpBytes;  // of a peer
  static_assert(kEach % 4 == 0 && static_cast<int>(kSlotBytes) == slot_bytes(kConfig));
  using Exchange = pipeline::ExchangePipeline<kCluster.k - 1, kWarps>;

 public:
  WW_DEVICE ClusterSum(arch::SharedAddress base, int math_warpgroup)
      : self_(pipeline::coord_of(kCluster, static_cast<int>(arch::cluster_rank()))),
        first_(arch::cluster_rank() - static_cast<u32>(self_.z * kCluster.plane())),
        exchange_(base + kShared.sum_barriers, warp_of(math_warpgroup),
                  self_.z == 0 ? pipeline::Role::consumer : pipeline::Role::producer),
        slot_(base + (static_cast<u32>(kShared.sums) + static_cast<u32>(warp_of(math_warpgroup)) * kWarpBytes +
                      arch::lane_index() * 16)) {}

  /// By one thread of each CTA, before make_barriers_visible.
  WW_DEVICE static void initialize(arch::SharedAddress base) { Exchange::initialize(base + kShared.sum_barriers); }

  /// A math warp of a peer. Not `has_part`: K was too short for it, acc holds nothing.
  WW_DEVICE void give(Accumulator (&acc)[kUnits], bool has_part) {
    const arch::SharedAddress to =
        arch::cluster::map(slot_ + static_cast<u32>(self_.z - 1) * kSlotBytes, first_);  // [kEach / 4][32 lanes][4]
    WW_UNROLL
    for (int round = 0; round < kRounds; ++round) {
      const arch::MBarrier full = exchange_.acquire(first_);
      if (has_part) {
        WW_UNROLL
        for (int v = 0; v < kEach; v += 4) {
          const int i = round * kEach + v;
          arch::cluster::store_async4(to + static_cast<u32>(v) * (4 * arch::kWarpSize),
                                      {{bits(acc, i), bits(acc, i + 1), bits(acc, i + 2), bits(acc, i + 3)}}, full);
        }
      }
      exchange_.commit(first_);
    }
  }

  /// A math warp of the first: `sources` CTAs along K, this one among them, have a part.
  WW_DEVICE void take(Accumulator (&acc)[kUnits], int sources) {
    WW_UNROLL
    for (int round = 0; round < kRounds; ++round) {
      exchange_.wait(static_cast<u32>(sources - 1) * kWarpBytes);
      WW_NO_UNROLL
      for (int peer = 1; peer < sources; ++peer) {
        const arch::SharedAddress from = slot_ + static_cast<u32>(peer - 1) * kSlotBytes;
        WW_UNROLL
        for (int v = 0; v < kEach; v += 4) {
          const arch::Words<4> part = arch::shared::load4(from + static_cast<u32>(v) * (4 * arch::kWarpSize));
          WW_UNROLL
          for (int w = 0; w < 4; ++w) {
            const int i = round * kEach + v + w;
            float& sum = acc[i / Accumulator::kValues][i % Accumulator::kValues];
            sum = arch::add(sum, arch::float_of(part.w[w]));
          }
        }
      }
      exchange_.release(first_, static_cast<u32>(kCluster.plane()));
    }
  }

 private:
  WW_DEVICE static int warp_of(int math_warpgroup) {
    return 4 * math_warpgroup + static_cast<int>(arch::warp_index() % 4);
  }
  WW_DEVICE static u32 bits(const Accumulator (&acc)[kUnits], int i) {
    return arch::bits_of(acc[i / Accumulator::kValues][i % Accumulator::kValues]);
  }

  pipeline::ClusterCoord self_;
  u32 first_;  // rank of the CTA that sums
  Exchange exchange_;
  arch::SharedAddress slot_;  // of peer 1, this lane's first 16 bytes; the same offset in every CTA
};

}  // namespace ww::collective
