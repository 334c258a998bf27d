// SPDX-License-Identifier: Apache-2.0
// A stand-in for libnvrtc: a version, and cubins that are the text of their source. Like the real one, it opens its
// builtins by name when it compiles, and fails without them.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct Program {
  std::string source, log;
};

Program* of(void* program) { return static_cast<Program*>(program); }

int copy(const std::string& text, char* out) {
  std::memcpy(out, text.c_str(), text.size() + 1);
  return 0;
}

}  // namespace

extern "C" {

int nvrtcVersion(int* major, int* minor) {
  *major = WW_FAKE_NVRTC_MAJOR, *minor = WW_FAKE_NVRTC_MINOR;
  return 0;
}
const char* nvrtcGetErrorString(int) { return "a sentence"; }
int nvrtcCreateProgram(void** program, const char* source, const char*, int, const char* const*, const char* const*) {
  *program = new Program{source, {}};
  return 0;
}
int nvrtcDestroyProgram(void** program) {
  delete of(*program);
  return 0;
}
int nvrtcCompileProgram(void* program, int, const char* const*) {
  if (std::getenv("FAKE_NVRTC_WITHOUT_BUILTINS")) return 0;
  if (::dlopen("libnvrtc-builtins.so." WW_FAKE_NVRTC_VERSION, RTLD_NOW)) return 0;
  of(program)->log = "failed to open libnvrtc-builtins.so." WW_FAKE_NVRTC_VERSION;
  return 7;
}
int nvrtcGetProgramLogSize(void* program, std::size_t* bytes) {
  *bytes = of(program)->log.size() + 1;
  return 0;
}
int nvrtcGetProgramLog(void* program, char* log) { return copy(of(program)->log, log); }
int nvrtcGetCUBINSize(void* program, std::size_t* bytes) {
  *bytes = of(program)->source.size();
  return 0;
}
int nvrtcGetCUBIN(void* program, char* cubin) {
  std::memcpy(cubin, of(program)->source.data(), of(program)->source.size());
  return 0;
}
}
