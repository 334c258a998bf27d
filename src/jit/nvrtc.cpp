// SPDX-License-Identifier: Apache-2.0
// Loads NVRTC, binds its functions, and compiles: headers are passed in memory, cubin and log come back, no file is
// written or read.
#include "jit/nvrtc.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "jit/embedded_headers.hpp"
#include "jit/folders.hpp"
#include "jit/nvrtc_search.hpp"

namespace ww::jit {
namespace {

std::string file_of(void* library) {
  link_map* map = nullptr;
  return ::dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map ? map->l_name : "";
}

}  // namespace

// -default-device is not used, because it turns every inline constexpr of the headers into a global variable of the
// cubin (674 KB instead of 163 KB for a GEMM, 15 % more compile time; NVRTC 13.0, November 2026). Device functions say
// WW_DEVICE.
std::vector<const char*> Nvrtc::flags(Arch arch) {
  static const std::array<std::string, kArchs> architectures = [] {
    std::array<std::string, kArchs> all;
    for (int i = 0; i < kArchs; ++i)
      all[static_cast<std::size_t>(i)] = fmt::format("--gpu-architecture={}", machine_of(static_cast<Arch>(i)).target);
    return all;
  }();
  return {
      architectures[static_cast<std::size_t>(arch)].c_str(), "-std=c++20",
      "-fmad=false",         // kernel arithmetic is fused only where it says arch::fma (docs/numerics.md)
      "--ptxas-options=-v",  // writes registers and spills into the log
  };
}

std::vector<std::string> Nvrtc::debug_flags() {
  std::vector<std::string> flags;
  const char* text = std::getenv("WARPWRIGHT_WATCHDOG_MS");
  const long milliseconds = text ? std::strtol(text, nullptr, 10) : 0;
  if (milliseconds >= 1 && milliseconds <= 3600'000)
    flags.push_back(fmt::format("-DWARPWRIGHT_WATCHDOG_MS={}", milliseconds));
  if (const char* lines = std::getenv("WARPWRIGHT_LINEINFO"); lines && std::string_view(lines) == "1")
    flags.emplace_back("-lineinfo");
  return flags;
}

Result<const Nvrtc*> Nvrtc::get() {
#if !defined(WARPWRIGHT_HAS_CUDA) || WARPWRIGHT_HAS_CUDA  // 0: a build without GPU support
  static const Result<const Nvrtc*> loaded = []() -> Result<const Nvrtc*> {
    static Nvrtc nvrtc;
    WW_CHECK(nvrtc.load());
    return &nvrtc;
  }();
  return loaded;
#else
  return failure(ErrorCode::unsupported, {}, "a library built with CUDA support to compile for a GPU",
                 "one built with WARPWRIGHT_HAS_CUDA=0");
#endif
}

Result<void> Nvrtc::load() {
  std::string tried;
  for (const std::string& path : nvrtc_candidates(own_binary(), loaded_nvrtc())) {
    void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    std::string why;
    if (library) {
      const Result<void> bound = bind(library);
      if (bound) return {};
      why = fmt::format(" ({})", bound.error().message);
      ::dlclose(library);
    }
    tried += fmt::format("{}{}{}", tried.empty() ? "" : ", ", path, why);
  }
  return failure(ErrorCode::could_not_finish, {},
                 "libnvrtc of CUDA 12 or 13, which compiles the kernels for the GPU that no pack holds", "none",
                 fmt::format("tried {}; `pip install warpwright[cu13]` or a CUDA toolkit brings one, and "
                             "WARPWRIGHT_NVRTC names one elsewhere",
                             tried));
}

Result<void> Nvrtc::bind(void* library) {
  path_ = file_of(library);
  std::string missing;
  const auto bind = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, symbol));
    if (!function) missing = symbol;
  };
  bind(version_, "nvrtcVersion");
  bind(error_string_, "nvrtcGetErrorString");
  bind(create_, "nvrtcCreateProgram");
  bind(destroy_, "nvrtcDestroyProgram");
  bind(compile_, "nvrtcCompileProgram");
  bind(log_size_, "nvrtcGetProgramLogSize");
  bind(log_, "nvrtcGetProgramLog");
  bind(cubin_size_, "nvrtcGetCUBINSize");
  bind(cubin_, "nvrtcGetCUBIN");
  if (!missing.empty()) return failure(ErrorCode::could_not_finish, {}, missing + " in libnvrtc", "none", path_);
  int major = 0, minor = 0;
  // 12.0 does not know st.async, by which the CTAs of a cluster add their parts of a tile.
  if (version_(&major, &minor) != 0 || major < 12 || (major == 12 && minor < 1))
    return failure(ErrorCode::could_not_finish, {}, "NVRTC 12.1 or later", fmt::format("{}.{}", major, minor), path_);
  // NVRTC opens its builtins by name, which the loader then finds in memory. If that fails, NVRTC's own error says so.
  if (const std::filesystem::path builtins = nvrtc_builtins(path_, major, minor); !builtins.empty())
    ::dlopen(builtins.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path_, error);
  identity_ = fmt::format("NVRTC {}.{} ({} bytes)", major, minor, error ? 0 : bytes);
  return {};
}

std::string Nvrtc::log_of(Program program) const {
  std::size_t bytes = 0;
  if (log_size_(program, &bytes) != 0 || bytes <= 1) return {};
  std::string log(bytes, '\0');
  if (log_(program, log.data()) != 0) return {};
  log.resize(bytes - 1);  // the terminating null
  return log;
}

Result<Entry> Nvrtc::compile(std::string_view text, Arch arch) const {
  std::vector<const char*> names, texts;
  for (const EmbeddedHeader& header : embedded_headers()) {
    names.push_back(header.name);
    texts.push_back(header.text);
  }
  Program program = nullptr;
  const int created = create_(&program, std::string(text).c_str(), "warpwright_kernel.cu",
                              static_cast<int>(names.size()), texts.data(), names.data());
  if (created != 0)
    return failure(ErrorCode::could_not_finish, {}, {}, {},
                   fmt::format("nvrtcCreateProgram: {}", error_string_(created)));
  std::vector<const char*> arguments = flags(arch);
  const std::vector<std::string> debug = debug_flags();
  for (const std::string& flag : debug) arguments.push_back(flag.c_str());
  const int status = compile_(program, static_cast<int>(arguments.size()), arguments.data());
  Entry entry{{}, log_of(program)};
  std::size_t bytes = 0;
  if (status == 0 && cubin_size_(program, &bytes) == 0) entry.payload.resize(bytes);
  const bool copied = bytes > 0 && cubin_(program, entry.payload.data()) == 0;
  destroy_(&program);
  if (!copied)
    return failure(ErrorCode::could_not_finish, {}, {}, {},
                   fmt::format("NVRTC ({}) refused the kernel: {}\n{}", path_, error_string_(status), entry.log));
  return entry;
}

}  // namespace ww::jit
