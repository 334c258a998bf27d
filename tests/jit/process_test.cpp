// SPDX-License-Identifier: Apache-2.0
// The cache among processes: many at once, and processes killed in the middle. Never a wrong result, never a broken
// entry under an entry's name.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <random>
#include <thread>

#include "jit/build_facts.hpp"
#include "jit/entry.hpp"
#include "jit/jit.hpp"
#include "support.hpp"

namespace ww::jit {
namespace {

using Clock = std::chrono::steady_clock;
using test::Scratch;

struct Probe {
  pid_t pid = 0;
  int output = -1;
};

Probe start(const fs::path& cache, int nonce) {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  const std::string directory = cache.string(), number = std::to_string(nonce);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], 1);
    ::close(ends[0]);
    ::close(ends[1]);
    ::execl(WW_TEST_PROBE, WW_TEST_PROBE, directory.c_str(), number.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
  return {child, ends[0]};
}

struct Outcome {
  std::string said;
  bool killed = false;
};

Outcome finish(const Probe& probe) {
  int status = 0;
  while (::waitpid(probe.pid, &status, 0) < 0 && errno == EINTR) {
  }
  char buffer[4096];
  const ssize_t got = WIFSIGNALED(status) ? 0 : ::read(probe.output, buffer, sizeof(buffer));
  ::close(probe.output);
  return {std::string(buffer, static_cast<std::size_t>(got > 0 ? got : 0)), WIFSIGNALED(status)};
}

std::string right_answer() { return std::to_string(test::kBigAnswer) + "\n"; }

// A module of four megabytes, made once; the copying compiler then "compiles" it in milliseconds.
fs::path copying_compiler(const Scratch& scratch) {
  const auto real = compile_module(test::big_source(-1), scratch / "real");
  EXPECT_TRUE(real) << real.error().message;
  return real ? test::copying_compiler(scratch.path(), real->path) : fs::path("none");
}

TEST(Processes, EightAtOnceCompileOnce) {
  const Scratch scratch;
  const test::Variable compiler("WARPWRIGHT_CXX", test::counting_compiler(scratch.path(), scratch / "log"));
  std::vector<Probe> probes;
  for (int i = 0; i < 8; ++i) probes.push_back(start(scratch / "cache", 1));
  for (const Probe& probe : probes) EXPECT_EQ(finish(probe).said, right_answer());
  EXPECT_EQ(test::lines_of(scratch / "log"), 1);
}

TEST(Processes, EightAtOnceOnManySources) {
  const Scratch scratch;
  const test::Variable compiler("WARPWRIGHT_CXX", copying_compiler(scratch));
  for (int round = 0; round < 5; ++round) {
    std::vector<Probe> probes;
    for (int i = 0; i < 8; ++i) probes.push_back(start(scratch / "cache", 10 * round + i / 4));
    for (const Probe& probe : probes) EXPECT_EQ(finish(probe).said, right_answer());
  }
}

// Every file that carries an entry's name is a whole entry of that key.
int count_entries(const fs::path& cache) {
  int entries = 0;
  std::error_code nothing_there;
  for (const auto& at : fs::directory_iterator(cache / library_version() / "emu", nothing_there)) {
    if (at.path().extension() != ".so") continue;
    EXPECT_TRUE(unpack(test::read_text(at.path()), at.path().stem().string())) << at.path();
    ++entries;
  }
  return entries;
}

// Returns once `cache` holds a file that is being published or has been: anything but a lock. Gives up after 10
// seconds.
void wait_for_publishing(const fs::path& cache) {
  for (const auto end = Clock::now() + std::chrono::seconds(10); Clock::now() < end;) {
    std::error_code not_yet;
    for (const auto& at : fs::directory_iterator(cache / library_version() / "emu", not_yet))
      if (at.path().extension() != ".lock") return;
  }
}

// Half of the kills fall anywhere in the life of a process, half into the first moments of its publishing.
TEST(Processes, KilledAtRandomPointsOfPublishing) {
  constexpr int kKills = 20, kMostRounds = 200;  // a kill counts when it hits a living process, which load makes rarer
  constexpr unsigned kSeed = 20240607;
  const Scratch scratch;
  const test::Variable compiler("WARPWRIGHT_CXX", copying_compiler(scratch));
  const auto begin = Clock::now();
  ASSERT_EQ(finish(start(scratch / "undisturbed", 0)).said, right_answer());
  const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count();

  std::mt19937 random(kSeed);
  int killed = 0, kept = 0;
  for (int round = 0; round < kMostRounds && killed < kKills; ++round) {
    const fs::path cache = scratch / "cache";
    const bool aimed = round % 2;
    const Probe victim = start(cache, round);
    if (aimed) wait_for_publishing(cache);
    const auto moment = std::uniform_int_distribution<long>(0, aimed ? 2500 : whole)(random);
    for (const auto end = Clock::now() + std::chrono::microseconds(moment); Clock::now() < end;) {
    }
    ::kill(victim.pid, SIGKILL);
    const Outcome outcome = finish(victim);
    killed += outcome.killed;
    if (!outcome.killed) {
      EXPECT_EQ(outcome.said, right_answer());
    }
    kept += count_entries(cache);
    EXPECT_EQ(finish(start(cache, round)).said, right_answer())
        << "after kill -9 at " << moment << " us, round " << round << ", seed " << kSeed;
    EXPECT_EQ(count_entries(cache), 1);
    fs::remove_all(cache);
  }
  RecordProperty("killed", killed);
  RecordProperty("kept", kept);
  EXPECT_EQ(killed, kKills) << "too few kills hit a living process to prove anything";
}

}  // namespace
}  // namespace ww::jit
