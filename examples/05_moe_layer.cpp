// SPDX-License-Identifier: Apache-2.0
// A mixture-of-experts layer from two grouped products. For each token x, its two best experts e and their weights w_e:
//   y = sum_e w_e Down_e (silu(Gate_e x) * (Up_e x))
//   route:    rows (token, expert) sorted by expert: the rows of an expert are adjacent, expert e's up to ends[e]
//   up:       (R, H) x (E, 2I, H) -> (R, 2I), gate and up interleaved -> SwiGLU -> (R, I) in e4m3, one scale per 128
//   columns
//   down:     (R, I) x (E, H, I) -> (R, H), from those values and scales in place
//   combine:  rows back to their tokens, weighted                              host
// SwiGLU and the quantisation are the epilogue of `up`, so that the intermediate is e4m3. `up` has a scale for each row
// of x and of the weights, because promotion of block scales leaves no registers for such an epilogue.
// The result is checked twice: each product against FP64 on the operands that the device got, every element within its
// bound (docs/numerics.md, section 7), and the layer against FP64 without quantisation, token by token, unsorted.
//   example_05_moe_layer [device]        device: emu:sm90 (default) or cuda:0
#include <cstdio>
#include <numeric>

#include "block_scaled.hpp"
#include "on_device.hpp"
#include "warpwright/host/grouped.hpp"

namespace {

using example::BlockScaled, example::require, example::Within;
using Floats = std::vector<float>;

constexpr std::int64_t kTokens = 64, kHidden = 256, kInner = 256, kExperts = 8, kChosen = 2, kIdle = 5;
constexpr std::int64_t kRows = kTokens * kChosen;
constexpr double kQuantisation = 0.1;  // what 3 fraction bits may cost, in two products and between them

struct Row {
  std::int64_t token, expert;
  double weight;  // softmax over the logits of the token's experts
};

std::vector<Row> route(const Floats& logits) {  // (T, E) -> (R), sorted by expert
  std::vector<Row> rows;
  for (std::int64_t t = 0; t < kTokens; ++t) {
    const float* const logit = &logits[t * kExperts];
    std::vector<std::int64_t> best(kExperts);
    std::iota(best.begin(), best.end(), 0);
    std::sort(best.begin(), best.end(), [&](auto e, auto f) { return logit[e] > logit[f]; });
    double sum = 0;
    for (std::int64_t i = 0; i < kChosen; ++i) sum += std::exp(double(logit[best[i]]));
    for (std::int64_t i = 0; i < kChosen; ++i) rows.push_back({t, best[i], std::exp(double(logit[best[i]])) / sum});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.expert < b.expert; });
  return rows;
}

struct OnDevice {
  ww::Buffer values, scales;
  float* floats() const { return static_cast<float*>(scales.data()); }
};

OnDevice upload(const ww::Device& device, const BlockScaled& x) {
  return {example::upload(device, x.values), example::upload(device, x.scales)};
}

/// D[r, :] = epilogue(A[r, :] W[expert of r]^T), of e4m3 with a scale for 128 columns where `d_scales` is not null.
void multiply(const ww::Device& device, ww::GroupedProblem problem, const std::vector<Row>& rows, const OnDevice& a,
              const OnDevice& w, void* d, float* d_scales = nullptr) {
  std::vector<std::int32_t> ends(kExperts);
  for (const Row& row : rows)
    for (std::int64_t e = row.expert; e < kExperts; ++e) ++ends[e];
  problem.groups = kExperts, problem.rows = kRows, problem.encoding = ww::GroupEncoding::offsets;
  const ww::GroupedPlan plan = require(ww::plan_grouped(device, problem));
  const ww::Buffer sizes = example::upload(device, ends);
  const ww::Buffer workspace = example::upload(device, std::vector<ww::u8>(plan.workspace_bytes()));  // zeros
  ww::GroupedOperands operands{.a = a.values.data(), .b = w.values.data(), .d = d};
  operands.scale_a = a.floats(), operands.scale_b = w.floats(), operands.epilogue.out_scales = d_scales;
  operands.sizes = static_cast<const std::int32_t*>(sizes.data());
  operands.workspace = workspace.data(), operands.workspace_bytes = workspace.bytes();
  require(plan.run(operands));
  require(device.synchronize());
}

template <class X> double dot(const X* x, const float* w, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += double(x[i]) * double(w[i]);
  return sum;
}

/// The layer without quantisation, nor sorting: an expert counts where fewer than two have a larger logit.
std::vector<double> exact_layer(const Floats& x, const Floats& logits, const Floats& gate_up, const Floats& down) {
  std::vector<double> y(kTokens * kHidden), sums(kTokens), inner(kInner);
  for (std::int64_t i = 0; i < kTokens * kExperts; ++i) {
    const std::int64_t t = i / kExperts, e = i % kExperts;
    const float* const of_token = &logits[t * kExperts];
    if (std::count_if(of_token, of_token + kExperts, [&](float l) { return l > logits[i]; }) >= kChosen) continue;
    sums[t] += std::exp(double(logits[i]));
    const float* const weights = &gate_up[e * 2 * kInner * kHidden];
    for (std::int64_t j = 0; j < kInner; ++j)
      inner[j] = example::silu(dot(&x[t * kHidden], weights + 2 * j * kHidden, kHidden)) *
                 dot(&x[t * kHidden], weights + (2 * j + 1) * kHidden, kHidden);
    for (std::int64_t h = 0; h < kHidden; ++h)
      y[t * kHidden + h] += std::exp(double(logits[i])) * dot(inner.data(), &down[(e * kHidden + h) * kInner], kInner);
  }
  for (std::size_t i = 0; i < y.size(); ++i) y[i] /= sums[i / kHidden];
  return y;
}

}  // namespace

int main(int argc, char** argv) {
  const ww::Device device = example::open(argc, argv);
  std::mt19937 rng(5);
  const Floats x = example::random_values(rng, kTokens * kHidden);
  const Floats gate_up = example::random_values(rng, kExperts * 2 * kInner * kHidden);  // (E, 2I, H): gate, up, ...
  const Floats down = example::random_values(rng, kExperts * kHidden * kInner);         // (E, H, I)
  Floats logits = example::random_values(rng, kTokens * kExperts);
  for (std::int64_t t = 0; t < kTokens; ++t) logits[t * kExperts + kIdle] = -2;  // an expert nobody asks

  const std::vector<Row> rows = route(logits);
  Floats sorted;  // (R, H)
  for (const Row& row : rows)
    sorted.insert(sorted.end(), &x[row.token * kHidden], x.data() + (row.token + 1) * kHidden);
  const BlockScaled x8 = example::quantise(sorted, kHidden, 1, kHidden);       // scales (R)
  const BlockScaled up8 = example::quantise(gate_up, kHidden, 1, kHidden);     // scales (E 2I)
  const BlockScaled down8 = example::quantise(down, kInner, example::kBlock);  // scales (E H / 128, I / 128)
  BlockScaled inner8{kInner, 1, example::kBlock, std::vector<ww::u8>(kRows * kInner), Floats(kRows * kInner / 128)};
  const OnDevice inner = upload(device, inner8);  // (R, I), scales (R, I / 128): as `down` wants them
  const ww::Buffer d = example::upload(device, std::vector<ww::bf16_t>(kRows * kHidden, ww::bf16_t{0xffff}));

  using namespace ww::evt;
  ww::GroupedProblem up_problem{.n = 2 * kInner, .k = kHidden, .d = ww::e4m3, .scale = ww::Scale::row_column};
  up_problem.epilogue = quantise_block(swiglu(acc));
  const ww::GroupedProblem down_problem{.n = kHidden, .k = kInner, .scale = ww::Scale::block_1x128_128x128};
  multiply(device, up_problem, rows, upload(device, x8), upload(device, up8), inner.values.data(), inner.floats());
  multiply(device, down_problem, rows, inner, upload(device, down8), d.data());

  inner8.values = example::download<ww::u8>(device, inner.values, inner8.values.size());
  inner8.scales = example::download<float>(device, inner.scales, inner8.scales.size());
  int wrong_up = 0, wrong_down = 0;
  std::vector<Within> block;
  for (std::int64_t i = 0; i < kRows * kInner; ++i) {
    const std::int64_t r = i / kInner, n = rows[r].expert * 2 * kInner + i % kInner * 2;
    block.push_back(swiglu(product(x8, r, up8, n), product(x8, r, up8, n + 1)));
    if (block.size() < 128) continue;
    wrong_up += !holds_block(block, &inner8.values[i - 127], double(inner8.scales[i / 128]));
    block.clear();
  }
  const auto out = example::download<ww::bf16_t>(device, d, kRows * kHidden);  // (R, H)
  std::vector<double> y(kTokens * kHidden);
  for (std::int64_t i = 0; i < kRows * kHidden; ++i) {
    const std::int64_t r = i / kHidden, h = i % kHidden;
    const double value = double(ww::arch::from_bf16(out[i].bits));
    wrong_down += !to_bf16(product(inner8, r, down8, rows[r].expert * kHidden + h)).holds(value);
    y[rows[r].token * kHidden + h] += rows[r].weight * value;
  }
  const std::vector<double> exact = exact_layer(x, logits, gate_up, down);
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < y.size(); ++i)
    error += (y[i] - exact[i]) * (y[i] - exact[i]), norm += exact[i] * exact[i];
  const double relative = std::sqrt(error / norm);
  std::printf("%s\noutside their bound: %d of %zu blocks of up, %d of %zu elements of down\n",
              device.info().description.c_str(), wrong_up, inner8.scales.size(), wrong_down, out.size());
  std::printf("the layer is %.2f %% from the unquantised one\n", 100 * relative);
  return wrong_up == 0 && wrong_down == 0 && relative < kQuantisation ? 0 : 1;
}
