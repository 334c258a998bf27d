// SPDX-License-Identifier: Apache-2.0
// Each header of the kernel layers compiles alone under NVRTC for sm_90a with no include path but our own.
//   nvrtc_headers_test <checkout>      exit 0 right, 1 a header is broken, 77 no NVRTC on this machine
// NVRTC is opened at run time and its six functions are declared here, so building this needs no CUDA toolkit.
// The list of headers is read from the tree: a new file is checked without touching this one.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace {

constexpr int kSkipped = 77;
constexpr std::array kLayers = {WW_LAYERS};  // those that the library embeds

using Program = struct OpaqueProgram*;

struct Nvrtc {
  int (*version)(int*, int*);
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*compile)(Program, int, const char* const*);
  int (*log_size)(Program, std::size_t*);
  int (*log)(Program, char*);
  int (*destroy)(Program*);
};

void* open_library() {
  for (const char* name : {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so",
                           "/usr/local/cuda/lib/libnvrtc.so"}) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

template <class F> bool bind(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

bool bind_all(void* library, Nvrtc& api) {
  return bind(library, "nvrtcVersion", api.version) && bind(library, "nvrtcCreateProgram", api.create) &&
         bind(library, "nvrtcCompileProgram", api.compile) && bind(library, "nvrtcGetProgramLogSize", api.log_size) &&
         bind(library, "nvrtcGetProgramLog", api.log) && bind(library, "nvrtcDestroyProgram", api.destroy);
}

/// Empty when `header` compiles without a warning, else NVRTC's log.
std::string compile_alone(const Nvrtc& api, const std::string& header, const std::string& include_flag) {
  const std::string source = "#include \"" + header + "\"\n";
  Program program = nullptr;
  if (api.create(&program, source.c_str(), "alone.cu", 0, nullptr, nullptr) != 0) return "cannot create a program";
  const std::array flags = {"--gpu-architecture=sm_90a", "--std=c++20", "--fmad=false", include_flag.c_str()};
  const bool compiled = api.compile(program, static_cast<int>(flags.size()), flags.data()) == 0;
  std::size_t size = 0;
  api.log_size(program, &size);
  std::string log(std::max<std::size_t>(size, 1), '\0');
  api.log(program, log.data());
  log.resize(size > 0 ? size - 1 : 0);
  api.destroy(&program);
  return compiled || !log.empty() ? log : "failed without a log";
}

std::vector<std::string> headers_of(const std::filesystem::path& include) {
  std::vector<std::string> headers;
  for (const char* layer : kLayers) {
    const auto folder = include / "warpwright" / layer;
    if (!std::filesystem::is_directory(folder)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() == ".hpp") headers.push_back(entry.path().lexically_relative(include).string());
    }
  }
  std::sort(headers.begin(), headers.end());
  return headers;
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path include = std::filesystem::path(argc > 1 ? argv[1] : ".") / "include";
  void* library = open_library();
  Nvrtc api{};
  if (library == nullptr || !bind_all(library, api)) {
    std::printf("no NVRTC on this machine: skipped\n");
    return kSkipped;
  }
  int major = 0, minor = 0, broken = 0;
  api.version(&major, &minor);
  const auto headers = headers_of(include);
  for (const auto& header : headers) {
    const auto begin = std::chrono::steady_clock::now();
    const std::string log = compile_alone(api, header, "-I" + include.string());
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("%6.3f s  %s%s\n", seconds, header.c_str(), log.empty() ? "" : "  BROKEN");
    if (!log.empty()) std::printf("%s\n", log.c_str());
    broken += !log.empty();
  }
  std::printf("NVRTC %d.%d: %zu headers, %d broken\n", major, minor, headers.size(), broken);
  return broken > 0 || headers.empty() ? 1 : 0;
}
