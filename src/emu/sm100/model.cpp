// SPDX-License-Identifier: Apache-2.0
// Blackwell's limits and the texts of its rules.
#include "emu/sm100/model.hpp"

#include "emu/machine.hpp"
#include "emu/sm100/engine.hpp"

namespace ww::emu::sm100 {
namespace {

constexpr AccessText kAccessTexts[] = {
    {kReadOfA, "tcgen05.mma (read of operand A)"},
    {kReadOfB, "tcgen05.mma (read of operand B)"},
    {kReadOfCopy, "tcgen05.cp (read of shared memory)"},
};

constexpr RuleText kRuleTexts[] = {
    {kTensorMemory, "tensor-memory",
     "allocate before the first use and free after the last one, within what the warp and the CTA may access"},
    {kTensorFence, "tensor-fence",
     "call umma::fence_before() after the wait and before the arrival, and umma::fence_after() after the wait for it"},
    {Rule::accumulator_in_flight, "accumulator-in-flight",
     "touch the registers of tcgen05.ld only after the tcgen05.wait::ld behind it"},
    {Rule::stage_reuse, "stage-reuse",
     "wait until every MMA that reads the bytes is complete, in every CTA that the copy writes: by a tcgen05.commit to "
     "the barrier that the issuer waits for"},
    {Rule::exited_cta, "exited-cta",
     "wait for the last commit before the CTA exits, and keep it alive until its peers are done with its memory: by a "
     "cluster barrier"},
};

constexpr const InstructionSet* kSets[] = {&kInstructions};

std::unique_ptr<Engine> make_engine(Cta& cta) { return std::make_unique<TensorEngine>(cta); }

void add_stats(const Counters& counters, EmuStats& stats) {
  stats.ummas = counters.mmas;
  stats.umma_copies = counters.mma_copies;
  stats.loads_under_umma = counters.results_under_mma;
  stats.umma_shared_bytes.assign(counters.mma_shared_bytes.begin(), counters.mma_shared_bytes.end());
}

}  // namespace

// Constant, because a static object of another file may open a device before this file is initialised.
constinit const MachineModel kModel{
    .traits = Sm100(),
    .arch = Arch::sm100,
    .instructions = kSets,
    .cta_engine = make_engine,
    .clusters_of_a_run = 8,
    .rules = kRuleTexts,
    .accesses = kAccessTexts,
    .add_stats = add_stats,
};

}  // namespace ww::emu::sm100
