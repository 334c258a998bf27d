// SPDX-License-Identifier: Apache-2.0
// setmaxnreg: a CTA is launched with the same number of registers for each thread and can only redistribute them. A
// decrease puts registers into the CTA's pool; an increase waits until the pool has them.
//   384 threads: 168 each, 64,512 in all; 40 + 2 x 232 fits, 32 + 2 x 240 waits for ever
#pragma once

#include "emu/cta.hpp"

namespace ww::emu {

/// Returns the registers of each thread at launch: the file of 65,536 divided evenly, in steps of 8, at most 256.
u32 registers_at_launch(u32 threads);
RegisterPool make_register_pool(u32 threads);
void set_max_registers(Thread& thread, u32 count, bool increase, arch::Site site);

}  // namespace ww::emu
