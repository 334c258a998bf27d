// SPDX-License-Identifier: Apache-2.0
// Random packings of exponents (host/pack_scales.hpp), of several matrices or of groups of K, with any strides.
//   pack_scales_parity verify <first> <count> [device]    every word against the reference, those between them included
//   pack_scales_parity make   <file> [count]              one hash of the reference's words for each problem
//   pack_scales_parity check  <file> [device]             the problems of the file on `device`
// Exit status: 0 all equal, 1 a difference, 4 something could not run.
#include <fmt/format.h>
#include <xxhash.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "warpwright/core/meta.hpp"
#include "warpwright/host/pack_scales.hpp"

namespace {

using namespace ww;

constexpr std::uint32_t kUntouched = 0x9e3779b9;

struct Numbered {
  PackScalesProblem problem;
  std::vector<float> scales;
  std::vector<std::int32_t> sizes;
  std::size_t words = 0;  // of the memory of `packed`
};

/// Problem `number`: extents around those of a tile, strides of either order with gaps, scales of every bit pattern.
Numbered numbered(std::uint64_t number) {
  std::mt19937_64 random(number * 0x9e3779b97f4a7c15 + 1);
  const auto up_to = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
  };
  Numbered made;
  PackScalesProblem& p = made.problem;
  p.m = 1 + up_to(random() % 3 == 0 ? 700 : 20);
  const bool grouped = random() % 2 == 0;
  if (grouped) {
    p.groups = 1 + up_to(6), p.span = random() % 2 == 0 ? 128 : 1 + up_to(200);
    for (std::int64_t g = 0; g < p.groups; ++g) {
      made.sizes.push_back(static_cast<std::int32_t>(random() % 4 == 0 ? 0 : up_to(9 * p.span)));
      p.k += ceil_div<std::int64_t>(made.sizes.back(), p.span);
    }
    p.words = ceil_div(p.k, std::int64_t{4}) + p.groups;  // as many as there may be
  } else {
    p.k = up_to(40), p.batch = 1 + up_to(2);
    p.words = ceil_div(p.k, std::int64_t{4});
  }
  const auto strides = [&](std::int64_t columns, std::int64_t& row, std::int64_t& column) {
    const std::int64_t gap = up_to(2), least = max<std::int64_t>(columns, 1);
    if (random() % 2 == 0) row = 1, column = p.m + gap;
    else row = least + gap, column = 1;
    return max(p.m * row, least * column);
  };
  p.batch_scales = strides(p.k, p.scale_m, p.scale_k);
  p.batch_packed = strides(p.words, p.packed_m, p.packed_k);
  made.words = static_cast<std::size_t>(p.batch * p.batch_packed);
  for (std::int64_t i = 0; i < p.batch * p.batch_scales; ++i)
    made.scales.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  return made;
}

std::vector<std::uint32_t> reference(const Numbered& n) {
  const PackScalesProblem& p = n.problem;
  std::vector<std::uint32_t> words(n.words, kUntouched);
  std::vector<std::int64_t> first, end;  // the scales of every word
  const auto add = [&](std::int64_t begin, std::int64_t count) {
    for (std::int64_t i = 0; i < count; i += 4) first.push_back(begin + i), end.push_back(begin + count);
  };
  std::int64_t begin = 0;
  for (const std::int32_t size : n.sizes) {
    const std::int64_t count = (size + p.span - 1) / p.span;
    add(begin, count), begin += count;
  }
  if (p.groups == 0) add(0, p.k);
  for (std::int64_t b = 0; b < p.batch; ++b)
    for (std::int64_t m = 0; m < p.m; ++m)
      for (std::int64_t w = 0; w < p.words; ++w) {
        std::uint32_t word = 0;
        for (std::int64_t i = 0; w < static_cast<std::int64_t>(first.size()) && i < 4; ++i) {
          const std::int64_t at = first[static_cast<std::size_t>(w)] + i;
          if (at >= end[static_cast<std::size_t>(w)]) break;
          const float scale = n.scales[static_cast<std::size_t>(b * p.batch_scales + m * p.scale_m + at * p.scale_k)];
          word |= (std::bit_cast<std::uint32_t>(scale) << 1 >> 24) << (8 * i);
        }
        words[static_cast<std::size_t>(b * p.batch_packed + m * p.packed_m + w * p.packed_k)] = word;
      }
  return words;
}

Result<std::vector<std::uint32_t>> run_on(const Device& device, const Numbered& n) {
  std::vector<std::uint32_t> words(n.words, kUntouched);
  WW_TRY(const PackScalesPlan plan, plan_pack_scales(device, n.problem));
  WW_TRY(const Buffer scales, device.allocate(4 * n.scales.size() + 4));
  WW_TRY(const Buffer packed, device.allocate(4 * words.size() + 4));
  WW_TRY(const Buffer sizes, device.allocate(4 * n.sizes.size() + 4));
  WW_CHECK(device.upload(scales.data(), n.scales.data(), 4 * n.scales.size()));
  WW_CHECK(device.upload(packed.data(), words.data(), 4 * words.size()));
  if (!n.sizes.empty()) WW_CHECK(device.upload(sizes.data(), n.sizes.data(), 4 * n.sizes.size()));
  WW_CHECK(plan.run({static_cast<float*>(scales.data()), static_cast<std::uint32_t*>(packed.data()),
                     n.sizes.empty() ? nullptr : static_cast<std::int32_t*>(sizes.data())}));
  WW_CHECK(device.synchronize());
  WW_CHECK(device.download(words.data(), packed.data(), 4 * words.size()));
  return words;
}

std::string hash_of(const std::vector<std::uint32_t>& words) {
  const XXH128_hash_t hash = XXH3_128bits(words.data(), 4 * words.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

struct Wanted {
  std::uint64_t number;
  std::string hash;
};

int compare(const std::vector<Wanted>& all, const std::string& name) {
  const auto device = Device::open(name);
  if (!device) return fmt::print(stderr, "{}\n", device.error().message), 4;
  std::size_t wrong = 0;
  for (const Wanted& one : all) {
    const auto got = run_on(*device, numbered(one.number));
    if (!got) return fmt::print(stderr, "{}\nproblem {}\n", got.error().message, one.number), 4;
    if (hash_of(*got) == one.hash) continue;
    ++wrong;
    fmt::print("problem {} differs\n  again: pack_scales_parity verify {} 1 {}\n", one.number, one.number, name);
  }
  if (all.empty()) return fmt::print(stderr, "no problems\n"), 4;
  fmt::print("{}: {} of {} packings bit-equal\n", device->info().description, all.size() - wrong, all.size());
  return wrong == 0 ? 0 : 1;
}

std::vector<Wanted> by_reference(std::uint64_t first, std::uint64_t count) {
  std::vector<Wanted> made;
  for (std::uint64_t i = first; i < first + count; ++i) made.push_back({i, hash_of(reference(numbered(i)))});
  return made;
}

std::vector<Wanted> of_file(const std::string& path) {
  std::vector<Wanted> made;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::uint64_t number = 0;
    char hash[33] = {};
    if (std::sscanf(line.c_str(), "%lu %32s", &number, hash) == 2) made.push_back({number, hash});
  }
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  const auto number = [&](int i, std::uint64_t otherwise) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
  };
  if (verb == "verify" && argc > 3)
    return compare(by_reference(number(2, 0), number(3, 1)), argc > 4 ? argv[4] : "emu:sm90");
  if (verb == "check" && argc > 2) return compare(of_file(argv[2]), argc > 3 ? argv[3] : "emu:sm90");
  if (verb == "make" && argc > 2) {
    std::ofstream file(argv[2]);
    file << "# problem number, XXH3-128 of all words; made by: pack_scales_parity make\n";
    for (const Wanted& one : by_reference(0, number(3, 200))) file << fmt::format("{} {}\n", one.number, one.hash);
    return file ? 0 : 4;
  }
  fmt::print(
      stderr,
      "usage: pack_scales_parity verify <first> <count> [device] | make <file> [count] | check <file> [device]\n");
  return 2;
}
