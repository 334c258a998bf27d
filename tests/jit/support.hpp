// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of src/jit: a scratch directory, module sources whose result is known, a compiler that counts its
// calls, and code run in a child process.
#pragma once

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>

#include "warpwright/arch/common/emu_table.hpp"

namespace ww::jit {
namespace fs = std::filesystem;
}

namespace ww::jit::test {

/// A directory that is removed with its content.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "ww-jit-test-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }
  fs::path operator/(const fs::path& name) const { return path_ / name; }

 private:
  fs::path path_;
};

inline std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// An environment variable for the life of this object.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (old_) ::setenv(name_, old_->c_str(), 1);
    else ::unsetenv(name_);
  }
  Variable(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

/// Replaces a file as another process would: a new file under an old name. Code that is mapped from the old file stays
/// unchanged.
inline void replace_file(const fs::path& path, const std::string& bytes) {
  std::ofstream(path.string() + ".new", std::ios::binary) << bytes;
  fs::rename(path.string() + ".new", path);
}

/// A module whose kernel `answer` writes `value`.
inline std::string source_answering(unsigned long long value) {
  return "#include \"warpwright/arch/common/executor.hpp\"\nstruct Params { unsigned long long* out; };\n"
         "WW_KERNEL(answer, 32, Params, params) { *params.out = " +
         std::to_string(value) + "ull; }\nWW_MODULE()\n";
}

/// The same with four megabytes of data whose sum is the answer: bytes that are missing or changed change it.
/// `nonce` makes different sources of one answer.
inline constexpr unsigned long long kBigAnswer = 524288ull * 0x12345678ull;
inline std::string big_source(int nonce) {
  return "#include \"warpwright/arch/common/executor.hpp\"\n"
         "asm(\".pushsection .rodata\\n.balign 8\\nww_data: .fill 524288, 8, 0x12345678\\n.popsection\");\n"
         "extern \"C\" __attribute__((visibility(\"hidden\"))) const volatile unsigned long long ww_data[524288];\n"
         "struct Params { unsigned long long* out; };\n"
         "WW_KERNEL(answer, 32, Params, params) {\n  unsigned long long sum = 0;\n"
         "  for (int i = 0; i < 524288; ++i) sum += ww_data[i];\n  *params.out = sum;\n}\nWW_MODULE()\n// " +
         std::to_string(nonce) + "\n";
}

/// What the kernel `answer` of the module in `path` writes; empty when it cannot be loaded, with the loader's words in
/// `why`.
inline std::optional<unsigned long long> answer_of(const fs::path& path, std::string* why = nullptr) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    if (why) *why = ::dlerror();
    return std::nullopt;
  }
  std::optional<unsigned long long> answer;
  if (auto entry = reinterpret_cast<WarpwrightModuleEntry>(::dlsym(library, "warpwright_module"))) {
    static const arch::EmuTable table{};
    unsigned long long out = 0;
    unsigned long long* params = &out;
    entry(&table)->kernels->run(&params);
    answer = out;
  }
  ::dlclose(library);
  return answer;
}

/// Writes an executable script and returns its path.
inline fs::path write_script(const fs::path& path, const std::string& body) {
  std::ofstream(path) << "#!/bin/sh\n" << body;
  fs::permissions(path, fs::perms::owner_all | fs::perms::group_exec | fs::perms::group_read | fs::perms::others_exec |
                            fs::perms::others_read);
  return path;
}

/// Calls the real compiler and adds a line to `log` each time.
inline fs::path counting_compiler(const fs::path& folder, const fs::path& log) {
  return write_script(folder / "counting-c++",
                      "echo x >> " + log.string() + "\nexec " + WW_TEST_COMPILER + " \"$@\"\n");
}

/// "Compiles" everything to a copy of `module`, in a few milliseconds.
inline fs::path copying_compiler(const fs::path& folder, const fs::path& module) {
  return write_script(folder / "copying-c++", "for last; do :; done\nexec cp " + module.string() + " \"$last\"\n");
}

inline int lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  int count = 0;
  while (std::getline(file, line)) ++count;
  return count;
}

/// The text that `body` returns in a forked child; "died" when it does not get that far.
inline std::string in_child(const std::function<std::string()>& body) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string text = body();
    const bool sent = ::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    ::_exit(sent ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = ::read(ends[0], buffer, sizeof(buffer))) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : "died: " + text;
}

}  // namespace ww::jit::test
