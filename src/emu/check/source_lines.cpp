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
#include <string_view>

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

/// Returns the path as it is included, if the file is the library's.
std::string as_included(std::string file) {
  if (file.starts_with(kSourceFolder)) return file.substr(kSourceFolder.size());
  constexpr std::string_view kInclude = "/include/warpwright/";
  const std::size_t at = file.rfind(kInclude);
  return at == std::string::npos ? file : file.substr(at + std::string_view("/include/").size());
}

/// Ranks the folder of a frame: what a kernel's author writes comes before the library's layers, instructions last.
int layer_of(const SourceFrame& frame) {
  constexpr std::string_view kLibrary = "warpwright/";
  if (!frame.file.starts_with(kLibrary)) return 0;
  const std::string_view rest = std::string_view(frame.file).substr(kLibrary.size());
  const std::string_view folder = rest.substr(0, rest.find('/'));
  if (folder == "kernel") return 1;
  if (folder == "mainloop" || folder == "epilogue" || folder == "pipeline" || folder == "scheduler") return 2;
  return folder == "arch" || folder == "core" ? 4 : 3;
}

/// Parses pairs of lines, function and "file:line", innermost first, and returns the frames outermost first.
std::vector<SourceFrame> parse(const std::string& text) {
  std::vector<SourceFrame> frames;
  std::vector<std::string> functions;  // as they stand, because a shortened name hides the code of WW_KERNEL
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
    frames.push_back({as_included(line.substr(0, colon)), number, short_function_name(function)});
    functions.push_back(function);
  }
  // The outermost frames are no source that anybody wrote: WW_KERNEL's lambda, which takes a void*, and the generated
  // kernel.cpp around the library's own kernels.
  for (bool converted = false; frames.size() > 1;) {
    const std::string& name = functions.back();
    const bool lambda = name == "operator()" && converted;
    converted = name == "_FUN" || name == "__invoke" || name.find("{lambda(void const*)#") != std::string::npos;
    if (!converted && !lambda && frames.back().file != "kernel.cpp") break;
    frames.pop_back();
    functions.pop_back();
  }
  std::reverse(frames.begin(), frames.end());
  return frames;
}

// addr2line also demangles: that needs more stack than a fiber of an emulated thread has.
SourceLines look_up(const void* address) {
  Dl_info module{};
  if (::dladdr(address, &module) == 0 || module.dli_fname == nullptr) return {};
  const auto offset = static_cast<const char*>(address) - 1 - static_cast<const char*>(module.dli_fbase);
  const std::string hex = fmt::format("0x{:x}", offset);
  const char* const arguments[] = {"addr2line", "-i", "-f", "-C", "-e", module.dli_fname, hex.c_str(), nullptr};
  SourceLines lines;
  lines.frames = parse(output_of(arguments));
  if (lines.frames.empty()) lines.frames.push_back({fmt::format("module+{}", hex), 0, {}});
  lines.inner_file = lines.frames.back().file;
  lines.inner_line = lines.frames.back().line;
  const auto best =
      std::min_element(lines.frames.begin(), lines.frames.end(),
                       [](const SourceFrame& a, const SourceFrame& b) { return layer_of(a) < layer_of(b); });
  std::rotate(lines.frames.begin(), best, best + 1);
  return lines;
}

/// Returns where the brackets that open at `at` have closed.
std::size_t after_brackets(const std::string& name, std::size_t at) {
  int depth = 0;
  for (; at < name.size(); ++at) {
    const char c = name[at];
    if (c == '<' || c == '(' || c == '{') ++depth;
    const bool arrow = c == '>' && at > 0 && name[at - 1] == '-';
    if (((c == '>' && !arrow) || c == ')' || c == '}') && --depth == 0) return at + 1;
  }
  return at;
}

void erase_all(std::string& text, std::string_view part) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part)) text.erase(at, part.size());
}

}  // namespace

SourceLines source_lines(const void* address) {
  static SingleFlight<const void*, SourceLines> known;
  return known.get(address, [&] { return Result<SourceLines>(look_up(address)); }).value_or(SourceLines{});
}

bool is_instruction(const SourceFrame& frame) { return layer_of(frame) == 4; }

std::string short_function_name(const std::string& name) {
  constexpr std::string_view kNamespace = "(anonymous namespace)::", kOperator = "operator";
  std::string text;
  for (std::size_t at = 0; at < name.size();) {
    if (name.compare(at, kNamespace.size(), kNamespace) == 0) {
      at += kNamespace.size();
    } else if (name.compare(at, kOperator.size(), kOperator) == 0 && (text.empty() || text.back() == ':')) {
      const std::size_t symbol = at + kOperator.size();
      const std::size_t end = name.compare(symbol, 2, "()") == 0 ? symbol + 2 : name.find_first_of("( ", symbol);
      text += name.substr(at, end - at);
      at = std::min(end, name.size());
    } else if (name[at] == '{') {
      at = after_brackets(name, at);
      text += "lambda";
    } else if (name[at] == '<' || name[at] == '(') {
      const bool parameters = name[at] == '(' && !text.ends_with("decltype");
      at = after_brackets(name, at);
      if (parameters && name.compare(at, 2, "::") != 0) break;
    } else {
      text += name[at++];
    }
  }
  if (const std::size_t space = text.find_last_of(' '); space != std::string::npos) text.erase(0, space + 1);
  for (const std::string_view part : {"ww::", "emu::", "lambda::"}) erase_all(text, part);
  return text;
}

}  // namespace ww::emu
