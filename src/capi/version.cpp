// SPDX-License-Identifier: Apache-2.0
// Versions: of the library, and of the sources of its kernels.
#include "capi/status.hpp"
#include "jit/build_facts.hpp"
#include "jit/digest.hpp"
#include "jit/embedded_headers.hpp"

extern "C" {

const char* ww_version(void) { return ww::jit::library_version(); }

int32_t ww_version_number(void) { return WW_C_VERSION_MAJOR * 10000 + WW_C_VERSION_MINOR * 100 + WW_C_VERSION_PATCH; }

const char* ww_source_hash(void) {
  static const std::string* hash = nullptr;
  const ww_status status = ww::capi::guarded([] {
    static const std::string made = [] {
      std::vector<std::string_view> fields;
      for (const ww::jit::EmbeddedHeader& header : ww::jit::embedded_headers())
        fields.insert(fields.end(), {header.name, header.text});
      return "xxh3-128:" + ww::jit::key_of(fields);
    }();
    hash = &made;
    return WW_OK;
  });
  return status == WW_OK ? hash->c_str() : "";
}

}  // extern "C"
