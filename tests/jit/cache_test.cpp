// SPDX-License-Identifier: Apache-2.0
// The parts of the cache without a compiler: where it lives, the format of an entry, keys, and one compile for many
// threads.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>

#include "jit/digest.hpp"
#include "jit/entry.hpp"
#include "jit/files.hpp"
#include "jit/memory_cache.hpp"
#include "support.hpp"

namespace ww::jit {
namespace {

using test::Scratch;

unsigned mode_of(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

TEST(CacheRoot, ArgumentThenVariableThenXdgThenHome) {
  const Scratch scratch;
  ::setenv("WARPWRIGHT_CACHE_DIR", (scratch / "own").c_str(), 1);
  ::setenv("XDG_CACHE_HOME", (scratch / "xdg").c_str(), 1);
  ::setenv("HOME", (scratch / "home").c_str(), 1);
  EXPECT_EQ(cache_root(scratch / "api").value(), scratch / "api");
  EXPECT_EQ(cache_root({}).value(), scratch / "own");
  ::setenv("WARPWRIGHT_CACHE_DIR", "", 1);
  EXPECT_EQ(cache_root({}).value(), scratch / "xdg/warpwright");
  ::setenv("XDG_CACHE_HOME", "relative/is/ignored", 1);
  EXPECT_EQ(cache_root({}).value(), scratch / "home/.cache/warpwright");
  ::unsetenv("XDG_CACHE_HOME");
  ::unsetenv("WARPWRIGHT_CACHE_DIR");
  EXPECT_EQ(cache_root({}).value(), scratch / "home/.cache/warpwright");
}

TEST(CacheRoot, IsMadePrivate) {
  const Scratch scratch;
  ::umask(0);
  const fs::path root = cache_root(scratch / "a/b/c").value();
  for (const fs::path& made : {root, root.parent_path(), root.parent_path().parent_path()})
    EXPECT_EQ(mode_of(made), 0700u) << made;
}

TEST(CacheRoot, RefusesWhatOthersMayWrite) {
  const Scratch scratch;
  fs::create_directory(scratch / "open");
  ASSERT_EQ(::chmod((scratch / "open").c_str(), 0777), 0);
  const auto root = cache_root(scratch / "open");
  ASSERT_FALSE(root);
  EXPECT_NE(root.error().message.find("writable by everybody (mode 0777)"), std::string::npos) << root.error().message;
}

TEST(CacheRoot, RefusesAnotherUsersDirectory) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a directory that belongs to somebody else";
  const Scratch scratch;
  fs::create_directory(scratch / "theirs");
  ASSERT_EQ(::chown((scratch / "theirs").c_str(), 12345, 12345), 0);
  const auto root = cache_root(scratch / "theirs");
  ASSERT_FALSE(root);
  EXPECT_NE(root.error().message.find("owned by user 12345"), std::string::npos) << root.error().message;
}

TEST(CacheRoot, BelowARegularFileSaysWhy) {
  const Scratch scratch;
  std::ofstream(scratch / "file") << "x";
  const auto root = cache_root(scratch / "file/cache");
  ASSERT_FALSE(root);
  EXPECT_EQ(root.error().code, ErrorCode::could_not_finish);
  EXPECT_NE(root.error().message.find("Not a directory"), std::string::npos) << root.error().message;
}

TEST(Entry, EveryCutAndEveryFlippedBitIsSeen) {
  const std::string key = key_of({"a key"});
  const Entry entry{std::string("\x7f"
                                "ELF\0payload",
                                12),
                    "a log"};
  const std::string file = pack(entry, key);
  const auto whole = unpack(file, key);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->payload, entry.payload);
  EXPECT_EQ(whole->log, entry.log);
  for (std::size_t length = 0; length < file.size(); ++length)
    EXPECT_FALSE(unpack(file.substr(0, length), key)) << length;
  for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
    std::string broken = file;
    broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(unpack(broken, key)) << bit;
  }
  EXPECT_FALSE(unpack(file + "x", key));
  EXPECT_FALSE(unpack("x" + file, key));
  EXPECT_FALSE(unpack(file, key_of({"another key"})));
}

TEST(Key, FieldsDoNotRunTogether) {
  EXPECT_EQ(key_of({"ab", "c"}), key_of({"ab", "c"}));
  EXPECT_NE(key_of({"ab", "c"}), key_of({"a", "bc"}));
  EXPECT_NE(key_of({"ab"}), key_of({"ab", ""}));
  EXPECT_EQ(key_of({"ab"}).size(), kKeyLength);
}

TEST(PublishFile, LeavesNoTemporaryAndReplacesWhole) {
  const Scratch scratch;
  ASSERT_TRUE(publish_file(scratch / "d/entry", "one"));
  ASSERT_TRUE(publish_file(scratch / "d/entry", "second"));
  EXPECT_EQ(test::read_text(scratch / "d/entry"), "second");
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch / "d"), fs::directory_iterator{}), 1);
  EXPECT_FALSE(publish_file(scratch / "d/entry/below", "x"));
}

TEST(AdvisoryLock, TellsAnotherHolderFromAFileThatCannotBeLocked) {
  const Scratch scratch;
  const auto held = advisory_lock(scratch / "lock", std::chrono::milliseconds(0));
  ASSERT_TRUE(held && *held);
  const auto second = advisory_lock(scratch / "lock", std::chrono::milliseconds(20));
  EXPECT_TRUE(second && !*second);
  fs::create_directories(scratch / "folder");
  const auto folder = advisory_lock(scratch / "folder", std::chrono::milliseconds(20));
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().message.find("Is a directory"), std::string::npos) << folder.error().message;
}

TEST(SweepLeftovers, RemovesWhatNoLivingProcessHolds) {
  const Scratch scratch;
  fs::create_directories(scratch / ".ww-dead/include");
  for (const char* name : {".ww-old", ".ww-new", ".ww-key.lock", ".ww-dead/kernel.cpp", "entry.so"})
    std::ofstream(scratch / name) << "x";
  const auto lock = advisory_lock(scratch / ".ww-live.lock", std::chrono::milliseconds(0));
  ASSERT_TRUE(lock && *lock);
  const Result<WorkDirectory> work = WorkDirectory::make(scratch.path());
  ASSERT_TRUE(work);
  sweep_leftovers(scratch.path());
  for (const char* name : {".ww-old", ".ww-new", ".ww-key.lock", ".ww-dead"})
    EXPECT_FALSE(fs::exists(scratch / name)) << name;
  EXPECT_TRUE(fs::exists(work->path())) << "in use";
  EXPECT_TRUE(fs::exists(scratch / ".ww-live.lock")) << "in use";
  EXPECT_TRUE(fs::exists(scratch / "entry.so")) << "no leftover";
}

TEST(SweepLeftovers, AKilledProcessLeavesNothingAfterTheNextOne) {
  const Scratch scratch;
  const pid_t child = ::fork();
  if (child == 0) {
    const Result<WorkDirectory> work = WorkDirectory::make(scratch.path());
    if (!work || !write_file(work->path() / "kernel.cpp", "x")) ::_exit(1);
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), fs::directory_iterator{}), 1);
  sweep_leftovers(scratch.path());
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), fs::directory_iterator{}), 0);
}

TEST(MemoryCache, ManyThreadsOneCompile) {
  MemoryCache cache;
  std::atomic<int> compiles = 0, paid = 0, right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i)
    threads.emplace_back([&] {
      const auto got = cache.get("key", [&]() -> Result<Compiled> {
        ++compiles;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return Compiled{{'x'}, {}, 0.02, "log"};
      });
      if (got && got->image.size() == 1 && got->log == "log") ++right;
      if (got && got->compile_seconds > 0) ++paid;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(compiles, 1);
  EXPECT_EQ(paid, 1);
  EXPECT_EQ(right, 16);
}

TEST(MemoryCache, FailuresAreNotKept) {
  MemoryCache cache;
  EXPECT_FALSE(
      cache.get("key", []() -> Result<Compiled> { return failure(ErrorCode::could_not_finish, {}, {}, "no"); }));
  const auto thrown = cache.get("key", []() -> Result<Compiled> { throw std::bad_alloc(); });
  ASSERT_FALSE(thrown);
  EXPECT_EQ(thrown.error().code, ErrorCode::could_not_finish);
  EXPECT_TRUE(cache.get("key", []() -> Result<Compiled> { return Compiled{}; }));
}

TEST(MemoryCache, AFileThatIsGoneIsMadeAgain) {
  const Scratch scratch;
  MemoryCache cache;
  int compiles = 0;
  const auto produce = [&]() -> Result<Compiled> {
    ++compiles;
    std::ofstream(scratch / "module.so") << "x";
    return Compiled{{}, scratch / "module.so", 1, {}};
  };
  ASSERT_TRUE(cache.get("key", produce));
  ASSERT_TRUE(cache.get("key", produce));
  EXPECT_EQ(compiles, 1);
  fs::remove(scratch / "module.so");
  ASSERT_TRUE(cache.get("key", produce));
  EXPECT_EQ(compiles, 2);
}

using Numbers = SingleFlight<std::string, int>;

/// Calls `call` on as many threads at once.
template <class Call> void on_threads(int count, Call call) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(call);
  for (std::thread& thread : threads) thread.join();
}

TEST(SingleFlight, AFailureGoesToAllThatWaitedAndTheNextCallTriesAgain) {
  for (const bool throws : {false, true}) {
    Numbers numbers;
    std::atomic<int> makes = 0, failures = 0, entered = 0;
    on_threads(8, [&] {
      ++entered;
      const Result<int> got = numbers.get("key", [&]() -> Result<int> {
        ++makes;
        while (entered < 8) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the others wait by now
        if (throws) throw std::runtime_error("no");
        return failure(ErrorCode::could_not_finish, {}, {}, {}, "no");
      });
      if (!got && got.error().code == ErrorCode::could_not_finish &&
          got.error().message.find("no") != std::string::npos)
        ++failures;
    });
    EXPECT_EQ(makes, 1);
    EXPECT_EQ(failures, 8);
    EXPECT_FALSE(numbers.contains("key"));
    EXPECT_EQ(numbers.get("key", [] { return Result<int>(5); }).value(), 5);
    EXPECT_TRUE(numbers.contains("key"));
  }
}

TEST(SingleFlight, CallersOfOtherKeysDoNotWait) {
  Numbers numbers;
  const Result<int> outer = numbers.get("a", [&]() -> Result<int> {
    EXPECT_FALSE(numbers.contains("a"));
    int inner = 0;
    std::thread([&] { inner = numbers.get("b", [] { return Result<int>(2); }).value(); }).join();
    return 10 * inner + numbers.get("c", [] { return Result<int>(3); }).value();
  });
  EXPECT_EQ(outer.value(), 23);
}

TEST(SingleFlight, AValueThatIsNotUsableIsMadeAgainOnce) {
  Numbers numbers;
  std::atomic<int> made = 0, right = 0;
  const auto make = [&] { return Result<int>(++made); };
  EXPECT_EQ(numbers.get("key", make).value(), 1);
  on_threads(8, [&] {
    if (numbers.get("key", make, [](int value) { return value != 1; }).value() == 2) ++right;
  });
  EXPECT_EQ(made, 2);
  EXPECT_EQ(right, 8);
}

TEST(SingleFlight, AValueThatIsClearedWhileItIsMadeIsNotKept) {
  Numbers numbers;
  const Result<int> got = numbers.get("key", [&] {
    numbers.clear();
    EXPECT_EQ(numbers.get("key", [] { return Result<int>(2); }).value(), 2);
    return Result<int>(1);
  });
  EXPECT_EQ(got.value(), 1);
  EXPECT_EQ(numbers.get("key", [] { return Result<int>(3); }).value(), 2) << "the newer value";
}

TEST(SingleFlight, AForkedChildHasTheValues) {
  Numbers numbers;
  ASSERT_TRUE(numbers.get("key", [] { return Result<int>(7); }));
  const pid_t child = ::fork();
  if (child == 0) {
    const bool kept = numbers.get("key", [] { return Result<int>(1); }).value() == 7;
    const bool makes = numbers.get("other", [] { return Result<int>(8); }).value() == 8;
    ::_exit(kept && makes ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace ww::jit
