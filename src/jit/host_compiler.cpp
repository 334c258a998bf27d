// SPDX-License-Identifier: Apache-2.0
// Runs the compiler by posix_spawn in a work directory that holds the embedded headers, the source and everything it
// writes.
// The headers are written for each compile, because that costs milliseconds and a kept copy could be altered.
#include "jit/host_compiler.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "jit/build_facts.hpp"
#include "jit/embedded_headers.hpp"
#include "jit/files.hpp"

extern char** environ;

namespace ww::jit {
namespace {

bool has_x86_64_v3() {
#if defined(__x86_64__)
  // __builtin_cpu_supports also asks the operating system for the wide registers; the other bits depend on the CPU
  // alone.
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi") ||
      !__builtin_cpu_supports("bmi2"))
    return false;
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_MOVBE) || !(c & bit_F16C)) return false;
  return __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & bit_LZCNT);
#else
  return false;
#endif
}

// Returns the absolute path of an executable file called `name`, which may be a path itself; empty when there is none.
fs::path locate(const std::string& name) {
  const auto runs = [](const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
  };
  std::error_code error;
  if (name.find('/') != std::string::npos) return runs(name) ? fs::absolute(name, error) : fs::path();
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    fs::path candidate = fs::path(rest.substr(0, colon)) / name;
    if (candidate.is_absolute() && runs(candidate)) return candidate;
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  }
  return {};
}

Result<HostCompiler> identified(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return failure(file_error("stat", path, errno));
  return HostCompiler{path, fmt::format("{} {} {}.{:09}", path.string(), status.st_size, status.st_mtim.tv_sec,
                                        status.st_mtim.tv_nsec)};
}

// Runs `arguments` with output in `log`. Returns the exit status, 128 + signal, or -1 when it cannot be known.
Result<int> run(const std::vector<std::string>& arguments, const fs::path& work, const fs::path& log) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::string temporary = "TMPDIR=" + work.string();  // the compiler's temporary files are removed with the work
                                                      // directory
  std::string language = "LC_ALL=C";
  std::vector<char*> environment{temporary.data(), language.data()};
  for (char** variable = environ; *variable; ++variable)
    if (std::strncmp(*variable, "TMPDIR=", 7) != 0 && std::strncmp(*variable, "LC_ALL=", 7) != 0)
      environment.push_back(*variable);
  environment.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  // Debug information records the current directory, and an entry of the cache serves callers in every directory.
  posix_spawn_file_actions_addchdir_np(&files, work.c_str());
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, defaults;  // the application may block or ignore signals that a compiler's own children need
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (int signal : {SIGCHLD, SIGPIPE, SIGINT, SIGTERM}) sigaddset(&defaults, signal);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, argv[0], &files, &attributes, argv.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return failure(file_error("run", argv[0], error));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;  // the application ignores SIGCHLD, so the output file decides
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Result<void> write_headers(const fs::path& work) {
  for (const EmbeddedHeader& header : embedded_headers()) {
    const fs::path path = work / header.name;
    WW_CHECK(make_directories(path.parent_path()));
    WW_CHECK(write_file(path, header.text));
  }
  return {};
}

std::string tail(const std::string& text) {
  constexpr std::size_t kTail = 4000;
  return text.size() <= kTail ? text : "..." + text.substr(text.size() - kTail);
}

// Calls at function entry and exit are useless here, and accesses through pointers to volatile have hooks of their own.
// The two compilers name the switches differently. g++ gives every variable without an initial value a pattern where it
// is declared, by which accumulators that nobody set are found; clang's pattern for floats is a NaN like any other.
std::vector<std::string> hook_flags(const fs::path& compiler) {
  std::error_code ignored;
  const std::string name = fs::canonical(compiler, ignored).filename().string();
  if (name.find("clang") != std::string::npos)
    return {"-mllvm", "-tsan-instrument-func-entry-exit=0", "-mllvm", "-tsan-distinguish-volatile"};
  return {"--param", "tsan-instrument-func-entry-exit=0", "--param", "tsan-distinguish-volatile=1",
          "-ftrivial-auto-var-init=pattern"};
}

}  // namespace

const std::vector<IsaLevel>& loadable_isa_levels() {
  static const std::vector<IsaLevel> levels =
      has_x86_64_v3() ? std::vector{IsaLevel::x86_64_v3, IsaLevel::baseline} : std::vector{IsaLevel::baseline};
  return levels;
}

std::vector<std::string> module_flags(IsaLevel isa, Flavour flavour) {
  std::vector<std::string> flags = {"-std=c++20",        "-O2", "-shared", "-fPIC", "-fvisibility=hidden",
                                    "-Wl,-Bsymbolic",
                                    "-ffp-contract=off",  // fused operations are written arch::fma (docs/numerics.md)
                                    "-fno-math-errno"};
  if (isa == IsaLevel::x86_64_v3) flags.push_back("-march=x86-64-v3");
  if (flavour == Flavour::checked)
    flags.insert(flags.end(), {"-DWW_CHECKED=1", "-fsanitize=thread", "-g1", "-fno-optimize-sibling-calls"});
  return flags;
}

Result<HostCompiler> HostCompiler::find() {
  if (const char* own = std::getenv("WARPWRIGHT_CXX"); own && *own) {
    if (const fs::path path = locate(own); !path.empty()) return identified(path);
    return failure(ErrorCode::could_not_finish, "WARPWRIGHT_CXX", "the name or path of a C++20 compiler", own);
  }
  for (const char* name : {build_compiler(), "c++", "g++", "clang++"})
    if (const fs::path path = locate(name); !path.empty()) return identified(path);
  return failure(ErrorCode::could_not_finish, {}, "a C++20 compiler for a kernel that was not shipped with the library",
                 "none",
                 fmt::format("tried {}, c++, g++, clang++; install g++ or set WARPWRIGHT_CXX", build_compiler()));
}

Result<Entry> HostCompiler::compile(std::string_view text, IsaLevel isa, const fs::path& work, Flavour flavour) const {
  // Kernels report their own file names, in which the temporary work directory must not appear.
  const std::vector<std::string> prefixes = {fmt::format("-fmacro-prefix-map={}/=", work.string()),
                                             fmt::format("-fdebug-prefix-map={}={}", work.string(), kSourceFolder)};
  WW_CHECK(write_headers(work));
  WW_CHECK(write_file(work / "kernel.cpp", text));
  std::vector<std::string> arguments = {path.string()};
  for (std::string& flag : module_flags(isa, flavour)) arguments.push_back(std::move(flag));
  arguments.insert(arguments.end(), prefixes.begin(), prefixes.end());
  arguments.push_back("-I" + work.string());
  const std::string source = (work / "kernel.cpp").string(), object = (work / "kernel.o").string(),
                    module = (work / "module.so").string();
  int status = 0;
  if (flavour == Flavour::plain) {
    for (const std::string& argument : {source, std::string("-o"), module}) arguments.push_back(argument);
    WW_TRY(status, run(arguments, work, work / "log"));
  } else {  // two steps, because linking with the sanitizer's flag would add its runtime
    std::erase_if(arguments, [](const std::string& flag) { return flag == "-shared" || flag.starts_with("-Wl,"); });
    for (const std::string& argument : hook_flags(path)) arguments.push_back(argument);
    for (const std::string& argument : {source, std::string("-c"), std::string("-o"), object})
      arguments.push_back(argument);
    WW_TRY(status, run(arguments, work, work / "log"));
    if (status <= 0) {
      const std::vector<std::string> link = {path.string(), "-shared", "-Wl,-Bsymbolic", object, "-o", module};
      WW_TRY(status, run(link, work, work / "link.log"));
    }
  }
  Entry entry{{}, read_file(work / "log").value_or("")};
  Result<std::string> payload = read_file(module);
  if (status > 0 || !payload || payload->empty())
    return failure(ErrorCode::could_not_finish, {}, {}, {},
                   fmt::format("the C++ compiler {} could not make the emulator module (exit status {}):\n{}",
                               path.string(), status, tail(entry.log + read_file(work / "link.log").value_or(""))));
  entry.payload = std::move(*payload);
  return entry;
}

}  // namespace ww::jit
