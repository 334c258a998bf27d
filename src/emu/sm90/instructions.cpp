// SPDX-License-Identifier: Apache-2.0
// Binds wgmma, as modules call it, to the engine of the calling thread's warpgroup.
#include "emu/aligned.hpp"
#include "emu/caller.hpp"
#include "emu/sm90/model.hpp"
#include "emu/sm90/warpgroup_engine.hpp"

namespace ww::emu::sm90 {
namespace {

using arch::Site;

[[gnu::noinline, gnu::cold]] void refuse(Thread& thread, Site site) {
  const bool machine_has = thread.machine->context().model.warpgroup_engine == make_warpgroup_engine;
  thread.machine->fail({&thread, site}, machine_has ? "wgmma by a warp that belongs to no whole warpgroup"
                                                    : "wgmma on a machine that does not have it");
}

inline WarpgroupEngine& engine_of(Thread& thread, Site site) {
  Engine* const engine = thread.warpgroup;
  if (!engine || engine->kind != &WarpgroupEngine::kKind) [[unlikely]]
    refuse(thread, site);
  return static_cast<WarpgroupEngine&>(*engine);
}

constexpr arch::Sm90Instructions kOperations = {
    .fence =
        [](Site s) {
          Thread& thread = WW_LOOKER;
          aligned_call(thread, "wgmma.fence.sync.aligned", s);
          if (thread.warpgroup && thread.warpgroup->kind == &WarpgroupEngine::kKind)
            static_cast<WarpgroupEngine&>(*thread.warpgroup).fence(thread);
        },
    .wgmma =
        [](const arch::WgmmaShape& shape, u64 a, u64 b, bool accumulate, const u32* registers_a, float* registers,
           arch::WgmmaSteps steps, Site s) {
          WarpgroupEngine& engine = engine_of(*current_thread, s);
          Thread& thread = WW_CALLER;
          aligned_call(thread, "wgmma.mma_async.sync.aligned", s);
          arch::WgmmaCall call{shape, a, b, accumulate, registers_a};
          for (u32 left = steps.count; left != 0; --left) {
            engine.deposit(thread, call, registers, s);
            call.descriptor_a += steps.a;
            call.descriptor_b += steps.b;
            call.accumulate = true;
            if (call.registers_a) call.registers_a += 4;
          }
        },
    .commit =
        [](Site s) {
          Thread& thread = WW_CALLER;
          aligned_call(thread, "wgmma.commit_group.sync.aligned", s);
          engine_of(thread, s).commit(thread);
        },
    .wait =
        [](int pending, float* const* accumulators, int count, Site s) {
          Thread& thread = WW_CALLER;
          aligned_call(thread, "wgmma.wait_group.sync.aligned", s);
          engine_of(thread, s).wait(thread, pending, accumulators, count, s);
        },
    .hand_back = [](const u32* registers_a, int count,
                    Site s) { engine_of(*current_thread, s).hand_back(WW_CALLER, registers_a, count, s); },
};

}  // namespace

constexpr InstructionSet kInstructions{arch::kSm90Instructions, arch::kSm90InstructionsVersion, sizeof kOperations,
                                       &kOperations};

const arch::Sm90Instructions& instructions() { return kOperations; }

}  // namespace ww::emu::sm90
