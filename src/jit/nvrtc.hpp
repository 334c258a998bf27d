// SPDX-License-Identifier: Apache-2.0
// NVIDIA's run-time compiler, found with dlopen: the library needs no CUDA toolkit to build or to start.
// nvrtc.h is not included, because its ABI is a dozen C functions that have not changed since CUDA 11.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jit/entry.hpp"
#include "warpwright/core/machine.hpp"
#include "warpwright/host/result.hpp"

namespace ww::jit {

class Nvrtc {
 public:
  /// Returns the one NVRTC of this process; nvrtc_search.hpp has the order. The error says what was tried.
  static Result<const Nvrtc*> get();

  /// Returns version and size of the library, because different ones may generate different code.
  const std::string& identity() const { return identity_; }
  /// Returns the file that was loaded.
  const std::string& path() const { return path_; }

  /// Compiles `text`. The payload is the cubin, the log the output of NVRTC and ptxas, which an error contains too.
  Result<Entry> compile(std::string_view text, Arch arch = kDefaultArch) const;

  /// Returns the flags that determine the result besides text, headers, identity() and the flags for debugging.
  static std::vector<const char*> flags(Arch arch = kDefaultArch);
  /// Returns flags from the environment, read at each call: WARPWRIGHT_WATCHDOG_MS=N, N >= 1, limits every wait
  /// (arch/common/watchdog.hpp); WARPWRIGHT_LINEINFO=1 adds source lines for profilers, which changes no instruction.
  static std::vector<std::string> debug_flags();

 private:
  using Program = void*;
  Result<void> load();
  Result<void> bind(void* library);
  std::string log_of(Program program) const;

  std::string path_;
  std::string identity_;
  int (*version_)(int*, int*) = nullptr;
  const char* (*error_string_)(int) = nullptr;
  int (*create_)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*destroy_)(Program*) = nullptr;
  int (*compile_)(Program, int, const char* const*) = nullptr;
  int (*log_size_)(Program, std::size_t*) = nullptr;
  int (*log_)(Program, char*) = nullptr;
  int (*cubin_size_)(Program, std::size_t*) = nullptr;
  int (*cubin_)(Program, char*) = nullptr;
};

}  // namespace ww::jit
