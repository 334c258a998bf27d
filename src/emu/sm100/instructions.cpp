// SPDX-License-Identifier: Apache-2.0
// Binds tcgen05, as modules call it, to the engine of the calling thread's CTA.
#include "emu/caller.hpp"
#include "emu/sm100/clc.hpp"
#include "emu/sm100/engine.hpp"
#include "emu/sm100/model.hpp"
#include "emu/tma_engine.hpp"

namespace ww::emu::sm100 {
namespace {

using arch::CtaGroup;
using arch::Site;

TensorAccess form_of(arch::TensorShape shape, u32 repetitions, bool packed, u32 split) {
  return {shape, static_cast<int>(min(repetitions, 256u)), packed, static_cast<int>(min(split, kColumns))};
}

constexpr arch::Sm100Instructions kOperations = {
    .alloc =
        [](CtaGroup group, u32 result, u32 columns, Site s) {
          Thread& thread = WW_CALLER;
          engine_of(thread, s).alloc(thread, group, result, columns, s);
        },
    .relinquish =
        [](CtaGroup group, Site s) {
          Thread& thread = WW_CALLER;
          engine_of(thread, s).relinquish(thread, group, s);
        },
    .dealloc =
        [](CtaGroup group, u32 address, u32 columns, Site s) {
          Thread& thread = WW_CALLER;
          engine_of(thread, s).dealloc(thread, group, address, columns, s);
        },
    .mma =
        [](const arch::UmmaCall& call, Site s) {
          Thread& thread = WW_CALLER;
          engine_of(thread, s).mma(thread, call, s);
        },
    .copy =
        [](CtaGroup group, arch::CopyShape shape, arch::CopyUnpack unpack, u32 address, u64 descriptor, Site s) {
          Thread& thread = WW_CALLER;
          engine_of(thread, s).copy(thread, group, shape, unpack, address, descriptor, s);
        },
    .commit =
        [](CtaGroup group, u32 barrier, u32 multicast, Site s) {
          Thread& thread = WW_CALLER;
          engine_of(thread, s).commit(thread, group, barrier, multicast, s);
        },
    .load =
        [](arch::TensorShape shape, u32 repetitions, bool packed, u32 split, u32 address, u32* registers, Site s) {
          Thread& thread = WW_CALLER;
          engine_of(thread, s).load(thread, form_of(shape, repetitions, packed, split), address, registers, s);
        },
    .store =
        [](arch::TensorShape shape, u32 repetitions, bool packed, u32 split, u32 address, const u32* registers,
           Site s) {
          Thread& thread = WW_CALLER;
          engine_of(thread, s).store(thread, form_of(shape, repetitions, packed, split), address, registers, s);
        },
    .wait_load =
        [](Site s) {
          Thread& thread = WW_CALLER;
          engine_of(thread, s).wait(thread, false, s);
        },
    .wait_store =
        [](Site s) {
          Thread& thread = WW_CALLER;
          engine_of(thread, s).wait(thread, true, s);
        },
    .fence =
        [](bool before, Site s) {
          Thread& thread = WW_LOOKER;
          engine_of(thread, s).fence(thread, before, s);
        },
    .load_pair =
        [](const void* map, int rank, u32 barrier, u32 destination, arch::TmaCoordinates at, u32 multicast, Site s) {
          tma_load(WW_CALLER, {map, rank, barrier, destination, at, multicast, true}, s);
        },
    .try_cancel = [](u32 answer, u32 barrier, bool multicast,
                     Site s) { try_cancel(WW_CALLER, answer, barrier, multicast, s); },
    .is_canceled = [](const u32* answer, Site s) { return is_canceled(WW_LOOKER, answer, s); },
    .first_cta = [](const u32* answer, u32* coordinates, Site s) { first_cta(WW_LOOKER, answer, coordinates, s); },
};

}  // namespace

constexpr InstructionSet kInstructions{arch::kSm100Instructions, arch::kSm100InstructionsVersion, sizeof kOperations,
                                       &kOperations};

const arch::Sm100Instructions& instructions() { return kOperations; }

}  // namespace ww::emu::sm100
