// SPDX-License-Identifier: Apache-2.0
// What all product kernels do alike: set-up, roles, and exit. A kernel is a tile source, a mainloop and an epilogue;
// `Kernel` names them and adds what is its own:
//   Params, Source (scheduler/tile_source.hpp), kRegisters, kBarriers
//   Mainloop: Pipeline, kCluster, kScaleWarps; where its consumers do not multiply, Multiplier (mainloop/sm100)
//   initialize(params, shared)    one thread: every barrier of the CTA, and prefetches of tensor maps
//   Loader                        the producer's state; load(params, shared, pipeline, source, tile) fills the stages
//   load_scales(params, shared, pipeline, source, tile, warp)     a warp of the scale loaders
//   consume(params, shared, source, consumer_warpgroup)           a consumer warpgroup, all of its tiles
//   begin(params, shared, source)  optional: in place of set_up()
//   kPeersReachRingAlone           optional: whether peers access no shared memory of a CTA but its operand ring
// A kernel derives from its skeleton: run() is the kernel. The compiler inlines from the innermost function outwards
// and copies a whole body at every level, which is a good part of NVRTC's time. So the outermost functions are few.
// Roles of warpgroup 0: a thread of warp 0 loads operands, warps 1 and 2 load block scales, warp 3 serves the source.
// Where one thread multiplies for the CTA, it is in warp 1, and warp 2 loads scales. They have one order of tiles, so
// that nothing but the rings and the source's own connects them.
#pragma once

#include "warpwright/arch/common/pdl.hpp"
#include "warpwright/arch/common/registers.hpp"
#include "warpwright/arch/common/role.hpp"
#include "warpwright/pipeline/tma_pipeline.hpp"
#include "warpwright/scheduler/tile_source.hpp"

namespace ww::kernel {

/// The thread that multiplies for its CTA; void where consumer warpgroups do.
template <class Mainloop> struct MultiplierOf { using type = void; };
template <class Mainloop>
requires requires { typename Mainloop::Multiplier; }
struct MultiplierOf<Mainloop> {
  using type = typename Mainloop::Multiplier;
};

template <class Kernel> struct Skeleton {
  static constexpr u32 kMultiplierWarp = 1;

  /// A kernel of one producer warpgroup and consumer warpgroups.
  template <class Params> WW_DEVICE static void run(const Params& params) {
    using Source = typename Kernel::Source;
    static_assert(scheduler::TileSource<Source>);
    constexpr auto kRegisters = Kernel::kRegisters;
    const arch::SharedAddress shared = arch::dynamic_shared();
    Source source(params, shared);
    if constexpr (requires { Kernel::begin(params, shared, source); }) Kernel::begin(params, shared, source);
    else set_up(params, shared, source);
    const u32 warpgroup = arch::warp::uniform(arch::warpgroup_index());
    source.prepare();
    if (warpgroup == 0) {
      produce(params, shared, source);
    } else {
      if constexpr (kRegisters.consumer > 0) arch::warpgroup::claim_registers<kRegisters.consumer>();
      const int consumer_warpgroup = static_cast<int>(warpgroup) - 1;
      arch::role("consumer", consumer_warpgroup);
      Kernel::consume(params, shared, source, consumer_warpgroup);
    }
    leave(shared);
  }

 protected:
  /// Initialises barriers, shows them to the cluster and waits for the preceding launch. All threads call it.
  template <class Params, class Source>
  WW_DEVICE static void set_up(const Params& params, arch::SharedAddress shared, Source& source) {
    if (arch::thread_index() == 0) Kernel::initialize(params, shared);
    // Behind begin() the CTA's barrier waits for the preceding launch too, and the next one is let in before that.
    if constexpr (Source::kLoadsEarly) arch::pdl::launch_dependents();
    source.begin();
    pipeline::make_barriers_visible<Kernel::Mainloop::kCluster>();
    if constexpr (has_multiplier()) Kernel::Mainloop::allocate(shared, kMultiplierWarp);
    if constexpr (!Source::kLoadsEarly) arch::pdl::launch_dependents();
    arch::pdl::wait();  // global memory is left alone before this line, or the same in begin()
  }

  /// The end of a kernel. All threads call it, in whole warps. Peers may still access this CTA's shared memory, unless
  /// they reach no more of it than the operand ring, whose producer has waited for them (producer_tail()). The barrier
  /// of the cluster would cost such a launch 0.3 to 0.5 us.
  WW_DEVICE static void leave(arch::SharedAddress shared) {
    if constexpr (has_multiplier()) Kernel::Mainloop::free(shared, kMultiplierWarp);
    else if constexpr (Kernel::Mainloop::kCluster.size() > 1 && !peers_reach_ring_alone()) arch::cluster::sync();
  }

 private:
  // Not with scale warps and rounds that are not unrolled, whose launches of few rows became up to 9 % slower.
  WW_HOST_DEVICE static constexpr bool knows_warps() {
    return !has_multiplier() && (Kernel::Mainloop::kScaleWarps == 0 || Kernel::Mainloop::Pipeline::kUnrolls);
  }
  // A function, because Kernel is complete only when it is called.
  WW_HOST_DEVICE static constexpr bool has_multiplier() {
    return !is_same_v<typename MultiplierOf<typename Kernel::Mainloop>::type, void>;
  }
  template <class Params, class Source>
  WW_DEVICE static void produce(const Params& params, arch::SharedAddress shared, const Source& source) {
    if constexpr (Kernel::kRegisters.producer > 0) arch::warpgroup::release_registers<Kernel::kRegisters.producer>();
    const u32 warp = role_warp();
    if (may_load(warp)) {
      if (!knows_warps() || arch::warp::elect()) load(params, shared, source);
    } else if (has_multiplier() && warp == kMultiplierWarp) {
      multiply(shared, source);
    } else if (warp >= first_scale_warp() && warp < first_scale_warp() + Kernel::Mainloop::kScaleWarps) {
      load_scales(params, shared, source, warp - first_scale_warp());
    } else if (warp == scheduler::kServiceWarp) {
      if constexpr (Source::kServes) source.serve();
    }
    arch::warp::sync();  // a cluster barrier that follows is .aligned
    if constexpr (requires { Kernel::finish_production(); }) Kernel::finish_production();
  }

  template <class Params, class Source>
  WW_DEVICE static void load(const Params& params, arch::SharedAddress shared, const Source& source) {
    arch::role("producer");
    typename Kernel::Mainloop::Pipeline pipeline(shared + Kernel::kBarriers, pipeline::Role::producer);
    typename Source::Walk walk(source, scheduler::Reader::thread);
    typename Kernel::Loader loader;
    for (typename Source::Tile tile; walk.next(tile);) {
      arch::note_work(source.k_blocks_of(tile), source.is_part(tile));
      loader.load(params, shared, pipeline, source, tile);
    }
    pipeline.producer_tail();
  }

  /// Returns whether this thread loads operands or, where the compiler knows warps, whether its warp does. One thread
  /// of that warp is then elected in a branch of its own. Otherwise the alternatives would be compiled for diverged
  /// warps.
  // ptxas wraps TMA loads of a thread that is not elected in a loop over the lanes.
  WW_DEVICE static bool may_load(u32 warp) {
    if constexpr (knows_warps()) return warp == 0;
    else if constexpr (has_multiplier()) return warp == 0 && arch::warp::elect();
    else return arch::thread_index() == 0;
  }
  /// Returns the index of this warp. Where knows_warps(), the compiler knows that it is uniform: loops over K are then
  /// free of the instructions for diverged warps.
  WW_DEVICE static u32 role_warp() {
    if constexpr (knows_warps()) return arch::warp::uniform(arch::warp_index());
    else return arch::warp_index();
  }
  WW_HOST_DEVICE static constexpr bool peers_reach_ring_alone() {
    if constexpr (requires { Kernel::kPeersReachRingAlone; }) return Kernel::kPeersReachRingAlone;
    else return false;
  }
  WW_HOST_DEVICE static constexpr u32 first_scale_warp() { return has_multiplier() ? kMultiplierWarp + 1 : 1; }

  template <class Source> WW_DEVICE static void multiply(arch::SharedAddress shared, const Source& source) {
    if constexpr (has_multiplier()) {
      if (!arch::warp::elect()) return;
      arch::role("multiplier");
      typename Kernel::Mainloop::Multiplier multiplier(shared);
      typename Source::Walk walk(source, scheduler::Reader::silent_thread);
      for (typename Source::Tile tile; walk.next(tile);)
        if (source.k_blocks_of(tile) > 0) multiplier.multiply(source, tile);
      multiplier.finish();
    }
  }

  template <class Params, class Source>
  WW_DEVICE static void load_scales(const Params& params, arch::SharedAddress shared, const Source& source, u32 warp) {
    if constexpr (Kernel::Mainloop::kScaleWarps > 0) {
      arch::role("scale loader", static_cast<int>(warp));
      typename Kernel::Mainloop::ScalePipeline pipeline(shared + Kernel::kBarriers, pipeline::Role::producer);
      typename Source::Walk walk(source, scheduler::Reader::warp);
      for (typename Source::Tile tile; walk.next(tile);)
        Kernel::load_scales(params, shared, pipeline, source, tile, warp);
    }
  }
};

}  // namespace ww::kernel
