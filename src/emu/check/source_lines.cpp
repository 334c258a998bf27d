// SPDX-License-Identifier: Apache-2.0
// Runs one addr2line process for each new address; only findings ask for addresses.
#include "emu/check/source_lines.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "host/single_flight.hpp"

extern char** environ;

namespace ww::emu {
namespace {

/// What src/jit puts in the place of its work directory (jit::kSourceFolder).
constexpr std::string_view kSourceFolder = "/warpwright-source/";

std::string output_of(const char* const* arguments) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends[1], 1);
  posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, arguments[0], &files, nullptr, const_cast<char* const*>(arguments), environ);
  posix_spawn_file_actions_destroy(&files);
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  if (error == 0) {
    for (ssize_t got; (got = ::read(ends[0], buffer, sizeof buffer)) > 0 || (got < 0 && errno == EINTR);)
      if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  ::close(ends[0]);
  return text;
}

/// Parses pairs of lines, function and "file:line", innermost first.
// Some are skipped: around every kernel there is the code of WW_KERNEL, a lambda that takes a void*, and around the
// library's own kernels a generated kernel.cpp. Nobody wrote those lines.
SourceLines parse(const std::string& text) {
  SourceLines lines;
  std::string function;
  for (std::size_t at = 0, count = 0; at < text.size(); ++count) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (count % 2 == 0) {
      function = line;
      continue;
    }
    const std::size_t colon = line.rfind(':');
    const int number = colon == std::string::npos ? 0 : std::atoi(line.c_str() + colon + 1);
    if (number == 0) continue;
    std::string file = line.substr(0, colon);
    if (file.starts_with(kSourceFolder)) file.erase(0, kSourceFolder.size());
    const bool wrapper = function == "operator()" || function == "_FUN" || function == "__invoke" ||
                         function.find("UlPKvE") != std::string::npos || file == "kernel.cpp";
    if (wrapper && !lines.inner_file.empty()) continue;
    if (lines.inner_file.empty()) lines.inner_file = file, lines.inner_line = number;
    lines.outer_file = file, lines.outer_line = number;
  }
  return lines;
}

SourceLines look_up(const void* address) {
  Dl_info module{};
  if (::dladdr(address, &module) == 0 || module.dli_fname == nullptr) return {};
  const auto offset = static_cast<const char*>(address) - 1 - static_cast<const char*>(module.dli_fbase);
  const std::string hex = fmt::format("0x{:x}", offset);
  const char* const arguments[] = {"addr2line", "-i", "-f", "-e", module.dli_fname, hex.c_str(), nullptr};
  SourceLines lines = parse(output_of(arguments));
  if (lines.inner_file.empty()) lines.inner_file = lines.outer_file = fmt::format("module+{}", hex);
  return lines;
}

}  // namespace

SourceLines source_lines(const void* address) {
  static SingleFlight<const void*, SourceLines> known;
  return known.get(address, [&] { return Result<SourceLines>(look_up(address)); }).value_or(SourceLines{});
}

}  // namespace ww::emu
