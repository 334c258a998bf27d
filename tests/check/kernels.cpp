// SPDX-License-Identifier: Apache-2.0
// The corpus' kernels, compiled for the emulator into the program itself.
#include "kernels/clusters.hpp"
#include "kernels/global.hpp"
#include "kernels/product.hpp"
#include "kernels/ring.hpp"
#include "kernels/shared.hpp"
#include "kernels/store.hpp"

#include <string_view>

#include "emu/emulator.hpp"

namespace ww::check_test {

const arch::KernelEntry* find_kernel(std::string_view name) {
  arch::table = emu::table();
  for (const arch::KernelEntry* entry = arch::registered; entry; entry = entry->next)
    if (name == entry->name) return entry;
  return nullptr;
}

}  // namespace ww::check_test
