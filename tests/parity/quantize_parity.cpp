// SPDX-License-Identifier: Apache-2.0
// Random casts to FP8 and transposes (random_quantize.hpp) on the emulated device and on a GPU.
//   quantize_parity verify <first> <count> [device] [step]    all outputs against the reference, bit for bit
//   quantize_parity make   <file> [count]                     one hash of the reference's outputs for each problem
//   quantize_parity check  <file> [device]                    the problems of the file on `device`
//   quantize_parity time   [device]                           GB/s of large matrices, reads and writes counted once
// Exit status: 0 all equal, 1 a difference, 4 something could not run.
#include <fmt/format.h>
#include <xxhash.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "measure/timing.hpp"
#include "problems/random_quantize.hpp"

namespace {

using namespace ww;
using namespace ww::testing;

std::string hash_of(const QuantizeOutputs& outputs) {
  const std::vector<std::uint8_t> bytes = outputs.all();
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

int verify(std::uint64_t first, std::uint64_t count, const std::string& name, std::uint64_t step) {
  const auto device = Device::open(name);
  if (!device) return fmt::print(stderr, "{}\n", device.error().message), 4;
  std::uint64_t wrong = 0;
  for (std::uint64_t n = 0; n < count; ++n) {
    const std::uint64_t i = first + n * step;
    const HostQuantize host = numbered_quantize(i);
    const auto got = run_on(*device, host);
    if (!got) return fmt::print(stderr, "{}\n{}\n", got.error().message, host.replay()), 4;
    const std::string text = difference(host, *got, reference(host));
    if (!text.empty()) ++wrong, fmt::print("{}\n  again: quantize_parity verify {} 1 {}\n", text, i, name);
  }
  fmt::print("{}: {} of {} casts and transposes from {} on bit-equal\n", device->info().description, count - wrong,
             count, first);
  return wrong == 0 ? 0 : 1;
}

int make(const std::string& path, std::uint64_t count) {
  std::string text = "# problem number, XXH3-128 of all outputs; made by: quantize_parity make\n";
  for (std::uint64_t i = 0; i < count; ++i) text += fmt::format("{} {}\n", i, hash_of(reference(numbered_quantize(i))));
  std::ofstream(path) << text;
  fmt::print("{} hashes written to {}\n", count, path);
  return 0;
}

int check(const std::string& path, const std::string& name) {
  const auto device = Device::open(name);
  if (!device) return fmt::print(stderr, "{}\n", device.error().message), 4;
  std::ifstream file(path);
  std::uint64_t count = 0, wrong = 0;
  for (std::string line; std::getline(file, line);) {
    std::uint64_t number = 0;
    char hash[33] = {};
    if (std::sscanf(line.c_str(), "%lu %32s", &number, hash) != 2) continue;
    const HostQuantize host = numbered_quantize(number);
    const auto got = run_on(*device, host);
    if (!got) return fmt::print(stderr, "{}\n{}\n", got.error().message, host.replay()), 4;
    ++count;
    if (hash_of(*got) == hash) continue;
    ++wrong;
    fmt::print("{}\n", difference(host, *got, reference(host)));
  }
  if (count == 0) return fmt::print(stderr, "{}: no hashes\n", path), 4;
  fmt::print("{}: {} of {} casts and transposes bit-equal\n", device->info().description, count - wrong, count);
  return wrong == 0 ? 0 : 1;
}

/// Times one problem: x of noise; `groups` equal groups, or none.
Result<void> time_one(const Device& device, QuantizeProblem p, const char* text) {
  const bool copies = is_fp8(p.x);
  WW_TRY(p, copies ? ops::validate(ops::as_transpose(p)) : ops::validate(p));
  HostQuantize h;
  h.problem = p, h.scaled = true;
  const QuantizeOutputs outputs = h.blank();
  const auto elements = static_cast<std::size_t>(p.batch * p.m * p.k), size = static_cast<std::size_t>(bytes_of(p.x));
  std::vector<std::uint8_t> noise(elements * size);
  std::uint64_t state = 1;  // a 16-bit pattern of moderate numbers: exponents stay in the middle of each type
  for (std::size_t i = 0; i + size <= noise.size(); i += size) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::memcpy(&noise[i], &state, size);
    noise[i + size - 1] = static_cast<std::uint8_t>((state >> 40 & 0x80) | 0x3c | (state >> 50 & 1));
  }
  std::vector<std::int32_t> ends(static_cast<std::size_t>(p.groups));
  for (std::size_t g = 0; g < ends.size(); ++g)
    ends[g] = static_cast<std::int32_t>(p.m * static_cast<std::int64_t>(g + 1) / p.groups);
  WW_TRY(const Buffer x, device.allocate(noise.size()));
  WW_CHECK(device.upload(x.data(), noise.data(), noise.size()));
  const auto room = [&](const std::vector<std::uint8_t>& bytes) { return device.allocate(bytes.size() + 256); };
  WW_TRY(const Buffer q, room(outputs.q));
  WW_TRY(const Buffer scales, room(outputs.scales));
  WW_TRY(const Buffer transposed, room(outputs.transposed));
  WW_TRY(const Buffer transposed_scales, room(outputs.transposed_scales));
  WW_TRY(const Buffer sizes, device.allocate(4 * ends.size() + 4));
  WW_TRY(const Buffer x_scales, device.allocate(4 * static_cast<std::size_t>(p.batch * p.batch_scales) + 4));
  if (!ends.empty()) WW_CHECK(device.upload(sizes.data(), ends.data(), 4 * ends.size()));
  std::function<Result<void>()> run;
  std::function<std::optional<EmuStats>()> stats;
  if (copies) {
    WW_TRY(const TransposePlan plan, plan_transpose(device, ops::as_transpose(p)));
    const TransposeOperands o{x.data(), transposed.data(), static_cast<float*>(x_scales.data()),
                              static_cast<float*>(transposed_scales.data())};
    run = [=] { return plan.run(o); };
    stats = [=] { return plan.last_stats(); };
  } else {
    WW_TRY(const QuantizePlan plan, plan_quantize(device, p));
    const QuantizeOperands o{.x = x.data(),
                             .q = p.rows ? q.data() : nullptr,
                             .scales = static_cast<float*>(scales.data()),
                             .transposed = p.transposed ? transposed.data() : nullptr,
                             .transposed_scales = static_cast<float*>(transposed_scales.data()),
                             .sizes = static_cast<std::int32_t*>(sizes.data())};
    run = [=] { return plan.run(o); };
    stats = [=] { return plan.last_stats(); };
  }
  WW_TRY(const measure::Timing timing, measure::timed_runs(device, run, stats));
  const double scale_bytes = static_cast<double>(outputs.scales.size() + outputs.transposed_scales.size());
  const double bytes =
      static_cast<double>(elements) * static_cast<double>(bytes_of(p.x) + (p.rows ? 1 : 0) + (p.transposed ? 1 : 0)) +
      scale_bytes;
  fmt::print("{:44} {:6} x {:6}  {:9.2f} us  {:7.0f} GB/s  {:5.1f} % of 4.8 TB/s\n", text, p.batch * p.m, p.k,
             timing.seconds * 1e6, bytes / timing.seconds * 1e-9, bytes / timing.seconds / 4.8e12 * 100);
  return {};
}

int time(const std::string& name) {
  const auto device = Device::open(name);
  if (!device) return fmt::print(stderr, "{}\n", device.error().message), 4;
  const bool emulated = device->info().emulated;  // where the figures say nothing, smaller matrices show that it runs
  const auto with = [&](DType x, bool rows, bool transposed, QuantizeBlock block, std::int64_t groups, std::int64_t m) {
    QuantizeProblem p;
    p.m = emulated ? 256 : m, p.k = emulated ? 256 : 7168;
    p.x = x, p.q = is_fp8(x) ? x : e4m3, p.rows = rows, p.transposed = transposed, p.block = block, p.groups = groups;
    if (rows && block == QuantizeBlock::b1x128) p.scale_m = 1, p.scale_k = round_up(p.m, std::int64_t{4});
    return p;
  };
  constexpr QuantizeBlock kVector = QuantizeBlock::b1x128, kSquare = QuantizeBlock::b128x128;
  const std::pair<const char*, QuantizeProblem> cases[] = {
      {"1x128 bf16, rows", with(bf16, true, false, kVector, 0, 1)},
      {"1x128 bf16, rows", with(bf16, true, false, kVector, 0, 128)},
      {"1x128 bf16, rows", with(bf16, true, false, kVector, 0, 4096)},
      {"1x128 bf16, rows", with(bf16, true, false, kVector, 0, 32768)},
      {"1x128 bf16, transposed", with(bf16, false, true, kVector, 0, 32768)},
      {"1x128 bf16, rows and transposed", with(bf16, true, true, kVector, 0, 4096)},
      {"1x128 bf16, rows and transposed", with(bf16, true, true, kVector, 0, 32768)},
      {"1x128 bf16, transposed, 64 groups", with(bf16, false, true, kVector, 64, 32768)},
      {"1x128 bf16, rows and transposed, 64 groups", with(bf16, true, true, kVector, 64, 32768)},
      {"1x128 f32, rows", with(f32, true, false, kVector, 0, 32768)},
      {"128x128 bf16, rows", with(bf16, true, false, kSquare, 0, 18432)},
      {"128x128 bf16, rows and transposed", with(bf16, true, true, kSquare, 0, 18432)},
      {"128x128 f32, rows and transposed", with(f32, true, true, kSquare, 0, 18432)},
      {"transpose of e4m3", with(e4m3, false, true, kSquare, 0, 18432)},
  };
  for (const auto& [text, problem] : cases)
    if (const auto timed = time_one(*device, problem, text); !timed)
      return fmt::print(stderr, "{}: {}\n", text, timed.error().message), 4;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  const auto number = [&](int i, std::uint64_t otherwise) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
  };
  if (verb == "verify" && argc > 3)
    return verify(number(2, 0), number(3, 1), argc > 4 ? argv[4] : "emu:sm90", number(5, 1));
  if (verb == "make" && argc > 2) return make(argv[2], number(3, 120));
  if (verb == "check" && argc > 2) return check(argv[2], argc > 3 ? argv[3] : "emu:sm90");
  if (verb == "time") return time(argc > 2 ? argv[2] : "auto");
  fmt::print(stderr,
             "usage: quantize_parity verify <first> <count> [device] [step] | make <file> [count] | check <file> "
             "[device] | time [device]\n");
  return 2;
}
