// SPDX-License-Identifier: Apache-2.0
// Split-K inside a cluster: the CTAs along K send their accumulators to the first of them, which adds them in order.
//   peer:   accumulators -> (DSMEM) -> its slot in the first CTA's shared memory
//   first:  acc = ((acc + peer 1) + peer 2) + ...     one FP32 rounding each
// Warp w reduces only with warps w of the peers: all hold the same elements, so that no element's position is sent.
// A tile may have any number of values, in as many rounds as they need.
#pragma once

#include "warpwright/arch/common/math.hpp"
#include "warpwright/arch/common/shared.hpp"
#include "warpwright/config/shared_memory.hpp"
#include "warpwright/pipeline/exchange_pipeline.hpp"

namespace ww::epilogue {

using namespace config;

template <SumPlan kPlan> class ClusterSum {
  static constexpr pipeline::ClusterShape kCluster = kPlan.cluster;
  static constexpr int kEach = kPlan.values;
  static constexpr u32 kWarpBytes = kEach * 4 * arch::kWarpSize;
  static constexpr u32 kSlotBytes = kPlan.warps * kWarpBytes;  // of a peer
  static_assert(kEach % 4 == 0 && static_cast<int>(kSlotBytes) == kPlan.slot());
  using Exchange = pipeline::ExchangePipeline<kCluster.k - 1, kPlan.warps>;

 public:
  WW_DEVICE ClusterSum(arch::SharedAddress base, int consumer_warpgroup)
      : self_(pipeline::coord_of(kCluster, static_cast<int>(arch::cluster_rank()))),
        first_(arch::cluster_rank() - static_cast<u32>(self_.z * kCluster.plane())),
        exchange_(base + kPlan.barriers, warp_of(consumer_warpgroup),
                  self_.z == 0 ? pipeline::Role::consumer : pipeline::Role::producer),
        slot_(base + (static_cast<u32>(kPlan.slots) + static_cast<u32>(warp_of(consumer_warpgroup)) * kWarpBytes +
                      arch::lane_index() * 16)) {}

  /// Initialises the barriers. One thread of each CTA calls it, before make_barriers_visible.
  WW_DEVICE static void initialize(arch::SharedAddress base) { Exchange::initialize(base + kPlan.barriers); }

  /// Sends the accumulators of a peer. Its consumer warps call it. Without `has_part`, K was too short for this peer
  /// and acc holds nothing.
  template <class Accumulator, int kMmaBlocks>
  WW_DEVICE void send_partial(const Accumulator (&acc)[kMmaBlocks], bool has_part) {
    constexpr int kValues = kMmaBlocks * Accumulator::kValues;
    const arch::SharedAddress to =
        arch::cluster::map(slot_ + static_cast<u32>(self_.z - 1) * kSlotBytes, first_);  // [kEach / 4][32 lanes][4]
    WW_UNROLL
    for (int round = 0; round < ceil_div(kValues, kEach); ++round) {
      const arch::MBarrier full = exchange_.acquire(first_);
      if (has_part) {
        WW_UNROLL
        for (int v = 0; v < kEach; v += 4) {
          const int i = round * kEach + v;
          if (i >= kValues) break;
          arch::cluster::store_async4(to + static_cast<u32>(v) * (4 * arch::kWarpSize),
                                      {{bits(acc, i), bits(acc, i + 1), bits(acc, i + 2), bits(acc, i + 3)}}, full);
        }
      }
      exchange_.commit(first_);
    }
  }

  /// Takes part in the rounds of a tile of kValues per thread without accumulators. Consumer warps of a peer without
  /// k-blocks call it.
  template <int kValues> WW_DEVICE void pass() {
    for (int round = 0; round < ceil_div(kValues, kEach); ++round) {
      exchange_.acquire(first_);
      exchange_.commit(first_);
    }
  }

  /// Adds the accumulators of `sources` CTAs along K, of which this is one. Consumer warps of the first CTA call it.
  template <class Accumulator, int kMmaBlocks> WW_DEVICE void reduce(Accumulator (&acc)[kMmaBlocks], int sources) {
    constexpr int kValues = kMmaBlocks * Accumulator::kValues;
    WW_UNROLL
    for (int round = 0; round < ceil_div(kValues, kEach); ++round) {
      const int values = min(kEach, kValues - round * kEach);
      exchange_.wait(static_cast<u32>((sources - 1) * values) * 4 * arch::kWarpSize);
      WW_NO_UNROLL
      for (int peer = 1; peer < sources; ++peer) {
        const arch::SharedAddress from = slot_ + static_cast<u32>(peer - 1) * kSlotBytes;
        WW_UNROLL
        for (int v = 0; v < kEach; v += 4) {
          if (round * kEach + v >= kValues) break;
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
  WW_DEVICE static int warp_of(int consumer_warpgroup) {
    return 4 * consumer_warpgroup + static_cast<int>(arch::warp_index() % 4);
  }
  template <class Accumulator, int kMmaBlocks> WW_DEVICE static u32 bits(const Accumulator (&acc)[kMmaBlocks], int i) {
    return arch::bits_of(acc[i / Accumulator::kValues][i % Accumulator::kValues]);
  }

  pipeline::ClusterCoord self_;
  u32 first_;  // rank of the CTA that sums
  Exchange exchange_;
  arch::SharedAddress slot_;  // of peer 1, this lane's first 16 bytes; the same offset in every CTA
};

}  // namespace ww::epilogue
