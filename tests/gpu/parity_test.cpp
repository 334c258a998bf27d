// SPDX-License-Identifier: Apache-2.0
// Both executors, bit for bit: each case of tests/arch runs on the emulated device (kernels compiled into this program)
// and on cuda:0 (the same texts through NVRTC), from the same input. Without a GPU every test is skipped and says why.
// An error on the GPU ends the context of its process. So every header's cases run in a child; when a case meets an
// error (as one that both executors must refuse does), the child ends and the next child continues after that case.
// Nothing can hang: mbarrier waits give up by an illegal store in a first run, and an alarm ends each child. The plain
// build of a kernel, with the wait loop that users get, runs only after the guarded one has passed.
// WARPWRIGHT_PARITY_DUMP=<folder> keeps the GPU's output of each case that differs.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "case.hpp"

namespace ww::arch_test {
namespace {

constexpr unsigned kChildSeconds = 120;
constexpr const char* kGuard = "#define WARPWRIGHT_WATCHDOG_MS 500\n";

std::size_t words_compared = 0, cases_equal = 0, cases_refused = 0;

/// cuda:0 of this process. The cache is one folder, so that no process compiles what another has compiled.
Result<Device> open_gpu() {
  const auto cache = std::filesystem::temp_directory_path() / "warpwright-arch-test-cache";
  return Device::open("cuda:0", {.cache_dir = cache, .emu = {}});
}

std::vector<const Case*> cases_of(std::string_view header) {
  std::vector<const Case*> cases;
  for (const Case& c : all_cases())
    if (c.header == header) cases.push_back(&c);
  return cases;
}

Result<std::vector<u32>> run_on_gpu(const Case& c, const Device& gpu, const std::string& prefix) {
  WW_TRY(const auto kernel, gpu.backend().kernel({c.kernel, prefix + kernel_source(c.header)}));
  return run_on_device(c, gpu, *kernel);
}

void dump(const Case& c, const std::vector<u32>& words) {
  const char* folder = std::getenv("WARPWRIGHT_PARITY_DUMP");
  if (!folder) return;
  std::ofstream file(std::filesystem::path(folder) / (c.name + ".bin"), std::ios::binary);
  file.write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(words.size() * 4));
}

/// What a child says of one case: empty when all is well. `lost`: the context is gone.
std::string compare(const Case& c, const Device& gpu, bool& lost) {
  const auto emulated = run_in_process(c, {.seed = 17});
  if (!c.error.empty()) {
    const auto real = run_on_gpu(c, gpu, kGuard);
    lost = !real;
    if (real) return "the GPU accepts it; against the host's model: " + difference(*real, c.expected);
    if (emulated) return "the emulated device accepts it";
    return {};
  }
  if (!emulated) return "the emulated device: " + emulated.error().message;
  if (const auto d = difference(*emulated, c.expected); !d.empty()) return "the emulated device against the host: " + d;
  for (const char* prefix : {kGuard, ""}) {
    const std::string build = *prefix ? "guarded: " : "plain: ";
    const auto real = run_on_gpu(c, gpu, prefix);
    lost = !real;
    if (lost) return build + real.error().message;
    const auto d = difference(*real, *emulated);
    if (d.empty()) continue;
    dump(c, *real);
    return build + "the GPU against the emulated device: " + d;
  }
  return {};
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

/// Runs cases from `first` on and writes a line for each, then ends: an empty line for a case that is well.
[[noreturn]] void run_child(const std::vector<const Case*>& cases, std::size_t first, int to) {
  ::alarm(kChildSeconds);
  std::FILE* out = ::fdopen(to, "w");
  const Result<Device> gpu = open_gpu();
  bool lost = !gpu;
  for (std::size_t i = first; i < cases.size() && !lost; ++i) {
    std::fprintf(out, "%s\n", one_line(compare(*cases[i], *gpu, lost)).c_str());
    std::fflush(out);
  }
  ::_exit(0);
}

/// A child's lines, one for each case that it has finished.
std::vector<std::string> lines_of_child(const std::vector<const Case*>& cases, std::size_t first) {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    run_child(cases, first, ends[1]);
  }
  ::close(ends[1]);
  std::vector<std::string> lines;
  std::FILE* in = ::fdopen(ends[0], "r");
  std::string line;
  for (int c; (c = std::fgetc(in)) != EOF;) {
    if (c != '\n') line += static_cast<char>(c);
    else lines.push_back(std::exchange(line, {}));
  }
  std::fclose(in);
  if (child > 0) ::waitpid(child, nullptr, 0);
  return lines;
}

void report(const Case& c, const std::string& message) {
  if (!message.empty()) {
    ADD_FAILURE() << c.name << ": " << message;
  } else if (!c.error.empty()) {
    std::printf("refused by both: %s\n", c.name.c_str());
    ++cases_refused;
  } else {
    std::printf("equal: %-60s %7zu words\n", c.name.c_str(), c.expected.size());
    words_compared += c.expected.size();
    ++cases_equal;
  }
}

/// What cuda:0 is, or why there is none, asked in a child: a process that has opened it must not fork.
struct Gpu {
  bool present;
  std::string text;
};
const Gpu& gpu() {
  static const Gpu found = [] {
    int ends[2];
    if (::pipe(ends) != 0) return Gpu{false, "no pipe"};
    if (::fork() == 0) {
      const Result<Device> device = open_gpu();
      const std::string text = device ? "+" + device->info().description : "-" + device.error().message;
      ::_exit(::write(ends[1], text.data(), text.size()) < 0);
    }
    ::close(ends[1]);
    std::string text;
    for (char c; ::read(ends[0], &c, 1) == 1;) text += c;
    ::close(ends[0]);
    ::wait(nullptr);
    return Gpu{text.starts_with('+'), text.empty() ? "opening it ended the process" : text.substr(1)};
  }();
  return found;
}

class BothExecutors : public testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() {
    std::printf("%s%s\n", gpu().present ? "GPU: " : "no GPU, every test is skipped: ", gpu().text.c_str());
  }
  static void TearDownTestSuite() {
    std::printf("%zu cases equal to the bit, %zu words, each compared twice; %zu cases refused by both\n", cases_equal,
                words_compared, cases_refused);
  }
};

TEST_P(BothExecutors, GiveTheSameBits) {
  if (!gpu().present) GTEST_SKIP() << gpu().text;
  const bool runs_sm100 = gpu().text.find("sm_100") != std::string::npos;
  if (is_sm100(GetParam()) != runs_sm100 && (is_sm100(GetParam()) || is_sm90(GetParam())))
    GTEST_SKIP() << GetParam() << " has kernels of " << (runs_sm100 ? "sm_90" : "sm_100") << "; " << gpu().text;
  const std::vector<const Case*> cases = cases_of(GetParam());
  for (std::size_t next = 0; next < cases.size();) {
    const std::vector<std::string> lines = lines_of_child(cases, next);
    for (const std::string& line : lines) report(*cases[next++], line);
    if (lines.empty()) report(*cases[next++], "the process of this case ended without a word");
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, BothExecutors, testing::ValuesIn(kernel_headers()),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace ww::arch_test
