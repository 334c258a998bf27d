// SPDX-License-Identifier: Apache-2.0
// Emulator modules through the host's compiler and the cache: one compile for one source, broken entries repaired,
// caches that cannot be used, and what a module exports.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <thread>

#include "jit/build_facts.hpp"
#include "jit/entry.hpp"
#include "jit/jit.hpp"
#include "jit/memory_cache.hpp"
#include "support.hpp"

namespace ww::jit {
namespace {

using test::answer_of;
using test::Scratch;
using test::source_answering;

Result<Compiled> compile_afresh(const std::string& source, const fs::path& cache) {
  MemoryCache::of_process().clear();
  return compile_module(source, cache);
}

TEST(Module, SecondCallCompilesNothing) {
  const Scratch scratch;
  const test::Variable compiler("WARPWRIGHT_CXX", test::counting_compiler(scratch.path(), scratch / "log"));
  const auto first = compile_module(source_answering(11), scratch / "cache");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_GT(first->compile_seconds, 0);
  EXPECT_EQ(answer_of(first->path), 11u);
  const auto from_memory = compile_module(source_answering(11), scratch / "cache");
  const auto from_disk = compile_afresh(source_answering(11), scratch / "cache");
  ASSERT_TRUE(from_memory && from_disk);
  EXPECT_EQ(from_memory->compile_seconds, 0);
  EXPECT_EQ(from_disk->compile_seconds, 0);
  EXPECT_EQ(from_disk->path, first->path);
  EXPECT_EQ(test::lines_of(scratch / "log"), 1);
  EXPECT_EQ(answer_of(compile_afresh(source_answering(12), scratch / "cache")->path), 12u);
  EXPECT_EQ(test::lines_of(scratch / "log"), 2);
}

TEST(Module, AnotherCompilerIsAnotherKey) {
  const Scratch scratch;
  const test::Variable compiler("WARPWRIGHT_CXX", test::counting_compiler(scratch.path(), scratch / "log"));
  ASSERT_TRUE(compile_afresh(source_answering(13), scratch / "cache"));
  std::ofstream(scratch / "counting-c++", std::ios::app) << "# upgraded\n";
  ASSERT_TRUE(compile_afresh(source_answering(13), scratch / "cache"));
  EXPECT_EQ(test::lines_of(scratch / "log"), 2);
}

TEST(Module, ManyThreadsOneCompile) {
  const Scratch scratch;
  const test::Variable compiler("WARPWRIGHT_CXX", test::counting_compiler(scratch.path(), scratch / "log"));
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] { EXPECT_TRUE(compile_module(source_answering(14), scratch / "cache")); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(test::lines_of(scratch / "log"), 1);
}

TEST(Module, BrokenEntriesAreRebuiltOnce) {
  const Scratch scratch;
  const test::Variable compiler("WARPWRIGHT_CXX", test::counting_compiler(scratch.path(), scratch / "log"));
  const std::string source = source_answering(15);
  const fs::path path = compile_module(source, scratch / "cache").value().path;
  const std::string whole = test::read_text(path);
  const fs::path other = compile_module(source_answering(16), scratch / "cache").value().path;
  std::string wrong_magic = whole, flipped_code = whole, flipped_length = whole;
  wrong_magic[wrong_magic.size() - 72] = 'X';
  flipped_code[whole.size() / 3] = static_cast<char>(flipped_code[whole.size() / 3] ^ 1);
  flipped_length[whole.size() - 64] = static_cast<char>(flipped_length[whole.size() - 64] ^ 4);
  const std::vector<std::pair<std::string, std::string>> broken = {
      {"empty", ""},
      {"half", whole.substr(0, whole.size() / 2)},
      {"one byte short", whole.substr(0, whole.size() - 1)},
      {"magic", wrong_magic},
      {"code", flipped_code},
      {"length", flipped_length},
      {"text", "not an entry at all"},
      {"another key's", test::read_text(other)}};
  int compiles = test::lines_of(scratch / "log");
  for (const auto& [what, bytes] : broken) {
    test::replace_file(path, bytes);
    const auto repaired = compile_afresh(source, scratch / "cache");
    ASSERT_TRUE(repaired) << what << ": " << repaired.error().message;
    EXPECT_EQ(answer_of(repaired->path), 15u) << what;
    EXPECT_EQ(test::lines_of(scratch / "log"), ++compiles) << what;
    EXPECT_TRUE(unpack(test::read_text(path), path.stem().string())) << what;
  }
  EXPECT_EQ(compile_afresh(source, scratch / "cache")->compile_seconds, 0);
}

TEST(Module, CompileErrorCarriesTheCompilersWords) {
  const Scratch scratch;
  const auto compiled =
      compile_module("#include \"warpwright/arch/common/executor.hpp\"\nint x = undeclared_name;\n", scratch.path());
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().code, ErrorCode::could_not_finish);
  EXPECT_NE(compiled.error().message.find("undeclared_name"), std::string::npos) << compiled.error().message;
  EXPECT_TRUE(fs::is_empty(scratch / library_version() / "work")) << "the work directory was left behind";
}

TEST(Module, NoSuchCompilerSaysSo) {
  const Scratch scratch;
  const test::Variable compiler("WARPWRIGHT_CXX", "no-such-compiler");
  const auto compiled = compile_module(source_answering(17), scratch.path());
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().argument, "WARPWRIGHT_CXX");
  EXPECT_EQ(compiled.error().actual, "no-such-compiler");
}

TEST(Module, ACompilerThatDiesIsAnError) {
  const Scratch scratch;
  const test::Variable compiler("WARPWRIGHT_CXX",
                                test::write_script(scratch / "c++", "echo out of luck; kill -9 $$\n"));
  const auto compiled = compile_module(source_answering(18), scratch / "cache");
  ASSERT_FALSE(compiled);
  EXPECT_NE(compiled.error().message.find("exit status 137"), std::string::npos) << compiled.error().message;
  EXPECT_NE(compiled.error().message.find("out of luck"), std::string::npos);
}

TEST(Module, ReportsPathsOfTheLibraryNotOfTheCompile) {
  const Scratch scratch;
  // The answer: how many characters of the site's file are those of "kernel.cpp".
  const auto compiled = compile_module(
      "#include \"warpwright/arch/common/executor.hpp\"\nstruct Params { unsigned long long* out; };\n"
      "WW_KERNEL(answer, 32, Params, params) {\n  const char* file = ww::arch::Site::here().file;\n"
      "  unsigned long long i = 0;\n  while (file[i] && file[i] == \"kernel.cpp\"[i]) ++i;\n  *params.out = file[i] ? "
      "0 : i;\n}\n"
      "WW_MODULE()\n",
      scratch.path());
  ASSERT_TRUE(compiled) << compiled.error().message;
  EXPECT_EQ(answer_of(compiled->path), 10u);
}

TEST(Module, WorksWithoutACacheDirectory) {
  const Scratch scratch;
  std::ofstream(scratch / "file") << "x";
  const auto compiled = compile_module(source_answering(19), scratch / "file/cache");
  ASSERT_TRUE(compiled) << compiled.error().message;
  EXPECT_EQ(answer_of(compiled->path), 19u);
  EXPECT_NE(compiled->log.find("cache not used"), std::string::npos) << compiled->log;
}

// Runs `body` as a user who may not write `directory`.
std::string as_a_user_without_rights(const std::function<std::string()>& body) {
  return test::in_child([&]() -> std::string {
    if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) return "cannot become another user";
    return body();
  });
}

TEST(Module, ReadOnlyCacheIsReadAndNotWritten) {
  const Scratch scratch;
  const fs::path cache = scratch / "cache";
  ASSERT_TRUE(compile_module(source_answering(20), cache));
  MemoryCache::of_process().clear();
  ASSERT_EQ(::chmod(scratch.path().c_str(), 0755), 0);
  for (const auto& at : fs::recursive_directory_iterator(cache))
    ::chmod(at.path().c_str(), at.is_directory() ? 0555 : 0444);
  ASSERT_EQ(::chmod(cache.c_str(), 0555), 0);
  EXPECT_EQ(as_a_user_without_rights([&]() -> std::string {
              const auto hit = compile_module(source_answering(20), cache);
              if (!hit) return hit.error().message;
              if (hit->compile_seconds != 0) return "compiled again; " + hit->log;
              const auto miss = compile_module(source_answering(21), cache);
              if (!miss) return miss.error().message;
              if (miss->log.find("cache not written") == std::string::npos) return "no reason in the log: " + miss->log;
              return std::to_string(answer_of(hit->path).value_or(0)) + " " +
                     std::to_string(answer_of(miss->path).value_or(0));
            }),
            "20 21");
  for (const auto& at : fs::recursive_directory_iterator(cache))
    if (at.is_directory()) ::chmod(at.path().c_str(), 0755);
}

TEST(Module, NoexecCacheIsLoadedThroughMemory) {
  const Scratch scratch;
  const std::string said = test::in_child([&]() -> std::string {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", scratch.path().c_str(), "tmpfs", MS_NOEXEC, "mode=0700") != 0)
      return "may not mount";
    std::string answers;
    for (int pass = 0; pass < 2; ++pass) {  // compiled, then from the cache
      const auto compiled = compile_afresh(source_answering(22), scratch / "cache");
      if (!compiled) return compiled.error().message;
      std::string why;
      answers += std::to_string(answer_of(compiled->path, &why).value_or(0)) +
                 (compiled->compile_seconds > 0 ? "c " : "h ") + why;
    }
    return answers;
  });
  if (said == "may not mount") GTEST_SKIP() << "needs the right to mount a noexec file system";
  EXPECT_EQ(said, "22c 22h ");
}

TEST(Module, ExportsItsEntryAndNothingElse) {
  const Scratch scratch;
  const fs::path path = compile_module(source_answering(23), scratch.path()).value().path;
  FILE* nm = ::popen(("nm -D --defined-only " + path.string() + " 2>/dev/null").c_str(), "r");
  std::string symbols;
  char line[512];
  while (nm && std::fgets(line, sizeof(line), nm)) symbols += std::string(line).substr(std::string(line).find(' ') + 1);
  if (!nm || ::pclose(nm) != 0) GTEST_SKIP() << "no nm here";
  EXPECT_EQ(symbols, "T warpwright_module\n");
}

}  // namespace
}  // namespace ww::jit
