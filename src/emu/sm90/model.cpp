// SPDX-License-Identifier: Apache-2.0
// Hopper's limits and the texts of its rules.
#include "emu/sm90/model.hpp"

#include "emu/machine.hpp"
#include "emu/sm90/warpgroup_engine.hpp"

namespace ww::emu::sm90 {
namespace {

constexpr AccessText kAccessTexts[] = {
    {kReadOfA, "wgmma (read of operand A)"},
    {kReadOfB, "wgmma (read of operand B)"},
};

constexpr RuleText kRuleTexts[] = {
    {Rule::accumulator_in_flight, "accumulator-in-flight",
     "touch accumulators only before the first wgmma that names them and after the wait that names them"},
    {Rule::stage_reuse, "stage-reuse",
     "wait until every reader of the bytes, in every CTA that the copy writes, has finished (wgmma wait) and arrived "
     "on the barrier that the issuer waits for"},
};

constexpr const InstructionSet* kSets[] = {&kInstructions};

}  // namespace

constexpr std::span<const AccessText> kAccesses = kAccessTexts;
constexpr std::span<const RuleText> kRules = kRuleTexts;

std::unique_ptr<Engine> make_warpgroup_engine(Cta& cta) { return std::make_unique<WarpgroupEngine>(cta); }

void add_stats(const Counters& counters, EmuStats& stats) {
  stats.wgmmas = counters.mmas;
  stats.stores_under_wgmma = counters.stores_under_mma;
  stats.results_under_wgmma = counters.results_under_mma;
}

// Constant, because a static object of another file may open a device before this file is initialised.
constinit const MachineModel kModel{
    .traits = Sm90(),
    .arch = Arch::sm90,
    .instructions = kSets,
    .warpgroup_engine = make_warpgroup_engine,
    .rules = kRuleTexts,
    .accesses = kAccessTexts,
    .add_stats = add_stats,
};

}  // namespace ww::emu::sm90
