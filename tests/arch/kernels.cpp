// SPDX-License-Identifier: Apache-2.0
// All test kernels, compiled for the emulator into the program itself: no module, no compiler, no cache.
#include "kernels/arithmetic.hpp"
#include "kernels/control.hpp"
#include "kernels/matrix.hpp"
#include "kernels/mbarrier.hpp"
#include "kernels/memory.hpp"
#include "kernels/scan.hpp"
#include "kernels/sm100_cluster.hpp"
#include "kernels/sm100_memory.hpp"
#include "kernels/sm100_mma.hpp"
#include "kernels/strong.hpp"
#include "kernels/tensor_map.hpp"
#include "kernels/tma.hpp"
#include "kernels/warp.hpp"
#include "kernels/wgmma.hpp"
#include "kernels/wgmma_registers.hpp"
#include "kernels/wgmma_types.hpp"
#include "kernels/wgmma_widths.hpp"

#include "case.hpp"
#include "emu/emulator.hpp"

namespace ww::arch_test {

const arch::KernelEntry* find_kernel(std::string_view name) {
  arch::install(*emu::table());
  for (const arch::KernelEntry* entry = arch::registered; entry; entry = entry->next)
    if (name == entry->name) return entry;
  return nullptr;
}

}  // namespace ww::arch_test
