// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without libFuzzer: every input of its corpus as it is, then seeded mutations of them.
//   fuzz_config run FILES/config [--inputs N] [--seed S] [--least-accepted PERCENT]
//       the inputs of the file FILES/config + ".txt", the words of the file FILES/config + ".dict"
//   fuzz_config replay 'ESCAPED INPUT'
//   fuzz_config unpack FILES/config FOLDER      a file for each input, which is what libFuzzer reads
// When an input breaks an invariant, crashes or takes ten seconds, the command that replays it is printed.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "fuzz.hpp"
#include "mutator.hpp"

// A finding of the undefined-behaviour sanitizer ends the run, as one of the address sanitizer does.
extern "C" const char* __ubsan_default_options();
extern "C" const char* __ubsan_default_options() { return "halt_on_error=1:abort_on_error=1:print_stacktrace=1"; }
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "abort_on_error=1:allocator_may_return_null=1"; }

namespace ww::fuzz {
namespace {

constexpr unsigned kMostSeconds = 10;  // of one input
const char* program = "";
std::string replay_line;  // of the input that runs; made before it does, because a signal handler cannot

void say_how_to_replay(int signal) {
  const char* why = signal == SIGALRM ? "fuzz: an input takes too long\n" : "";
  // The results of write are of no use here: the process ends either way.
  if (::write(2, why, std::strlen(why)) < 0 || ::write(2, replay_line.data(), replay_line.size()) < 0) ::_exit(4);
  ::signal(SIGABRT, SIG_DFL);
  ::abort();
}

void run_one(const std::string& input) {
  replay_line = std::string("replay: ") + program + " replay '";
  for (const char c : escaped(input)) replay_line += c == '\'' ? "\\x27" : std::string(1, c);
  replay_line += "'\n";
  ::alarm(kMostSeconds);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

/// On a stack of its own, because a deep recursion has no room left on the program's. A sanitizer's handlers stay: they
/// end in SIGABRT.
void catch_signals() {
  static char stack[1 << 16];
  const stack_t alternative{.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
  ::sigaltstack(&alternative, nullptr);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) {
    struct sigaction before {
    }, action{};
    action.sa_handler = say_how_to_replay;
    action.sa_flags = SA_ONSTACK;
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_DFL) ::sigaction(signal, &action, nullptr);
  }
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  require(file.good(), "a file that can be read: " + path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    if (!line.starts_with('#')) lines.push_back(line);
  return lines;
}

/// One escaped input a line.
std::vector<std::string> corpus_of(const std::string& path) {
  std::vector<std::string> corpus;
  for (const std::string& line : lines_of(path)) corpus.push_back(unescaped(line));
  return corpus;
}

/// libFuzzer's form: "token" a line, perhaps with a name and = before it.
std::vector<std::string> dictionary_of(const std::string& path) {
  std::vector<std::string> words;
  for (const std::string& line : lines_of(path)) {
    const std::size_t first = line.find('"'), last = line.rfind('"');
    if (first < last) words.push_back(unescaped(line.substr(first + 1, last - first - 1)));
  }
  return words;
}

int run(const std::string& files, std::uint64_t inputs, std::uint64_t seed, double least_accepted) {
  const std::vector<std::string> corpus = corpus_of(files + ".txt");
  require(!corpus.empty(), "a corpus with inputs: " + files + ".txt");
  for (const std::string& input : corpus) run_one(input);
  Mutator mutator(corpus, dictionary_of(files + ".dict"), seed);
  counters() = {};
  for (std::uint64_t i = 0; i < inputs; ++i) {
    std::string input = mutator.draw();
    if (i % 2 == 0) repair(input);
    const std::uint64_t before = counters().accepted;
    run_one(input);
    if (counters().accepted > before) mutator.keep(input);
  }
  ::alarm(0);
  const double share =
      inputs == 0 ? 100 : 100.0 * static_cast<double>(counters().accepted) / static_cast<double>(inputs);
  std::printf("%zu inputs of the corpus and %llu mutations (seed %llu): %.1f %% accepted, %llu compared\n",
              corpus.size(), static_cast<unsigned long long>(inputs), static_cast<unsigned long long>(seed), share,
              static_cast<unsigned long long>(counters().compared));
  if (share >= least_accepted) return 0;
  std::fprintf(stderr, "fuzz: fewer than %.1f %% of the inputs are accepted: such a run tests refusals only\n",
               least_accepted);
  return 1;
}

int unpack(const std::string& files, const std::string& folder) {
  int number = 0;
  for (const std::string& input : corpus_of(files + ".txt")) {
    std::ofstream file(folder + "/" + std::to_string(number++), std::ios::binary);
    require((file << input).good(), "a folder that can be written: " + folder);
  }
  return 0;
}

}  // namespace
}  // namespace ww::fuzz

int main(int argc, char** argv) {
  using namespace ww::fuzz;
  program = argv[0];
  catch_signals();
  const std::string verb = argc > 2 ? argv[1] : "";
  if (verb == "replay") return run_one(unescaped(argv[2])), 0;
  if (verb == "unpack" && argc == 4) return unpack(argv[2], argv[3]);
  std::uint64_t inputs = 1000, seed = 0;
  double least_accepted = 0;
  bool understood = verb == "run" && argc % 2 == 1;
  for (int i = 3; i + 1 < argc && understood; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--inputs") inputs = std::strtoull(argv[i + 1], nullptr, 0);
    else if (flag == "--seed") seed = std::strtoull(argv[i + 1], nullptr, 0);
    else if (flag == "--least-accepted") least_accepted = std::strtod(argv[i + 1], nullptr);
    else understood = false;
  }
  if (understood) return run(argv[2], inputs, seed, least_accepted);
  std::fprintf(stderr,
               "usage: %s run FILES [--inputs N] [--seed S] [--least-accepted PERCENT] | replay INPUT |"
               " unpack FILES FOLDER\n",
               argv[0]);
  return 2;
}
