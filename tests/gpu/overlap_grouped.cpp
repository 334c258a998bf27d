// SPDX-License-Identifier: Apache-2.0
// Chains of grouped products whose sizes change from launch to launch: written on the device just before, by a copy, or
// by a small product that overlaps with both its neighbours. D is the next A, or (FP8) the next C.
#include <algorithm>

#include "config/config_text.hpp"
#include "overlap_chains.hpp"
#include "overlap_memory.hpp"
#include "warpwright/host/grouped.hpp"

namespace ww::gpu_test {
namespace {

enum class SizesBy { copy, product };

constexpr std::int64_t kGap = 4;  // alignment of groups, where there are rows outside them

struct GroupedCase {
  const char* config;
  DType a = bf16;
  bool zero_outside = false;
};

/// How many rows each group has in link i: the same, cut at random (some are empty), all in one, or one each.
std::vector<std::int64_t> counts_of(std::int64_t groups, std::int64_t rows, int link) {
  std::mt19937_64 rng(static_cast<std::uint64_t>(link) + 1);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(groups), link % 4 == 0 ? rows / groups : 0);
  if (link % 4 == 1) {
    std::vector<std::int64_t> cuts{0, rows};
    for (std::int64_t g = 1; g < groups; ++g)
      cuts.push_back(static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(rows + 1)));
    std::sort(cuts.begin(), cuts.end());
    for (std::size_t g = 0; g < counts.size(); ++g) counts[g] = cuts[g + 1] - cuts[g];
    return counts;
  }
  if (link % 4 == 3) counts.assign(counts.size(), 1);
  std::int64_t left = rows;
  for (std::int64_t count : counts) left -= count;
  counts[rng() % counts.size()] += left;
  return counts;
}

/// The ends of the groups of every link, one [G] behind the other.
std::vector<std::int32_t> offsets_of_links(const GroupedProblem& p, int links) {
  std::vector<std::int32_t> offsets;
  // with gaps, half of the rows are in groups and the gaps between them take less than a quarter
  const std::int64_t rows = p.alignment == 1 ? p.rows : p.rows / 2;
  for (int i = 0; i < links; ++i) {
    std::int64_t end = 0;
    for (std::int64_t count : counts_of(p.groups, rows, i))
      offsets.push_back(static_cast<std::int32_t>(end = round_up(end, p.alignment) + count));
  }
  return offsets;
}

/// Writes `bytes` from the table to the sizes, in the queue.
class SizesWriter {
 public:
  SizesWriter(Chain& chain, const Setting& s, SizesBy by, void* sizes, std::int64_t groups)
      : sizes_(sizes), bytes_(static_cast<std::size_t>(groups) * sizeof(std::int32_t)) {
    if (by == SizesBy::copy) return;
    // D [1, G] = A [1, K] B[G, K]^T + C [1, G] with zeros for A and B: the bits of C, which are of FP32 subnormals
    GemmProblem p{.m = 1, .n = groups, .k = 64, .a = bf16, .b = bf16, .d = f32};
    p.epilogue = evt::acc + evt::c(f32);
    plan_ = must(plan_gemm(s.device, p, {.config = must(parse_config("tile=64x64x0,cluster=1x1")), .pdl = s.pdl}));
    operands_.a = chain.input(Bytes(static_cast<std::size_t>(2 * p.k)));
    operands_.b = chain.input(Bytes(static_cast<std::size_t>(2 * p.n * p.k)));
    operands_.workspace_bytes = plan_->workspace_bytes();
    operands_.workspace = chain.input(Bytes(std::max<std::size_t>(operands_.workspace_bytes, 16)));
    operands_.d = sizes;
  }
  Result<void> write(const void* from, const Queue& queue) const {
    if (!plan_) return queue.copy(sizes_, from, bytes_);
    GemmOperands operands = operands_;
    operands.epilogue.c = from;
    return plan_->run(operands, queue.stream);
  }

 private:
  void* sizes_;
  std::size_t bytes_;
  std::optional<GemmPlan> plan_;
  GemmOperands operands_;
};

GroupedProblem problem_of(const Setting& s, const GroupedCase& c) {
  GroupedProblem p{.groups = s.large ? 32 : 8, .rows = s.large ? 512 : 96, .n = s.large ? 1024 : 136};
  p.a = p.b = c.a;
  if (c.zero_outside) {  // a row that has become zero must not stay so for ever
    p.zero_outside = true, p.alignment = kGap, p.rows *= 2;
    p.epilogue = evt::acc + evt::bias();
  }
  if (c.a == e4m3) {
    p.n = s.large ? 1024 : 256;
    p.scale = Scale::block_1x128_128x128;
    p.epilogue = evt::acc + evt::c();
  }
  p.k = p.n;
  return p;
}

Chain grouped_chain(const Setting& s, const GroupedCase& c, SizesBy by) {
  Chain chain(s);
  const GroupedProblem p = problem_of(s, c);
  const std::int64_t blocks = ceil_div(p.k, std::int64_t{128});
  const Ring d(chain, s, "D", numbers(bf16, p.rows * p.n, 0, 1), bf16);
  void* const sizes = chain.watched("sizes", Bytes(static_cast<std::size_t>(p.groups) * 4), std::nullopt);
  auto* const table = static_cast<std::int32_t*>(chain.input(offsets_of_links(p, s.links)));
  const SizesWriter writer(chain, s, by, sizes, p.groups);
  const GroupedPlan made = must(plan_grouped(s.device, p, {.config = must(parse_config(c.config)), .pdl = s.pdl}));

  GroupedOperands o;
  o.workspace_bytes = made.workspace_bytes();
  o.workspace = chain.input(Bytes(o.workspace_bytes));
  o.sizes = static_cast<const std::int32_t*>(sizes);
  o.status = static_cast<std::uint32_t*>(chain.watched("status", Bytes(4), std::nullopt));
  o.b = chain.input(numbers(c.a, p.groups * p.n * p.k, c.a == bf16 ? shrinking(p.k) : 0, 2));
  const void* const fixed_a = c.a == bf16 ? nullptr : chain.input(numbers(e4m3, p.rows * p.k, 0, 3));
  o.scale_a = static_cast<const float*>(chain.input(scales(p.rows * blocks, 0, 4)));
  o.scale_b = static_cast<const float*>(chain.input(scales(p.groups * blocks * blocks, shrinking(p.k), 5)));
  o.epilogue.row_vector[0] = chain.input(numbers(f32, p.groups * p.n, 0, 6));
  o.epilogue.batch_row_vector[0] = p.n;
  for (int i = 0; i < s.links; ++i) {
    o.a = fixed_a != nullptr ? fixed_a : d.of(i), o.d = d.of(i + 1);
    if (fixed_a != nullptr) o.epilogue.c = d.of(i);
    chain.add([=](const Queue& queue) -> Result<void> {
      WW_CHECK(writer.write(table + i * p.groups, queue));
      return made.run(o, queue.stream);
    });
  }
  return chain;
}

}  // namespace

std::vector<ChainCase> grouped_chains() {
  const std::pair<const char*, GroupedCase> cases[] = {
      {"RaggedStatic2Ctas", {"variant=ragged,tile=32x64x0,tile_scheduler=static,occupancy=2"}},
      {"RaggedStatic3Ctas", {"variant=ragged,tile=32x64x0,tile_scheduler=static,occupancy=3"}},
      {"RaggedDynamic2Ctas", {"variant=ragged,tile=32x64x0,tile_scheduler=dynamic,occupancy=2"}},
      {"RaggedDynamic3Ctas", {"variant=ragged,tile=32x64x0,tile_scheduler=dynamic,occupancy=3"}},
      {"RaggedWideDynamic", {"variant=ragged,tile=128x256x0,tile_scheduler=dynamic"}},
      {"RaggedSplitK", {"variant=ragged,tile=64x128x0,tile_scheduler=split-k,split=2"}},
      {"RaggedFp8CFromD", {"variant=ragged,tile=32x64x0,tile_scheduler=static,occupancy=2", e4m3}},
      {"ZeroOutside", {"variant=ragged,tile=32x64x0,tile_scheduler=static,occupancy=2", bf16, true}},
      {"ZeroOutsideWideDynamic", {"variant=ragged,tile=128x256x0,tile_scheduler=dynamic", bf16, true}},
      {"Descriptors", {"variant=descriptors,tile=16x128x0,tile_scheduler=horizontal"}},
      {"Contiguous", {"variant=contiguous"}},
  };
  std::vector<ChainCase> chains;
  for (const auto& [name, c] : cases)
    for (SizesBy by : {SizesBy::copy, SizesBy::product}) {
      const auto make = [c = c, by](const Setting& s) { return grouped_chain(s, c, by); };
      chains.push_back({fmt::format("{}{}", name, by == SizesBy::copy ? "SizesCopied" : "SizesByProduct"), make});
    }
  return chains;
}

}  // namespace ww::gpu_test
