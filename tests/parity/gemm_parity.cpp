// SPDX-License-Identifier: Apache-2.0
// Emulated device against GPU: the same random problems, one hash of D each.
//   gemm_parity make  <file> [count] [first]  writes the hashes that the emulated device computes; problems from
//                                             1000000 on are those of operand_problem.hpp, from 2000000 on those of
//                                             recipe_problem.hpp, from 3000000 on those of output_problem.hpp, from
//                                             4000000 on those of scheduler_problem.hpp, from 5000000 on those of
//                                             swap_problem.hpp, from 7000000 on those of register_problem.hpp
//   gemm_parity verify <first> <count> [step] compares D of every step-th problem with the reference; problems from
//                                             8000000 on are those of blackwell_problem.hpp, on emu:sm100, from
//                                             9000000 on those of narrow_problem.hpp
//   gemm_parity check <file> [device] [step]  runs every step-th problem on `device` (default emu:sm90) and compares
//   hashes
// A problem is a function of its number, so the file holds numbers and hashes only; both device and emulator must agree
// with it bit for bit. Exit status: 0 all equal, 1 a difference, 4 something could not run.
#include <fmt/format.h>
#include <xxhash.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "problems/blackwell_problem.hpp"
#include "problems/narrow_problem.hpp"
#include "problems/operand_problem.hpp"
#include "problems/output_problem.hpp"
#include "problems/recipe_problem.hpp"
#include "problems/register_problem.hpp"
#include "problems/scheduler_problem.hpp"
#include "problems/swap_problem.hpp"

namespace {

using namespace ww;
using namespace ww::testing;

/// Problem number `i`: every type, recipe, output, cluster and tile, with tails in all three extents and padded
/// strides.
HostProblem numbered_problem(std::uint64_t i) {
  if (i >= kFirstNarrowProblem) return narrow_problem(i);
  if (i >= kFirstBlackwellProblem) return blackwell_problem(i);
  if (i >= kFirstRegisterProblem) return register_problem(i);
  if (i >= kFirstSwapProblem) return swap_problem(i);
  if (i >= kFirstSchedulerProblem) return scheduler_problem(i);
  if (i >= kFirstOutputProblem) return output_problem(i);
  if (i >= kFirstRecipeProblem) return recipe_problem(i);
  if (i >= kFirstOperandProblem) return operand_problem(i);
  std::mt19937_64 rng(i * 0x9e3779b97f4a7c15ull + 1);
  const auto pick = [&](std::uint64_t count) { return rng() % count; };
  GemmProblem p;
  p.a = p.b = i % 2 == 0 ? e4m3 : i % 4 == 1 ? bf16 : f16;
  const Scale recipes[3] = {Scale::none, Scale::tensor, Scale::block_1x128_128x128};  // block: 8-bit types only
  p.scale = p.a == e4m3 ? recipes[i / 2 % 3] : recipes[i / 4 % 2];
  p.d = DType(1 + pick(3));
  const std::int64_t step = 16 / bytes_of(p.a);
  p.m = 1 + static_cast<std::int64_t>(pick(400));
  p.n = 8 * (1 + static_cast<std::int64_t>(pick(60)));
  p.k = step * static_cast<std::int64_t>(pick(17) == 0 ? 0 : 1 + pick(80));
  if (pick(3) == 0) p.lda = p.k + step * static_cast<std::int64_t>(1 + pick(4));
  if (pick(3) == 0) p.ldb = p.k + step * static_cast<std::int64_t>(1 + pick(4));
  if (pick(3) == 0) p.ldd = p.n + 8 * static_cast<std::int64_t>(1 + pick(4));
  GemmConfig config;
  const int clusters[3][2] = {{1, 1}, {2, 1}, {1, 2}};
  const auto& cluster = clusters[i / 3 % 3];
  config.cluster.m = cluster[0], config.cluster.n = cluster[1];
  config.tile.m = pick(3) == 0 ? 64 : 128;
  config.tile.n = pick(2) == 0 ? 64 : 128;
  config.raster.width = 1 + static_cast<int>(pick(4));
  return make_problem(p, config, i);
}

/// CTAs that problem `i` runs on; 0: all of the device.
int sms_of(std::uint64_t i) {
  if (i >= kFirstBlackwellProblem) return kBlackwellSms;
  if (i >= kFirstRegisterProblem || i < kFirstSchedulerProblem) return 0;
  return i >= kFirstSwapProblem ? kSwapSms : scheduler_sms(i);
}

/// Returns D of problem `i` as the documentation defines it, bit for bit.
std::vector<std::uint8_t> reference_of_number(std::uint64_t i, const HostProblem& host, const GemmConfig& resolved) {
  return reference(host, emu::MmaMath::exact, sms_of(i) == 0 ? KCut{} : cut_of(resolved, host.problem, sms_of(i)));
}

Result<std::vector<std::uint8_t>> run_number(const Device& device, std::uint64_t i, const HostProblem& host) {
  return run_on(device, host, nullptr, sms_of(i));
}

/// In which element D of problem `i` differs from the reference; empty: nowhere.
Result<std::string> difference_on(const Device& device, std::uint64_t i, const HostProblem& host) {
  WW_TRY(const GemmPlan made, plan_gemm(device, host.problem, options_of(host, sms_of(i))));
  WW_TRY(const std::vector<std::uint8_t> d, run_number(device, i, host));
  return difference(host, d, reference_of_number(i, host, made.config()));
}

Result<std::string> hash_on(const Device& device, std::uint64_t i, const HostProblem& host) {
  WW_TRY(const std::vector<std::uint8_t> d, run_number(device, i, host));
  const XXH128_hash_t hash = XXH3_128bits(d.data(), d.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

/// An emulated device has as many SMs as problem `i` wants.
Result<Device> open_device(const std::string& name, std::uint64_t i) {
  const bool emulated = name.starts_with("emu"), blackwell = i >= kFirstBlackwellProblem;
  const bool schedules = i >= kFirstSchedulerProblem && i < kFirstRegisterProblem;
  const int sms = blackwell ? kBlackwellSms : schedules ? kSchedulerSms : 0;
  return Device::open(name, {.cache_dir = {}, .emu = {.seed = blackwell ? i : 0, .sms = emulated ? sms : 0}});
}

int make(const std::string& path, std::uint64_t count, std::uint64_t first) {
  const auto device = open_device("emu:sm90", first);
  if (!device) return fmt::print(stderr, "{}\n", device.error().message), 4;
  std::string text = "# problem number, XXH3-128 of the packed D; made by: gemm_parity make\n";
  for (std::uint64_t i = first; i < first + count; ++i) {
    const HostProblem host = numbered_problem(i);
    const auto hash = hash_on(*device, i, host);
    if (!hash) return fmt::print(stderr, "problem {}: {}\n{}\n", i, hash.error().message, host.replay()), 4;
    if (const auto wrong = difference_on(*device, i, host); !wrong || !wrong->empty())
      return fmt::print(stderr, "problem {} is not what the reference says: {}\n", i,
                        wrong ? *wrong : wrong.error().message),
             1;
    text += fmt::format("{} {}\n", i, *hash);
  }
  std::ofstream(path) << text;
  fmt::print("{} hashes written to {}\n", count, path);
  return 0;
}

int check(const std::string& path, const std::string& name, std::uint64_t step) {
  std::vector<std::pair<std::uint64_t, std::string>> expected;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::uint64_t number = 0;
    char hash[33] = {};
    if (std::sscanf(line.c_str(), "%lu %32s", &number, hash) == 2 && number % step == 0)
      expected.emplace_back(number, hash);
  }
  if (expected.empty()) return fmt::print(stderr, "{}: no hashes\n", path), 4;
  const auto device = open_device(name, expected.front().first);
  if (!device) return fmt::print(stderr, "{}\n", device.error().message), 4;

  // Makes all plans first, on every core, because compiling dominates; they stay in the device's cache.
  std::atomic<std::size_t> next = 0;
  {
    std::vector<std::jthread> workers;
    for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t)
      workers.emplace_back([&] {
        for (std::size_t i; (i = next++) < expected.size();) {
          const HostProblem host = numbered_problem(expected[i].first);
          (void)plan_gemm(*device, host.problem,
                          options_of(host, sms_of(expected[i].first)));  // an error shows again below
        }
      });
  }
  int wrong = 0;
  for (const auto& [number, hash] : expected) {
    const HostProblem host = numbered_problem(number);
    const auto got = hash_on(*device, number, host);
    if (!got) return fmt::print(stderr, "problem {}: {}\n{}\n", number, got.error().message, host.replay()), 4;
    if (*got == hash) continue;
    ++wrong;
    const auto where = difference_on(*device, number, host);
    fmt::print("problem {} differs: {}; the reference says: {}\n", number, host.replay(),
               where ? *where : where.error().message);
  }
  fmt::print("{}: {} of {} problems bit-equal\n", device->info().description, expected.size() - wrong, expected.size());
  return wrong == 0 ? 0 : 1;
}

int verify(std::uint64_t first, std::uint64_t count, std::uint64_t step) {
  std::atomic<std::uint64_t> next = 0;
  std::atomic<int> wrong = 0, failed = 0;
  {
    std::vector<std::jthread> workers;
    for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t)
      workers.emplace_back([&] {
        for (std::uint64_t n; (n = next++) < count;) {
          const std::uint64_t i = first + n * step;
          const HostProblem host = numbered_problem(i);
          const auto device = open_device(host.config.arch == Arch::sm90 ? "emu:sm90" : "emu:sm100", i);
          const auto where = device ? difference_on(*device, i, host) : failure(device.error());
          if (where && where->empty()) continue;
          ++(where ? wrong : failed);
          fmt::print("problem {}: {}\n{}\n", i, where ? *where : where.error().message, host.replay());
          std::fflush(stdout);
        }
      });
  }
  fmt::print("{} of {} problems from {} on bit-equal to the reference\n", count - wrong - failed, count, first);
  return failed > 0 ? 4 : wrong > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 2 ? argv[1] : "";
  if (verb == "make")
    return make(argv[2], argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 240,
                argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 0);
  if (verb == "check")
    return check(argv[2], argc > 3 ? argv[3] : "emu:sm90", argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 1);
  if (verb == "verify" && argc > 3)
    return verify(std::strtoull(argv[2], nullptr, 10), std::strtoull(argv[3], nullptr, 10),
                  argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 1);
  fmt::print(stderr,
             "usage: gemm_parity verify <first> <count> [step] | gemm_parity make <file> [count] [first] | gemm_parity "
             "check <file> [device] [step]\n");
  return 2;
}
