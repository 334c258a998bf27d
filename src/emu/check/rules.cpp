// SPDX-License-Identifier: Apache-2.0
// Names of rules, and their advice.
#include "emu/check/rules.hpp"

namespace ww {

const char* rule_name(Rule rule) {
  switch (rule) {
    case Rule::data_race: return "data-race";
    case Rule::proxy_fence: return "proxy-fence";
    case Rule::scope: return "scope";
    case Rule::stage_reuse: return "stage-reuse";
    case Rule::accumulator_in_flight: return "accumulator-in-flight";
    case Rule::transaction_count: return "transaction-count";
    case Rule::arrival_underflow: return "arrival-underflow";
    case Rule::phase_misuse: return "phase-misuse";
    case Rule::exited_cta: return "exited-cta";
    case Rule::unfinished_store: return "unfinished-store";
    case Rule::stale_descriptor: return "stale-descriptor";
    case Rule::early_access: return "early-access";
    case Rule::divergent_call: return "divergent-call";
    case Rule::register_budget: return "register-budget";
    case Rule::named_barrier_count: return "named-barrier-count";
    case Rule::out_of_bounds: return "out-of-bounds";
    case Rule::misaligned: return "misaligned";
    case Rule::uninitialised_read: return "uninitialised-read";
    case Rule::deadlock: return "deadlock";
    case Rule::livelock: return "livelock";
    case Rule::invalid_operation: return "invalid-operation";
    case Rule::unsupported: return "unsupported";
  }
  return "unknown";
}

namespace emu {

const char* advice_for(Rule rule) {
  switch (rule) {
    case Rule::data_race:
      return "order the two accesses: a barrier, an mbarrier arrive and wait, or a syncwarp before one lane arrives "
             "for "
             "its warp";
    case Rule::proxy_fence:
      return "call fence::proxy_async_shared() in every thread that wrote, after its writes and before the barrier "
             "that "
             "precedes the asynchronous access";
    case Rule::scope: return "use a release and an acquire whose scope holds both parties";
    case Rule::stage_reuse:
      return "wait until every reader of the bytes, in every CTA that the copy writes, has finished (wgmma wait) and "
             "arrived on the barrier that the issuer waits for";
    case Rule::accumulator_in_flight:
      return "touch accumulators only before the first wgmma that names them and after the wait that names them";
    case Rule::transaction_count:
      return "expect exactly the bytes of the boxes that will signal this barrier in this phase, multicast slices of "
             "peers included; parts outside the tensor count too";
    case Rule::arrival_underflow: return "initialise the barrier with as many arrivals as a phase receives";
    case Rule::phase_misuse:
      return "wait for each phase once, in order, with parity 0, 1, 0, ...; initialise a barrier once, by one thread";
    case Rule::exited_cta:
      return "keep the CTA alive until its peers are done with its shared memory: a cluster barrier or a producer tail "
             "before exit";
    case Rule::unfinished_store:
      return "commit the store in the thread that issued it, and wait there with wait_read before the source is "
             "written "
             "again and before exit";
    case Rule::stale_descriptor:
      return "change a tensor map in global memory by tensor_map::release, after all that was issued with it is done; "
             "order that before tensor_map::acquire in every CTA that uses the map, in this launch, and that before "
             "the TMA";
    case Rule::early_access:
      return "call pdl::wait before the first access to global memory, in the thread itself or in one with which it "
             "synchronises before the access; without the launch attribute no wait is needed";
    case Rule::divergent_call: return "make the same calls in the same order in all threads of the warp or warpgroup";
    case Rule::register_budget:
      return "release registers before claiming them, within those that the launch gave the CTA";
    case Rule::named_barrier_count:
      return "all threads that synchronise at a named barrier must name the same number of threads";
    case Rule::out_of_bounds: return "stay inside the shared memory of the launch and its operands";
    case Rule::misaligned:
      return "align the address to the size of the access, boxes and innermost coordinates to what TMA needs";
    case Rule::uninitialised_read: return "write the bytes before they are read";
    case Rule::deadlock:
      return "compare arrivals, bytes and parity of the barriers named above with the operations of the roles";
    case Rule::livelock:
      return "no value that these threads poll can change any more; wait with wait_global, and publish with a "
             "release";
    case Rule::invalid_operation: return "see the instruction in the PTX ISA";
    case Rule::unsupported: return "the emulated device does not model this";
  }
  return "";
}

}  // namespace emu
}  // namespace ww
