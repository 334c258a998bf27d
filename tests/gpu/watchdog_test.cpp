// SPDX-License-Identifier: Apache-2.0
// Kernels that wait for ever, built with the watchdog: the launch ends within seconds with an error that names role,
// block, barrier and parity, and so does its process. Without a GPU these tests are skipped and say why. Everywhere the
// emulated device must report the same kernels as deadlocks, which shows that they hang.
// A fault ends the context of its process, so each hang runs in its own child, which an alarm ends if nothing else
// does.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "hanging_kernels.hpp"

namespace ww::gpu_test {
namespace {

constexpr unsigned kChildSeconds = 60;    // the compiler's time is in it
constexpr double kSecondsToTheError = 5;  // from the launch
constexpr const char* kMilliseconds = "200";

std::filesystem::path cache() { return std::filesystem::temp_directory_path() / "warpwright-watchdog-test-cache"; }

/// What a child has to say, "+" in front when all was as it should be. Nothing when the alarm ended it.
struct Answer {
  std::string text;
  int status = -1;
};

template <class Body> Answer in_child(Body body) {
  int ends[2];
  if (::pipe(ends) != 0) return {"no pipe"};
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    ::signal(SIGPIPE, SIG_IGN);
    ::alarm(kChildSeconds);
    const std::string text = body();
    const auto written = ::write(ends[1], text.data(), text.size());
    std::exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);  // with all destructors: they may not hang either
  }
  ::close(ends[1]);
  Answer answer;
  for (char c; ::read(ends[0], &c, 1) == 1;) answer.text += c;
  ::close(ends[0]);
  if (child > 0) ::waitpid(child, &answer.status, 0);
  return answer;
}

Result<Device> open_gpu() { return Device::open("cuda:0", {.cache_dir = cache(), .emu = {}}); }

/// Launches and waits: "+" and the error when it came in time and is the one expected.
std::string hang_on_gpu(Hang hang) {
  ::setenv("WARPWRIGHT_WATCHDOG_MS", kMilliseconds, 1);
  const Result<Device> gpu = open_gpu();
  if (!gpu) return "-" + gpu.error().message;
  const Result<std::unique_ptr<Hanging>> made = make_hanging(hang, *gpu);
  if (!made) return "-" + made.error().message;
  const auto start = std::chrono::steady_clock::now();
  Result<void> ended = gpu->backend().launch((*made)->launch());
  if (ended) ended = gpu->synchronize({});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (ended) return "-the kernel ended as if nothing were wrong";
  const std::string expected = "watchdog: " + (*made)->watchdog_words(kMilliseconds);
  const bool right = ended.error().message.find(expected) != std::string::npos && seconds < kSecondsToTheError;
  return fmt::format("{}after {:.2f} s: {}{}", right ? "+" : "-", seconds, ended.error().message,
                     right ? "" : "\n  expected within 5 s: " + expected);
}

/// cuda:0, or why there is none; asked in a child, since a process that has opened it must not fork.
const Answer& gpu() {
  static const Answer found = in_child([]() -> std::string {
    const Result<Device> device = open_gpu();
    return device ? "+" + device->info().description : "-" + device.error().message;
  });
  return found;
}

class Watchdog : public testing::TestWithParam<Hang> {};

TEST_P(Watchdog, EndsAKernelThatWaitsForEverWithAReport) {
  if (!gpu().text.starts_with("+")) GTEST_SKIP() << "no GPU: " << gpu().text.substr(gpu().text.empty() ? 0 : 1);
  const Answer answer = in_child([] { return hang_on_gpu(GetParam()); });
  ASSERT_TRUE(WIFEXITED(answer.status)) << "the process did not end by itself; it said: " << answer.text;
  EXPECT_EQ(WEXITSTATUS(answer.status), 0);
  EXPECT_TRUE(answer.text.starts_with("+")) << answer.text;
  std::printf("%s\n", answer.text.c_str());
}

TEST_P(Watchdog, TheEmulatedDeviceCallsTheSameKernelStuck) {
  const Result<Device> device = Device::open("emu:sm90", {.cache_dir = cache(), .emu = {.check = true}});
  ASSERT_TRUE(device) << device.error().message;
  const Result<std::unique_ptr<Hanging>> made = make_hanging(GetParam(), *device);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_FALSE(device->backend().launch((*made)->launch()));
  const auto report = device->backend().last_check();
  ASSERT_TRUE(report);
  ASSERT_EQ(report->findings.size(), 1u) << report->why_incomplete;
  const Finding& finding = report->findings[0];
  EXPECT_EQ(finding.rule, GetParam() == Hang::global ? Rule::livelock : Rule::deadlock) << finding.text;
  for (const std::string& words : (*made)->emulator_words())
    EXPECT_NE(finding.text.find(words), std::string::npos) << "expected: " << words << "\n" << finding.text;
}

INSTANTIATE_TEST_SUITE_P(Hangs, Watchdog, testing::Values(Hang::mbarrier, Hang::global, Hang::gemm_without_release),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace ww::gpu_test
