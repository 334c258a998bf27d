// SPDX-License-Identifier: Apache-2.0
// The register pool of a CTA.
#include "emu/register_budget.hpp"

#include <fmt/format.h>

#include "emu/aligned.hpp"

namespace ww::emu {
namespace {

/// Checks that all threads of a warpgroup request the same counts in the same order.
void check_uniform(Thread& thread, u32 count, bool increase, arch::Site site) {
  auto& changes = thread.cta->registers.changes[thread.index / kWarpgroupSize];
  const u32 turn = thread.register_changes++;
  if (turn == changes.size()) changes.push_back({count, increase, {&thread, site}});
  if (changes[turn].count != count || changes[turn].increase != increase)
    thread.machine->fail(
        {&thread, site},
        fmt::format("setmaxnreg {} diverges in its warpgroup: others asked for {}", count, changes[turn].count),
        Rule::divergent_call, {.origin = changes[turn].origin, .operation = "setmaxnreg"});
}

}  // namespace

RegisterPool make_register_pool(u32 threads) {
  RegisterPool pool;
  pool.changes.resize(ceil_div(threads, kWarpgroupSize));
  return pool;
}

void set_max_registers(Thread& thread, u32 count, bool increase, arch::Site site) {
  Machine& machine = *thread.machine;
  RegisterPool& pool = thread.cta->registers;
  const MachineTraits& traits = machine.context().model.traits;
  if (count > static_cast<u32>(traits.most_registers) || !traits.takes_registers(static_cast<int>(count)))
    machine.fail({&thread, site},
                 fmt::format("setmaxnreg {}: expected a multiple of {} from {} to {}", count, traits.register_step,
                             traits.fewest_registers, traits.most_registers),
                 Rule::register_budget);
  if (thread.index / kWarpgroupSize >= thread.cta->threads.size() / kWarpgroupSize)
    machine.fail({&thread, site}, "setmaxnreg by a warp that belongs to no whole warpgroup", Rule::register_budget);
  aligned_call(thread, "setmaxnreg.sync.aligned", site);
  check_uniform(thread, count, increase, site);
  if (increase ? count < thread.registers : count > thread.registers)
    machine.fail(
        {&thread, site},
        fmt::format("setmaxnreg.{} to {}, but the thread holds {}", increase ? "inc" : "dec", count, thread.registers),
        Rule::register_budget);
  machine.progress();
  if (!increase) {
    pool.free += thread.registers - count;
    machine.wake_all(pool.waiters);
  } else {
    const u32 more = count - thread.registers;
    while (pool.free < more) {
      pool.waiters.push(thread);
      machine.park(thread, Wait::registers, site, count, more);
    }
    pool.free -= more;
  }
  thread.registers = count;
}

}  // namespace ww::emu
