// SPDX-License-Identifier: Apache-2.0
// Names and advice of the rules that every machine has. A machine adds its own (MachineModel::rules), and its advice
// for a common rule comes before the one here.
#include "emu/machine_model.hpp"

namespace ww {
namespace {

constexpr emu::RuleText kCommon[] = {
    {Rule::data_race, "data-race",
     "order the two accesses: a barrier, an mbarrier arrive and wait, or a syncwarp before one lane arrives for its "
     "warp"},
    {Rule::proxy_fence, "proxy-fence",
     "call fence::proxy_async_shared() in every thread that wrote, after its writes and before the barrier that "
     "precedes the asynchronous access"},
    {Rule::scope, "scope", "use a release and an acquire whose scope holds both parties"},
    {Rule::stage_reuse, "stage-reuse",
     "wait until every reader of the bytes, in every CTA that the copy writes, has finished and arrived on the barrier "
     "that the issuer waits for"},
    {Rule::transaction_count, "transaction-count",
     "expect exactly the bytes of the boxes that will signal this barrier in this phase, multicast slices of peers "
     "included; parts outside the tensor count too"},
    {Rule::arrival_underflow, "arrival-underflow", "initialise the barrier with as many arrivals as a phase receives"},
    {Rule::phase_misuse, "phase-misuse",
     "wait for each phase once, in order, with parity 0, 1, 0, ...; initialise a barrier once, by one thread"},
    {Rule::exited_cta, "exited-cta",
     "keep the CTA alive until its peers are done with its shared memory: a cluster barrier or a producer tail before "
     "exit"},
    {Rule::unfinished_store, "unfinished-store",
     "commit the store in the thread that issued it, and wait there with wait_read before the source is written again "
     "and before exit"},
    {Rule::stale_descriptor, "stale-descriptor",
     "change a tensor map in global memory by tensor_map::release, after all that was issued with it is done; order "
     "that before tensor_map::acquire in every CTA that uses the map, in this launch, and that before the TMA"},
    {Rule::early_access, "early-access",
     "call pdl::wait before the first access to global memory, in the thread itself or in one with which it "
     "synchronises before the access; without the launch attribute no wait is needed"},
    {Rule::divergent_call, "divergent-call",
     "make the same calls in the same order in all threads of the warp or warpgroup"},
    {Rule::register_budget, "register-budget",
     "release registers before claiming them, within those that the launch gave the CTA"},
    {Rule::named_barrier_count, "named-barrier-count",
     "all threads that synchronise at a named barrier must name the same number of threads"},
    {Rule::out_of_bounds, "out-of-bounds", "stay inside the shared memory of the launch and its operands"},
    {Rule::misaligned, "misaligned",
     "align the address to the size of the access, boxes and innermost coordinates to what TMA needs"},
    {Rule::uninitialised_read, "uninitialised-read", "write the bytes before they are read"},
    {Rule::deadlock, "deadlock",
     "compare arrivals, bytes and parity of the barriers named above with the operations of the roles"},
    {Rule::livelock, "livelock",
     "no value that these threads poll can change any more; wait with wait_global, and publish with a release"},
    {Rule::wrong_value, "wrong-value",
     "compare the kernel's arithmetic with the problem, and what a launch leaves in its workspace with what it finds"},
    {Rule::invalid_operation, "invalid-operation", "see the instruction in the PTX ISA"},
    {Rule::unsupported, "unsupported", "the emulated device does not model this"},
};

const emu::RuleText* find(std::span<const emu::RuleText> rules, Rule rule) {
  for (const emu::RuleText& text : rules)
    if (text.rule == rule) return &text;
  return nullptr;
}

}  // namespace

const char* rule_name(Rule rule) {
  if (const emu::RuleText* common = find(kCommon, rule)) return common->name;
  for (const emu::MachineModel* model : emu::machines())
    if (const emu::RuleText* own = find(model->rules, rule)) return own->name;
  return "unknown";
}

namespace emu {

const char* advice_for(Rule rule, const MachineModel& model) {
  if (const RuleText* own = find(model.rules, rule)) return own->advice;
  const RuleText* common = find(kCommon, rule);
  return common ? common->advice : "";
}

}  // namespace emu
}  // namespace ww
