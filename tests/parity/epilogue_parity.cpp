// SPDX-License-Identifier: Apache-2.0
// Random epilogue problems (random_epilogue.hpp) against FP64, and emulated device against GPU.
//   epilogue_parity verify <first> <count> <trees> [device]   every output within its bound
//   epilogue_parity make   <file> [count] [first]             hashes of all outputs on the emulated device
//   epilogue_parity check  <file> [device] [step]             every step-th problem of the file on `device`
// Problems from 1000000 on are batches. Exit status: 0 all right or equal, 1 a difference, 4 something could not run.
#include <fmt/format.h>
#include <xxhash.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "problems/random_epilogue.hpp"

namespace {

using namespace ww;
using namespace ww::testing;

constexpr std::uint64_t kTreesOfHashes = 60;

std::string hash_of(const EpilogueRun& run) {
  const std::vector<std::uint8_t> all = bytes_of(run);
  const XXH128_hash_t hash = XXH3_128bits(all.data(), all.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

/// Makes all plans first, on every core, because compiling dominates; they stay in the device's cache.
void compile_all(const Device& device, const std::vector<EpilogueCase>& cases) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> workers;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t)
    workers.emplace_back([&] {
      for (std::size_t i; (i = next++) < cases.size();)
        (void)plan_gemm(device, cases[i].problem,
                        {.config = cases[i].config, .batch_invariant = true});  // an error shows again when it is run
    });
}

int fail(const Error& error, const EpilogueCase& c) {
  return fmt::print(stderr, "{}\n{}\n", error.message, c.replay()), 4;
}

int verify_range(std::uint64_t first, std::uint64_t count, std::uint64_t trees, const std::string& name) {
  const auto device = Device::open(name);
  if (!device) return fmt::print(stderr, "{}\n", device.error().message), 4;
  std::vector<EpilogueCase> cases;
  for (std::uint64_t i = first; i < first + count; ++i) cases.push_back(numbered_epilogue(i, trees));
  compile_all(*device, cases);
  int wrong = 0;
  double of_bound = 0;
  for (const EpilogueCase& c : cases) {
    const auto run = run_on(*device, c);
    if (!run) return fail(run.error(), c);
    const ref::EpilogueComparison v = verify(c, *run);
    of_bound = std::max(of_bound, v.verdict.max_error_of_bound);
    if (!v.verdict.first) continue;
    ++wrong;
    const ref::Mismatch& f = *v.verdict.first;
    fmt::print(
        "{} of {} wrong, first {} ({}, {}): got {}, expected {} +- {}\n  {}\n  again: epilogue_parity verify {} 1 {} "
        "{}\n",
        v.verdict.wrong, v.elements, v.where, f.row, f.column, f.got, f.expected, f.bound, c.replay(), c.number, trees,
        name);
  }
  fmt::print("{}: {} of {} epilogue problems from {} on right, no element beyond {:.3g} of its bound\n",
             device->info().description, count - wrong, count, first, of_bound);
  return wrong == 0 ? 0 : 1;
}

int make(const std::string& path, std::uint64_t count, std::uint64_t first) {
  const auto device = Device::open("emu:sm90");
  if (!device) return fmt::print(stderr, "{}\n", device.error().message), 4;
  std::string text = "# problem number, XXH3-128 of all outputs; made by: epilogue_parity make\n";
  for (std::uint64_t i = first; i < first + count; ++i) {
    const EpilogueCase c = numbered_epilogue(i, kTreesOfHashes);
    const auto run = run_on(*device, c);
    if (!run) return fail(run.error(), c);
    text += fmt::format("{} {}\n", i, hash_of(*run));
  }
  std::ofstream(path) << text;
  fmt::print("{} hashes written to {}\n", count, path);
  return 0;
}

int check(const std::string& path, const std::string& name, std::uint64_t step) {
  const auto device = Device::open(name);
  if (!device) return fmt::print(stderr, "{}\n", device.error().message), 4;
  std::vector<EpilogueCase> cases;
  std::vector<std::string> hashes;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::uint64_t number = 0;
    char hash[33] = {};
    if (std::sscanf(line.c_str(), "%lu %32s", &number, hash) != 2 || number % step != 0) continue;
    cases.push_back(numbered_epilogue(number, kTreesOfHashes));
    hashes.emplace_back(hash);
  }
  if (cases.empty()) return fmt::print(stderr, "{}: no hashes\n", path), 4;
  compile_all(*device, cases);
  int wrong = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto run = run_on(*device, cases[i]);
    if (!run) return fail(run.error(), cases[i]);
    if (hash_of(*run) == hashes[i]) continue;
    ++wrong;
    const ref::EpilogueComparison v = verify(cases[i], *run);
    fmt::print("{}\n  other bits than the emulated device; {} of {} elements outside the bound of FP64\n",
               cases[i].replay(), v.verdict.wrong, v.elements);
  }
  fmt::print("{}: {} of {} epilogue problems bit-equal\n", device->info().description, cases.size() - wrong,
             cases.size());
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 2 ? argv[1] : "";
  const auto number = [&](int i, std::uint64_t otherwise) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
  };
  if (verb == "verify" && argc > 4)
    return verify_range(number(2, 0), number(3, 1), number(4, 1), argc > 5 ? argv[5] : "emu:sm90");
  if (verb == "make") return make(argv[2], number(3, 120), number(4, 0));
  if (verb == "check") return check(argv[2], argc > 3 ? argv[3] : "emu:sm90", number(4, 1));
  fmt::print(
      stderr,
      "usage: epilogue_parity verify <first> <count> <trees> [device] | make <file> [count] [first] | check <file> "
      "[device] [step]\n");
  return 2;
}
