// SPDX-License-Identifier: Apache-2.0
// The order of fields is fixed. Header texts enter through one digest, which is computed once a process.
#include "jit/keys.hpp"

#include "jit/build_facts.hpp"
#include "jit/digest.hpp"
#include "jit/embedded_headers.hpp"

namespace ww::jit {
namespace {

const std::string& headers_key() {
  static const std::string key = [] {
    std::vector<std::string_view> fields;
    for (const EmbeddedHeader& header : embedded_headers()) {
      fields.push_back(header.name);
      fields.push_back(header.text);
    }
    return key_of(fields);
  }();
  return key;
}

std::vector<std::string_view> common_fields(std::string_view kind, std::string_view text) {
  return {kind, library_version(), library_build_id(), headers_key(), text};
}

}  // namespace

std::string cubin_source_key(std::string_view text, Arch arch) {
  std::vector<std::string_view> fields = common_fields("cubin", text);
  for (const char* flag : Nvrtc::flags(arch)) fields.push_back(flag);
  const std::vector<std::string> debug = Nvrtc::debug_flags();
  fields.insert(fields.end(), debug.begin(), debug.end());
  return key_of(fields);
}

std::string cubin_key(std::string_view text, const Nvrtc& nvrtc, Arch arch) {
  return key_of({cubin_source_key(text, arch), nvrtc.identity()});
}

std::string module_source_key(std::string_view text, IsaLevel isa, Flavour flavour) {
  const std::vector<std::string> flags = module_flags(isa, flavour);
  std::vector<std::string_view> fields = common_fields("module", text);
  fields.insert(fields.end(), flags.begin(), flags.end());
  return key_of(fields);
}

std::string module_key(std::string_view text, IsaLevel isa, const HostCompiler& compiler, Flavour flavour) {
  return key_of({module_source_key(text, isa, flavour), compiler.identity});
}

}  // namespace ww::jit
