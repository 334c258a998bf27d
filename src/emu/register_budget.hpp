// SPDX-License-Identifier: Apache-2.0
// setmaxnreg: a CTA is launched with the same number of registers for each thread and can only redistribute them. A
// decrease puts registers into the CTA's pool; an increase waits until the pool has them.
// The counts of a machine are in core/machine.hpp.
#pragma once

#include "emu/cta.hpp"

namespace ww::emu {

RegisterPool make_register_pool(u32 threads);
void set_max_registers(Thread& thread, u32 count, bool increase, arch::Site site);

}  // namespace ww::emu
