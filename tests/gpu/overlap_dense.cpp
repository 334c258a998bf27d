// SPDX-License-Identifier: Apache-2.0
// Chains of dense products: D, what an epilogue reduces, and scales of D, each read by the next launch.
#include "config/config_text.hpp"
#include "overlap_chains.hpp"
#include "overlap_memory.hpp"

namespace ww::gpu_test {
namespace {

struct Extents {
  std::int64_t m, n;  // N is K as well, so that D can be the next A
};

Extents extents(const Setting& s, Extents large, Extents small) { return s.large ? large : small; }

/// One plan, its workspace, and what all of its runs have in common.
struct Step {
  GemmPlan plan;
  GemmOperands operands;
};

Step step_of(Chain& chain, const Setting& s, const GemmProblem& problem, const char* config) {
  GemmConfig parsed = must(parse_config(config));
  parsed.arch = s.device.info().arch;
  Step step{must(plan_gemm(s.device, problem, {.config = parsed, .pdl = s.pdl})), {}};
  step.operands.workspace_bytes = step.plan.workspace_bytes();
  step.operands.workspace = chain.input(Bytes(std::max<std::size_t>(step.operands.workspace_bytes, 16)));
  return step;
}

void add(Chain& chain, const Step& step, const GemmOperands& operands) {
  chain.add([plan = step.plan, operands](const Queue& queue) { return plan.run(operands, queue.stream); });
}

/// D[M, N] in BF16 is the next A[M, K]. Of several configs, launches take one after the other.
Chain a_from_d(const Setting& s, Extents e, const std::vector<const char*>& configs, bool reduces = false) {
  Chain chain(s);
  GemmProblem p{.m = e.m, .n = e.n, .k = e.n, .a = bf16, .b = bf16};
  const Ring d(chain, s, "D", numbers(bf16, p.m * p.n, 0, 1), bf16);
  std::optional<Ring> row_amax, column_sum;
  if (reduces) {
    p.epilogue = must(parse_epilogue("row_amax(column_sum(acc,out2),out1)"));
    row_amax.emplace(chain, s, "row amax", numbers(f32, p.m, 0, 2), f32);
    column_sum.emplace(chain, s, "column sum", numbers(f32, p.n, 0, 3), f32);
  }
  const void* const b = chain.input(numbers(bf16, p.n * p.k, shrinking(p.k), 4));
  std::vector<Step> steps;
  for (const char* config : configs) steps.push_back(step_of(chain, s, p, config));
  for (int i = 0; i < s.links; ++i) {
    const Step& step = steps[static_cast<std::size_t>(i) % steps.size()];
    GemmOperands o = step.operands;
    o.a = d.of(i), o.b = b, o.d = d.of(i + 1);
    if (reduces) o.epilogue.out[1] = row_amax->of(i + 1), o.epilogue.out[2] = column_sum->of(i + 1);
    add(chain, step, o);
  }
  return chain;
}

/// FP8 operands that stay; D[M, N] is the C[M, N] of the next launch.
Chain c_from_d(const Setting& s, Extents e, const char* config) {
  Chain chain(s);
  GemmProblem p{.m = e.m, .n = e.n, .k = e.n, .scale = Scale::tensor};
  p.epilogue = evt::acc + evt::c();
  const Ring d(chain, s, "D", numbers(bf16, p.m * p.n, 0, 1), bf16);
  const Step step = step_of(chain, s, p, config);
  GemmOperands o = step.operands;
  o.a = chain.input(numbers(e4m3, p.m * p.k, 0, 2)), o.b = chain.input(numbers(e4m3, p.n * p.k, 0, 3));
  o.scale_a = static_cast<const float*>(chain.input(scales(1, 0, 4)));
  o.scale_b = static_cast<const float*>(chain.input(scales(1, shrinking(p.k), 5)));
  for (int i = 0; i < s.links; ++i) {
    o.epilogue.c = d.of(i), o.d = d.of(i + 1);
    add(chain, step, o);
  }
  return chain;
}

/// FP8 operands that stay; the largest of each row of D is the scale of that row of A in the next launch.
Chain scales_from_amax(const Setting& s, Extents e, const char* config) {
  Chain chain(s);
  GemmProblem p{.m = e.m, .n = e.n, .k = e.n, .scale = Scale::row_column};
  p.epilogue = must(parse_epilogue("row_amax(acc,out1)"));
  const Ring d(chain, s, "D", numbers(bf16, p.m * p.n, 0, 1), bf16);
  const Ring amax(chain, s, "row amax", numbers(f32, p.m, 0, 2), f32);
  const Step step = step_of(chain, s, p, config);
  GemmOperands o = step.operands;
  o.a = chain.input(numbers(e4m3, p.m * p.k, 0, 3)), o.b = chain.input(numbers(e4m3, p.n * p.k, 0, 4));
  // Two less, because the largest of a row is about four times the root of the mean square.
  o.scale_b = static_cast<const float*>(chain.input(scales(p.n, shrinking(p.k) - 2, 5)));
  for (int i = 0; i < s.links; ++i) {
    o.scale_a = static_cast<const float*>(amax.of(i)), o.d = d.of(i + 1), o.epilogue.out[1] = amax.of(i + 1);
    add(chain, step, o);
  }
  return chain;
}

/// D[M, N] in FP8 and its scales [M, N / 128] are the next A[M, K] and scale_a [M, K / 128].
Chain a_and_scales_from_d(const Setting& s, Extents e, const char* config) {
  Chain chain(s);
  GemmProblem p{.m = e.m, .n = e.n, .k = e.n, .d = e4m3, .scale = Scale::block_1x128_128x128};
  p.epilogue = must(parse_epilogue("quantise_block(acc)"));
  const std::int64_t blocks = p.k / 128;
  const Ring d(chain, s, "D", numbers(e4m3, p.m * p.n, 0, 1), e4m3);
  Bytes ones(static_cast<std::size_t>(p.m * blocks) * sizeof(float));
  std::memcpy(ones.data(), scales(p.m * blocks, 0, 2).data(), ones.size());
  const Ring scale(chain, s, "scales of D", ones, f32);
  const Step step = step_of(chain, s, p, config);
  GemmOperands o = step.operands;
  o.b = chain.input(numbers(e4m3, p.n * p.k, 0, 3));
  o.scale_b = static_cast<const float*>(chain.input(scales(blocks * blocks, shrinking(p.k), 4)));
  for (int i = 0; i < s.links; ++i) {
    o.a = d.of(i), o.scale_a = static_cast<const float*>(scale.of(i));
    o.d = d.of(i + 1), o.epilogue.out_scales = static_cast<float*>(scale.of(i + 1));
    add(chain, step, o);
  }
  return chain;
}

/// Matrices by pointer arrays: D of a launch is A of the next, in the opposite order within the batch.
Chain pointer_arrays(const Setting& s, Extents e, const char* config) {
  constexpr std::int64_t kBatch = 6;
  Chain chain(s);
  GemmProblem p{.m = e.m, .n = e.n, .k = e.n, .a = bf16, .b = bf16};
  p.batch = kBatch, p.pointer_array = true;
  const std::int64_t one = p.m * p.n;
  const Ring d(chain, s, "D", numbers(bf16, kBatch * one, 0, 1), bf16);
  auto* const b = static_cast<char*>(chain.input(numbers(bf16, kBatch * p.n * p.k, shrinking(p.k), 2)));
  const auto array = [&](void* first, std::int64_t elements, bool backwards) {
    std::vector<void*> matrices;
    for (std::int64_t l = 0; l < kBatch; ++l)
      matrices.push_back(static_cast<char*>(first) + 2 * elements * (backwards ? kBatch - 1 - l : l));
    return chain.input(matrices);
  };
  std::vector<void*> to, from;  // of each slot
  for (std::size_t i = 0; i < d.size(); ++i)
    to.push_back(array(d.data()[i], one, false)), from.push_back(array(d.data()[i], one, true));
  const Step step = step_of(chain, s, p, config);
  GemmOperands o = step.operands;
  o.b_pointers = static_cast<const void* const*>(array(b, p.n * p.k, false));
  for (std::size_t i = 0; i < static_cast<std::size_t>(s.links); ++i) {
    o.a_pointers = static_cast<const void* const*>(from[i % d.size()]);
    o.d_pointers = static_cast<void* const*>(to[(i + 1) % d.size()]);
    add(chain, step, o);
  }
  return chain;
}

}  // namespace

std::vector<ChainCase> dense_chains() {
  constexpr const char* kStreamK = "tile=128x128x0,cluster=1x1,tile_scheduler=stream-k";
  constexpr const char* kSplitK = "tile=64x128x0,cluster=1x1,tile_scheduler=split-k,split=4";
  constexpr const char* kMultistage = "tile=128x128x0,cluster=1x1,schedule=multistage";
  constexpr const char* kSmall = "tile=64x64x0,cluster=1x1";
  const auto turns = [=](const Setting& s) {
    return a_from_d(s, extents(s, {512, 2048}, {136, 264}), {kMultistage, kStreamK, kSplitK, kSmall});
  };
  const auto reduces = [=](const Setting& s) {
    return a_from_d(s, extents(s, {512, 2048}, {136, 264}), {kSmall}, true);
  };
  const auto a_from = [](Extents large, Extents small, const char* config) {
    return [=](const Setting& s) { return a_from_d(s, extents(s, large, small), {config}); };
  };
  return {
      {"OneRow", a_from({1, 4096}, {1, 264}, "")},
      {"SixteenRows", a_from({16, 4096}, {16, 264}, "")},
      {"SixtyFourRows", a_from({64, 4096}, {64, 264}, "")},
      {"StreamK", a_from({640, 2048}, {200, 328}, kStreamK)},
      {"SplitKInWorkspace", a_from({128, 4096}, {72, 264}, kSplitK)},
      {"Multistage", a_from({1024, 2048}, {136, 264}, kMultistage)},
      {"Dynamic", a_from({1024, 2048}, {136, 264}, "tile=64x64x0,cluster=1x1,tile_scheduler=dynamic")},
      {"Reductions", reduces},
      {"KernelsInTurn", turns},
      {"Fp8CFromD",
       [](const Setting& s) {
         return c_from_d(s, extents(s, {64, 4096}, {40, 256}), "");
       }},
      {"Fp8ScalesFromAmax",
       [](const Setting& s) {
         return scales_from_amax(s, extents(s, {64, 4096}, {40, 256}), "tile=64x64x0");
       }},
      {"Fp8BlocksFromD",
       [](const Setting& s) {
         return a_and_scales_from_d(s, extents(s, {256, 2048}, {72, 256}), "tile=128x128x0,cluster=1x1");
       }},
      {"PointerArrays",
       [](const Setting& s) {
         return pointer_arrays(s, extents(s, {256, 1024}, {72, 136}), "tile=64x64x0,cluster=1x1");
       }},
  };
}

}  // namespace ww::gpu_test
