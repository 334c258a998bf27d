// SPDX-License-Identifier: Apache-2.0
// Random grouped problems (random_grouped.hpp) on the emulated device and on a GPU.
//   grouped_parity verify <first> <count> [device] [step]    D against the reference, bit for bit, and FP64
//   grouped_parity make   <file> [count] [first]      one hash of the reference's D for each problem
//   grouped_parity check  <file> [device] [step]      every step-th problem of the file on `device`
// Problems from 5950000 on are those of scaled_groups.hpp, for emu:sm100. Those from 6000000 on have an epilogue: FP64
// alone judges them, and their hashes, of all that they write, are those of the emulated device.
// Exit status: 0 all equal, 1 a difference, 4 something could not run.
#include <fmt/format.h>
#include <xxhash.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "problems/random_grouped_epilogue.hpp"
#include "problems/scaled_groups.hpp"

namespace {

using namespace ww;
using namespace ww::testing;

std::string hash_of(const std::vector<std::uint8_t>& d) {
  const XXH128_hash_t hash = XXH3_128bits(d.data(), d.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

/// Returns problem `i` without an epilogue.
HostGrouped numbered(std::uint64_t i) { return i >= kFirstScaledGrouped ? scaled_grouped(i) : numbered_grouped(i); }

/// Returns what is wrong with problem `i` on `device`, empty if nothing is, or the error that kept it from running.
Result<std::string> judge(const Device& device, std::uint64_t i) {
  if (i >= kFirstGroupedEpilogue) {
    const GroupedEpilogueCase c = numbered_grouped_epilogue(i);
    WW_TRY(const GroupedEpilogueRun run, run_on(device, c));
    return wrong(c, run);
  }
  const HostGrouped host = numbered(i);
  WW_TRY(const std::vector<std::uint8_t> got, run_on(device, host));
  const std::string text = difference(host, got, reference(host));
  return text.empty() ? outside_bound(host, got) : text;
}

std::string replay(std::uint64_t i) {
  return i >= kFirstGroupedEpilogue ? numbered_grouped_epilogue(i).replay() : numbered(i).replay();
}

/// The plan of problem `i`, as running it makes it.
void compile(const Device& device, std::uint64_t i) {
  const HostGrouped host = i >= kFirstGroupedEpilogue ? numbered_grouped_epilogue(i).host : numbered(i);
  (void)plan_grouped(device, host.problem, {.config = host.config});  // an error shows again when it is run
}

int verify(std::uint64_t first, std::uint64_t count, const std::string& name, std::uint64_t step) {
  const auto device = Device::open(name);
  if (!device) return fmt::print(stderr, "{}\n", device.error().message), 4;
  int wrong = 0;
  for (std::uint64_t n = 0; n < count; ++n) {
    const std::uint64_t i = first + n * step;
    const auto text = judge(*device, i);
    if (!text) {
      fmt::print(stderr, "{}\n{}\n", text.error().message, replay(i));
      return 4;
    }
    if (!text->empty()) ++wrong, fmt::print("{}\n  again: grouped_parity verify {} 1 {}\n", *text, i, name);
  }
  fmt::print("{}: {} of {} grouped problems from {} on {}within the FP64 bound\n", device->info().description,
             count - wrong, count, first, first < kFirstGroupedEpilogue ? "bit-equal, and " : "");
  return wrong == 0 ? 0 : 1;
}

int make(const std::string& path, std::uint64_t count, std::uint64_t first) {
  std::string text = first < kFirstGroupedEpilogue
                         ? "# problem number, XXH3-128 of all of D; made by: grouped_parity make\n"
                         : "# problem number, XXH3-128 of all outputs; made by: grouped_parity make\n";
  const auto emulated = Device::open("emu:sm90");
  if (!emulated) return fmt::print(stderr, "{}\n", emulated.error().message), 4;
  for (std::uint64_t i = first; i < first + count; ++i) {
    if (i < kFirstGroupedEpilogue) {
      text += fmt::format("{} {}\n", i, hash_of(reference(numbered(i))));
      continue;
    }
    const auto run = run_on(*emulated, numbered_grouped_epilogue(i));
    if (!run) return fmt::print(stderr, "{}\n{}\n", run.error().message, replay(i)), 4;
    text += fmt::format("{} {}\n", i, hash_of(bytes_of(*run)));
  }
  std::ofstream(path) << text;
  fmt::print("{} hashes written to {}\n", count, path);
  return 0;
}

int check(const std::string& path, const std::string& name, std::uint64_t step) {
  const auto device = Device::open(name);
  if (!device) return fmt::print(stderr, "{}\n", device.error().message), 4;
  std::vector<std::pair<std::uint64_t, std::string>> expected;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::uint64_t number = 0;
    char hash[33] = {};
    if (std::sscanf(line.c_str(), "%lu %32s", &number, hash) == 2 && number % step == 0)
      expected.emplace_back(number, hash);
  }
  if (expected.empty()) return fmt::print(stderr, "{}: no hashes\n", path), 4;

  // Makes all plans first, on every core, because compiling dominates; they stay in the device's cache.
  std::atomic<std::size_t> next = 0;
  {
    std::vector<std::jthread> workers;
    for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t)
      workers.emplace_back([&] {
        for (std::size_t i; (i = next++) < expected.size();) compile(*device, expected[i].first);
      });
  }
  int wrong = 0;
  for (const auto& [number, hash] : expected) {
    if (number >= kFirstGroupedEpilogue) {
      const GroupedEpilogueCase c = numbered_grouped_epilogue(number);
      const auto run = run_on(*device, c);
      if (!run) return fmt::print(stderr, "{}\n{}\n", run.error().message, c.replay()), 4;
      if (hash_of(bytes_of(*run)) == hash) continue;
      ++wrong;
      const std::string text = ::ww::testing::wrong(c, *run);
      fmt::print("{}\n  other bits than the emulated device{}{}\n", c.replay(), text.empty() ? "" : ": ", text);
      continue;
    }
    const HostGrouped host = numbered(number);
    const auto got = run_on(*device, host, nullptr, 2);  // twice: counters must come back to zero
    if (!got) return fmt::print(stderr, "{}\n{}\n", got.error().message, host.replay()), 4;
    if (hash_of(*got) == hash) continue;
    ++wrong;
    fmt::print("{}\n", difference(host, *got, reference(host)));
  }
  fmt::print("{}: {} of {} grouped problems bit-equal\n", device->info().description, expected.size() - wrong,
             expected.size());
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 2 ? argv[1] : "";
  const auto number = [&](int i, std::uint64_t otherwise) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
  };
  if (verb == "verify" && argc > 3)
    return verify(number(2, 0), number(3, 1), argc > 4 ? argv[4] : "emu:sm90", number(5, 1));
  if (verb == "make") return make(argv[2], number(3, 240), number(4, 0));
  if (verb == "check") return check(argv[2], argc > 3 ? argv[3] : "emu:sm90", number(4, 1));
  fmt::print(
      stderr,
      "usage: grouped_parity verify <first> <count> [device] [step] | make <file> [count] [first] | check <file> "
      "[device] [step]\n");
  return 2;
}
