// SPDX-License-Identifier: Apache-2.0
// Runs a shipped cast (to FP8, or by mx and nv), transpose or packing of scales under the checker, in many schedules,
// and compares its outputs with the reference. It prints one JSON object; shipped_sweep.py is its caller.
//   check_casts NAME SCHEDULES [FIRST]     NAME as in the lists of packs; schedules FIRST, FIRST + 1, ...
// Exit status: 0 clean, 1 findings or wrong values, 2 a wrong command line, 4 incomplete.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "config/quantize_text.hpp"
#include "io/json.hpp"
#include "problems/random_quantize.hpp"
#include "reference/element.hpp"
#include "reference/microscale.hpp"
#include "runtime/backend.hpp"

namespace ww {
namespace {

using namespace ww::testing;

/// Returns `p`, or the transpose that it describes if x is FP8, with operands of noise.
Result<HostQuantize> with_operands(const QuantizeProblem& p, const std::vector<std::int32_t>& sizes = {}) {
  HostQuantize h;
  h.sizes = sizes;
  WW_TRY(h.problem, is_fp8(p.x) ? ops::validate(ops::as_transpose(p)) : ops::validate(p));
  std::mt19937_64 rng(7);
  fill_quantize(h, rng, false);
  return h;
}

/// Returns problems with tails in both extents, and more tiles than the device has SMs; with groups where the kernel
/// takes them.
Result<std::vector<HostQuantize>> problems_of(QuantizeProblem p) {
  p.m = 290, p.k = 296;
  std::vector<HostQuantize> problems;
  WW_TRY(HostQuantize plain, with_operands(p));
  problems.push_back(std::move(plain));
  if (!p.transposed || p.block != QuantizeBlock::b1x128) return problems;
  p.groups = 4;
  WW_TRY(HostQuantize grouped, with_operands(p, {10, 10, 150, 290}));
  problems.push_back(std::move(grouped));
  return problems;
}

/// Runs one problem; the text is empty if its values are right.
Result<std::string> run(const Device& device, const HostQuantize& h) {
  WW_TRY(const QuantizeOutputs got, run_on(device, h));
  return difference(h, got, reference(h));
}

/// Packs exponents that count up, of one matrix or of groups of K.
Result<std::string> run(const Device& device, const PackScalesProblem& p) {
  const std::vector<std::int32_t> sizes = {300, 0, 1, 500};  // 3, 0, 1 and 4 scales
  WW_TRY(const PackScalesPlan plan, plan_pack_scales(device, p));
  std::vector<float> scales(static_cast<std::size_t>(p.m * p.k));
  for (std::size_t i = 0; i < scales.size(); ++i)
    scales[i] = std::bit_cast<float>(static_cast<std::uint32_t>(i % 250 + 1) << 23);
  std::vector<std::uint32_t> words(static_cast<std::size_t>(plan.problem().batch_packed), ~0u);
  WW_CHECK(plan.run({scales.data(), words.data(), p.groups > 0 ? sizes.data() : nullptr}));
  const std::int64_t count = p.groups > 0 ? p.words : ceil_div(p.k, std::int64_t{4});
  for (std::int64_t row = 0; row < p.m; ++row) {
    std::int64_t word = 0, begin = 0;
    const auto expect = [&](std::int64_t end) {
      for (; begin < end; ++word) {
        std::uint32_t wanted = 0;
        for (int i = 0; i < 4 && begin < end; ++i, ++begin)
          wanted |= static_cast<std::uint32_t>((row * p.k + begin) % 250 + 1) << 8 * i;
        if (words[static_cast<std::size_t>(word * plan.problem().packed_k + row * plan.problem().packed_m)] != wanted)
          return false;
      }
      return true;
    };
    bool right = p.groups > 0 || expect(p.k);
    std::int64_t end = 0;
    for (std::size_t g = 0; p.groups > 0 && g < sizes.size(); ++g)
      right = expect(end += ceil_div(std::int64_t{sizes[g]}, p.span)) && right;
    if (!right || word > count) return fmt::format("row {} of {} has a wrong word", row, p.m);
  }
  return std::string();
}

/// Casts noise by mx or nv.
Result<std::string> run(const Device& device, const MicroscaleProblem& given) {
  WW_TRY(const MicroscalePlan plan, plan_microscale(device, given, {.sms = 2}));
  const MicroscaleProblem& p = plan.problem();
  const std::int64_t elements = p.batch * p.batch_x;
  std::vector<std::uint8_t> x(static_cast<std::size_t>(bytes_in(p.x, elements)));
  std::mt19937_64 rng(11);
  std::normal_distribution<double> normal;
  for (std::int64_t i = 0; i < elements; ++i) {
    const double value = std::ldexp(normal(rng), static_cast<int>(i / 16 % 23) - 11);
    const auto single = static_cast<float>(value);
    if (p.x == DType::f32) std::memcpy(x.data() + 4 * i, &single, 4);
    else {
      const std::uint16_t code = ref::encode(p.x, value);
      std::memcpy(x.data() + 2 * i, &code, 2);
    }
  }
  using Bytes = std::vector<std::uint8_t>;
  Bytes q(static_cast<std::size_t>(bytes_in(p.q, p.batch * p.batch_q)), 0xA5), q_expected = q;
  Bytes scales(static_cast<std::size_t>(p.batch * p.batch_scales), 0xA5), scales_expected = scales;
  const float tensor_scale = 0.7f;
  const float* const factor = p.scale == Scale::nv ? &tensor_scale : nullptr;
  WW_CHECK(plan.run({x.data(), q.data(), scales.data(), factor}));
  ref::microscale(p, {x.data(), q_expected.data(), scales_expected.data(), factor});
  for (const auto& [name, got, expected] : {std::tuple("q", &q, &q_expected), {"scales", &scales, &scales_expected}}) {
    const auto wrong = std::mismatch(got->begin(), got->end(), expected->begin()).first - got->begin();
    if (wrong < static_cast<std::ptrdiff_t>(got->size())) return fmt::format("byte {} of {} is wrong", wrong, name);
  }
  return std::string();
}

/// Returns problems with tails in both extents and more tasks than CTAs, with scales in chunks and in rows.
std::vector<MicroscaleProblem> problems_of(MicroscaleProblem p) {
  p.m = 290, p.k = 296, p.batch = 2;
  MicroscaleProblem by_rows = p;
  by_rows.chunked = false;
  return {p, by_rows};
}

/// Returns schedule number `number`: the first is fifo, and the other kinds take turns.
EmuOptions schedule_of(std::uint64_t number) {
  constexpr EmuSchedule kTurns[] = {EmuSchedule::random, EmuSchedule::pct, EmuSchedule::adversarial};
  EmuOptions options;
  options.seed = number;
  options.schedule = number == 0 ? EmuSchedule::fifo : kTurns[(number - 1) % 3];
  options.threads = 1;
  options.check = true;
  options.traffic = false;
  return options;
}

int print(const char* verdict, std::uint64_t ran, const std::string& why, int status) {
  fmt::print("{}\n", io::to_json(io::Fields{{"verdict", verdict}, {"schedules", ran}, {"why_incomplete", why}}));
  return status;
}

/// Runs the problems in every schedule, up to the first that is not clean.
template <class Problem>
int campaign(const std::vector<Problem>& problems, std::uint64_t schedules, std::uint64_t first,
             const char* device_name = "emu:sm90") {
  const Result<Device> device = Device::open(device_name, {.cache_dir = {}, .emu = schedule_of(first)});
  if (!device) return print("incomplete", 0, device.error().message, 4);
  for (std::uint64_t i = 0; i < schedules; ++i) {
    const EmuOptions options = schedule_of(first + i);
    device->backend().set_emu_options(options);
    for (const Problem& problem : problems) {
      const Result<std::string> wrong = run(*device, problem);
      const auto report = device->backend().last_check();
      if (wrong && wrong->empty() && report && report->verdict == Verdict::clean) continue;
      const bool found = (wrong && !wrong->empty()) || (report && report->verdict == Verdict::findings);
      const std::string what = wrong ? *wrong : wrong.error().message;
      return print(found ? "findings" : "incomplete", i,
                   fmt::format("schedule {} ({}): {}", options.seed, name_of(options.schedule), what), found ? 1 : 4);
    }
  }
  return print("clean", schedules, "", 0);
}

int check(const char* name, std::uint64_t schedules, std::uint64_t first) {
  const auto named = parse_quantize(name);
  if (!named) return fmt::print(stderr, "{}\n", named.error().message), 2;
  if (std::holds_alternative<PackScalesProblem>(*named))
    return campaign(
        std::vector<PackScalesProblem>{{.m = 700, .k = 37}, {.m = 300, .k = 8, .groups = 4, .span = 128, .words = 4}},
        schedules, first);
  if (const auto* cast = std::get_if<MicroscaleProblem>(&*named))
    return campaign(problems_of(*cast), schedules, first, "emu:sm100");
  QuantizeProblem problem;
  if (const auto* transpose = std::get_if<TransposeProblem>(&*named)) {
    problem.x = problem.q = transpose->type, problem.block = QuantizeBlock::b128x128;
    problem.rows = false, problem.transposed = true;
  } else {
    problem = std::get<QuantizeProblem>(*named);
  }
  const auto problems = problems_of(problem);
  if (!problems) return fmt::print(stderr, "{}\n", problems.error().message), 2;
  return campaign(*problems, schedules, first);
}

}  // namespace
}  // namespace ww

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return fmt::print(stderr, "usage: check_casts NAME SCHEDULES [FIRST]\n"), 2;
  return ww::check(argv[1], std::strtoull(argv[2], nullptr, 0), argc == 4 ? std::strtoull(argv[3], nullptr, 0) : 0);
}
