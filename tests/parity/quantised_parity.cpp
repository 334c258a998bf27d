// SPDX-License-Identifier: Apache-2.0
// Random products whose epilogue makes D an operand with scales of mx or nv (quantised_problem.hpp), on emu:sm100.
//   quantised_parity verify <first> <count> [step]    D and its scales against the reference, bit for bit, and FP64
// Problems from 1000000 on are groups of rows. Exit status: 0 all right, 1 a difference, 4 something could not run.
#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "problems/quantised_problem.hpp"

namespace {

using namespace ww;
using namespace ww::testing;

Result<std::string> judge(std::uint64_t i) {
  const bool groups = i >= kFirstQuantisedGrouped;
  WW_TRY(const Device device, Device::open("emu:sm100", {.cache_dir = {}, .emu = {.seed = i, .sms = kBlackwellSms}}));
  return groups ? judge_quantised_groups(device, i) : judge_quantised(device, i);
}

int verify(std::uint64_t first, std::uint64_t count, std::uint64_t step) {
  std::uint64_t wrong = 0, failed = 0;
  for (std::uint64_t n = 0; n < count; ++n) {
    const std::uint64_t i = first + n * step;
    const Result<std::string> text = judge(i);
    if (text && text->empty()) continue;
    ++(text ? wrong : failed);
    fmt::print("problem {}: {}\n  again: quantised_parity verify {} 1\n", i, text ? *text : text.error().message, i);
  }
  fmt::print("{} of {} problems from {} on bit-equal, and within the FP64 bound\n", count - wrong - failed, count,
             first);
  return failed > 0 ? 4 : wrong > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i) { return argc > i ? std::strtoull(argv[i], nullptr, 10) : 1; };
  if (argc > 3 && std::string(argv[1]) == "verify") return verify(number(2), number(3), number(4));
  fmt::print(stderr, "usage: quantised_parity verify <first> <count> [step]\n");
  return 2;
}
