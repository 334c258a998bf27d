// SPDX-License-Identifier: Apache-2.0
// Loads the corpus' module, once; WARPWRIGHT_CHECK_MODULE names another, such as header_mutants.py makes.
#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "case.hpp"

namespace ww::check_test {
namespace {

const arch::ModuleInfo& load() {
  const char* other = std::getenv("WARPWRIGHT_CHECK_MODULE");
  void* module = dlopen(other ? other : WW_CHECK_MODULE, RTLD_NOW | RTLD_LOCAL);
  if (!module) throw std::runtime_error(dlerror());
  const auto entry = reinterpret_cast<WarpwrightModuleEntry>(dlsym(module, "warpwright_module"));
  if (!entry) throw std::runtime_error(dlerror());
  return *entry(emu::table());
}

const arch::ModuleInfo& module() {
  static const arch::ModuleInfo& info = load();
  return info;
}

}  // namespace

bool is_hooked() { return module().checked != 0; }

const arch::KernelEntry* find_kernel(std::string_view name) {
  for (const arch::KernelEntry* entry = module().kernels; entry; entry = entry->next)
    if (name == entry->name) return entry;
  return nullptr;
}

}  // namespace ww::check_test
