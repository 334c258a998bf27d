// SPDX-License-Identifier: Apache-2.0
// Programmatic dependent launch: overlaps this kernel's prologue with the tail of the preceding kernel.
// wait() returns when every kernel that this one depends on has finished and its memory is visible. Before it, nothing
// that an earlier kernel wrote may be read, and nothing that an earlier kernel reads or writes may be written. Without
// the launch attribute both functions are no-ops. PTX ISA: griddepcontrol.
#pragma once

#include "warpwright/arch/common/executor.hpp"

namespace ww::arch::pdl {

#if defined(__CUDACC__)
inline namespace ptx {
WW_DEVICE void wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
WW_DEVICE void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
}  // namespace ptx
#else
inline namespace emu {
WW_DEVICE void wait(WW_SITE_ONLY) { table->pdl_wait(site); }
WW_DEVICE void launch_dependents(WW_SITE_ONLY) { table->pdl_launch_dependents(site); }
}  // namespace emu
#endif

}  // namespace ww::arch::pdl
