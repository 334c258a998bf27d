// SPDX-License-Identifier: Apache-2.0
// Versions: of the library, and of the sources of its kernels.
#include "capi/status.hpp"
#include "jit/build_facts.hpp"
#include "runtime/source_hash.hpp"

extern "C" {

const char* ww_version(void) { return ww::jit::library_version(); }

int32_t ww_version_number(void) { return WW_C_VERSION_MAJOR * 10000 + WW_C_VERSION_MINOR * 100 + WW_C_VERSION_PATCH; }

const char* ww_source_hash(void) {
  static const std::string* hash = nullptr;
  const ww_status status = ww::capi::guarded([] {
    hash = &ww::runtime::source_hash();
    return WW_OK;
  });
  return status == WW_OK ? hash->c_str() : "";
}

}  // extern "C"
